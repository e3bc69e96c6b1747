"""Trips like the real ones, at any rate."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from headway.errors import SettingError
from headway.sim.delays import SLICES, Delay
from headway_lab.workloads.feed import Feed
from headway_lab.workloads.hashing import Longs, take_bits, xxhash64
from headway_lab.workloads.taxi.trips import ZONES, bodies

# Quantiles of the distance in hundredths of a mile, of January's trips up to 100 miles: those without a distance are in.
DISTANCES = {
    0: 0, 0.049: 0, 0.055: 9, 0.06: 22, 0.1: 60, 0.2: 97, 0.3: 126, 0.4: 151, 0.5: 185, 0.6: 226, 0.7: 282,
    0.8: 374, 0.85: 450, 0.9: 578, 0.95: 774, 0.98: 1_087, 0.99: 1_419, 0.995: 1_737, 0.999: 2_396, 1: 6_618,
}  # fmt: skip
# Quantiles of the seconds that a mile takes, of January's possible trips of more than half a mile.
PACES = {0: 100, 0.01: 115, 0.05: 158, 0.25: 261, 0.5: 336, 0.75: 416, 0.95: 582, 0.99: 790, 1: 1_000}
# Where January's trips begin: each zone as often as it stands here, to the nearest sixteenth.
PICKUPS = np.array((74, 74, 74, 75, 75, 41, 166, 95, 82, 43, 97, 7, 244, 42, 65, 260))
FLAG_CENTS, MILE_CENTS = 534, 393  # a line through January's fares

# Which bits of a trip's hash say what: (first bit, width).
DELAY_BITS, DISTANCE_BITS, PACE_BITS, PICKUP_BITS, DROPOFF_BITS, PASSENGER_BITS, REFUND_BITS = (
    (0, 10),
    (10, 10),
    (20, 10),
    (30, 4),
    (34, 10),
    (44, 4),
    (48, 8),
)


@dataclass(frozen=True)
class Taxis:
    """Trips like January's at any rate: trip `i` is a pure function of the seed and `i`.

    It happens `i * 1000 // rate` ms after the epoch. One in twenty has no distance, one in sixteen no passenger count,
    one in 256 is paid back.
    """

    seed: int
    rate: int  # trips per second
    epoch_ms: int  # event time of trip 0
    delay: Delay

    def __post_init__(self) -> None:
        if self.rate < 1:
            raise SettingError("taxi.rate", self.rate, "1 or more")

    def feed(self, since_ms: int, until_ms: int) -> Feed:
        """The trips that arrive from `since_ms` up to, not including, `until_ms`: one feed after the other loses none."""
        first = self._trips_before(since_ms - self.delay.max_ms)
        i = np.arange(first, max(first, self._trips_before(until_ms)), dtype=np.int64)
        h = xxhash64(self.seed, i)
        event_ms = self.epoch_ms + i * 1_000 // self.rate
        arrival_ms = event_ms + self.delay.table()[take_bits(h, DELAY_BITS)]
        kept = (arrival_ms >= since_ms) & (arrival_ms < until_ms)
        h = h[kept]
        hundredths = _table(DISTANCES)[take_bits(h, DISTANCE_BITS)]
        cents = FLAG_CENTS + hundredths * MILE_CENTS // 100
        body = bodies(
            (hundredths / 100).tolist(),
            (np.where(take_bits(h, REFUND_BITS) == 0, -cents, cents) / 100).tolist(),
            np.where(take_bits(h, PASSENGER_BITS) == 0, -1, 1).tolist(),
            PICKUPS[take_bits(h, PICKUP_BITS)].tolist(),
            (take_bits(h, DROPOFF_BITS) % len(ZONES) + 1).tolist(),
            (hundredths * _table(PACES)[take_bits(h, PACE_BITS)] // 100).tolist(),
        )
        return Feed.of("taxis", event_ms[kept], arrival_ms[kept], body)

    def _trips_before(self, at_ms: int) -> int:
        return max(0, -(-(at_ms - self.epoch_ms) * self.rate // 1_000))


def _table(quantiles: Mapping[float, int]) -> Longs:
    """1,024 equally likely values: the quantiles with straight lines between them, at the mid-points of equal slices."""
    middles = (np.arange(SLICES) + 0.5) / SLICES
    return np.rint(np.interp(middles, list(quantiles), list(quantiles.values()))).astype(np.int64)
