"""Made-up traffic that resembles the real first 324 s: entries, speeds, lanes, questions and, if asked for, accidents.

All that vehicle `v` does is a function of the seed and `v`, so any stretch of the stream can be made on its own.
One mph over the 30 s between two reports is 44 feet: positions are sums of whole numbers, with nothing to round.
A stream in which vehicles report more often (`every_ms`) is a time-lapse: from report to report they drive as far as ever.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.errors import SettingError
from headway_lab.workloads.feed import Feed
from headway_lab.workloads.hashing import Hashes, take_bits, xxhash64
from headway_lab.workloads.linear_road.reports import (
    BALANCE,
    ENTRY,
    EVERY_MS,
    EXIT,
    EXPENDITURE,
    FEET,
    FIELDS,
    POSITION,
    SEGMENTS,
    TRAVEL,
    Longs,
    VehicleReports,
)

FEET_PER_MPH = 44

# Fitted to the real input: 0 %, 10 %, .. 100 % of the vehicles on a lane that move are at most so fast, in mph.
SPEEDS = (
    (14, 20, 23, 25, 26, 27, 27, 28, 30, 32, 34),  # the entry ramp
    (27, 43, 46, 51, 53, 55, 57, 59, 62, 66, 75),
    (20, 31, 44, 49, 52, 55, 57, 59, 62, 65, 75),
    (19, 37, 44, 50, 53, 55, 57, 59, 62, 66, 75),
    (26, 32, 36, 41, 45, 52, 56, 58, 60, 62, 75),  # the exit ramp
)
TENTHS = np.linspace(0, 1, 11)
LANES = (1, 2, 2, 3)  # half of the vehicles travel on the middle lane
ENTRIES = (0, 5, 10, 16, 21, 27, 33, 40, 49, 60, 96)  # segments from the beginning of the road at which trips begin
ARRIVALS = 10.0  # vehicles that enter each second
QUESTIONS = {BALANCE: 6, EXPENDITURE: 1, TRAVEL: 5}  # among 1,000 reports, so many come with a question
STANDS = (4, 8)  # reports for which those in an accident stand, at least and at most


@dataclass(frozen=True)
class Traffic:
    """Vehicles that enter evenly, report `reports` times each and leave by an exit ramp.

    From an empty road the stream grows, as the real one does, until as many leave as enter. A `steady` one has been
    going on for so long that its rate is constant from the start: `arrivals * reports` in a second.
    """

    seed: int
    epoch_ms: int = 0
    arrivals: float = ARRIVALS  # vehicles per second
    reports: int = 40  # of each vehicle: 20 minutes
    every_ms: int = EVERY_MS
    expressways: int = 1
    segments: int = SEGMENTS  # trips begin in the first so many: fewer make fuller roads
    pace: float = 1.0  # how fast, compared with the real traffic: slow traffic pays tolls
    accident_every: int = 0  # of so many vehicles, two have an accident; 0: none
    steady: bool = False

    def __post_init__(self) -> None:
        for name in ("arrivals", "every_ms", "expressways", "pace"):
            if not getattr(self, name) > 0:
                raise SettingError(f"linear_road.{name}", getattr(self, name), "more than 0")
        if not 1 <= self.segments <= SEGMENTS:
            raise SettingError("linear_road.segments", self.segments, f"1 to {SEGMENTS}")
        if self.accident_every < 0 or self.accident_every % 2:
            raise SettingError("linear_road.accident_every", self.accident_every, "0 or an even number: two collide")
        if self.reports < 3 or (self.accident_every and self.reports < self._longest + 4):
            raise SettingError("linear_road.reports", self.reports, f"{self._longest + 4} or more: accidents take time")
        if self._longest_way >= SEGMENTS:
            raise SettingError("linear_road.reports", self.reports, "trips that fit on the road: fewer, or a lower pace")

    def feed(self, since_ms: int, until_ms: int) -> Feed:
        """The rows that happen from `since_ms` up to, not including, `until_ms`: by time, vehicle and type."""
        start = self.epoch_ms - (self.reports * self.every_ms if self.steady else 0)
        first = int((since_ms - start - self.reports * self.every_ms) * self.arrivals / 1_000) - 1
        last = int((until_ms - start) * self.arrivals / 1_000) + 1
        v = np.arange(max(first, 0), max(last, 0))
        entered = start + np.floor(v * (1_000 / self.arrivals)).astype(np.int64)
        event_ms = entered[:, None] + np.arange(self.reports) * self.every_ms
        chosen = (event_ms >= max(since_ms, self.epoch_ms)) & (event_ms < until_ms)
        fields = {name: values[chosen] for name, values in self._trips(v).items()}
        rows = [VehicleReports(event_ms[chosen], _filled(fields)), *self._questions(v, event_ms, chosen)]
        both = VehicleReports(
            np.concatenate([part.event_ms for part in rows]),
            {name: np.concatenate([part[name] for part in rows]) for name in FIELDS},
        )
        return both.taken(np.lexsort((both["type"], both["vid"], both.event_ms))).feed("linear-road-traffic")

    def collides(self, v: Longs) -> NDArray[np.bool_]:
        """Whether a vehicle has an accident, with the one that enters before or after it."""
        if not self.accident_every:
            return np.zeros(len(v), dtype=bool)
        pairs = self.accident_every // 2
        drawn = int(xxhash64(self.seed, np.array([-1]))[0] % np.uint64(pairs))
        return np.asarray(v // 2 % pairs == drawn)

    @property
    def _longest(self) -> int:
        """Reports for which those in an accident stand at most: the second must stop before the first goes on."""
        return STANDS[1] + int(1_000 / self.arrivals / self.every_ms) + 1

    @property
    def _longest_way(self) -> int:
        """Segments that no trip exceeds."""
        fastest = max(int(np.rint(self.pace * max(map(max, SPEEDS)))), 1)
        return -(-self.reports * FEET_PER_MPH * fastest // FEET) + 1

    def _trips(self, v: Longs) -> dict[str, Longs]:
        """The fields of all reports of these vehicles: one row a vehicle, one column a report."""
        collides = self.collides(v)
        route = np.where(collides, v - v % 2, v)  # the second of a pair follows the first, until both stop at one place
        trait = xxhash64(self.seed, -2 - route)
        steps = np.arange(self.reports)
        chance = xxhash64(self.seed, (route[:, None] * self.reports + steps).ravel()).reshape(-1, self.reports)
        lane = np.array(LANES)[take_bits(chance, (0, 2))]
        lane[:, 0], lane[:, -1] = ENTRY, EXIT

        # A fast vehicle stays fast: it keeps its rank among the others, but for a little.
        rank = np.abs(_share(trait, 0)[:, None] + 0.1 * (_share(chance, 2) - 0.5))
        rank = 1 - np.abs(1 - rank)
        spd = np.zeros(lane.shape, dtype=np.int64)
        for which, quantiles in enumerate(SPEEDS):
            there = lane == which
            spd[there] = np.maximum(np.rint(self.pace * np.interp(rank[there], TENTHS, quantiles)), 1)

        shortest = STANDS[0] + self._longest - STANDS[1]
        stands = shortest + take_bits(trait, (16, 8)) % (self._longest - shortest + 1)
        halt = 2 + take_bits(trait, (24, 8)) % max(self.reports - self._longest - 2, 1)
        standing = collides[:, None] & (steps >= halt[:, None]) & (steps < (halt + stands)[:, None])
        spd[standing] = 0
        lane = np.where(standing, np.take_along_axis(lane, halt[:, None] - 1, axis=1), lane)

        xway = take_bits(xxhash64(self.seed ^ 2, route), (0, 16)) % self.expressways
        up = take_bits(trait, (32, 1))[:, None] == 0
        seg = np.interp(_share(trait, 33), TENTHS, ENTRIES) * self.segments / SEGMENTS
        begin = np.minimum(seg.astype(np.int64), SEGMENTS - 1 - self._longest_way) * FEET
        begin += take_bits(trait, (49, 13)) * FEET >> 13
        driven = begin[:, None] + FEET_PER_MPH * (np.cumsum(spd, axis=1) - spd[:, :1])
        pos = np.where(up, driven, SEGMENTS * FEET - 1 - driven)
        whole = np.zeros_like(lane)
        return {
            "type": whole + POSITION, "vid": whole + v[:, None], "spd": spd, "lane": lane, "dir": whole + ~up,
            "xway": whole + xway[:, None], "seg": pos // FEET, "pos": pos,
        }  # fmt: skip

    def _questions(self, v: Longs, event_ms: Longs, chosen: NDArray[np.bool_]) -> list[VehicleReports]:
        """Some reports come with a question of the same vehicle at the same time."""
        number = v[:, None] * self.reports + np.arange(self.reports)
        number, vid, at = number[chosen], np.broadcast_to(v[:, None], event_ms.shape)[chosen], event_ms[chosen]
        chance = xxhash64(self.seed ^ 1, number)
        drawn, found, least = take_bits(chance, (0, 20)) % 1_000, [], 0
        for kind, share in QUESTIONS.items():
            asks = (drawn >= least) & (drawn < least + share)
            least += share
            some: dict[str, Any] = {"type": kind, "vid": vid[asks], "qid": number[asks]}
            if kind != BALANCE:
                some["xway"] = take_bits(chance, (20, 8))[asks] % self.expressways
            if kind == EXPENDITURE:
                some["day"] = take_bits(chance, (28, 8))[asks] % 70
            if kind == TRAVEL:
                some |= {
                    "s_init": take_bits(chance, (28, 8))[asks] % SEGMENTS,
                    "s_end": take_bits(chance, (36, 8))[asks] % SEGMENTS,
                }
                some |= {
                    "dow": 1 + take_bits(chance, (44, 8))[asks] % 7,
                    "tod": 1 + take_bits(chance, (48, 16))[asks] % 1_440,
                }
            found.append(VehicleReports(at[asks], _filled(some | {"type": np.full(int(asks.sum()), kind)})))
        return found


def _filled(some: dict[str, Longs]) -> dict[str, Longs]:
    """All fields; those that a row does not use are -1."""
    return {name: some.get(name, np.full_like(some["vid"], -1)) for name in FIELDS}


def _share(h: Hashes, first: int) -> NDArray[np.float64]:
    """Sixteen bits as a number from 0 up to 1."""
    return take_bits(h, (first, 16)) / 65_536
