"""How much of an input is taken, and how long is its window waited for? Due whenever a batch has told of its rows."""

import re
from collections.abc import Callable

from headway.loop.kernel import Question, without_memory
from headway.model.sampling import Sampling, SamplingPolicy, StreamView
from headway.model.time import WallMs

NAME = "sampling"
SAME = 0.2  # shares and waits that differ by less say the same


def sampling(
    scope: str, policy: SamplingPolicy, see: Callable[[WallMs], StreamView], act: Callable[[Sampling, WallMs], str]
) -> Question[StreamView, None, Sampling]:
    return Question(NAME, scope, policy, without_memory(policy), see, act, None, guards=(within(policy),), news=is_news)


def within(policy: SamplingPolicy) -> Callable[[Sampling, StreamView], Sampling]:
    """No window waits longer than its user allows, and no more is taken than there is."""

    def guard(decided: Sampling, seen: StreamView) -> Sampling:
        wait_ms, share = min(decided.wait_ms, policy.most_ms), min(1.0, max(0.0, decided.share))
        if (wait_ms, share) == (decided.wait_ms, decided.share):
            return decided
        because = f"{decided.because}; bounded to a wait of {policy.most_ms} ms and all rows"
        return Sampling(share, decided.arrived, wait_ms, because, decided.keys, decided.needed)

    return guard


def kind(decided: Sampling) -> str:
    """The words of a reason, whatever the numbers."""
    return re.sub(r"[\d.,]*\d", "", decided.because)


def is_news(decided: Sampling, before: Sampling | None) -> bool:
    if before is None or kind(decided) != kind(before):
        return True
    pairs = ((decided.share, before.share), (float(decided.wait_ms), float(before.wait_ms)))
    return any(abs(now - was) > SAME * max(abs(was), 1e-9) for now, was in pairs)
