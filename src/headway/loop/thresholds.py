"""The slack threshold of one query: what its windows have shown, and what is learnt from that, aside."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from headway.loop.kernel import Question
from headway.loop.questions.slack import slack
from headway.model.graph import Graph
from headway.model.message import Learnt
from headway.model.slack import Learns, Report, SlackPolicy, SlackSeen, SLTs
from headway.model.time import WallMs

QUERY = "query"  # the one operator there is


@dataclass
class Threshold:
    """Where it stands, and the reports that nobody has learnt from yet."""

    policy: SlackPolicy
    learner: Learns | None  # None: the policy needs no curves
    ms: float
    most_ms: float
    reports: list[Report] = field(default_factory=list)
    seen: SlackSeen | None = None  # by the last window that was learnt from
    learning: bool = False  # then the learner is not ours to touch

    def lesson(self, query: str) -> Callable[[], Learnt] | None:
        """Work that takes too long for the thread which decides, if there is some; its result comes back as a message."""
        if self.learning or not self.reports:
            return None
        new, self.reports, self.learning = tuple(self.reports), [], True

        def work() -> Learnt:
            try:
                for report in new:
                    if self.learner is not None:
                        self.learner.see(report)
                return Learnt(query, self, new, None if self.learner is None else self.learner.curves())
            except Exception as error:
                return Learnt(query, self, new, error=repr(error))

        return work

    def learnt(self, message: Learnt) -> None:
        """The question is due with what this says."""
        self.learning = False
        before = self.seen
        *earlier, report = message.reports
        last = {QUERY: earlier[-1]} if earlier else {} if before is None else before.last
        worst = max([r.gap_ms for r in message.reports] + ([] if before is None else [before.worst_gap_ms[QUERY]]))
        periods = len(message.reports) + (0 if before is None else before.periods)
        self.seen = SlackSeen(
            Graph((QUERY,)), {QUERY: self.ms}, {QUERY: report}, last, {QUERY: worst}, periods, message.curves
        )  # fmt: skip

    def question(self, query: str) -> Question[Any, Any, Any]:
        return slack(query, self.policy, self.most_ms, lambda now: self.seen, self._set)

    def _set(self, decided: SLTs, now: WallMs) -> str:
        self.ms = decided.ms[QUERY]
        return "set"
