"""The experiments of the Klink paper (section 6.2) in its own kind of engine, at its own scale."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from time import process_time
from typing import Any

import numpy as np

from headway.policy.order import FirstCome, HighestRate, Klink, RoundRobin, StreamBox
from headway.sim import delays
from headway.sim.bulletins import Messages
from headway.sim.operators import Engine, EngineLoad, EngineTrace
from headway.sim.pipelines import PIPELINES
from headway.sim.scheduling import Scheduling
from headway_lab.harness.suite import QUANTILES
from headway_lab.harness.sweep import swept

EXPERIMENT = "paper"
KLINK = Klink(memory=True)  # the paper's, whole


# How the paper's engine hands out its cores by each order (section 6.1.3), by the names under which results are kept.
ORDERS: dict[str, Scheduling] = {
    "default": Scheduling(None),
    "first-come": Scheduling(FirstCome(), by_operator=True),
    "round-robin": Scheduling(RoundRobin(), by_operator=True),
    "highest-rate": Scheduling(HighestRate(), by_operator=True),
    "streambox": Scheduling(StreamBox(), holds=True),
    "klink-no-memory": Scheduling(Klink()),
    "klink": Scheduling(KLINK, memory_policy=KLINK.memory),
}
# For several nodes: each decides without having been told anything by the others.
ALONE = {"klink-alone": Scheduling(KLINK, memory_policy=KLINK.memory, messages=Messages(none=True))}
SHOWN = 100  # points of a series over time
DRAWN = (60, 80)  # queries of which distributions and series are kept, of the first seeds: all of them would fill the ledger
SEEDS_DRAWN = 3


@dataclass(frozen=True, slots=True)
class KlinkCase:
    """One point of a figure."""

    workload: str = "ysb"
    queries: int = 60
    nodes: int = 1
    delay: str = "uniform:0:500"
    minutes: int = 20
    closed: bool = True  # a generator that is held up makes no events meanwhile


def cases(experiment: str, minutes: int) -> list[KlinkCase]:
    base = KlinkCase(minutes=minutes)
    if experiment == "queries":
        return [replace(base, queries=n) for n in (1, 20, 40, 60, 70, 80, 100)]
    if experiment == "workloads":
        return [replace(base, workload=w, queries=n) for w in ("linear-road", "taxi") for n in (40, 60, 80)]
    if experiment == "delays":
        return [replace(base, workload=w, queries=80, delay="zipf:0.99:500") for w in PIPELINES]
    # As in the paper, and as much for each node as one of them had: else no query has to wait for another.
    return [replace(base, queries=q, nodes=n) for n, q in ((2, 80), (4, 80), (8, 80), (2, 160))]


EXPERIMENTS = ("queries", "workloads", "delays", "nodes")


def simulate(case: KlinkCase, order: str, seed: int) -> dict[str, Any]:
    """One run, and what goes into the ledger of it."""
    load = EngineLoad(PIPELINES[case.workload](), case.queries, delays.parse(case.delay), case.closed)
    engine = Engine(load, (ORDERS | ALONE)[order], nodes=case.nodes, seed=seed)
    began = process_time()
    trace = engine.run(case.minutes * 60)
    found = measures(trace) | {"took_s": round(process_time() - began, 2)}
    wanted = case.workload == "ysb" and case.queries in DRAWN and case.nodes == 1 and seed <= SEEDS_DRAWN
    return found | curves(trace) if wanted else found


def measures(trace: EngineTrace) -> dict[str, Any]:
    latencies = np.array(trace.latencies_ms or [0.0])
    seconds = max(1.0, trace.seconds)
    return {
        "windows": len(trace.latencies_ms),
        "mean_ms": round(float(latencies.mean()), 1),
        **{f"p{p}_ms": round(float(np.percentile(latencies, p)), 1) for p in (50, 90, 99)},
        "slowdown": round(float(latencies.mean()) / trace.ideal_ms, 1),
        "events_per_s": round(trace.processed / seconds),
        "memory": round(float(np.mean(trace.memory or [0])), 4),
        "memory_p90": round(float(np.percentile(trace.memory or [0], 90)), 4),
        "cpu": round(float(np.mean(trace.cpu or [0])), 4),
        "cpu_p90": round(float(np.percentile(trace.cpu or [0], 90)), 4),
        "decide_s": round(trace.decide_s, 3),
    }


def curves(trace: EngineTrace) -> dict[str, list[float]]:
    """What is drawn of a run as a whole."""
    quantiles = np.percentile(trace.latencies_ms or [0.0], QUANTILES)
    return {
        "quantiles_ms": [round(float(q), 1) for q in quantiles],
        "memory_series": thinned(trace.memory),
        "cpu_series": thinned(trace.cpu),
    }


def thinned(values: Sequence[float]) -> list[float]:
    """Means over equal stretches, few enough to draw."""
    parts = np.array_split(np.array(values), min(SHOWN, max(1, len(values))))
    return [round(float(part.mean()), 4) for part in parts if len(part)]


Task = tuple[KlinkCase, str, int]


def sweep(tasks: Sequence[Task], jobs: int) -> Iterator[tuple[Task, dict[str, Any]]]:
    """Run all of it, several at once; results come in the order of the tasks."""
    return swept(_simulate, tasks, jobs)


def _simulate(task: Task) -> dict[str, Any]:
    return simulate(*task)


def setting(case: KlinkCase) -> dict[str, Any]:
    return asdict(case)
