"""Density: the most queries that a policy holds on this machine with its 99th percentile under a limit."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from headway_lab.harness.bench import Bench
from headway_lab.harness.setting import Say, Setting
from headway_lab.harness.suite import measures

EXPERIMENT = "density"
POLICIES = ("stock", "stock-tuned", "klink")
FIRST = {"stock": 4, "stock-tuned": 16, "klink": 64}  # queries to begin the search with


@dataclass(frozen=True, slots=True)
class DensityLimits:
    """What must be held, and where the search ends."""

    p99_ms: float
    queries: int  # no more are tried


@dataclass(frozen=True, slots=True)
class Probe:
    """One number of queries that was tried."""

    queries: int
    p99_ms: float
    held: bool


def largest_that_holds(holds: Callable[[int], bool], first: int, limit: int, close: float = 0.1) -> int:
    """The largest number that holds, within `close` of itself: doubling until one does not, then halving the gap.

    Takes it that more never hold where fewer do not. 0 if not even one does, `limit` if all up to there do.
    """
    low, high = 0, min(first, limit)
    while holds(high):
        if high == limit:
            return limit
        low, high = high, min(2 * high, limit)
    while high - low > max(1.0, close * low):
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def search(
    bench: Bench,
    policy: str,
    base: Setting,
    seed: int,
    limits: DensityLimits,
    say: Say,
    tried_one: Callable[[Probe], None],
) -> dict[str, Any]:
    """What goes into the ledger: the most queries held, and how they fared."""
    tried: dict[int, dict[str, Any]] = {}

    def holds(queries: int) -> bool:
        (run,) = bench.run([policy], replace(base, queries=queries), seed, say)
        tried[queries] = measures(run)
        probe = Probe(queries, tried[queries]["p99_ms"], tried[queries]["p99_ms"] <= limits.p99_ms)
        tried_one(probe)
        return probe.held

    best = largest_that_holds(holds, FIRST.get(policy, 16), limits.queries)
    return {"held": best} | ({name: tried[best][name] for name in ("mean_ms", "p99_ms", "cpu_ms")} if best else {})
