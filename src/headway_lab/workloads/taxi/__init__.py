"""New York's green taxis: a chain of stateless steps, then the mean distance of trips in windows of 2 s every 1 s.

Trips come from the real files, in time order and at a chosen speed, or from a generator whose distances follow the files'.
The real trips have a second reading: the taxi reports a trip when it ends, so what happened at the pickup arrives at the
dropoff, eleven minutes late in the middle and four times in five behind a trip that began after it.

What bites in the files: they are not in time order; a few trips carry another year; times are New York's wall clock, whole
seconds without a zone, taken for UTC here; one trip in fifteen has no passenger count; refunds are trips with a negative
fare; one trip in twenty has no distance and one in two thousand more than 100 miles; one in 250 "lasts"
about a day. `trips` keeps all but the stray years, for cleaning is the query's work.

Distances are whole hundredths of a mile. Sums are of those, so that the order of addition cannot change them.
"""

from headway_lab.workloads.taxi.queries import chain, mean_distance, typed
from headway_lab.workloads.taxi.taxis import Taxis
from headway_lab.workloads.taxi.trips import late_trips, left_out, speed_for, trips
from headway_lab.workloads.taxi.truth import TripTruth

__all__ = ["Taxis", "TripTruth", "chain", "late_trips", "left_out", "mean_distance", "speed_for", "trips", "typed"]
