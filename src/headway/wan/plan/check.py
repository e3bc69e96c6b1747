"""What may be wrong with a plan, in one line each."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from headway.errors import SettingError
from headway.model.geo import GeoPlan, Stage

JOINING = ("combine", "join")


def plan_of(name: str, stages: Iterable[Stage], sites: Sequence[str] | None = None) -> GeoPlan:
    """A plan with its stages in order, each knowing which sources are in it. Whatever cannot work is told."""
    listed = list(stages)
    names = [stage.name for stage in listed]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise SettingError(f"{name}.stages", twice[0], "each name once")
    for stage in listed:
        unknown = [other for other in stage.inputs if other not in names]
        if unknown:
            raise SettingError(f"{name}.{stage.name}.inputs", unknown[0], f"one of {', '.join(names)}")
    plan = GeoPlan(name, tuple(_covering(_in_order(name, listed))))
    check_plan(plan, sites)
    return plan


def check_plan(plan: GeoPlan, sites: Sequence[str] | None = None) -> None:
    """`sites`: of the area, if that is known."""
    read = {name for stage in plan.stages for name in stage.inputs}
    for stage in plan.stages:
        key = f"{plan.name}.{stage.name}"
        if stage.kind == "source" and (stage.site is None or stage.inputs):
            raise SettingError(f"{key}.site", stage.site, "the site where its rows come into being, and no inputs")
        if stage.kind != "source" and not stage.inputs:
            raise SettingError(f"{key}.inputs", (), "one input or more: only sources have none")
        if sites is not None and stage.site is not None and stage.site not in sites:
            raise SettingError(f"{key}.site", stage.site, f"one of {', '.join(sites)}")
        if stage.kind != "sink" and stage.name not in read:
            raise SettingError(f"{key}", stage.kind, "a stage that reads it: what is not read need not be made")
        if stage.kind == "sink" and stage.name in read:
            raise SettingError(f"{key}", "sink", "no stage behind a sink")
        if not stage.task_per_s > 0 or stage.selectivity < 0 or stage.state_mb < 0:
            raise SettingError(f"{key}.task_per_s", stage.task_per_s, "more than 0, and nothing else below 0")
        _check_progress(plan, stage)


def _check_progress(plan: GeoPlan, stage: Stage) -> None:
    """A combiner emits a window when all that it hears have come past its end: each of them has to say how far it is."""
    if stage.kind not in JOINING:
        return
    key = f"{plan.name}.{stage.name}"
    if stage.kind == "combine" and not stage.window_ms:
        raise SettingError(f"{key}.window_ms", 0, "a window: without one it never knows that its inputs are complete")
    silent = [name for name in stage.covers if not plan.stage(name).progress]
    if silent and stage.window_ms:
        raise SettingError(
            f"{key}.inputs",
            silent[0],
            "sources with an event time: no window ends while one of them says nothing of its progress",
        )


def _in_order(name: str, stages: list[Stage]) -> list[Stage]:
    out: list[Stage] = []
    left = list(stages)
    while left:
        done = {stage.name for stage in out}
        fresh = [stage for stage in left if set(stage.inputs) <= done]
        if not fresh:
            raise SettingError(f"{name}.stages", " -> ".join(_circle(left)), "no circle: rows must not come back to a stage")
        out += fresh
        left = [stage for stage in left if stage not in fresh]
    return out


def _circle(stages: list[Stage]) -> list[str]:
    by_name = {stage.name: stage for stage in stages}
    way = [stages[0].name]
    while way.count(way[-1]) < 2:  # upstream, until a stage comes up again
        way.append(next(name for name in by_name[way[-1]].inputs if name in by_name))
    return way[way.index(way[-1]) :][::-1]


def _covering(stages: list[Stage]) -> list[Stage]:
    covers: dict[str, tuple[str, ...]] = {}
    for stage in stages:
        found = {name for above in stage.inputs for name in covers[above]}
        covers[stage.name] = (stage.name,) if stage.kind == "source" else tuple(sorted(found))
    return [replace(stage, covers=covers[stage.name]) for stage in stages]
