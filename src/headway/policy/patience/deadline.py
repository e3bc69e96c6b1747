"""Deadline: a slack gate whose threshold is tuned, so that windows come out in time and as little as possible is late."""

from dataclasses import dataclass
from math import inf

from headway.errors import SettingError
from headway.estimate.slack_curves import Learner
from headway.estimate.slack_reports import Report
from headway.model.patience import PatienceView, Wait
from headway.model.time import duration_ms
from headway.model.view import GATE_MOST_MS
from headway.policy.slack.graph import Graph
from headway.policy.slack.tuner import SLTuner
from headway.policy.slack.view import SlackPolicy, SlackSeen

QUERY = "query"  # the one operator there is


@dataclass(frozen=True, slots=True)
class Deadline:
    """Emit every window within `within` of its end; until then wait for the slowest source (see `SlackGate`).

    Who sets the threshold is `tuner`, SLTuner unless told. The deadline counts all: waiting, reading, computing.
    """

    within: str | int
    tuner: SlackPolicy | None = None

    def __post_init__(self) -> None:
        if self.within_ms <= 0:
            raise SettingError("patience.within", self.within, "a duration of more than 0 ms, e.g. '6 s'")

    @property
    def within_ms(self) -> int:
        return duration_ms("patience.within", self.within)

    @property
    def slt_ms(self) -> int:
        """Where it starts: half of what there is, since nobody knows yet what a batch takes."""
        return self.within_ms // 2

    @property
    def delay_ms(self) -> int:
        return self.slt_ms

    @property
    def least_ms(self) -> int:
        return 0

    @property
    def most_ms(self) -> int:
        return self.within_ms

    @property
    def memory_rows(self) -> float:
        return inf

    def decide(self, seen: PatienceView) -> Wait:
        return Wait(self.delay_ms, "where its slack threshold starts")

    def tuning(self, period_ms: float) -> "Tuning":
        """What learns beside a query whose windows come this often."""
        policy = self.tuner or SLTuner(self.within_ms)
        pace_ms = min(period_ms, GATE_MOST_MS)
        learner = policy.learner(period_ms / 1000, pace_ms) if isinstance(policy, SLTuner) else None
        return Tuning(policy, float(self.slt_ms), learner)


@dataclass
class Tuning:
    """The threshold of one query as it was learnt so far."""

    policy: SlackPolicy
    slt_ms: float
    learner: Learner | None = None
    because: str = ""
    _last: Report | None = None
    _worst_gap_ms: float = 0.0
    _periods: int = 0

    def step(self, report: Report) -> None:
        """Take in what a window has shown, and set the threshold for the next."""
        before, self._last = {} if self._last is None else {QUERY: self._last}, report
        self._worst_gap_ms = max(self._worst_gap_ms, report.gap_ms)
        self._periods += 1
        if self.learner is not None:
            self.learner.see(report)
        said = self.policy.decide(
            SlackSeen(
                Graph((QUERY,)), {QUERY: self.slt_ms}, {QUERY: report}, before,
                {QUERY: self._worst_gap_ms}, self._periods, None if self.learner is None else self.learner.curves(),
            )
        )  # fmt: skip
        self.slt_ms, self.because = said.ms[QUERY], said.because
