"""How far may the fastest source of a query run ahead of the slowest? Due when a window has come out and was learnt from."""

from collections.abc import Callable

from headway.loop.kernel import Question, without_memory
from headway.model.slack import SlackPolicy, SlackSeen, SLTs
from headway.model.time import WallMs

NAME = "slack"


def slack(
    scope: str,
    policy: SlackPolicy,
    most_ms: float,
    see: Callable[[WallMs], SlackSeen | None],
    act: Callable[[SLTs, WallMs], str],
) -> Question[SlackSeen, None, SLTs]:
    return Question(NAME, scope, policy, without_memory(policy), see, act, None, guards=(within(most_ms),))


def within(most_ms: float) -> Callable[[SLTs, SlackSeen], SLTs]:
    """No threshold is below 0, or beyond the deadline."""

    def guard(decided: SLTs, seen: SlackSeen) -> SLTs:
        kept = {operator: min(max(ms, 0.0), most_ms) for operator, ms in decided.ms.items()}
        return decided if kept == decided.ms else SLTs(kept, f"{decided.because}; bounded to 0..{most_ms:g} ms")

    return guard
