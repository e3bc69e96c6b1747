"""Hand-made reports, and a small crowded road with tolls, accidents and questions."""

from typing import Any

import numpy as np
import pytest

from headway_lab.workloads import data
from headway_lab.workloads.feed import Feed
from headway_lab.workloads.linear_road.reports import BALANCE, EXPENDITURE, FIELDS, TRAVEL, VehicleReports, columns
from headway_lab.workloads.linear_road.traffic import Traffic

needs_real_data = pytest.mark.skipif(data.folder() is None, reason="HEADWAY_DATA names no folder with the real input")

EPOCH = 1_700_000_000_000
MINUTE_MS = 2_000  # a time-lapse: thirty times as fast
CROWDED = Traffic(
    3, EPOCH, arrivals=20, reports=20, every_ms=1_000, segments=2, pace=0.35, accident_every=40, steady=True
)  # fmt: skip


def reports(*rows: dict[str, Any]) -> VehicleReports:
    """Reports from what is told of each: `s` is its time in seconds, a segment's number decides on the position."""
    full = [{"type": 0, "vid": 1, "spd": 30, "xway": 0, "lane": 2, "dir": 0, "seg": 5, **row} for row in rows]
    full = [{"pos": row["seg"] * 5_280 + 100, **row} for row in full]
    fields = {name: np.array([row.get(name, -1) for row in full], dtype=np.int64) for name in FIELDS}
    return VehicleReports(np.array([row["s"] * 1_000 for row in full], dtype=np.int64), fields)


def joined(*parts: VehicleReports) -> VehicleReports:
    fields = {name: np.concatenate([part[name] for part in parts]) for name in FIELDS}
    return VehicleReports(np.concatenate([part.event_ms for part in parts]), fields)


def stands(vid: int, since: int, times: int, **more: Any) -> VehicleReports:
    """A vehicle that reports `times` times from one place."""
    return reports(*({"s": since + 30 * i, "vid": vid, "spd": 0, **more} for i in range(times)))


def crowded_road(seconds: int = 16) -> Feed:
    """Slow and dense traffic, of which some ask what they paid, and what the roads ahead would cost."""
    traffic = columns(CROWDED.feed(EPOCH, EPOCH + seconds * 1_000))
    asking = [{"s": 0, "type": BALANCE, "vid": vid, "qid": vid} for vid in range(200, 500, 3)]
    asking += [{"s": 0, "type": EXPENDITURE, "vid": vid, "qid": vid, "day": vid % 2} for vid in range(200, 500, 7)]
    ways = [(0, 6), (99, 93), (2, 2), (50, 52)]
    asking += [{"s": i, "type": TRAVEL, "qid": i, "s_init": ways[i % 4][0], "s_end": ways[i % 4][1]} for i in range(100)]
    questions = reports(*asking)
    late = np.where(questions["type"] == TRAVEL, questions.event_ms * seconds // 100, seconds * 1_000 - 10)
    both = joined(traffic.taken(np.flatnonzero(traffic["type"] == 0)), VehicleReports(EPOCH + late, questions.fields))
    return both.feed("crowded")
