"""Linear Road as Structured Streaming queries, in SQL over watermarked reports.

Each takes DataFrames and returns one that can be written in append mode. Minutes and the 30 s between two reports
scale together: `minute_ms` is the length of a minute in the stream, which a sped-up replay shortens.

Nothing here is a stateful function in Python. The rules speak of a vehicle's last reports; since a vehicle reports
every half minute, its last n reports are those of a window of n half minutes, and windows are what Spark does fast.
"""

from headway_lab.workloads.linear_road.queries.accidents import accidents
from headway_lab.workloads.linear_road.queries.pressure import pressure
from headway_lab.workloads.linear_road.queries.requests import balances, travel_times
from headway_lab.workloads.linear_road.queries.statistics import average_speed, segment_statistics
from headway_lab.workloads.linear_road.queries.tolls import charges, segment_tolls, tolls

__all__ = [
    "accidents",
    "average_speed",
    "balances",
    "charges",
    "pressure",
    "segment_statistics",
    "segment_tolls",
    "tolls",
    "travel_times",
]
