"""Approximate answers live: a question under one sampling policy after another, every answer beside the exact one."""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from headway.errors import SettingError
from headway.model.sampling import Sampling, SamplingPolicy, StreamView
from headway.policy.sampling import Aion, AionMinus, AQKSlack, Everything
from headway.policy.sampling.promise import Promise
from headway_lab.experiments.aion.asking import Live
from headway_lab.experiments.aion.covered import Judged, WindowResult, added_up, judge, totals
from headway_lab.harness.batches import latencies_ms
from headway_lab.harness.bench import let_pass
from headway_lab.harness.meter import Meter
from headway_lab.harness.setting import Say
from headway_lab.workloads.approximate import ExactAnswer, WindowQuestion, question
from headway_lab.workloads.approximate.question import KeyedPane
from headway_lab.workloads.approximate.taxi import real_trips

EXPERIMENT = "aion"
ERROR, CONFIDENCE = 0.05, 0.95
PLAIN = "plain"  # exact, and K-slack, by a query that knows nothing of samples
POLICIES: Mapping[str, Callable[..., SamplingPolicy]] = {
    "aion": Aion,
    "everything": Everything,
    "aq-k-slack": AQKSlack,
    "aion-minus": AionMinus,
}
TRIPS = ("taxi", "boroughs")  # workloads of taxi trips, which may be real
LEAD_S, SETTLE_S, OVER_S = 1, 12, 15  # before the stream begins; before windows count; until the last of them can be out
LOOK_S = 0.5  # looking costs as well


@dataclass(frozen=True, slots=True)
class LiveCase:
    """What is asked of which stream."""

    workload: str = "ysb"
    setting: str = "EG"
    rate: int = 5_000
    window_s: int = 3

    def told(self) -> dict[str, Any]:
        """For the ledger; of trips also whether they are real."""
        return asdict(self) | ({"real": real_trips() is not None} if self.workload in TRIPS else {})

    def over(self, seed: int, epoch_ms: int) -> WindowQuestion:
        return question(self.workload, self.setting, self.rate, self.window_s, seed, epoch_ms)

    def __str__(self) -> str:
        return f"{self.workload}, {self.setting}, {self.rate:,}/s, windows of {self.window_s} s"


@dataclass(frozen=True, slots=True)
class FixedRate(Promise):
    """The same share of all rows whatever they are, and K-slack: to see what leaving out rows is worth by itself."""

    share: float = 1.0

    def decide(self, seen: StreamView) -> Sampling:
        return replace(self.all_of(seen, f"takes {self.share:.0%}, as it was told"), share=self.share)


def policy_named(text: str, of: str = "mean", least: int = 1) -> SamplingPolicy | None:
    """As `headway bench aion` calls it; None is the query that knows nothing of samples."""
    if text == PLAIN:
        return None
    if fixed := re.fullmatch(r"rate-(\d{1,2})", text):
        return FixedRate(ERROR, CONFIDENCE, of, share=max(1, int(fixed[1])) / 100)
    if text not in POLICIES:
        raise SettingError("policies", text, f"one of {', '.join(POLICIES)}, {PLAIN}, or rate-N for N % of all rows")
    return POLICIES[text](ERROR, CONFIDENCE, of, least=least)


@dataclass(frozen=True)
class Ran:
    """What one policy did with one stream."""

    case: LiveCase
    policy: str
    seed: int
    latencies_ms: list[float]  # of every window that counts, from its end to its result
    answers: list[WindowResult]
    truth: dict[KeyedPane, ExactAnswer]
    adds_up: bool
    rows: int  # read while windows counted
    late: int
    cpu_ms: float
    thought_ms: float  # by estimator and policy

    @property
    def windows(self) -> Judged:
        """Each window as a whole: what the error is promised for."""
        exact = self._exact
        if self.adds_up:
            return judge(added_up(self.answers), totals(exact), ERROR)
        return judge(self.answers, exact, ERROR)

    @property
    def results(self) -> Judged:
        """Each result, of a window or of a key in it: what has a bound of its own."""
        return judge(self.answers, self._exact, ERROR)

    def of_key(self, key: str) -> Judged:
        exact = {pane: answer for pane, answer in self._exact.items() if pane[1] == key}
        return judge([a for a in self.answers if a.key == key], exact, ERROR)

    @property
    def keys(self) -> list[str]:
        return sorted({key for _, key in self.truth})

    @property
    def _exact(self) -> dict[KeyedPane, float]:
        return {pane: exact.answer for pane, exact in self.truth.items()}

    def figures(self) -> dict[str, Any]:
        """For the ledger."""
        latencies, windows, results = np.array(self.latencies_ms), self.windows, self.results
        mean, p95, p99 = (float(f) for f in (latencies.mean(), *np.percentile(latencies, [95, 99])))
        taken, all_rows = sum(a.sample for a in self.answers), sum(e.rows for e in self.truth.values())
        return {
            "mean_ms": round(mean, 1),
            "p95_ms": round(p95, 1),
            "p99_ms": round(p99, 1),
            "rate": round(taken / max(1, all_rows), 4),
            "windows": len(latencies),
            "within": round(windows.within.share, 4),
            "within_low": round(windows.within.low, 4),
            "covered": round(results.covered.share, 4),
            "covered_low": round(results.covered.low, 4),
            "width": round(results.width, 4),
            "results": results.covered.n,
            "missing": results.missing,
            "windows_covered": round(windows.covered.share, 4),
            "error_mean": round(windows.error_mean, 5),
            "error_max": round(windows.error_max, 5),
            "accuracy": round(1 - windows.error_mean, 5),
            "late_share": round(self.late / max(1, self.rows), 4),
            "cpu_us_row": round(1_000 * self.cpu_ms / max(1, self.rows), 2),
            "overhead_share": round(self.thought_ms / len(latencies) / max(mean, 1e-9), 5),
        }


def measure(spark: Any, case: LiveCase, policy: str, seed: int, seconds: int, folder: Path, say: Say) -> Ran:
    """Ask under one policy for so many seconds, after it has settled."""
    from headway.spark.runtime import Runtime

    asked = case.over(seed, _now_ms() + LEAD_S * 1_000)
    sampling = policy_named(policy, asked.of, asked.least)
    meter = Meter(psutil.Process(spark._jvm.java.lang.ProcessHandle.current().pid()))
    with Runtime(spark, journal=folder / "journal.db") as rt:
        live = Live(rt, spark, asked, sampling, f"{case.workload}_{policy.replace('-', '_')}", folder)
        let_pass("settling", SETTLE_S, say)
        # From the end of a batch to the end of another: so rows and the time spent on them belong together.
        _batch_ends(live, asked)
        since_ms, first, cpu_ms = _now_ms(), len(live.batches), meter.read().total
        late, thought = live.late, live.thought_ms()
        until_ms = since_ms + seconds * 1_000
        ends_ms = asked.ends_ms(since_ms, until_ms)
        while (now := _now_ms()) < until_ms:
            say("measuring", (until_ms - now) / 1_000)
            time.sleep(LOOK_S)
            live.look()
        _batch_ends(live, asked)
        cpu_ms, late, thought = meter.read().total - cpu_ms, live.late - late, live.thought_ms() - thought
        rows = sum(batch.rows for batch in live.batches[first:])
        while live.watermark < ends_ms[-1] and _now_ms() < until_ms + OVER_S * 1_000:
            say("the last windows", 0.0)
            time.sleep(LOOK_S)
            live.look()
        latencies = latencies_ms(live.batches, ends_ms, _now_ms())
    answers = [a for a in live.answers(ends_ms[0] - 1) if a.end_ms <= ends_ms[-1]]
    live.drop()
    truth = asked.truth(ends_ms)
    return Ran(case, policy, seed, latencies, answers, truth, asked.adds_up, rows, late, cpu_ms, thought)


def _batch_ends(live: Live, asked: WindowQuestion) -> None:
    """Wait for that; but not for ever where batches take longer than windows."""
    live.look()
    before, until_ms = len(live.batches), _now_ms() + 2 * asked.slide_ms
    while len(live.batches) == before and _now_ms() < until_ms:
        time.sleep(LOOK_S / 10)
        live.look()


def turns(policies: Sequence[str], seeds: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Seed by seed all policies, each time another one first: none is always the one after a certain other."""
    for place, seed in enumerate(seeds):
        first = place % len(policies)
        yield from ((seed, policy) for policy in (*policies[first:], *policies[:first]))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
