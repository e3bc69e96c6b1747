"""What each threshold would do in the next period: latency and slack-ready tuples as curves over the SLT (the Estimator)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

import numpy as np

from headway.errors import SettingError
from headway.estimate.slack_models import Fitted, fit, known
from headway.estimate.slack_period import period_of
from headway.estimate.slack_reports import History, columns, phase_features
from headway.model.slack import Curve, Report

SIGMAS = 2.0  # by which a latency may be longer than expected


class Learner:
    """Two models for each operator, of latency and of slack-ready tuples, learnt anew each period from a sliding history.

    What every gate does by its definition need not be learnt: a longer threshold never shortens a wait and never makes
    more tuples slack-ready; no tuple waits longer than the threshold while the fastest stream keeps up with the clock; and
    one that waits in the next period has waited at most one period more than the oldest that waits now. And the first time a
    delay grows no model can know of it, so the wait is expected to grow on at least as it did in the last period.
    """

    def __init__(
        self,
        thresholds: Sequence[float],
        estimator: str = "gp",
        period_s: float = 1.0,
        keep: int = 300,
        enough: int = 12,
        refit_every: int = 60,
        pace_ms: float = 0.0,
    ) -> None:
        """`pace_ms` is how far apart the moments are at which what has come in is looked at."""
        if len(thresholds) < 2 or sorted(set(thresholds)) != list(thresholds):
            raise SettingError("slack.thresholds", list(thresholds)[:5], "two or more, ascending")
        if enough < 3 or keep < enough:
            raise SettingError("slack.keep", keep, f"at least {max(3, enough)} reports")
        self.thresholds = np.array(thresholds, dtype=np.float64)
        self.estimator = known(estimator)
        self.period_s, self.keep, self.enough, self.refit_every = period_s, keep, enough, refit_every
        self.pace_ms = pace_ms
        self.histories: dict[str, History] = {}
        self.cycles: dict[str, float | None] = {}
        self._models: dict[str, tuple[Fitted, Fitted]] = {}
        self._seen: dict[str, int] = {}
        self._scaled_at: dict[str, int] = {}  # how many reports were seen when length scales were last looked for

    def see(self, report: Report) -> None:
        history = self.histories.get(report.operator, History(self.keep))
        self.histories[report.operator] = history.plus(report)
        self._seen[report.operator] = self._seen.get(report.operator, 0) + 1

    def curves(self) -> Mapping[str, Curve] | None:
        """For the period after the last report; None until every operator has told enough."""
        if not self.histories or any(len(h.lessons) < self.enough for h in self.histories.values()):
            return None
        return {operator: self._curve(operator, history) for operator, history in self.histories.items()}

    def _curve(self, operator: str, history: History) -> Curve:
        latency, slack_ready = self._learnt(operator, history)
        last = history.reports[-1]
        ones = np.ones(len(self.thresholds))
        at = (last.at_s + self.period_s) * ones
        x = phase_features(self.thresholds, at, last.threads * ones, last.window_ms * ones, self.cycles[operator])
        mean, sd = latency.predict(x)
        # Sooner or later a tuple comes right after a look; then it takes two batches, one that reads and one that emits.
        extra = max(overhead_ms(history.lessons), self.pace_ms + 2 * median(r.batch_ms for r in history.reports))
        grew = last.waiting_ms - history.reports[-2].waiting_ms
        least = np.minimum(self.thresholds, last.waiting_ms + max(0.0, grew)) + extra
        most = np.minimum(self.thresholds, last.waiting_ms + self.period_s * 1000) + extra
        bounded = np.clip(mean + SIGMAS * sd, np.minimum(least, most), most)
        expected = np.maximum(slack_ready.predict(x)[0], 0.0)
        return Curve(self.thresholds, np.maximum.accumulate(bounded), np.minimum.accumulate(expected))

    def _learnt(self, operator: str, history: History) -> tuple[Fitted, Fitted]:
        """Models of all lessons so far; length scales and the period of the delay are found anew only now and then."""
        again = operator not in self._models or self._seen[operator] - self._scaled_at[operator] >= self.refit_every
        if again:
            self._scaled_at[operator] = self._seen[operator]
            gaps = np.array([r.gap_ms for r in history.reports])
            steps = period_of(gaps)
            self.cycles[operator] = None if steps is None else steps * self.period_s
        lessons = all_lessons(history, float(self.thresholds[-1]))
        x = phase_features(*columns(lessons), self.cycles[operator])
        before = (None, None) if again else self._models[operator]
        wanted = (np.array([r.latency_ms for r in lessons]), np.array([float(r.slack_ready) for r in lessons]))
        first, second = (fit(self.estimator, x, y, like) for y, like in zip(wanted, before, strict=True))
        self._models[operator] = first, second
        return first, second


def all_lessons(history: History, most_ms: float) -> tuple[Report, ...]:
    """What the thresholds that were set have done, and what the greatest would have done in the same periods.

    The latter is no guess. A gate sees when the slowest stream gets to a tuple, whether it was let go before or not: the gap
    is the wait that order would have cost, and with it no tuple would be slack-ready. Of the older past a part is enough.
    """
    lessons, reports = _thinned(history.lessons), _thinned(history.reports)
    extra = overhead_ms(history.lessons)
    waited = (replace(r, slt_ms=most_ms, latency_ms=min(r.gap_ms, most_ms) + extra, slack_ready=0) for r in reports)
    return (*lessons, *(r for r in waited if r.gap_ms < most_ms))


def _thinned(reports: tuple[Report, ...], fresh: int = 24, of_older: int = 4) -> tuple[Report, ...]:
    return (*reports[:-fresh][::of_older], *reports[-fresh:])


def overhead_ms(lessons: Sequence[Report]) -> float:
    """How much longer than its threshold allows a tuple takes at most: reading, processing, queueing for it.

    The longest so far and a standard deviation, since on a busy machine the longest is still to come.
    """
    over = np.array([r.latency_ms - r.slt_ms for r in lessons if r.latency_ms > r.slt_ms])
    return float(over.max() + over.std()) if len(over) else 0.0
