"""SLTuner: as few slack-ready tuples as the deadline allows (Zacheilas et al.; DEBS 2017, section 5.2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import nextafter

import numpy as np

from headway.errors import SettingError
from headway.estimate.slack_curves import Learner
from headway.estimate.slack_models import known
from headway.model.graph import Graph
from headway.model.slack import Curve, SlackSeen, SLTs

FIRST_TRIED = (0.125, 0.1875, 0.25, 0.3125, 0.375, 0.5)  # of an operator's part of the deadline: half is left for the rest
STEPS = 64  # thresholds from nothing to the deadline
STRIDES = (16, 8, 4, 2, 1)  # in thresholds; a long one first


@dataclass(frozen=True, slots=True)
class SLTuner:
    """Raise the thresholds where that spares most slack-ready tuples, as long as the slowest path keeps the deadline.

    It acts when the next period is expected to break the deadline, or to leave a share `alpha` of it unused. Until enough
    is known it tries thresholds that keep the deadline whatever the streams do.
    """

    deadline_ms: float
    alpha: float = 0.1
    estimator: str = "gp"
    most_ms: float | None = None  # the greatest threshold; the deadline unless told

    def __post_init__(self) -> None:
        if not self.deadline_ms > 0:
            raise SettingError("slack.deadline_ms", self.deadline_ms, "more than 0 ms")
        if not 0 < self.alpha < 1:
            raise SettingError("slack.alpha", self.alpha, "a share between 0 and 1, e.g. 0.1")
        if self.most_ms is not None and not self.most_ms > 0:
            raise SettingError("slack.most_ms", self.most_ms, "more than 0 ms")
        known(self.estimator)

    def thresholds(self) -> list[float]:
        """Those it chooses from: fine up to the deadline, coarse beyond."""
        most = self.deadline_ms if self.most_ms is None else self.most_ms
        fine = np.linspace(0.0, min(most, self.deadline_ms), STEPS + 1)
        beyond = np.linspace(self.deadline_ms, max(most, self.deadline_ms), STEPS // 4 + 1)[1:]
        # Not the deadline itself: a tuple that has waited so long has still to be processed.
        return sorted({float(ms) for ms in (*fine, *beyond)} - {float(self.deadline_ms)})

    def learner(self, period_s: float = 1.0, pace_ms: float = 0.0) -> Learner:
        """The memory and the estimates that go with this policy."""
        return Learner(self.thresholds(), self.estimator, period_s, pace_ms=pace_ms)

    def decide(self, seen: SlackSeen) -> SLTs:
        if seen.curves is None:
            return self._tried(seen)
        expected = latency_ms(seen.graph, seen.curves, seen.slts)
        laxity = self.deadline_ms - expected
        if laxity <= 0:
            start = dict.fromkeys(seen.graph.operators, 0)
            why = f"{expected:.0f} ms expected, over the deadline of {self.deadline_ms:g} ms"
        elif laxity >= self.alpha * self.deadline_ms:
            start = {o: _index(seen.curves[o], seen.slts[o]) for o in seen.graph.operators}
            why = f"{expected:.0f} ms expected, {laxity:.0f} ms of the deadline left"
        else:
            return SLTs(dict(seen.slts), because=f"{expected:.0f} ms expected, near enough to the deadline")
        found = climb(seen.graph, seen.curves, start, self.deadline_ms)
        return SLTs({o: float(seen.curves[o].slt_ms[n]) for o, n in found.items()}, because=why)

    def _tried(self, seen: SlackSeen) -> SLTs:
        longest = max(len(path) for path in seen.graph.paths())
        share = FIRST_TRIED[seen.periods % len(FIRST_TRIED)]
        ms = share * self.deadline_ms / longest
        return SLTs(dict.fromkeys(seen.graph.operators, ms), because=f"too little is known yet: tries {ms:.0f} ms")


def latency_ms(graph: Graph, curves: Mapping[str, Curve], slts: Mapping[str, float]) -> float:
    """Eq. 2 of what is expected under these thresholds."""
    return graph.latency_ms({o: curves[o].latency_at(slts[o]) for o in graph.operators})


def climb(graph: Graph, curves: Mapping[str, Curve], start: Mapping[str, int], deadline_ms: float) -> dict[str, int]:
    """Greedy hill climbing: of all raises that keep the deadline, the one that leaves the fewest slack-ready tuples (Eq. 5).

    Of raises that spare equally many, the one that costs least latency; patience that costs nothing is taken along.
    """
    at = dict(start)
    for stride in STRIDES:
        while (best := _best_raise(graph, curves, at, stride, deadline_ms)) is not None:
            at[best] = min(at[best] + stride, len(curves[best].slt_ms) - 1)
    return at


def _best_raise(
    graph: Graph, curves: Mapping[str, Curve], at: Mapping[str, int], stride: int, deadline_ms: float
) -> str | None:
    options = []
    for o in graph.operators:
        curve = curves[o]
        to = min(at[o] + stride, len(curve.slt_ms) - 1)
        latency = graph.latency_ms({p: float(curves[p].latency_ms[to if p == o else at[p]]) for p in graph.operators})
        if to > at[o] and latency <= nextafter(deadline_ms, 0.0):
            options.append((float(curve.slack_ready[to] - curve.slack_ready[at[o]]), latency, o))
    return min(options)[2] if options else None


def _index(curve: Curve, slt_ms: float) -> int:
    """The greatest threshold of the curve that is not above this one."""
    return max(0, int(np.searchsorted(curve.slt_ms, slt_ms + 1e-6, "right")) - 1)
