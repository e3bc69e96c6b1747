"""Runs of a fleet in virtual time, and what goes into the ledger of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

from headway.model.placement import Computations, FleetView, Move, NodeView, PlacementPolicy, Placements
from headway.model.ring import NEPTUNE, Rings, no_load
from headway.model.time import WallMs
from headway.policy.placement import (
    LeastLoaded,
    NearIdeal,
    NeverMove,
    PredictionRings,
    RandomPlacement,
    RoundRobinPlacement,
)
from headway.sim.fleet.engine import Places
from headway.sim.fleet.nodes import node_name, query_name
from headway.sim.fleet.trace import FleetTrace
from headway.sim.fleet.world import FleetTimes, FleetWorld
from headway.sim.microbatch import Notebook
from headway_lab.experiments.fleet import cases
from headway_lab.experiments.fleet.cases import BEGINS_MIN, FleetCase
from headway_lab.harness.sweep import swept

EXPERIMENT = "fleet-sim"
LAST_MIN = 10  # of a run: what it has come to
EARLY_MIN = 20  # since the disturbance: while the fleet is put in order
NEAR = 0.98  # of what sources would send: as good as all of it
SEEDS_DRAWN = 1  # of more seeds only figures are kept
SETTLE_S = 30  # in which a placement shows what it can


# The paper states none of these; with them a crowded node gives one away in some twenty to thirty seconds (Fig. 8).
COOL_DOWN_MS = 15_000
# Of the score: below that of a crowded or evenly filled node for n = 3, above that of a crowded one for n = 2.
THRESHOLDS = {"added": 0.006, "multiplied": 0.03}
ROUNDS = 2
LIMIT = 0.2  # load per core above which simple policies ask: a little less than an evenly filled node has


@dataclass(frozen=True, slots=True)
class Arm:
    """What places computations. `planned`: they begin where it would have them, and it knows what comes."""

    policy: PlacementPolicy
    planned: NearIdeal | None = None
    alone: bool = False  # without the programs of others
    beside: bool = False  # they begin where they are best although the programs of others are there


def rings(n: int = 3, **more: Any) -> PredictionRings:
    threshold = THRESHOLDS[more.get("others", "added")]
    return PredictionRings(n=n, threshold=threshold, rounds=ROUNDS, cool_down_ms=COOL_DOWN_MS, **more)


# What others use, as published: the measured load times the innermost ring.
PUBLISHED: dict[str, Any] = {"others": "multiplied", "others_in": "innermost"}
STEEP = 8.0  # what a move had to gain at most, in base thresholds, before: 40 %

# By the names under which results are kept; what is compared with comes first.
ARMS: dict[str, Callable[[], Arm]] = {
    "never-move": lambda: Arm(NeverMove()),
    "near-ideal": lambda: Arm(NeverMove(), planned=NearIdeal(), alone=True),
    "best-beside": lambda: Arm(NeverMove(), beside=True),
    "random": lambda: Arm(RandomPlacement(limit=LIMIT, rounds=ROUNDS, cool_down_ms=COOL_DOWN_MS)),
    "round-robin": lambda: Arm(RoundRobinPlacement(limit=LIMIT, rounds=ROUNDS, cool_down_ms=COOL_DOWN_MS)),
    "least-loaded": lambda: Arm(LeastLoaded(limit=LIMIT, rounds=ROUNDS, cool_down_ms=COOL_DOWN_MS)),
    "prediction-rings": lambda: Arm(rings()),
    "rings-published": lambda: Arm(rings(**PUBLISHED)),
    **{f"rings-n{n}": (lambda n=n: Arm(rings(n))) for n in (2, 4, 5, 6)},  # type: ignore[misc] # 3 is how they come
    # What causes what: one thing taken from one and given to the other.
    "published-steep": lambda: Arm(rings(**PUBLISHED, steepest=STEEP)),
    "multiplied-all-rings": lambda: Arm(rings(others="multiplied")),
    "added-innermost": lambda: Arm(rings(others_in="innermost")),
    "added-steep": lambda: Arm(rings(steepest=STEEP)),
}
BASELINES = ("never-move", "near-ideal", "best-beside", "random", "round-robin", "least-loaded")
AMPLIFIERS = tuple(name for name in ARMS if name.startswith("rings-n"))  # beside n = 3
ABLATIONS = ("published-steep", "multiplied-all-rings", "added-innermost", "added-steep")


class MoveBook(Notebook):
    """Remembers when which threshold was applied, and forgets what was seen. Relief of an overfull node has none to pass."""

    def __init__(self) -> None:
        super().__init__()
        self.thresholds: list[tuple[float, float]] = []  # minute, threshold

    def append(self, entry: Any) -> None:
        if isinstance(entry.decided, Placements):
            moves = [choice for choice in entry.decided.choices if isinstance(choice, Move)]
            asked = [m.expect.threshold for m in moves if m.expect is not None and m.expect.threshold > 0]
            self.thresholds += [(entry.at / 60_000, threshold) for threshold in asked]


def simulate(case: FleetCase, arm: str, seed: int) -> dict[str, Any]:
    """One run, and what goes into the ledger of it."""
    chosen, began, book = ARMS[arm](), process_time(), MoveBook()
    placed = None if chosen.planned is None else planned(case, chosen.planned, seed)
    placed = beside(case, seed) if chosen.beside else placed
    engine = cases.engine(case, seed, placed, disturbed=not chosen.alone)
    times = FleetTimes(status_ms=1000 * case.status_s)
    world = FleetWorld(engine, chosen.policy, book, times, case.sight, seed)
    trace = world.run(case.minutes * 60_000)
    found = measures(trace, case) | thresholds(book) | {"took_s": round(process_time() - began, 1)}
    if not np.array_equal(engine.sent, engine.processed + engine.queue):
        raise AssertionError("messages were lost or made")
    return found | (curves(trace) if seed <= SEEDS_DRAWN else {})


def planned(case: FleetCase, policy: NearIdeal, seed: int) -> Places:
    """Where the integer program would have had every computation from the beginning, by what fills the links."""
    load, at = cases.load(case, seed), WallMs(BEGINS_MIN * 60_000)
    middles = at + NEPTUNE.starts_ms + NEPTUNE.widths_ms / 2
    wire = np.stack([load.rates(float(middle)) for middle in middles], axis=1) * load.wire_bytes[:, None]
    homes = tuple(node_name(int(node)) for node in cases.at_first(case))
    every = Computations(tuple(query_name(c) for c in range(len(load))), Rings(NEPTUNE, at, wire), homes)
    nodes = [NodeView(node_name(node), no_load(at=at)) for node in range(case.nodes)]
    return policy.plan(FleetView(at, tuple(nodes), computations=every), nodes, every).homes


def beside(case: FleetCase, seed: int) -> Places:
    """The best placement of those that take equally many off every disturbed node and spread them evenly over the others."""
    first, active = cases.at_first(case), cases.active_from(case) <= BEGINS_MIN * 60_000
    hot = [np.flatnonzero(active & (first == node)) for node in range(case.hot)]
    calm = np.arange(case.hot, case.nodes)

    def placed(share: float) -> Places:
        taken = np.concatenate([rows[: round(share * len(rows))] for rows in hot])
        made = first.copy()
        made[taken] = calm[np.arange(len(taken)) % len(calm)]
        return made

    def processed(places: Places) -> float:
        engine = cases.engine(case, seed, places)
        for second in range(SETTLE_S):
            engine.step(BEGINS_MIN * 60_000 + 1000 * second, 1.0)
        return float(engine.processed.sum())

    return max((placed(share) for share in np.arange(0.0, 1.0, 0.025).tolist()), key=processed)


def measures(trace: FleetTrace, case: FleetCase) -> dict[str, Any]:
    minutes, end = trace.minutes, trace.between(max(0, case.minutes - LAST_MIN), case.minutes)
    last, since = minutes[-LAST_MIN:], minutes[BEGINS_MIN:]
    early = trace.between(BEGINS_MIN, BEGINS_MIN + EARLY_MIN)
    at_1, moves = since[0], [m.moves for m in since]
    late_moves = sum(moves[-EARLY_MIN:])
    return {
        "throughput": round(float(np.mean([m.throughput for m in last])), 1),
        "wanted": round(float(np.mean([m.wanted for m in last])), 1),
        "lost": round(1 - sum(m.throughput for m in last) / max(sum(m.wanted for m in last), 1e-9), 5),
        "mean_ms": round(end.mean_ms, 2),
        "p99_ms": round(end.percentile(0.99), 2),
        "sd_ms": round(end.sd_ms, 2),
        "early_p99_ms": round(early.percentile(0.99), 2),
        "settled_min": settled_min(trace, case),
        "moves": sum(moves),
        "moves_before": sum(m.moves for m in minutes[:BEGINS_MIN]),
        "early_moves": sum(moves[:EARLY_MIN]),
        "late_moves": late_moves,
        "decay": round(late_moves / max(1, sum(moves[:EARLY_MIN])), 4),
        "load_mean_1": round(at_1.load_mean, 4),
        "load_sd_1": round(at_1.load_sd, 4),
        "load_mean_end": round(last[-1].load_mean, 4),
        "load_sd_end": round(float(np.mean([m.load_sd for m in last])), 4),
        "evened": round(float(np.mean([m.load_sd for m in last])) / max(at_1.load_sd, 1e-9), 4),
        "round_ms": round(1000 * float(np.mean(trace.round_s)), 3),
        "round_max_ms": round(1000 * float(np.max(trace.round_s)), 3),
        "nodes_ms": round(1000 * float(np.mean(trace.request_s)), 3),
    }


def settled_min(trace: FleetTrace, case: FleetCase) -> int:
    """Minutes from the disturbance until nearly all that sources would send is processed; the whole run if it never is."""
    for passed, minute in enumerate(trace.minutes[BEGINS_MIN:]):
        if minute.throughput >= NEAR * minute.wanted:
            return passed + 1
    return case.minutes - BEGINS_MIN


def thresholds(book: MoveBook) -> dict[str, Any]:
    """The threshold that moves had to pass: the median of the first and of the last third of them."""
    passed = [threshold for _, threshold in book.thresholds]
    if len(passed) < 3:
        return {}
    third = len(passed) // 3
    first, last = float(np.median(passed[:third])), float(np.median(passed[-third:]))
    return {
        "first_threshold": first,
        "last_threshold": last,
        "threshold_rise": round(last / first, 4),
        "threshold_series": [[round(at, 2), round(t, 4)] for at, t in book.thresholds[:: max(1, len(passed) // 200)]],
    }


def curves(trace: FleetTrace) -> dict[str, list[float]]:
    """By the minute, for the figures."""
    fields = ("throughput", "p99_ms", "sd_ms", "load_mean", "load_sd", "wire_mean", "wire_sd", "moves")
    return {f"{name}_series": [round(float(getattr(m, name)), 4) for m in trace.minutes] for name in fields}


def recovered(found: float, never: float, ideal: float) -> float:
    """Of the throughput that is lost without moves, the share that is won back."""
    return (found - never) / max(ideal - never, 1e-9)


FleetTask = tuple[FleetCase, str, int]


def sweep(tasks: Sequence[FleetTask], jobs: int) -> Iterator[tuple[FleetTask, dict[str, Any]]]:
    """Run all of it, several at once; results come in the order of the tasks."""
    return swept(_simulate, tasks, jobs)


def _simulate(task: FleetTask) -> dict[str, Any]:
    return simulate(*task)
