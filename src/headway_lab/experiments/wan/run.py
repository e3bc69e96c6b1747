"""Runs of a wide area in virtual time, and what goes into the ledger of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import process_time
from typing import Any

import numpy as np

from headway.loop.kernel import Log
from headway.model.adaptation import AdaptationPolicy
from headway.policy.adaptation import DegradeOnly, NoAdapt, ReassignOnly, ReplanOnly, ScaleOnly, Wasp
from headway.sim.wan.trace import AreaTrace
from headway.sim.wan.world import AreaRules, WanWorld
from headway_lab.experiments.wan import cases
from headway_lab.experiments.wan.cases import DOWN_S, FAILS_S, INTERVAL_S, THIN_S, WanCase
from headway_lab.harness.sweep import swept

EXPERIMENT = "wan-sim"
SEEDS_DRAWN = 1  # of more seeds only figures are kept
LAST_S = 60  # of an interval: what it has come to
WELL_MS = 2_000  # above the soonest result: a pipeline that is no later has settled
FOR_EVER_S = 1e9


@dataclass(frozen=True, slots=True)
class WanArm:
    """What adapts, and whether rows may be dropped."""

    policy: AdaptationPolicy
    may_degrade: bool = False
    stateless: bool = False  # its state is left behind, and the results are wrong


# By the names under which results are kept.
ARMS: dict[str, Callable[[], WanArm]] = {
    "no-adapt": lambda: WanArm(NoAdapt()),
    "degrade": lambda: WanArm(DegradeOnly(), may_degrade=True),
    "re-assign": lambda: WanArm(ReassignOnly()),
    "re-plan": lambda: WanArm(ReplanOnly()),
    "scale": lambda: WanArm(ScaleOnly()),
    "wasp": lambda: WanArm(Wasp()),
    "aware": lambda: WanArm(ReassignOnly(t_max_s=FOR_EVER_S)),
    "random": lambda: WanArm(ReassignOnly(t_max_s=FOR_EVER_S, state_goes="random")),
    "distant": lambda: WanArm(ReassignOnly(t_max_s=FOR_EVER_S, state_goes="distant")),
    "no-migrate": lambda: WanArm(ReassignOnly(t_max_s=FOR_EVER_S), stateless=True),
    "default": lambda: WanArm(ScaleOnly(t_max_s=FOR_EVER_S)),
    "partitioned": lambda: WanArm(ScaleOnly(t_max_s=30.0)),
}


def simulate(case: WanCase, arm: str, seed: int, journal: Log | None = None) -> dict[str, Any]:
    """One run, and what goes into the ledger of it."""
    chosen, began = ARMS[arm](), process_time()
    made = cases.scene(_without_state(case) if chosen.stateless else case, seed)
    rules = AreaRules(may_degrade=chosen.may_degrade)
    world = WanWorld(made.truth, made.plans, made.deployed, chosen.policy, journal, rules, seed)
    trace = world.run()
    if not world.engine.lawful():
        raise AssertionError("rows were lost or made")
    if trace.lost and not chosen.may_degrade:
        raise AssertionError("rows were dropped though that was not allowed")
    found = measures(trace, case) | overheads(trace) | {"took_s": round(process_time() - began, 1)}
    found["decide_ms"] = round(world.kernel.watch.total_ms / max(1, world.kernel.watch.count), 2)
    found["waiting"] = int(sum(world.engine.flows.waiting(name) for name in world.engine.tallies))
    found["lost_share"] = round(trace.lost / max(1, sum(world.engine.tallies[n].emitted for n in made.truth.sources)), 5)
    found["probed_mb"] = round(world.monitor.links.probed_bytes / 1e6, 2)
    return found | (curves(trace) if seed <= SEEDS_DRAWN else {})


def _without_state(case: WanCase) -> WanCase:
    return replace(case, state_mb=0.0)


def measures(trace: AreaTrace, case: WanCase) -> dict[str, Any]:
    end = case.steps * 1000
    first = trace.mean_delay_ms(0, min(end, THIN_S * 1000))
    wan = sum(one.wan_bytes for one in trace.seconds)
    tasks = [one.tasks for one in trace.seconds]
    out: dict[str, Any] = {
        "mean_ms": round(trace.mean_delay_ms(0, end), 1),
        **{f"p{round(100 * q)}_ms": round(trace.quantile_ms(q), 1) for q in (0.5, 0.9, 0.93, 0.95, 0.99)},
        "first_ms": round(first, 1),
        "ratio": round(trace.ratio(0, end), 4),
        "slots_first": tasks[0],
        "slots_most": max(tasks),
        "slots_mean": round(float(np.mean(tasks)), 2),
        "extra_slots": round(max(tasks) / tasks[0] - 1, 4),
        "wan_gb": round(wan / 1e9, 4),
        "usd": round(sum(one.usd for one in trace.seconds), 4),
        "changes": len(trace.changes),
        "lost": trace.lost,
        **{
            f"n_{name}": sum(c.technique == name for c in trace.changes)
            for name in sorted({c.technique for c in trace.changes})
        },
    }
    for n in range(case.steps // INTERVAL_S):
        low, high = n * INTERVAL_S * 1000, (n + 1) * INTERVAL_S * 1000
        out[f"ratio_{n}"] = round(trace.ratio(low, high), 4)
        out[f"end_ms_{n}"] = round(trace.mean_delay_ms(high - LAST_S * 1000, high), 1)
        out[f"mean_ms_{n}"] = round(trace.mean_delay_ms(low, high), 1)
    if case.scenario == "live":
        after = (FAILS_S + DOWN_S) * 1000
        out["end_ms"] = round(trace.mean_delay_ms(end - LAST_S * 1000, end), 1)
        out["caught_up_s"] = round((_settled_ms(trace, after) - after) / 1000, 1)
    return out


def overheads(trace: AreaTrace) -> dict[str, Any]:
    """Of the first change: how long its stages stood still, and how long it took until all that had waited was done."""
    if not trace.changes:
        return {}
    change = trace.changes[0]
    settled = _settled_ms(trace, change.ended_ms)
    return {
        "transition_s": round((change.ended_ms - change.began_ms) / 1000, 1),
        "stabilising_s": round((settled - change.ended_ms) / 1000, 1),
        "overhead_s": round((settled - change.began_ms) / 1000, 1),
        "state_mb_moved": round(sum(c.state_mb for c in trace.changes), 1),
        "expected_s": round(change.expected_s, 1),
    }


def _settled_ms(trace: AreaTrace, since_ms: int) -> int:
    """When results were hardly later than the soonest for ten steps in a row; the end of the run if they never were."""
    soonest = min((one.delay_ms for one in trace.seconds if one.results), default=0.0)
    good = 0
    for one in trace.between(since_ms, 1 << 60):
        good = good + 1 if one.delay_ms <= soonest + WELL_MS and one.results else 0
        if good == 10:
            return one.at_ms - 9 * trace.step_ms
    return trace.seconds[-1].at_ms + trace.step_ms


def curves(trace: AreaTrace) -> dict[str, list[Any]]:
    """Every ten seconds, for the figures."""
    step = 10
    groups = [trace.seconds[n : n + step] for n in range(0, len(trace.seconds), step)]
    out: dict[str, list[Any]] = {"delay_series": [], "ratio_series": [], "slots_series": [], "wan_series": []}
    for group in groups:
        low, high = group[0].at_ms, group[-1].at_ms + 1
        out["delay_series"].append(round(trace.mean_delay_ms(low, high) or group[-1].delay_ms, 1))
        out["ratio_series"].append(round(trace.ratio(low, high), 4))
        out["slots_series"].append(group[-1].tasks)
        out["wan_series"].append(round(sum(one.wan_bytes for one in group) / 1e6 / len(group), 4))
    out["change_series"] = [[c.began_ms / 1000, c.ended_ms / 1000, c.technique, c.stage] for c in trace.changes]
    at, rows = trace.delays()
    order = np.argsort(at, kind="stable")
    through = np.cumsum(rows[order]) / max(1.0, rows.sum())
    marks = np.searchsorted(through, np.linspace(0.005, 0.995, 100))
    out["cdf_series"] = [round(float(ms), 1) for ms in at[order][np.minimum(marks, len(order) - 1)]]
    return out


WanTask = tuple[WanCase, str, int]


def sweep(tasks: Sequence[WanTask], jobs: int) -> Iterator[tuple[WanTask, dict[str, Any]]]:
    """Run all of it, several at once; results come in the order of the tasks."""
    return swept(_simulate, tasks, jobs)


def _simulate(task: WanTask) -> dict[str, Any]:
    return simulate(*task)
