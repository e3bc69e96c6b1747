"""What buses and road sensors say, and which of it means trouble: the same rule for Spark and for Python."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from headway.errors import SettingError
from headway_lab.workloads.feed import Feed, Longs

# Of the JSON that a report is. What a city does not tell is null, or is not there.
BUS = "event_ms long, vehicle string, area int, lon double, lat double, delay_s int, congested boolean, speed_kmh int"
ROAD = "event_ms long, sensor string, area int, lon double, lat double, speed_kmh int, normal_kmh int, vehicles int"

LATE_S = 300  # a bus so far behind its timetable is in trouble,
CRAWL_KMH = 5  # and so is one that is slower than this
SLOW_TENTHS = 7  # a road is, while cars on it are slower than so many tenths of what is normal there

BUS_TROUBLE = (
    f"coalesce(congested, false) or coalesce(delay_s, 0) >= {LATE_S} or coalesce(speed_kmh, {CRAWL_KMH}) < {CRAWL_KMH}"
)
ROAD_TROUBLE = f"coalesce(vehicles > 0 and speed_kmh * 10 < normal_kmh * {SLOW_TENTHS}, false)"

Said = Mapping[str, Any]


def bus_in_trouble(said: Said) -> bool:
    """`BUS_TROUBLE` in Python."""
    delay_s, speed_kmh = said.get("delay_s"), said.get("speed_kmh")
    late, crawls = delay_s is not None and delay_s >= LATE_S, speed_kmh is not None and speed_kmh < CRAWL_KMH
    return bool(said.get("congested")) or late or crawls


def road_in_trouble(said: Said) -> bool:
    """`ROAD_TROUBLE` in Python."""
    vehicles, speed_kmh, normal_kmh = (said.get(name) for name in ("vehicles", "speed_kmh", "normal_kmh"))
    if vehicles is None or speed_kmh is None or normal_kmh is None:
        return False
    return bool(vehicles > 0 and speed_kmh * 10 < normal_kmh * SLOW_TENTHS)


RULES: dict[str, Callable[[Said], bool]] = {"bus": bus_in_trouble, "road": road_in_trouble}


@dataclass(frozen=True, eq=False)
class Troubles:
    """The reports of a stream that mean trouble: when and where."""

    event_ms: Longs
    area: Longs


def troubles(feed: Feed, kind: str) -> Troubles:
    """Those of a feed of the kind `bus` or `road`."""
    if kind not in RULES:
        raise SettingError("traffic.kind", kind, f"one of {', '.join(RULES)}")
    said = json.loads(b"[{%b}]" % b"},{".join(feed.body)) if len(feed) else []
    kept = np.array([n for n, report in enumerate(said) if RULES[kind](report)], dtype=np.int64)
    return Troubles(feed.event_ms[kept], np.array([said[n]["area"] for n in kept], dtype=np.int64))
