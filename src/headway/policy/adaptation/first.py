"""Where a pipeline begins: the plan and placement with the least delay, or the fewest dollars."""

from collections.abc import Mapping, Sequence
from math import ceil

from headway.errors import HeadwayError
from headway.estimate.stream_rates import planned_rates
from headway.model.area import Area
from headway.model.geo import GeoPlan
from headway.policy.adaptation.stage_program import Limits
from headway.policy.adaptation.streams import Streams, pinned
from headway.policy.adaptation.whole_program import AreaPlacement, place_all


def first_placement(
    area: Area, plans: Sequence[GeoPlan], sent: Mapping[str, float], limits: Limits
) -> tuple[GeoPlan, AreaPlacement]:
    """The best of all plans: with the shortest of the longest ways, or the cheapest. If none fits, one line says why."""
    best: tuple[tuple[float, float], int, AreaPlacement] | None = None
    for number, plan in enumerate(plans):
        streams = Streams(plan, area, planned_rates(plan, sent))
        found = place_all(streams, tasks_for(streams), limits)
        if found is None:
            continue
        key = (found.cost if limits.goal == "dollars" else streams.path_ms(found.deployed), found.cost)
        if best is None or key < best[0]:
            best = key, number, found
    if best is None:
        raise HeadwayError(impossible(Streams(plans[0], area, planned_rates(plans[0], sent)), limits))
    return plans[best[1]], best[2]


def tasks_for(streams: Streams) -> dict[int, int]:
    """As few tasks as can process what is expected."""
    return {
        place: max(1, ceil(streams.rates.into[place] / stage.task_per_s)) if stage.splittable else 1
        for place, stage in enumerate(streams.plan.stages)
        if stage.free
    }


def impossible(streams: Streams, limits: Limits) -> str:
    """What is in the way, in one line."""
    plan, area = streams.plan, streams.area
    wanted = tasks_for(streams)
    free = int(area.slots.sum() - streams.taken(pinned(plan, area)).sum())
    head = f"plan {plan.name!r} fits nowhere:"
    if free < sum(wanted.values()):
        return f"{head} it needs {sum(wanted.values())} slots beside those of its pinned stages, and {free} are free"
    for place, stage in enumerate(plan.stages):
        if stage.kind == "source":
            site = area.names.index(stage.site or "")
            sends = float(streams.rates.out[place] * stage.row_bytes)
            best = max((b for s, b in enumerate(area.links.bandwidth[site].tolist()) if s != site), default=0.0)
            if sends > limits.alpha * best:
                return (
                    f"{head} {stage.name} sends {sends / 1e6:,.2f} MB/s, and the best link from {stage.site} may carry "
                    f"{limits.alpha * best / 1e6:,.2f}; filter or aggregate at the source, or give it more sites"
                )
    money = f", or a budget above {limits.budget_usd_h:g} dollars an hour" if limits.budget_usd_h else ""
    return f"{head} no placement keeps every link below {limits.alpha:.0%}; give it more sites or links{money}"
