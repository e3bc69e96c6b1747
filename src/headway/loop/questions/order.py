"""Whose batch runs next? Asked in every turn, until it is answered with nobody."""

from collections.abc import Callable

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


def is_news(decided: Decision, before: Decision | None) -> bool:
    """A grant always is; a hold only if it ends at another time than the hold before, estimates being estimates."""
    if isinstance(decided, Grant) or not isinstance(before, Hold):
        return True
    return decided.because != before.because and abs(decided.until - before.until) > SAME_MS
