"""Whose batch runs next? Asked until it is answered with nobody, and again when that might be answered otherwise."""

from collections.abc import Callable, Hashable

from headway.loop.kernel import Question, without_memory
from headway.model.decision import Decision, Grant, Guard, Hold, OrderPolicy
from headway.model.time import WallMs
from headway.model.view import Snapshot

NAME = "order"
SAME_MS = 50  # holds whose ends are no further apart say the same


def order(
    policy: OrderPolicy,
    guards: tuple[Guard, ...],
    see: Callable[[WallMs], Snapshot | None],
    act: Callable[[Decision, WallMs], str],
) -> Question[Snapshot, None, Decision]:
    return Question(NAME, "", policy, without_memory(policy), see, act, None, guards, is_news)


class StandingHold:
    """The last hold. It stands until its time is over, or until something that it was decided by has changed."""

    def __init__(self) -> None:
        self._hold: Hold | None = None
        self._by: Hashable = None

    def hold(self, decided: Decision | None, by: Hashable) -> None:
        """That was the last answer, and it was decided by this."""
        self._hold, self._by = decided if isinstance(decided, Hold) else None, by

    def until(self, now: WallMs, by: Hashable) -> WallMs | None:
        """Until when nobody needs to be asked; None: the question is due."""
        if self._hold is None or self._by != by or now >= self._hold.until:
            return None
        return self._hold.until


def is_news(decided: Decision, before: Decision | None) -> bool:
    """A grant always is; a hold only if it ends at another time than the hold before, estimates being estimates."""
    if isinstance(decided, Grant) or not isinstance(before, Hold):
        return True
    return decided.because != before.because and abs(decided.until - before.until) > SAME_MS
