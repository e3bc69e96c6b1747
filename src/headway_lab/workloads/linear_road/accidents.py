"""The published rules on accidents, in numpy: who stood where, and when two stood together.

The benchmark's vehicles report every half minute. One that misses a report has left; if it comes back, that is a new trip.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headway_lab.workloads.linear_road.reports import MINUTE_MS, POSITION, SEGMENTS, Longs, VehicleReports

REACH = 5  # an accident is felt in its segment and the four before it
STOPPED = 4  # equal reports that make a stopped vehicle


class Place(NamedTuple):
    xway: int
    dir: int
    lane: int
    seg: int
    pos: int


class Standstill(NamedTuple):
    """A vehicle stands from the fourth equal report until it reports from elsewhere, or fails to report."""

    since_ms: int
    until_ms: int
    vid: int


@dataclass(frozen=True, slots=True)
class Accident:
    """A time during which at least two vehicles stood at one place."""

    place: Place
    detected_ms: int  # the report that made the second vehicle a stopped one
    cleared_ms: int  # when fewer than two were left
    vids: tuple[int, ...]


class HalfMinute(NamedTuple):
    """What a half minute sees of an accident."""

    since_ms: int  # the first moment in it at which two stood
    fresh: bool  # they did not when it began
    vids: tuple[int, ...]  # all that stood there at some moment in it


def by_vehicle(reports: VehicleReports) -> VehicleReports:
    """The position reports, those of a vehicle together and in their order."""
    rows = reports.of_type(POSITION)
    return rows.taken(np.lexsort((rows.event_ms, rows["vid"])))


def runs(rows: VehicleReports, fields: tuple[str, ...], half_ms: int) -> Longs:
    """Where, in the rows of `by_vehicle`, one begins that does not repeat `fields` of the report before."""
    same = np.diff(rows["vid"]) == 0
    same &= np.diff(rows.event_ms) <= half_ms
    for field in fields:
        same &= np.diff(rows[field]) == 0
    return np.flatnonzero(np.concatenate([[True], ~same])) if len(rows) else np.empty(0, dtype=np.int64)


def stays(reports: VehicleReports, minute_ms: int = MINUTE_MS) -> dict[Place, list[Standstill]]:
    """Where vehicles stood."""
    half_ms = minute_ms // 2
    rows = by_vehicle(reports)
    begins = runs(rows, ("xway", "dir", "lane", "pos"), half_ms)
    ends = np.append(begins[1:], len(rows))
    long = ends - begins >= STOPPED
    found: defaultdict[Place, list[Standstill]] = defaultdict(list)
    for begin, end in zip(begins[long].tolist(), ends[long].tolist(), strict=True):
        left = int(rows.event_ms[end - 1]) + half_ms  # when its next report was due
        if end < len(rows) and rows["vid"][end] == rows["vid"][begin]:
            left = min(left, int(rows.event_ms[end]))
        place = Place(*(int(rows[field][begin]) for field in Place._fields))
        found[place].append(Standstill(int(rows.event_ms[begin + STOPPED - 1]), left, int(rows["vid"][begin])))
    return found


def accidents(reports: VehicleReports, minute_ms: int = MINUTE_MS) -> list[Accident]:
    """All accidents, in the order of their detection."""
    found = [Accident(place, *when) for place, vehicles in stays(reports, minute_ms).items() for when in _crowded(vehicles)]
    return sorted(found, key=lambda accident: (accident.detected_ms, accident.place))


def _crowded(vehicles: list[Standstill]) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """When two or more stood: from, until, who. At the same moment one leaves before another stops."""
    moments = sorted(
        [(stay.until_ms, 0, stay.vid) for stay in vehicles] + [(stay.since_ms, 1, stay.vid) for stay in vehicles]
    )
    here: set[int] = set()
    involved: set[int] = set()
    since = 0
    for at, stops, vid in moments:
        before = len(here)
        here = here | {vid} if stops else here - {vid}
        if before < 2 <= len(here):
            since, involved = at, set(here)
        elif before >= 2 > len(here):
            yield since, at, tuple(sorted(involved))
        involved |= here


def halves(reports: VehicleReports, minute_ms: int = MINUTE_MS) -> dict[tuple[int, Place], HalfMinute]:
    """By the begin of a half minute and place: what a query that looks every half minute sees of the accidents."""
    half_ms = minute_ms // 2
    standing = stays(reports, minute_ms)
    found: dict[tuple[int, Place], HalfMinute] = {}
    for accident in accidents(reports, minute_ms):  # by time: of two in one half minute, the first is told
        first = accident.detected_ms - accident.detected_ms % half_ms
        for start in range(first, accident.cleared_ms, half_ms):
            vehicles = (s.vid for s in standing[accident.place] if s.since_ms < start + half_ms and s.until_ms > start)
            fresh = accident.detected_ms >= start
            seen = HalfMinute(max(accident.detected_ms, start), fresh, tuple(sorted(vehicles)))
            found.setdefault((start, accident.place), seen)
    return found


def affected_segments(direction: int, seg: int) -> range:
    """The segments from which vehicles come upon an accident in `seg`: direction 0 goes up, 1 down."""
    return range(max(seg - REACH + 1, 0), seg + 1) if direction == 0 else range(seg, min(seg + REACH, SEGMENTS))
