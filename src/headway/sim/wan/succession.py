"""Which stage comes when, and which one goes on with the rows of another plan's."""

from collections.abc import Callable, Sequence

from headway.model.geo import GeoPlan
from headway.sim.wan.flows import FlowId


def levels(plan: GeoPlan) -> list[list[str]]:
    """Stages behind the sources, each level reading only levels before it."""
    level: dict[str, int] = {}
    for stage in plan.stages:
        level[stage.name] = 1 + max((level[name] for name in stage.inputs), default=-1)
    deepest = max(level.values())
    return [[name for name, at in level.items() if at == n] for n in range(1, deepest + 1)]


def heirs_of(old: GeoPlan, new: GeoPlan) -> Callable[[FlowId], str]:
    """To which stage of the new plan the rows of a flow go: the stage that reads their sender there, or has all that is in
    them."""
    readers = {name: s.name for s in reversed(new.stages) for name in s.inputs}
    covers: dict[str, Sequence[str]] = {s.name: s.covers for s in (*old.stages, *new.stages)}
    names = set(new.names)

    def heir(flow: FlowId) -> str:
        if flow.stage in names and (flow.sender in new.stage(flow.stage).inputs or old == new):
            return flow.stage
        if flow.sender in readers:
            return readers[flow.sender]
        wanted = set(covers.get(flow.sender, ()))
        fitting = [s for s in new.stages if s.kind not in ("source", "partial") and wanted <= set(s.covers)]
        # The sender's rows have been through something: the first stage that brings them together with others, or the sink.
        return min(fitting, key=lambda s: len(s.covers)).name

    return heir
