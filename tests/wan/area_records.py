"""Records of a small pipeline over three sites, for tests of what becomes of them."""

from dataclasses import replace

from headway.model.geo import Deployment, GeoPlan
from headway.wan.control.changes import first_plan
from headway.wan.control.record import AreaRecord
from headway.wan.control.sites import SiteAddress
from headway.wan.plan import FilterRows, GeoQuery, GeoSource, WindowAggregate, logical_plans

NAMES = ("frankfurt", "ohio", "tokyo")
SITES = {name: SiteAddress(name, f"http://{name}:1", f"http://{name}:2", f"{name}:3", f"/data/{name}") for name in NAMES}
COUNT = WindowAggregate(10_000, keys=500, row_bytes=40, state_mb=50, by=("country",))


def plans(stateless: bool = False) -> tuple[GeoPlan, ...]:
    sources = tuple(GeoSource(f"in-{name}", name) for name in NAMES)
    if stateless:
        return logical_plans(GeoQuery("q", sources, (FilterRows(0.1),), sink_site="ohio"))
    return logical_plans(GeoQuery("q", sources, last=COUNT, sink_site="ohio"))


def deployed(plan: GeoPlan, free: tuple[int, ...]) -> Deployment:
    """All stages that may be anywhere with these tasks."""
    return Deployment.of(tuple(int(name == s.site) for name in NAMES) if s.site else free for s in plan.stages)


def running(plan: GeoPlan, free: tuple[int, ...] = (0, 1, 0)) -> AreaRecord:
    """Everything has begun."""
    record = first_plan("q", tuple(SITES.values()), plan, deployed(plan, free))
    pieces = tuple(replace(placed, begun=True) for placed in record.current.pieces)
    return record.with_plan(replace(record.current, pieces=pieces))
