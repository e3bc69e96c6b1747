"""Reports at any rate, as of a city with jams, and buses whose reports fall behind."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from headway.errors import SettingError
from headway_lab.workloads.bus_delays import Holdup, Periodic
from headway_lab.workloads.feed import Feed, Longs
from headway_lab.workloads.hashing import Hashes, take_bits, xxhash64
from headway_lab.workloads.traffic.reports import LATE_S

VEHICLES, SENSORS = 911, 3_504  # the paper's
JAM_MS = 10_000  # how long an area stays jammed, or free
# In 1,024ths: how often an area is jammed, and how often a report is of trouble, in a jam and otherwise.
JAMMED, TROUBLED, CALM = 205, 51, 5
NORMAL_KMH, SLOW_KMH = 50, 35  # a road's; slower than that is trouble

# Which bits of a report's hash say what: (first bit, width).
AREA_BITS, TROUBLE_BITS, FLAG_BITS, AMOUNT_BITS, COUNT_BITS = (0, 10), (10, 10), (20, 1), (24, 10), (34, 5)

BUS_BODY = b'"vehicle":"%d","area":%d,"delay_s":%d,"congested":%b,"speed_kmh":%d'
ROAD_BODY = b'"sensor":"%d","area":%d,"speed_kmh":%d,"normal_kmh":%d,"vehicles":%d'
TRUTH_VALUES = (b"false", b"true")


@dataclass(frozen=True)
class Streets:
    """Evenly spaced reports of both kinds. What report `i` says is a pure function of the seed and `i`.

    When it comes in depends on those before it: the buses' reports are held up as `holdup` says, the roads' come at once.
    """

    seed: int
    epoch_ms: int  # event time of the first reports
    seconds: int
    per_s: int = 500  # reports of buses a second, and as many of roads
    holdup: Holdup = Periodic()
    areas: int = 100

    def __post_init__(self) -> None:
        for name in ("seconds", "per_s"):
            if getattr(self, name) < 1:
                raise SettingError(f"traffic.{name}", getattr(self, name), "1 or more")
        if not 1 <= self.areas <= 1 << AREA_BITS[1]:
            raise SettingError("traffic.areas", self.areas, f"1 to {1 << AREA_BITS[1]}")

    @property
    def until_ms(self) -> int:
        """No report is made from then on; those of buses may still come in."""
        return self.epoch_ms + self.seconds * 1_000

    @cached_property
    def bus_arrivals(self) -> Longs:
        """When the reports of buses come in, in ms: ascending."""
        return _arrivals(self._made_ms - self.epoch_ms, self.holdup, self.seed) + self.epoch_ms

    def bus(self, since_ms: int | None = None, until_ms: int | None = None) -> Feed:
        """The reports of buses that come in from `since_ms` up to, not including, `until_ms`; all unless told."""
        i, h, trouble = self._reports(self.bus_arrivals, since_ms, until_ms, stream=0)
        amount, flag = take_bits(h, AMOUNT_BITS), take_bits(h, FLAG_BITS)
        fields = zip(
            (i % VEHICLES).tolist(), (take_bits(h, AREA_BITS) % self.areas).tolist(),
            np.where(trouble, LATE_S + amount, amount % (2 * LATE_S) - LATE_S).tolist(),
            [TRUTH_VALUES[flagged] for flagged in (trouble & (flag == 1)).tolist()], (5 + amount % 50).tolist(),
            strict=True,
        )  # fmt: skip
        names = [b"%d" % vehicle for vehicle in (i % VEHICLES).tolist()]
        return Feed("traffic-bus", self._made_ms[i], self.bus_arrivals[i], [BUS_BODY % row for row in fields], names)

    def road(self, since_ms: int | None = None, until_ms: int | None = None) -> Feed:
        """The reports of road sensors, likewise."""
        i, h, trouble = self._reports(self._made_ms, since_ms, until_ms, stream=1)
        speed = np.where(trouble, take_bits(h, AMOUNT_BITS) % SLOW_KMH, SLOW_KMH + take_bits(h, AMOUNT_BITS) % 30)
        sensor = i % SENSORS
        fields = zip(
            sensor.tolist(), (sensor % self.areas).tolist(), speed.tolist(), [NORMAL_KMH] * len(i),
            (1 + take_bits(h, COUNT_BITS)).tolist(),
            strict=True,
        )  # fmt: skip
        names = [b"%d" % which for which in sensor.tolist()]
        return Feed("traffic-road", self._made_ms[i], self._made_ms[i], [ROAD_BODY % row for row in fields], names)

    @cached_property
    def _made_ms(self) -> Longs:
        return self.epoch_ms + np.arange(self.seconds * self.per_s, dtype=np.int64) * 1_000 // self.per_s

    def _reports(
        self, arrival_ms: Longs, since_ms: int | None, until_ms: int | None, stream: int
    ) -> tuple[Longs, Hashes, NDArray[np.bool_]]:
        """Which reports come in then, their hashes, and whether they mean trouble."""
        first = 0 if since_ms is None else int(np.searchsorted(arrival_ms, since_ms))
        last = len(arrival_ms) if until_ms is None else int(np.searchsorted(arrival_ms, until_ms))
        i = np.arange(first, max(first, last), dtype=np.int64)
        h = xxhash64(self.seed, 2 * i + stream)
        area = take_bits(h, AREA_BITS) % self.areas if stream == 0 else i % SENSORS % self.areas
        jammed = self._jammed(self._made_ms[i], area)
        return i, h, take_bits(h, TROUBLE_BITS) < np.where(jammed, TROUBLED, CALM)

    def _jammed(self, at_ms: Longs, area: Longs) -> NDArray[np.bool_]:
        """Both kinds of report know the same jams. Negative numbers: no report has such a hash."""
        which = (at_ms - self.epoch_ms) // JAM_MS * self.areas + area
        return np.asarray(take_bits(xxhash64(self.seed, -1 - which), TROUBLE_BITS) < JAMMED)


def held_up(feed: Feed, holdup: Holdup, seed: int, epoch_ms: int | None = None) -> Feed:
    """A recorded feed whose rows are held up on their way; the hold-up begins at `epoch_ms`, or with the first row."""
    if not len(feed):
        return feed
    begins = int(feed.arrival_ms[0]) if epoch_ms is None else epoch_ms
    return replace(feed, arrival_ms=_arrivals(feed.arrival_ms - begins, holdup, seed) + begins)


def _arrivals(made_ms: Longs, holdup: Holdup, seed: int) -> Longs:
    """In whole ms, rounded up: nothing comes in before it was made."""
    came = holdup.arrivals(made_ms.astype(np.float64), np.random.default_rng(seed))
    return np.ceil(came).astype(np.int64)
