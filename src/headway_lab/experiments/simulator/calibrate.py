"""The micro-batch model against live runs: fitted to some settings, judged by others that it has not seen."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from statistics import median
from typing import Any

import numpy as np
from scipy.optimize import minimize

from headway.model.deadline import window
from headway.sim import delays
from headway.sim.microbatch import NoJournal, VirtualQuery, VirtualWorld
from headway.sim.streams import VirtualInput
from headway_lab.harness.ledger import Record
from headway_lab.harness.setting import policy_named

EXPERIMENT = "calibration"
FITTED = ((10, 1_000), (20, 200), (40, 200))  # queries and events a second that the model is fitted to
POLICIES = ("klink", "stock-tuned")
WARM_S = 15


@dataclass(frozen=True, slots=True)
class MachineModel:
    """What a batch costs on one machine: the parameters that are fitted."""

    fixed_ms: float = 60.0  # of a core
    per_row_ms: float = 0.01
    wait_ms: float = 15.0  # on no core
    spread: float = 0.3  # coefficient of variation of a batch's cost
    cores: float = 2.0


START = MachineModel()


@dataclass(frozen=True, slots=True)
class Point:
    """One setting and policy, live (the median of seeds) and predicted."""

    policy: str
    queries: int
    rate: int
    live: dict[str, float]  # mean_ms, p99_ms
    predicted: dict[str, float]
    fitted: bool

    def error(self, field: str) -> float:
        """Signed, relative to what was measured."""
        return self.predicted[field] / self.live[field] - 1


def predict(
    machine: MachineModel, policy: str, setting: Mapping[str, Any], seeds: Sequence[int] = (1, 2), seconds: int = 60
) -> dict[str, float]:
    """Mean and 99th percentile of output latency that the model gives, all seeds together."""
    waits: list[int] = []
    for seed in seeds:
        waits += _latencies(machine, policy, setting, seed, seconds)
    found = np.array(waits or [0])
    return {"mean_ms": float(found.mean()), "p99_ms": float(np.percentile(found, 99))}


def _latencies(machine: MachineModel, policy: str, setting: Mapping[str, Any], seed: int, seconds: int) -> list[int]:
    world = VirtualWorld(
        policy_named(policy), slots="auto", cores=machine.cores, spread=machine.spread, seed=seed, journal=NoJournal()
    )
    stream = VirtualInput.delayed(delays.parse(setting["delay"]), setting["patience_ms"], setting["rate"])
    chance = random.Random(seed)
    for i in range(setting["queries"]):
        shift = chance.randrange(setting["window_ms"])
        world.add(
            VirtualQuery(
                f"q{i:04d}",
                window(setting["window_ms"], start=shift),
                stream,
                machine.fixed_ms,
                machine.per_row_ms,
                machine.wait_ms,
                starts_ms=i * 50,
            )
        )
    world.run((WARM_S + seconds) * 1000)
    return [w.latency_ms for w in world.windows if w.at >= WARM_S * 1000]


def fit(records: Sequence[Record], start: MachineModel = START, policies: Sequence[str] = POLICIES) -> MachineModel:
    """The machine whose predictions are nearest to the records of the fitted settings, in ratios."""
    live = [(p, s, of) for p, s, of in grouped(records) if p in policies and (s["queries"], s["rate"]) in FITTED]

    def machine(x: Sequence[float]) -> MachineModel:
        fixed, per_row, wait, spread, cores = (float(value) for value in np.exp(x))
        return MachineModel(fixed, per_row, wait, min(spread, 2.0), min(cores, start.cores))

    def loss(x: Sequence[float]) -> float:
        total = 0.0
        for policy, setting, of in live:
            said = predict(machine(x), policy, setting, seeds=(1,), seconds=30)
            total += (
                log(max(1.0, said["mean_ms"]) / of["mean_ms"]) ** 2
                + 0.25 * log(max(1.0, said["p99_ms"]) / of["p99_ms"]) ** 2
            )
        return total

    first = np.log([start.fixed_ms, start.per_row_ms, start.wait_ms, start.spread, start.cores * 0.95])
    found = minimize(loss, first, method="Nelder-Mead", options={"maxfev": 120, "xatol": 0.02, "fatol": 1e-3})
    return machine(found.x)


def judge(machine: MachineModel, records: Sequence[Record], policies: Sequence[str] = POLICIES) -> list[Point]:
    """Every setting in the records, predicted; those that were fitted are marked."""
    return [
        Point(p, s["queries"], s["rate"], of, predict(machine, p, s), (s["queries"], s["rate"]) in FITTED)
        for p, s, of in grouped(records)
        if p in policies
    ]


def grouped(records: Sequence[Record]) -> list[tuple[str, Mapping[str, Any], dict[str, float]]]:
    """Per policy and setting the medians over seeds."""
    groups: dict[tuple[str, int, int], list[Record]] = {}
    for r in records:
        groups.setdefault((r["policy"], r["setting"]["queries"], r["setting"]["rate"]), []).append(r)
    return [
        (policy, of[0]["setting"], {f: max(1.0, median(r[f] for r in of)) for f in ("mean_ms", "p99_ms")})
        for (policy, _, _), of in sorted(groups.items())
    ]


def mean_error(points: Sequence[Point], field: str = "mean_ms") -> float:
    """The mean of absolute errors over settings that were held back."""
    held = [abs(p.error(field)) for p in points if not p.fitted]
    return float(np.mean(held)) if held else float("nan")


def points(record: Record) -> list[Point]:
    """The points of a calibration that was kept in the ledger."""
    return [Point(**point) for point in record.get("points", ())]
