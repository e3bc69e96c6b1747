"""What a stage tells the next one of itself: how late its word comes, and for which moments."""

from dataclasses import dataclass, field

from headway.estimate.delays import Epochs
from headway.model.punctuation import UpstreamFlow, slowest
from headway.model.time import EventMs, WallMs
from headway.model.view import QueryView

EPOCHS = 20  # a stage that has caught up, or has another load, is soon known as it is now


@dataclass
class StageLag:
    """How long after a moment of the stream a stage has said that it is complete up to there, the last times."""

    _epochs: Epochs = field(default_factory=lambda: Epochs(horizon=EPOCHS))
    _complete: EventMs | None = None

    def writes(self, complete: EventMs | None, at: WallMs) -> None:
        """It says so now."""
        if complete is None or (self._complete is not None and complete <= self._complete):
            return
        lag = float(max(0, at - complete))
        self._epochs = self._epochs.add(lag, lag**2, ((lag, 1.0),))
        self._complete = complete

    def flow(self, query: QueryView | None) -> UpstreamFlow:
        """With what its own runtime knows of the query."""
        lag = self._epochs.view()
        if query is None:
            return UpstreamFlow(lag)
        return UpstreamFlow(lag, query.deadlines.grids, slowest([i.delay for i in query.inputs]))
