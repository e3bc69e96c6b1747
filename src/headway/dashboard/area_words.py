"""Decisions about a wide area, for people."""

from collections.abc import Iterator

from headway.model.adaptation import AdaptationDecision, AreaView, Degrade, Keep, Replan, technique_of
from headway.model.geo import Deployment, GeoPlan


def area_words(decided: AdaptationDecision) -> str:
    match decided:
        case Keep():
            return "nothing changes"
        case Degrade(later_than_ms=None):
            return "drop nothing any more"
        case Degrade(later_than_ms=ms):
            return f"drop rows that are later than {ms} ms: results are not complete from here on"
        case Replan(plan=plan):
            return f"re-plan: {plan.name}"
    return f"{technique_of(decided)} {decided.stage}"


def placed(plan: GeoPlan, deployed: Deployment, seen: AreaView) -> Iterator[tuple[str, str]]:
    """Where the stages run that may be placed."""
    names = seen.area.names
    for stage, row in zip(plan.stages, deployed.tasks, strict=True):
        if stage.free:
            yield stage.name, ", ".join(f"{names[s]} x {n}" if n > 1 else names[s] for s, n in enumerate(row) if n)
