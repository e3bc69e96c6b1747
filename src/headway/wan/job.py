"""A geo pipeline that can be run: a query over many sites, with what Spark needs to read, aggregate and deliver its rows.

    job = GeoJob(query, schema="country string, topic string, created timestamp", time="created", sink=deliver)

stands in a file that `headway wan run FILE` is given. `sink` is called once at the site of the sink, with the name of the
streaming query that delivers, and returns what `foreachBatch` is given: a function of a batch and its number.
"""

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway import pipeline
from headway.errors import HeadwayError, SettingError
from headway.model.geo import GeoPlan
from headway.model.time import duration_ms
from headway.wan.plan.orders import logical_plans
from headway.wan.plan.query import FilterRows, GeoQuery, WindowAggregate, WindowedJoin, pushed

Deliver = Callable[[Any, int], None]
Sink = Callable[[str], Deliver]
AT = "at"  # the time of a row, on its way between sites
TAKEN = (AT, "window")  # names of columns that are ours


@dataclass(frozen=True, slots=True)
class GeoJob:
    """What is run at the sites of a query, and where its results go."""

    query: GeoQuery
    schema: str  # of a source's records, which are JSON
    time: str  # the column of the event time, or an expression of Spark's SQL such as timestamp_millis(event_ms)
    sink: Sink
    patience: str | int = "1 second"  # with rows of a source
    idle_after: str | int = "30 seconds"  # a source that is silent for so long is waited for no more

    def __post_init__(self) -> None:
        query, last = self.query, self.query.last
        key = query.name
        if not key.replace("-", "").replace("_", "").isalnum():
            raise SettingError("query.name", key, "letters, digits, - and _: topics and queries are named after it")
        if isinstance(last, WindowedJoin):
            raise SettingError(f"{key}.last", "a join", "an aggregate or nothing: joins are planned, not run yet")
        if query.sink_site is None:
            raise SettingError(f"{key}.sink_site", None, "the site where results are delivered")
        if query.after:
            raise SettingError(f"{key}.after", len(query.after), "filters among the steps, or in the sink")
        for step in query.steps:
            sql = step.where if isinstance(step, FilterRows) else step.select
            if not sql:
                raise SettingError(f"{key}.steps", type(step).__name__, "where= or select= in Spark's SQL, to be run")
        if isinstance(last, WindowAggregate):
            _check_aggregate(key, last)
        duration_ms("patience", self.patience)

    @property
    def plans(self) -> tuple[GeoPlan, ...]:
        return logical_plans(self.query)

    @property
    def ordered(self) -> GeoQuery:
        """With its filters where they are applied."""
        return pushed(self.query)

    @property
    def aggregate(self) -> WindowAggregate | None:
        return self.query.last if isinstance(self.query.last, WindowAggregate) else None

    def plan(self, name: str) -> GeoPlan:
        for plan in self.plans:
            if plan.name == name:
                return plan
        raise SettingError("plan", name, f"one of {', '.join(plan.name for plan in self.plans)}")

    def topic(self, source: str) -> str:
        """Where the rows of a source are."""
        found = next(one for one in self.query.sources if one.name == source)
        return found.topic or found.name


def _check_aggregate(key: str, last: WindowAggregate) -> None:
    if not last.values or not last.by:
        raise SettingError(f"{key}.last.values", last.values, "one MergedValue or more, and columns to group `by`")
    names = [value.name for value in last.values] + list(last.by)
    if twice := sorted({name for name in names if names.count(name) > 1 or name in TAKEN}):
        raise SettingError(f"{key}.last.values", twice[0], f"names of their own, and none of {', '.join(TAKEN)}")
    top = last.top
    if top is not None and (unknown := ({top.by} - {v.name for v in last.values}) | (set(top.per) - set(last.by))):
        raise SettingError(f"{key}.last.top", min(unknown), f"names among {', '.join(names)}")


def job_in(path: Path) -> GeoJob:
    """What the variable `job` of a file is."""
    pipeline.check(path)
    name = f"headway_geo_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise HeadwayError(f"job = {str(path)!r}: expected a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    found = getattr(module, "job", None)
    if not isinstance(found, GeoJob):
        raise HeadwayError(f"job = {str(path)!r}: expected a GeoJob named `job` in it")
    return found
