"""What may be done about a stage, technique by technique: where its tasks would go, what moves, and how long that takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

import numpy as np

from headway.estimate.stream_rates import path_ms
from headway.model.adaptation import AreaView, StateMove
from headway.model.arrays import Floats
from headway.model.geo import Deployment, GeoPlan
from headway.policy.adaptation.diagnosis import unhandled_per_s
from headway.policy.adaptation.stage_program import Limits, StageTable, stage_program
from headway.policy.adaptation.state_moves import seconds_a_mb, state_moves, takes_s
from headway.policy.adaptation.streams import Streams
from headway.policy.adaptation.whole_program import place_all

StateGoes = Literal["aware", "random", "distant"]
DWARFS = 1e6  # ms for each task: whatever the network costs, this decides


@dataclass(frozen=True, slots=True)
class Rules:
    """What remedies have to keep to."""

    limits: Limits
    p_max: int = 3  # tasks of a stage that is bound by the network: with more the plan itself is looked at
    t_max_s: float = 30.0  # of state moves, before state is split over more links
    serves_s: float = 60.0  # a change is expected to last at least so long: what its state moves cost is spread over that
    state_goes: StateGoes = "aware"


@dataclass(frozen=True, slots=True)
class Remedy:
    """One way out."""

    plan: GeoPlan
    deployed: Deployment
    moves: tuple[StateMove, ...]
    takes_s: float
    network_ms: float
    usd_h: float
    says: str
    gap: float | None = 0.0
    at_window_end: bool = False


@dataclass(frozen=True, slots=True)
class Ward:
    """A pipeline that something is done about."""

    seen: AreaView
    streams: Streams
    rules: Rules

    def tasks(self, place: int) -> int:
        return self.seen.deployed.parallelism(place)


def placed(ward: Ward, place: int, tasks: int, says: str) -> Remedy | None:
    """This stage with so many tasks, wherever the program puts them; None if nowhere, or if it is there already."""
    extra = _state_cost(ward, place, tasks)
    table = StageTable.of(ward.streams, ward.seen.deployed.table)
    program = stage_program(table, place, tasks, ward.rules.limits, extra)
    row = program.solve()
    if row is None or tuple(row.tolist()) == ward.seen.deployed.tasks[place]:
        return None
    return remedy(ward, place, row.tolist(), says)


def remedy(ward: Ward, place: int, row: Sequence[int], says: str) -> Remedy:
    """What it comes to when a stage has this row."""
    seen, streams = ward.seen, ward.streams
    deployed = seen.deployed.replaced(place, row)
    moves = state_moves(seen.plan.stages[place], seen.deployed.tasks[place], row, seen.area)
    return Remedy(
        seen.plan, deployed, moves, takes_s(moves), streams.network_ms(deployed), streams.usd_h(deployed), says
    )  # fmt: skip


def reassigned(ward: Ward, place: int) -> Remedy | str:
    """As many tasks, elsewhere."""
    found = placed(ward, place, ward.tasks(place), "elsewhere its links carry what is sent")
    if found is None:
        return f"no {ward.tasks(place)} tasks elsewhere whose links carry it"
    if found.takes_s > ward.rules.t_max_s:
        return f"its state would take {found.takes_s:,.0f} s elsewhere, {ward.rules.t_max_s:g} s at most"
    return found


def scaled_up(ward: Ward, place: int) -> Remedy | str:
    """p' = ceil(expected / processed x p), at the sites where it is."""
    stage, before = ward.seen.plan.stages[place], ward.seen.deployed.tasks[place]
    if not stage.splittable:
        return "it cannot be split"
    wanted = _wanted_tasks(ward, place)
    table = ward.seen.deployed.table
    left = (ward.streams.area.slots - ward.streams.taken(table)).astype(int)
    row = np.array(before)
    for _ in range(wanted - sum(before)):
        here = [site for site in np.flatnonzero(row) if left[site] > 0]
        if not here:
            return f"{wanted} tasks are needed, and its sites have no slots for them"
        site = max(here, key=lambda s: (left[s], -s))
        row[site] += 1
        left[site] -= 1
    if row.sum() == sum(before):
        return "it has as many tasks as it needs"
    found = remedy(ward, place, row.tolist(), f"{wanted} tasks instead of {sum(before)}, in its sites")
    limits = ward.rules.limits
    # At one site nothing flows otherwise than before; at several, shares change.
    several = len(ward.seen.deployed.sites(place)) > 1
    if several and not ward.streams.fits(found.deployed, limits.alpha, limits.budget_usd_h):
        return "its links would not carry it"
    return found


def _wanted_tasks(ward: Ward, place: int) -> int:
    """What is expected, and what waits, within the time in which that should be gone; not all at once."""
    rates, p = ward.seen.rates[place], ward.tasks(place)
    expected = float(ward.streams.rates.into[place]) + rates.waiting / ward.rules.serves_s
    can = max(rates.processed, 0.5 * p * ward.seen.plan.stages[place].task_per_s)
    return max(p + 1, min(ceil(expected / can * p - 1e-6), p + ward.rules.p_max))


def scaled_out(ward: Ward, place: int, compute: bool, beyond: bool = False) -> Remedy | str:
    """More tasks, at further sites: as many more as it takes for what cannot be handled, up to p_max.

    `beyond`: nothing else has helped, so that p_max is what a round may add, not what there may be.
    """
    stage, p = ward.seen.plan.stages[place], ward.tasks(place)
    if not stage.splittable:
        return "it cannot be split"
    first = _wanted_tasks(ward, place) if compute else p + _more_links(ward, place)
    last = first + ward.rules.p_max if compute else ward.rules.p_max
    if beyond:
        first, last = max(p, last) + 1, max(p, last) + ward.rules.p_max
    best: Remedy | None = None
    for tasks in range(first, last + 1):
        found = placed(ward, place, tasks, f"{tasks} tasks instead of {p}, and with them other links")
        if found is not None and found.takes_s <= ward.rules.t_max_s:
            return found
        if found is not None and (best is None or found.takes_s < best.takes_s):
            best = found
    if best is not None:
        return best
    return f"{first} tasks are needed, {ward.rules.p_max} at most" if first > last else f"no place for up to {last} tasks"


def _more_links(ward: Ward, place: int) -> int:
    """What cannot be handled over the bandwidth that the best other site has."""
    streams, seen = ward.streams, ward.seen
    rows = unhandled_per_s(seen, streams, place)
    wanted = float(streams.rates.into[place])
    into = sum(
        float(streams.rates.out[seen.plan.index(n)] * seen.plan.stage(n).row_bytes) for n in seen.plan.stages[place].inputs
    )
    room = np.clip(ward.rules.limits.alpha * streams.area.links.bandwidth - streams.use(seen.deployed), 0, None)
    froms = [s for name in seen.plan.stages[place].inputs for s in seen.deployed.sites(seen.plan.index(name))]
    best = float(room[froms].sum(axis=0).max(initial=0.0)) if froms else 0.0
    return max(1, ceil(rows / max(1.0, wanted) * into / best)) if best > 0 else 1


def scaled_down(ward: Ward, place: int) -> Remedy | str:
    """One task less: first those that are not where its inputs or readers are, if all that is left can bear it."""
    seen, streams = ward.seen, ward.streams
    row = seen.deployed.tasks[place]
    near = {
        site
        for above, below in seen.plan.edges()
        if place in (above, below)
        for site in seen.deployed.sites(above if below == place else below)
    }
    best: tuple[tuple[bool, float, float, int], Remedy] | None = None
    for site in seen.deployed.sites(place):
        less = [n - (s == site) for s, n in enumerate(row)]
        found = remedy(ward, place, less, f"{sum(less)} tasks instead of {sum(row)}")
        if streams.fits(found.deployed, ward.rules.limits.alpha) and found.takes_s <= ward.rules.t_max_s:
            key = (site in near, found.takes_s, found.network_ms, site)
            best = min(best, (key, found), key=lambda pair: pair[0]) if best else (key, found)
    return best[1] if best else "with a task less, a link would be too thin or its state too slow to move"


def replanned(ward: Ward) -> Remedy | str:
    """The plan and placement with the least delay of all that keep the state, or that can wait for the end of a window."""
    best: Remedy | None = None
    why: list[str] = []
    for plan in (ward.seen.plan, *ward.seen.alternatives):
        found = _by_plan(ward, plan)
        if isinstance(found, str):
            why.append(f"{plan.name}: {found}")
        elif best is None or _late(ward, found) < _late(ward, best):
            best = found
    return best if best is not None else "; ".join(why)


def _late(ward: Ward, found: Remedy) -> tuple[float, float]:
    """Of two plans the one with the shorter of the longest ways, or the cheaper one, where dollars are what is looked at."""
    if ward.rules.limits.goal == "dollars":
        return found.usd_h, found.takes_s
    return path_ms(found.plan, found.deployed, ward.seen.area.links.latency_ms), found.takes_s


def _by_plan(ward: Ward, plan: GeoPlan) -> Remedy | str:
    seen = ward.seen
    streams = ward.streams if plan == seen.plan else ward.streams.of(plan)
    at = {stage.signature: place for place, stage in enumerate(seen.plan.stages)}
    lost = [s for s in seen.plan.stages if s.stateful and s.name not in seen.plan.shares_state_with(plan)]
    if any(not stage.window_ms for stage in lost):
        return "it loses state"
    tasks = {
        place: seen.deployed.parallelism(at[stage.signature]) if stage.signature in at else 1
        for place, stage in enumerate(plan.stages)
        if stage.free
    }
    if any(streams.rates.into[p] > n * plan.stages[p].task_per_s for p, n in tasks.items()):
        return "a stage has too few tasks"
    found = place_all(streams, tasks, ward.rules.limits)
    if found is None:
        return "it fits nowhere"
    if plan == seen.plan and found.deployed == seen.deployed:
        return "it is as it should be"
    every = [
        (stage, state_moves(stage, seen.deployed.tasks[at[stage.signature]], found.deployed.tasks[place], seen.area))
        for place, stage in enumerate(plan.stages)
        if stage.signature in at
    ]
    # State of a window is gone at its end: to wait for that may be sooner than to move it.
    windows = [move for stage, moves in every if stage.window_ms for move in moves]
    longest_s = max((stage.window_ms for stage in seen.plan.stages), default=0) / 1000
    at_end = bool(lost) or takes_s(windows) > longest_s
    moves = tuple(move for stage, of in every if not (at_end and stage.window_ms) for move in of)
    says = "the same plan placed anew" if plan == seen.plan else f"plan {plan.name}"
    says += ", when its windows end" if at_end else ""
    return Remedy(
        plan, found.deployed, moves, takes_s(moves), streams.network_ms(found.deployed), streams.usd_h(found.deployed),
        says, found.gap, at_end,
    )  # fmt: skip


def _state_cost(ward: Ward, place: int, tasks: int) -> Floats | None:
    """What it costs to bring a task's state to each site: seconds, spread over the time that the change should serve."""
    stage, row = ward.seen.plan.stages[place], np.array(ward.seen.deployed.tasks[place])
    if not stage.stateful or not row.any():
        return None
    holders = np.flatnonzero(row)
    seconds = seconds_a_mb(ward.seen.area)[holders].min(axis=0) * stage.state_mb / tasks
    match ward.rules.state_goes:
        case "random":
            rng = np.random.default_rng([int(ward.seen.now), place])
            return np.asarray(DWARFS * rng.random(len(row)))
        case "distant":
            return np.asarray(-DWARFS * seconds / max(1e-9, float(seconds.max())))
    return np.asarray(1000 * seconds / ward.rules.serves_s)
