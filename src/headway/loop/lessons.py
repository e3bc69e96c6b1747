"""What is learnt beside the thread that decides, because fitting a model takes too long for it."""

from collections.abc import Callable

from headway.loop.kernel import Kernel
from headway.loop.questions.slack import NAME as SLACK
from headway.loop.tracker import QueryTracker
from headway.model.message import Learnt, Message
from headway.model.time import WallMs

Background = Callable[[Callable[[], None]], object]


def at_once(work: Callable[[], None]) -> None:
    """For worlds without threads."""
    work()


class Lessons:
    """Given out to be learnt aside; what is learnt comes back as a message."""

    def __init__(self, kernel: Kernel, background: Background, post: Callable[[Message], None]) -> None:
        self._kernel, self._background, self._post = kernel, background, post

    def give(self, tracker: QueryTracker) -> None:
        """Give the windows that have come out to be learnt from."""
        if tracker.threshold is not None and (work := tracker.threshold.lesson(tracker.spec.name)) is not None:
            self._background(lambda: self._post(work()))

    def learnt(self, tracker: QueryTracker, message: Learnt, now: WallMs) -> None:
        name = tracker.spec.name
        assert tracker.threshold is not None
        if message.error is not None:
            tracker.threshold.learning = False
            text = f"its slack threshold stays as it is: learning has failed ({message.error})"
            self._kernel.journal.note(now, name, text)
        else:
            tracker.threshold.learnt(message)
            self._kernel.due(SLACK, name)
            self._kernel.settle(now)
        self.give(tracker)  # from those that have come out meanwhile
