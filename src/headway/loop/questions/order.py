"""Which query runs its next batch? Asked until the answer is none, and again when the answer might be another one."""

from collections.abc import Callable, Hashable, Sequence
from math import ceil, inf

from headway.loop.kernel import Question, without_memory
from headway.model.decision import Decision, Grant, Guard, Hold, OrderPolicy
from headway.model.declared import NotBefore, order_declares
from headway.model.time import WallMs
from headway.model.view import QueryView, Snapshot

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
    """What the last answer said of all queries that wait: that none of them is wanted before some moment. It stands until
    then, or until something that it was decided by has changed.

    A query that has come back to the gate changes nothing for the others. A policy that declares `not_before` says from
    when on it may be wanted itself, and the hold ends then; other policies are asked anew.
    """

    def __init__(self) -> None:
        self._until: WallMs | None = None
        self._by: Hashable = None
        self._not_before: NotBefore | None = None

    def hold(self, decided: Decision | None, by: Hashable, policy: OrderPolicy | None = None) -> None:
        """That was the last answer, and it was decided by this."""
        match decided:
            case Hold(until=until) | Grant(then=until):
                self._until, self._by = until, by
                self._not_before = order_declares(policy).not_before
            case None:
                self._until = None

    def until(self, now: WallMs, by: Hashable, news: Sequence[QueryView] = ()) -> WallMs | None:
        """Until when the policy need not be asked, with these queries changed since; None: the question is due."""
        if self._until is None or self._by != by:
            return None
        if news:
            soonest = -inf if self._not_before is None else min(self._not_before(view, now) for view in news)
            self._until = self._until if soonest >= self._until else WallMs(ceil(max(soonest, now)))
        return self._until if now < self._until else None


def is_news(decided: Decision, before: Decision | None) -> bool:
    """A grant always is; a hold only if it ends at another time than the hold before, estimates being estimates."""
    if isinstance(decided, Grant) or not isinstance(before, Hold):
        return True
    return decided.because != before.because and abs(decided.until - before.until) > SAME_MS
