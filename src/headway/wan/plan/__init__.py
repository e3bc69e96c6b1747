"""Geo plans: what a user writes, the plans with the same results that it stands for, and what is wrong with one.

query = GeoQuery(
    "topics",
    sources=(GeoSource("tweets-eu", site="frankfurt", row_bytes=900), GeoSource("tweets-us", site="ohio", row_bytes=900)),
    steps=(FilterRows(keep=0.5, reads=("language",)), MapRows(row_bytes=60)),
    last=WindowAggregate(window_ms=30_000, keys=5_000, row_bytes=80, state_mb=100),
)
plans = logical_plans(query)
"""

from headway.wan.plan.check import check_plan, plan_of
from headway.wan.plan.orders import logical_plans
from headway.wan.plan.query import (
    FilterRows,
    GeoQuery,
    GeoSource,
    MapRows,
    MergedValue,
    TopRows,
    WindowAggregate,
    WindowedJoin,
    pushed,
)
from headway.wan.plan.sharing import merged

__all__ = [
    "FilterRows",
    "GeoQuery",
    "GeoSource",
    "MapRows",
    "MergedValue",
    "TopRows",
    "WindowAggregate",
    "WindowedJoin",
    "check_plan",
    "logical_plans",
    "merged",
    "plan_of",
    "pushed",
]
