"""What is wrong with a pipeline, if anything: the first stage from the sources on that does not keep up, and with what.

Healthy is a stage that processes what arrives, and at which about as much arrives as its inputs send (section 3.2).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from headway.model.adaptation import AreaView, StageRates
from headway.model.geo import Stage
from headway.policy.adaptation.streams import Streams

Ailment = Literal["healthy", "compute-bound", "network-bound", "over-allocated"]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Of a pipeline: its ailment, at which stage, and in words."""

    ailment: Ailment
    place: int | None
    because: str


@dataclass(frozen=True, slots=True)
class Thresholds:
    """From when on something is wrong."""

    tolerance: float = 0.05  # less of a rate is noise
    lasting: float = 0.002  # the same once a stage has lagged for long: one thin link of many takes little off the sum
    long_ms: int = 30_000
    catch_up_s: float = 60.0  # within this what waits should be gone
    low: float = 0.7  # of what is left of the tasks' power that one task less may use
    calm_ms: int = 80_000  # before a task is taken away


def diagnose(seen: AreaView, streams: Streams, limits: Thresholds) -> Diagnosis:
    """The first stage that is bound, else the first that has a task too many, else none."""
    for place, rates in enumerate(seen.rates):
        if seen.plan.stages[place].kind == "source":
            continue
        if (bound := _bound(seen, streams, place, limits)) is not None:
            return Diagnosis(bound[0], place, f"{rates.stage} {bound[1]}")
    for place, rates in enumerate(seen.rates):
        if (spare := _spare(seen, streams, place, limits)) is not None:
            return Diagnosis("over-allocated", place, f"{rates.stage} {spare}")
    return Diagnosis("healthy", None, "every stage processes what is sent to it")


def _bound(seen: AreaView, streams: Streams, place: int, limits: Thresholds) -> tuple[Ailment, str] | None:
    rates, plan = seen.rates[place], seen.plan
    sent = sum(seen.rates[plan.index(name)].emitted for name in plan.stages[place].inputs)
    late_s = rates.waiting / max(1.0, float(streams.rates.into[place]))
    can = seen.deployed.parallelism(place) * plan.stages[place].task_per_s
    wanted = float(streams.rates.into[place])
    words = f"processes {rates.processed:,.0f} of {wanted:,.0f} rows/s"
    # The rates alone do not tell a stage that has just fallen behind from one that makes up for what has waited.
    if rates.processed < (1 - limits.tolerance) * rates.arrived or can < wanted:
        return "compute-bound", f"{words}, {rates.arrived:,.0f} arrive; its tasks are too few"
    lasts = rates.strained_ms >= limits.long_ms
    if rates.arrived < (1 - (limits.lasting if lasts else limits.tolerance)) * sent and (lasts or late_s > 1):
        return "network-bound", f"{words}: {rates.arrived:,.0f} of {sent:,.0f} arrive"
    if late_s <= limits.catch_up_s:
        return None
    spare = can - wanted
    if spare * limits.catch_up_s < rates.waiting and rates.processed >= (1 - limits.tolerance) * can:
        return "compute-bound", f"has {late_s:,.0f} s of rows waiting, and its tasks are busy"
    full = (streams.fill(seen.deployed) > 1).any()
    return ("network-bound", f"has {late_s:,.0f} s of rows waiting, and a link is too thin") if full else None


def _spare(seen: AreaView, streams: Streams, place: int, limits: Thresholds) -> str | None:
    stage, rates = seen.plan.stages[place], seen.rates[place]
    tasks = seen.deployed.parallelism(place)
    if not _may_shrink(stage, rates, tasks, limits):
        return None
    left = (tasks - 1) * stage.task_per_s
    wanted = float(streams.rates.into[place])
    if wanted > limits.low * left or rates.waiting > wanted:
        return None
    return f"has {tasks} tasks for {wanted:,.0f} rows/s, and {tasks - 1} would be {wanted / left:.0%} busy"


def _may_shrink(stage: Stage, rates: StageRates, tasks: int, limits: Thresholds) -> bool:
    return stage.free and stage.splittable and tasks > 1 and rates.calm_ms >= limits.calm_ms


def unhandled_per_s(seen: AreaView, streams: Streams, place: int) -> float:
    """Rows a second that the links into a stage cannot carry."""
    fill = streams.fill(seen.deployed)
    worst = float(np.max(fill[:, list(seen.deployed.sites(place))], initial=0.0))
    wanted = float(streams.rates.into[place])
    by_rate = max(0.0, wanted - seen.rates[place].arrived)
    return max(by_rate, wanted * (1 - 1 / worst) if worst > 1 else 0.0)
