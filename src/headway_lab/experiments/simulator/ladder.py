"""The micro-batch engine from ten queries to ten thousand: what a decision takes, and how far from the best possible."""

import random
import resource
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

from headway.model.deadline import window
from headway.policy.load import order_policy
from headway.sim.delays import Uniform
from headway.sim.microbatch import NoJournal, VirtualQuery, VirtualWorld
from headway.sim.oracle import least_mean_ms
from headway.sim.streams import VirtualInput
from headway_lab.workloads.sizes import size

EXPERIMENT = "ladder"
QUERIES = (10, 100, 1_000, 10_000)
WARM_MS = 30_000  # until costs are learnt and the rush of the start is over


@dataclass(frozen=True, slots=True)
class Rung:
    """Queries on as many cores as give each core the same load."""

    queries: int
    load: float = 0.7  # of the cores, with one batch a window
    seconds: int = 60
    rate: int = 200
    window_ms: int = 3_000
    patience_ms: int = 500
    fixed_ms: float = 60.0
    per_row_ms: float = 0.01
    unequal: float = 0.0  # coefficient of variation of what batches cost, from query to query

    @property
    def batch_ms(self) -> float:
        return self.fixed_ms + self.per_row_ms * self.rate * self.window_ms / 1000

    @property
    def cores(self) -> int:
        return max(1, round(self.queries * self.batch_ms / self.window_ms / self.load))


def climb(rung: Rung, policy: str, seed: int) -> dict[str, Any]:
    """One run: latencies, what decisions took, and the bound that no schedule beats."""
    world = VirtualWorld(order_policy(policy), slots=rung.cores, cores=rung.cores, seed=seed, journal=NoJournal())
    stream = VirtualInput.delayed(Uniform(0, rung.patience_ms), rung.patience_ms, rung.rate)
    chance = random.Random(seed)
    fixed = {}
    for i in range(rung.queries):
        grid = window(rung.window_ms, start=chance.randrange(rung.window_ms))
        started = chance.randrange(rung.window_ms)
        name, part = f"q{i:05d}", size(rung.unequal, chance)
        fixed[name] = rung.fixed_ms * part
        world.add(VirtualQuery(name, grid, stream, fixed[name], rung.per_row_ms * part, starts_ms=started))
    began = process_time()
    world.run(WARM_MS + rung.seconds * 1000)
    took = process_time() - began
    out = [w for w in world.windows if w.at >= WARM_MS]
    latencies = np.array([w.latency_ms for w in out] or [0])
    watch = world.controller.kernel.watch
    # The least work that a window's batch can have: all its rows worked off before.
    bound = least_mean_ms([(w.end + rung.patience_ms, fixed[w.query]) for w in out], rung.cores)
    return {
        "windows": len(out),
        "mean_ms": round(float(latencies.mean()), 1),
        "p99_ms": round(float(np.percentile(latencies, 99)), 1),
        "least_ms": round(bound, 1),
        "over_least": round(float(latencies.mean()) / max(bound, 1e-9), 3),
        "batches": len(world.batches),
        "early": len(world.early),
        "decide_us": round(watch.total_ms * 1000 / max(1, watch.count), 1),
        "decisions": watch.count,
        "took_s": round(took, 2),
        "memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }
