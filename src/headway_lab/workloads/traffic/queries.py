"""Congestion as a streaming query: native windows, one aggregate."""

from typing import Any

from headway_lab.workloads.feed import parsed
from headway_lab.workloads.traffic.reports import BUS, BUS_TROUBLE, ROAD, ROAD_TROUBLE
from headway_lab.workloads.traffic.truth import SIZE_MS, SLIDE_MS, require_windows


def buses(rows: Any) -> Any:
    """The reports of buses in column `value`: `event_time`, `area`, `trouble`, beside the other columns.

    Put the watermark on the result, not on what is left of it after a filter: how far the buses have come is told by all of
    their reports, and trouble is rare.
    """
    return _reports(rows, BUS, BUS_TROUBLE)


def roads(rows: Any) -> Any:
    """The same of road sensors."""
    return _reports(rows, ROAD, ROAD_TROUBLE)


def congestion(bus: Any, road: Any, size_ms: int = SIZE_MS, slide_ms: int = SLIDE_MS) -> Any:
    """Where and when both report trouble. Columns: window, area, buses, roads (how many reports of each).

    It is a join by window and area. Both sides only count, so it is done as one aggregate over their union: one state where
    two aggregates and a join would keep six, and nothing that closes later than its window.
    """
    require_windows(size_ms, slide_ms)
    lengths = f"'{size_ms} milliseconds', '{slide_ms} milliseconds'"
    one = bus.where("trouble").selectExpr("event_time", "area", "1 as bus", "0 as road")
    other = road.where("trouble").selectExpr("event_time", "area", "0 as bus", "1 as road")
    # Two inputs of one task each are two tasks; together in one they need no shuffle.
    both = one.union(other).coalesce(1)
    return (
        both.selectExpr(f"window(event_time, {lengths}) as window", "area", "bus", "road")
        .groupBy("window", "area")
        .agg({"bus": "sum", "road": "sum"})
        .selectExpr("window", "area", "`sum(bus)` as buses", "`sum(road)` as roads")
        .where("buses > 0 and roads > 0")
    )


def _reports(rows: Any, schema: str, trouble: str) -> Any:
    others = [name for name in rows.columns if name != "value"]
    return parsed(rows, schema).selectExpr("event_time", "area", f"{trouble} as trouble", *others)
