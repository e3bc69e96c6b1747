"""The published rules on who is told a toll, who pays it, and what vehicles are answered: reference results.

Of the benchmark's ten weeks of toll history nothing is published. So an expenditure (type 3) is known for the current
day only, day 0, and is 0 for any other; and a journey (type 4) is estimated from what the segments are like now.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headway_lab.workloads.linear_road.accidents import by_vehicle, runs
from headway_lab.workloads.linear_road.reports import BALANCE, EXIT, EXPENDITURE, MINUTE_MS, POSITION, TRAVEL, VehicleReports
from headway_lab.workloads.linear_road.rules import UNKNOWN_MPH, Price, Segment, prices

RoadPane = tuple[int, int, int]  # when a window begins, expressway, direction

NOTHING = Price(None, 0, False, 0)


class Crossing(NamedTuple):
    """A report from another segment than the one before."""

    vid: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class Notice:
    """What a vehicle is told as it enters a segment; where an accident is near, this is the alert too."""

    xway: int
    dir: int
    seg: int
    price: Price


@dataclass(frozen=True, slots=True)
class Charge:
    """A toll paid by a vehicle that left the segment for the next."""

    xway: int
    dir: int
    seg: int
    toll: int


@dataclass(frozen=True, slots=True)
class Journey:
    """How long a way takes and what it costs, as far as we know now."""

    seconds: float
    toll: int


def notices(reports: VehicleReports, minute_ms: int = MINUTE_MS) -> dict[Crossing, Notice]:
    """What vehicles are told on their crossings, but for those on an exit ramp, who are about to leave."""
    return _ledger(reports, minute_ms)[0]


def charges(reports: VehicleReports, minute_ms: int = MINUTE_MS) -> dict[Crossing, Charge]:
    """The tolls above 0 that are paid, by the crossing that ended the stay."""
    return _ledger(reports, minute_ms)[1]


def _ledger(reports: VehicleReports, minute_ms: int) -> tuple[dict[Crossing, Notice], dict[Crossing, Charge]]:
    rows, cost, half_ms = by_vehicle(reports), prices(reports, minute_ms), minute_ms // 2
    starts = runs(rows, ("xway", "dir", "seg"), half_ms)
    crossed, begins = rows.taken(starts), np.isin(starts, runs(rows, (), half_ms)).tolist()  # those that begin a trip
    told: dict[Crossing, Notice] = {}
    paid: dict[Crossing, Charge] = {}
    owed: Notice | None = None
    columns = (crossed[name].tolist() for name in ("vid", "xway", "dir", "seg", "lane"))
    for begin, at_ms, vid, xway, direction, seg, lane in zip(begins, crossed.event_ms.tolist(), *columns, strict=True):
        crossing = Crossing(vid, at_ms)
        if owed is not None and not begin and owed.price.toll:
            paid[crossing] = Charge(owed.xway, owed.dir, owed.seg, owed.price.toll)
        owed = None
        if lane != EXIT:
            price = cost.get((at_ms - at_ms % minute_ms, xway, direction, seg), NOTHING)
            owed = told[crossing] = Notice(xway, direction, seg, price)
    return told, paid


def balances(reports: VehicleReports, minute_ms: int = MINUTE_MS) -> dict[tuple[int, int], int]:
    """By type (2 or 3) and query: what the vehicle had paid before the half minute in which it asks.

    The benchmark allows an answer to be a minute old; ours is half a minute old at most.
    """
    half_ms = minute_ms // 2
    purses: defaultdict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for (vid, at_ms), charge in charges(reports, minute_ms).items():
        purses[vid].append((at_ms, charge.xway, charge.toll))
    asked = reports.taken(np.flatnonzero(np.isin(reports["type"], (BALANCE, EXPENDITURE))))
    columns = (asked[name].tolist() for name in ("type", "qid", "vid", "xway", "day"))
    found = {}
    for at_ms, kind, qid, vid, xway, day in zip(asked.event_ms.tolist(), *columns, strict=True):
        until = at_ms - at_ms % half_ms
        found[kind, qid] = sum(
            toll
            for paid_ms, where, toll in purses[vid]
            if paid_ms < until and (kind == BALANCE or (day == 0 and where == xway))
        )
    return found


def journeys(reports: VehicleReports, minute_ms: int = MINUTE_MS) -> dict[int, Journey]:
    """By query: the way from `s_init` to `s_end` at the prices and latest average velocities of the minute it asks in."""
    cost, asked = prices(reports, minute_ms), reports.of_type(TRAVEL)
    columns = (asked[name].tolist() for name in ("qid", "xway", "s_init", "s_end"))
    found = {}
    for at_ms, qid, xway, start, end in zip(asked.event_ms.tolist(), *columns, strict=True):
        step = 1 if start <= end else -1
        minute, direction = at_ms - at_ms % minute_ms, 0 if start <= end else 1
        way = [cost.get((minute, xway, direction, seg), NOTHING) for seg in range(start, end + step, step)]
        found[qid] = Journey(sum(map(seconds, way)), sum(price.toll for price in way))
    return found


def seconds(price: Price) -> float:
    """How long a segment of one mile takes; walking pace if all there stand."""
    return 3_600 / (UNKNOWN_MPH if price.lav is None else max(price.lav, 1))


def pressures(
    reports: VehicleReports, size_ms: int, slide_ms: int, offset_ms: int = 0
) -> dict[RoadPane, tuple[int, int, float]]:
    """What the query `pressure` comes to: cars, reports of standing cars, and the lowest mean speed of a segment."""
    last_ms = slide_ms // 3
    found: dict[RoadPane, tuple[int, int, float]] = {}
    rows = reports.of_type(POSITION)
    panes: defaultdict[Segment, list[tuple[int, int]]] = defaultdict(list)
    columns = (rows[name].tolist() for name in ("xway", "dir", "seg", "vid", "spd"))
    for at_ms, xway, direction, seg, vid, spd in zip(rows.event_ms.tolist(), *columns, strict=True):
        for start in range(at_ms - (at_ms - offset_ms) % slide_ms, at_ms - size_ms, -slide_ms):
            panes[start, xway, direction, seg].append((vid, spd))
    for (start, xway, direction, _), seen in panes.items():
        moment = start + size_ms - 1  # the last of the pane
        key = moment - (moment - size_ms - offset_ms) % last_ms, xway, direction
        cars, stopped, slowest = found.get(key, (0, 0, float("inf")))
        found[key] = (
            cars + len({vid for vid, _ in seen}),
            stopped + sum(spd == 0 for _, spd in seen),
            min(slowest, sum(spd for _, spd in seen) / len(seen)),
        )
    return found
