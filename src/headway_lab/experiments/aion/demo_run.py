"""The run behind `headway demo approximate`: one question asked twice of one stream, of all rows and of a sample."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from headway.policy.sampling import Aion, Everything, SamplingPolicy
from headway_lab.experiments.aion.asking import Batch, Live
from headway_lab.experiments.aion.covered import WindowResult, added_up
from headway_lab.experiments.aion.run import CONFIDENCE, LEAD_S, LOOK_S, OVER_S, SETTLE_S, LiveCase
from headway_lab.harness.batches import latencies_ms
from headway_lab.workloads.approximate import ExactAnswer, WindowQuestion

EXACT, APPROXIMATE = "exact", "approximate"  # names of the queries


@dataclass(frozen=True)
class Plan:
    """What is asked, and for how long."""

    case: LiveCase = LiveCase("taxi")
    seconds: int = 45
    error: float = 0.05
    seed: int = 1
    settle_s: int = SETTLE_S
    base_ms: int = 0  # from then on windows count: set when both queries have settled

    @property
    def until_ms(self) -> int:
        return self.base_ms + self.seconds * 1_000


@dataclass
class Side:
    """What was seen of one of the two queries."""

    batches: list[Batch] = field(default_factory=list)
    answers: dict[int, WindowResult] = field(default_factory=dict)  # by the end of the window

    def latency_ms(self, end_ms: int) -> float:
        """Of a window that is out."""
        return latencies_ms(self.batches, [end_ms], end_ms)[0]


@dataclass
class Played:
    """Both sides, and what they should have said."""

    plan: Plan
    words: str  # what was asked
    ends_ms: list[int] = field(default_factory=list)
    truth: dict[int, ExactAnswer] = field(default_factory=dict)  # by the end of the window
    sides: dict[str, Side] = field(default_factory=lambda: {EXACT: Side(), APPROXIMATE: Side()})

    @property
    def case_words(self) -> str:
        case = self.plan.case
        return f"{self.words}; {case.rate:,} events/s, {case.setting}, windows of {case.window_s} s"

    @property
    def both(self) -> list[int]:
        """Windows that both have answered."""
        return [end for end in self.ends_ms if all(end in side.answers for side in self.sides.values())]

    def share(self, name: str, end_ms: int) -> float:
        """Of a window's rows that went into its answer."""
        return self.sides[name].answers[end_ms].sample / max(1, self.truth[end_ms].rows)

    def off(self, name: str, end_ms: int) -> float:
        """By how much an answer is off, relatively."""
        return self.sides[name].answers[end_ms].error(self.truth[end_ms].answer)


Show = Callable[[Played, int], None]


def play(spark: Any, plan: Plan, folder: Path, show: Show) -> Played:
    """Ask twice, side by side, until the last window that counts is out; `show` is called a few times a second."""
    from headway.spark.runtime import Runtime

    asked = plan.case.over(plan.seed, _now_ms() + LEAD_S * 1_000)
    policies: dict[str, SamplingPolicy] = {
        EXACT: Everything(plan.error, CONFIDENCE, asked.of),
        APPROXIMATE: Aion(plan.error, CONFIDENCE, asked.of, least=asked.least),
    }
    with Runtime(spark, journal=folder / "journal.db") as rt:
        lives = {name: Live(rt, spark, asked, policy, name, folder) for name, policy in policies.items()}
        base_ms = _now_ms() + plan.settle_s * 1_000
        played = Played(replace(plan, base_ms=base_ms), asked.words)
        played.ends_ms = asked.ends_ms(base_ms, played.plan.until_ms)
        last = played.ends_ms[-1]
        while any(live.watermark < last for live in lives.values()) and _now_ms() < played.plan.until_ms + OVER_S * 1_000:
            time.sleep(LOOK_S)
            for name, live in lives.items():
                take_in(played, name, live, asked)
            show(played, _now_ms())
    for live in lives.values():
        live.drop()
    return played


def take_in(played: Played, name: str, live: Any, asked: WindowQuestion) -> None:
    """The windows of one query that have come out since the last look."""
    before = live.watermark
    live.look()
    side = played.sides[name]
    side.batches = live.batches
    new = [end for end in played.ends_ms if before < end <= live.watermark]
    if not new:
        return
    answers = live.answers(new[0] - 1)
    for answer in added_up(answers, CONFIDENCE) if asked.adds_up else answers:
        if answer.end_ms in new:
            side.answers[answer.end_ms] = answer
    for end in new:
        if end not in played.truth:
            exact = asked.truth([end]).values()
            played.truth[end] = ExactAnswer(sum(e.answer for e in exact), sum(e.rows for e in exact))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
