"""Several queries as one plan: stages that do the same to the same rows are there once."""

from collections.abc import Sequence
from dataclasses import replace

from headway.errors import SettingError
from headway.model.geo import GeoPlan, Stage
from headway.wan.plan.check import plan_of

Key = tuple[object, ...]


def merged(name: str, plans: Sequence[GeoPlan]) -> GeoPlan:
    """One plan for all of these. Whether it pays is seen by placing it: `policy.adaptation.sharing`."""
    if not plans:
        raise SettingError(f"{name}.plans", (), "one plan or more")
    keys: dict[Key, str] = {}  # what a stage does -> its name in the merged plan
    stages: list[Stage] = []
    taken: set[str] = set()
    for plan in plans:
        own: dict[str, str] = {}  # name in this plan -> name in the merged one
        for stage in plan.stages:
            inputs = tuple(own[other] for other in stage.inputs)
            key = _does(stage, inputs)
            # A sink is of one query: its results are wanted there.
            if stage.kind != "sink" and key in keys:
                own[stage.name] = keys[key]
                continue
            new = stage.name if stage.name not in taken else f"{plan.name}.{stage.name}"
            taken.add(new)
            own[stage.name] = keys[key] = new
            stages.append(replace(stage, name=new, inputs=inputs, covers=()))
    return plan_of(name, stages)


def _does(stage: Stage, inputs: tuple[str, ...]) -> Key:
    what = replace(stage, name="", inputs=(), covers=())
    return what, tuple(sorted(inputs)), stage.name if stage.kind == "source" else ""
