"""The slack thresholds of one query: what its windows have shown, and what is learnt from that, aside."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headway.estimate.due import GATE_MOST_MS
from headway.loop.kernel import Question
from headway.loop.questions.slack import slack
from headway.model.declared import patience_declares, slack_declares
from headway.model.graph import Graph
from headway.model.message import Learnt, QuerySpec
from headway.model.slack import Learns, Report, SlackPolicy, SlackSeen, SLTs
from headway.model.time import WallMs

QUERY = "query"  # the one operator of a Spark query, whose operators run together


@dataclass
class Threshold:
    """Where it stands, and the reports that nothing was learnt from yet. In a graph of operators each has its own."""

    policy: SlackPolicy
    learner: Learns | None  # None: the policy needs no curves
    start_ms: float
    most_ms: float
    graph: Graph = Graph((QUERY,))
    reports: list[Report] = field(default_factory=list)
    seen: SlackSeen | None = None  # by the last window that was learnt from
    learning: bool = False  # then the learner is not ours to touch
    slts: Mapping[str, float] = field(init=False)  # in ms, by operator

    def __post_init__(self) -> None:
        self.slts = dict.fromkeys(self.graph.operators, self.start_ms)

    @property
    def ms(self) -> float:
        """That of a query, which has one for all its gates."""
        return self.slts[QUERY]

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
        known = SlackSeen(self.graph, self.slts) if self.seen is None else self.seen
        told = {o: [r for r in message.reports if r.operator == o] for o in self.graph.operators}
        series = {o: [known.last[o], *new] if o in known.last else new for o, new in told.items()}
        self.seen = SlackSeen(
            self.graph,
            self.slts,
            last={o: reports[-1] for o, reports in series.items() if reports},
            before={o: reports[-2] for o, reports in series.items() if len(reports) > 1},
            worst_gap_ms={o: max([known.worst_gap_ms.get(o, 0.0), *(r.gap_ms for r in new)]) for o, new in told.items()},
            periods=known.periods + max(len(new) for new in told.values()),
            curves=message.curves,
        )

    @classmethod
    def of(cls, spec: QuerySpec) -> "Threshold | None":
        """That of a query with an input whose patience declares that its threshold is tuned."""
        period_ms = spec.deadlines.period_ms
        for policy in (source.policy for source in spec.inputs if source.policy is not None):
            declares = patience_declares(policy)
            if (tunes := declares.tunes) is not None:
                make = slack_declares(tunes).learner
                learner = None if make is None else make(period_ms / 1000, min(period_ms, GATE_MOST_MS))
                return cls(tunes, learner, float(declares.slt_ms or 0), float(policy.most_ms))
        return None

    def question(self, query: str) -> Question[Any, Any, Any]:
        return slack(query, self.policy, self.most_ms, lambda now: self.seen, self._set)

    def _set(self, decided: SLTs, now: WallMs) -> str:
        self.slts = decided.ms
        return "set"
