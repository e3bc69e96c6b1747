"""The published rules on speeds and the price of a segment, in numpy: what a run has to come to.

A minute goes by the time in ms at which it begins. All times are event times: the rules know no lateness.
"""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from headway_lab.workloads.linear_road.accidents import accidents, affected_segments
from headway_lab.workloads.linear_road.reports import MINUTE_MS, POSITION, SEGMENTS, VehicleReports

Segment = tuple[int, int, int, int]  # when a minute begins, expressway, direction, segment

FREE_CARS = 50  # so many vehicles in a segment, or fewer, pay nothing
FREE_MPH = 40 - 1e-9  # nor do those that drive at 40 mph or faster; less a margin, as sums of averages are rounded
UNKNOWN_MPH = 55  # the usual speed on the travel lanes of the real input


@dataclass(frozen=True, slots=True)
class Statistic:
    """What one minute saw in a segment."""

    speed: float  # the mean of its vehicles' mean speeds, mph
    cars: int


@dataclass(frozen=True, slots=True)
class Price:
    """What a segment costs in a minute, and why."""

    lav: float | None  # latest average velocity: over the five minutes before, if any saw a vehicle
    cars: int  # in the minute before
    accident: bool  # in the minute before, at most four segments ahead
    toll: int


def statistics(reports: VehicleReports, minute_ms: int = MINUTE_MS) -> dict[Segment, Statistic]:
    """Speed and number of cars of every segment and minute with a position report."""
    rows = reports.of_type(POSITION)
    if not len(rows):
        return {}
    minute = rows.event_ms // minute_ms
    first, xways, vids = int(minute.min()), int(rows["xway"].max()) + 1, int(rows["vid"].max()) + 1
    place = (((minute - first) * xways + rows["xway"]) * 2 + rows["dir"]) * SEGMENTS + rows["seg"]
    visits, visit = np.unique(place * vids + rows["vid"], return_inverse=True)
    means = np.bincount(visit, rows["spd"]) / np.bincount(visit)
    places, where = np.unique(visits // vids, return_inverse=True)
    cars = np.bincount(where)
    speeds = np.bincount(where, means) / cars
    found: dict[Segment, Statistic] = {}
    for key, speed, count in zip(places.tolist(), speeds.tolist(), cars.tolist(), strict=True):
        rest, seg = divmod(key, SEGMENTS)
        rest, direction = divmod(rest, 2)
        at, xway = divmod(rest, xways)
        found[(first + at) * minute_ms, xway, direction, seg] = Statistic(speed, count)
    return found


def average_speeds(reports: VehicleReports, minute_ms: int = MINUTE_MS) -> dict[Segment, tuple[float, int]]:
    """For each minute and segment with a vehicle in the five minutes before: mean speed of those, cars of the last."""
    known = statistics(reports, minute_ms)
    speeds: defaultdict[Segment, list[float]] = defaultdict(list)
    for (start, xway, direction, seg), statistic in known.items():
        for later in range(1, 6):
            speeds[start + later * minute_ms, xway, direction, seg].append(statistic.speed)
    found = {}
    for (start, xway, direction, seg), means in speeds.items():
        last = known.get((start - minute_ms, xway, direction, seg))
        found[start, xway, direction, seg] = (sum(means) / len(means), 0 if last is None else last.cars)
    return found


def prices(reports: VehicleReports, minute_ms: int = MINUTE_MS) -> dict[Segment, Price]:
    """What every segment costs in every minute of which something is known."""
    blocked: set[Segment] = set()
    for accident in accidents(reports, minute_ms):
        place = accident.place
        first, last = accident.detected_ms // minute_ms, (accident.cleared_ms - 1) // minute_ms
        for minute in range(first + 1, last + 2):  # vehicles that come in the minutes after one that saw the accident
            blocked.update(
                (minute * minute_ms, place.xway, place.dir, seg) for seg in affected_segments(place.dir, place.seg)
            )
    speeds = average_speeds(reports, minute_ms)
    found = {}
    for key in speeds.keys() | blocked:
        lav, cars = speeds.get(key, (None, 0))
        found[key] = Price(lav, cars, key in blocked, toll(lav, cars, key in blocked))
    return found


def toll(lav: float | None, cars: int, accident: bool) -> int:
    """The published formula: free where traffic flows, is thin, or meets an accident; else 2 (cars - 50)²."""
    if lav is None or lav >= FREE_MPH or cars <= FREE_CARS or accident:
        return 0
    return 2 * (cars - FREE_CARS) ** 2
