"""A suite: which policies are measured on which settings and seeds, in which order, and how long the rest will take."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from time import monotonic
from typing import Any

import numpy as np

from headway.errors import SettingError
from headway.model.declared import order_declares
from headway.sim import delays
from headway_lab.harness.bench import Bench, Run
from headway_lab.harness.ledger import Ledger, Record, RecordKey, key
from headway_lab.harness.setting import START_S, Say, Setting, label, policy_named

EXPERIMENT = "klink"
GATELESS = ("stock", "stock-tuned", "fair", "fixed-trigger")
GATED = ("klink", "first-come", "round-robin", "highest-rate", "streambox")
QUANTILES = (*range(0, 100, 5), 99, 100)  # in per cent
FLAT = 0.05  # CPU per batch that changes less than this from stretch to stretch is taken for flat


@dataclass(frozen=True, slots=True)
class Segment:
    """Policies that are measured in one go: several gated ones over the same running queries, or one gateless one."""

    policies: tuple[str, ...]
    setting: Setting
    seed: int

    @property
    def title(self) -> str:
        profile = "" if self.setting.profile == Setting.profile else f", {self.setting.profile}"
        named = self.policies[0] if len(self.policies) == 1 else f"{len(self.policies)} policies"
        return f"{self.setting.label}, {named}{profile}"

    @property
    def expected_s(self) -> float:
        """How long it takes on a warm two-core machine: starting queries costs the most of it."""
        start = self.setting.queries * (START_S + (0.5 if order_declares(policy_named(self.policies[0])).gated else 0.4))
        return start + len(self.policies) * (self.setting.settle + self.setting.seconds)


def settings(queries: Sequence[int], rates: Sequence[int], base: Setting) -> list[Setting]:
    """`10,20` queries at `1000,200` events/s are two settings; a single rate holds for all."""
    if len(rates) not in (1, len(queries)):
        raise SettingError(
            "rate", ",".join(map(str, rates)), f"one rate, or one for each of the {len(queries)} query counts"
        )
    pairs = zip(queries, rates if len(rates) > 1 else [*rates] * len(queries), strict=True)
    return [replace(base, queries=count, rate=rate) for count, rate in pairs]


def base_setting(
    delay: str,
    patience_ms: int | None,
    seconds: int,
    settle: int,
    rate: int = Setting.rate,
    queries: int = Setting.queries,
    unequal: float = 0.0,
) -> Setting:
    """A setting whose patience covers the delay, unless told otherwise: then no row is late."""
    longest = delays.parse(delay).max_ms
    patience = longest if patience_ms is None else patience_ms
    return Setting(queries, rate, delay, patience, seconds=seconds, settle=settle, unequal=unequal)


def plan(
    policies: Sequence[str],
    cases: Sequence[Setting],
    seeds: Sequence[int],
    done: Iterable[RecordKey] = (),
    commit: str = "",
    experiment: str = EXPERIMENT,
) -> list[Segment]:
    """All segments, seed by seed: a slow hour of the machine hits all policies alike. The order turns with the seed."""
    measured = set(done)
    gated = [p for p in policies if order_declares(policy_named(p)).gated]
    gateless = [p for p in policies if p not in gated]
    out = []
    for turn, seed in enumerate(seeds):
        for case in cases:
            groups = [_turned(gated, turn), *([p] for p in gateless)]
            for group in _turned(groups, turn):
                left = tuple(p for p in group if key(experiment, p, asdict(case), seed, commit) not in measured)
                if left:
                    out.append(Segment(left, case, seed))
    return out


def _turned(items: list[Any], by: int) -> list[Any]:
    by %= max(1, len(items))
    return items[by:] + items[:by]


@dataclass
class Pace:
    """How long the rest takes: the plan's own guess, corrected by how the finished part compared with it."""

    expected: list[float]
    done: int = 0
    spent: float = 0.0

    def step(self, took_s: float) -> None:
        self.done, self.spent = self.done + 1, self.spent + took_s

    @property
    def total(self) -> float:
        return self.spent + self._factor * sum(self.expected[self.done :])

    def left(self, into_s: float) -> float:
        """Seconds left, `into_s` seconds into the current step."""
        rest = [self._factor * e for e in self.expected[self.done :]]
        return max(rest[0] - into_s, 0.0) + sum(rest[1:]) if rest else 0.0

    @property
    def _factor(self) -> float:
        return self.spent / sum(self.expected[: self.done]) if self.done else 1.0


def warm(
    bench: Bench, limit_s: float, say: Say, show_cost: Callable[[float], None], setting: Setting | None = None
) -> list[float]:
    """Run Klink until CPU per batch is flat or the time is up; returns CPU ms per batch, stretch by stretch."""
    setting = setting or Setting(queries=40, rate=200, seconds=40, settle=2)
    end = monotonic() + limit_s
    costs: list[float] = []
    while monotonic() < end:
        for run in bench.run(["klink"], setting, seed=len(costs), say=say):
            costs.append(run.cpu_ms / max(1, run.batches))
            show_cost(costs[-1])
        # Twice in a row: while another process uses the cores, two stretches may be alike by chance.
        if len(costs) > 2 and all(abs(costs[i] / costs[i - 1] - 1) < FLAT for i in (-1, -2)):
            break
    return costs


def measure(
    bench: Bench, segments: Iterable[Segment], ledger: Ledger, say: Say, experiment: str = EXPERIMENT
) -> Iterator[tuple[Segment, list[Record]]]:
    """Measure segment by segment; every result is in the ledger before the next one begins."""
    for segment in segments:
        runs = bench.run(segment.policies, segment.setting, segment.seed, say)
        yield segment, [ledger.append(experiment, run.policy, asdict(run.setting), run.seed, measures(run)) for run in runs]


def measures(run: Run) -> dict[str, Any]:
    """The figures of a run that go into the ledger."""
    latencies = np.array(run.latencies_ms or [0.0])
    return {
        "windows": len(run.latencies_ms),
        "mean_ms": round(float(latencies.mean()), 1),
        **{f"p{p}_ms": round(float(np.percentile(latencies, p)), 1) for p in (50, 90, 99)},
        "max_ms": round(float(latencies.max()), 1),
        "quantiles_ms": [round(float(q), 1) for q in np.percentile(latencies, QUANTILES)],
        "unfinished": run.unfinished,
        "batches": run.batches,
        "rows": run.rows,
        "late_rows": run.late_rows,
        "wrong": run.wrong,
        "cpu_ms": round(run.cpu_ms, 1),
        "cpu_batch_ms": round(sum(run.cpu_parts.values()), 1),
        "batch_ms": round(run.batch_ms, 1),
        "decide_ms": round(run.decide_ms, 2),
        "slots": run.slots,
        "heap_mb": round(run.heap_mb, 1),
        "backlog": run.backlog,
        "cpu_parts": {part: round(ms, 2) for part, ms in run.cpu_parts.items()},
        "wall_parts": {phase: round(ms, 2) for phase, ms in run.wall_parts.items()},
    }


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure over seeds: the median, and how far the seeds lie apart."""

    middle: float
    low: float
    high: float
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        return cls(median(values), min(values), max(values), len(values))


@dataclass(frozen=True, slots=True)
class Summary:
    """What one policy did at one load, over all seeds: latencies as spreads, the rest added up or averaged."""

    policy: str
    latency: dict[str, Spread]  # by field: mean_ms, p50_ms, p90_ms, p99_ms
    windows: int
    batches: int
    late_rows: int
    wrong: int
    rows_per_s: float
    cores: float  # processor time used per second

    @property
    def batches_per_window(self) -> float:
        return self.batches / max(1, self.windows)


LATENCIES = ("mean_ms", "p50_ms", "p90_ms", "p99_ms")


def summary(policy: str, records: Sequence[Record]) -> Summary:
    seconds = sum(r["setting"]["seconds"] for r in records)

    def total(name: str) -> Any:
        return sum(r[name] for r in records)

    return Summary(
        policy,
        latency={name: Spread.of([r[name] for r in records]) for name in LATENCIES},
        windows=total("windows"),
        batches=total("batches"),
        late_rows=total("late_rows"),
        wrong=total("wrong"),
        rows_per_s=total("rows") / seconds,
        cores=total("cpu_ms") / 1000 / seconds,
    )


def by_setting(records: Iterable[Record]) -> dict[str, dict[str, list[Record]]]:
    """Records grouped by load, the smallest number of queries first, then by policy."""
    out: dict[str, dict[str, list[Record]]] = {}
    for record in sorted(records, key=lambda r: (r["setting"]["queries"], r["setting"]["rate"])):
        out.setdefault(label(record["setting"]), {}).setdefault(record["policy"], []).append(record)
    return out


def ratio_to_best(by_policy: Mapping[str, list[Record]], field: str) -> Spread | None:
    """Klink's figure over that of the best measured among Spark's own ways, seed by seed."""
    ratios = []
    for record in by_policy.get("klink", []):
        others = [o[field] for p in GATELESS for o in by_policy.get(p, []) if o["seed"] == record["seed"]]
        if others:
            ratios.append(record[field] / max(min(others), 1e-9))
    return Spread.of(ratios) if ratios else None
