"""Which technique, in which order: the decision of Fig. 6, and how the last one is judged."""

from collections.abc import Sequence
from dataclasses import replace

from headway.model.adaptation import (
    AdaptationDecision,
    AdaptationMemory,
    AreaView,
    Awaited,
    Degrade,
    ExpectedEffect,
    Keep,
    Placed,
    Reassign,
    Replan,
    ScaleDown,
    ScaleOut,
    ScaleUp,
    Technique,
    technique_of,
)
from headway.model.geo import Stage
from headway.model.time import WallMs
from headway.policy.adaptation.diagnosis import Diagnosis
from headway.policy.adaptation.remedies import (
    Remedy,
    Ward,
    reassigned,
    replanned,
    scaled_down,
    scaled_out,
    scaled_up,
)

REACHED = 0.95  # of what was expected of a change
PLACES: dict[Technique, type[Reassign | ScaleUp | ScaleOut | ScaleDown]] = {
    "re-assign": Reassign, "scale-up": ScaleUp, "scale-out": ScaleOut, "scale-down": ScaleDown,
}  # fmt: skip


def order_of(stage: Stage, ailment: str) -> tuple[Technique, ...]:
    """Fig. 6. Where the first does not help the next is tried, also where the figure ends."""
    if ailment == "over-allocated":
        return ("scale-down",)
    if not stage.free:  # it has to be where it is
        return ("scale-up", "re-plan") if ailment == "compute-bound" else ("re-plan",)
    if not stage.splittable:
        return ("re-plan", "re-assign")
    if ailment == "compute-bound":
        return ("scale-up", "scale-out", "re-plan")
    if stage.stateful:
        return ("re-assign", "scale-out", "re-plan")
    return ("re-plan", "re-assign", "scale-out")


def decided(
    ward: Ward, found: Diagnosis, techniques: frozenset[Technique], memory: AdaptationMemory, settle_ms: int
) -> Placed | Keep:
    """The first technique that has a remedy; why each of those before it has none is told."""
    assert found.place is not None
    stage = ward.seen.plan.stages[found.place]
    failed: list[str] = []
    order = [t for t in order_of(stage, found.ailment) if t in techniques]
    # What did not help a moment ago is tried again only if nothing else is left.
    vain = {technique for name, technique in memory.in_vain if name == stage.name}
    for technique in sorted(order, key=lambda t: t in vain):
        made = _tried(ward, technique, found)
        if isinstance(made, str):
            failed.append(f"{technique}: {made}")
            continue
        because = "; ".join((found.because, *failed, made.says))
        return _placed(ward, technique, made, because, stage.name, settle_ms)
    if found.ailment == "network-bound" and "scale-out" in order:
        made = scaled_out(ward, found.place, compute=False, beyond=True)
        if not isinstance(made, str):
            because = "; ".join((found.because, *failed, f"{made.says}, above p_max since nothing else helps"))
            return _placed(ward, "scale-out", made, because, stage.name, settle_ms)
    return Keep("; ".join((found.because, *failed)) + ("" if order else "; nothing of this policy is for that"))


def _tried(ward: Ward, technique: Technique, found: Diagnosis) -> Remedy | str:
    assert found.place is not None
    match technique:
        case "re-assign":
            return reassigned(ward, found.place)
        case "scale-up":
            return scaled_up(ward, found.place)
        case "scale-out":
            return scaled_out(ward, found.place, compute=found.ailment == "compute-bound")
        case "scale-down":
            return scaled_down(ward, found.place)
        case "re-plan":
            return replanned(ward)
    return "not for one stage"


def _placed(ward: Ward, technique: Technique, made: Remedy, because: str, stage: str, settle_ms: int) -> Placed:
    seen = ward.seen
    by = WallMs(seen.now + round(1000 * made.takes_s) + settle_ms)
    if technique == "re-plan":  # the stage may not be in the new plan, the last one is
        streams = ward.streams if made.plan == seen.plan else ward.streams.of(made.plan)
        stage, wanted = made.plan.names[-1], float(streams.rates.into[-1])
    else:
        wanted = float(ward.streams.rates.into[seen.plan.index(stage)])
    expect = ExpectedEffect(
        stage, REACHED * wanted, by, made.takes_s, made.network_ms, made.usd_h, made.gap
    )  # fmt: skip
    if technique == "re-plan":
        return Replan(made.plan, made.deployed, because, made.at_window_end, made.moves, expect)
    return PLACES[technique](stage, made.deployed, because, made.moves, expect)


def judged(seen: AreaView, wanted: Sequence[float], memory: AdaptationMemory) -> AdaptationMemory:
    """Whether the last change did what was expected of it, once its time is over."""
    awaited = memory.awaited
    if awaited is None or seen.changing or seen.now < awaited.expect.by:
        return memory
    stage = awaited.expect.stage
    if stage not in seen.plan.names:
        return replace(memory, awaited=None, says=f"{awaited.technique} of {stage}: the plan has changed since")
    place = seen.plan.index(stage)
    got = seen.rates[place].processed
    least = min(awaited.expect.at_least, REACHED * wanted[place])
    if got >= least:
        return AdaptationMemory(None, memory.in_vain, f"{awaited.technique} of {stage} did what was expected")
    vain = tuple(dict.fromkeys((*memory.in_vain, (stage, awaited.technique))))
    says = f"{awaited.technique} of {stage} did not: {got:,.0f} rows/s, {least:,.0f} expected"
    return AdaptationMemory(None, vain, says)


def remembered(decision: AdaptationDecision, memory: AdaptationMemory) -> AdaptationMemory:
    """What is expected of this decision is judged later."""
    if isinstance(decision, Keep | Degrade) or decision.expect is None:
        return memory
    return replace(memory, awaited=Awaited(technique_of(decision), decision.expect))
