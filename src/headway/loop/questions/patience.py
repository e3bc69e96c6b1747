"""How long are an input's stragglers waited for? Due whenever a batch has told of their delays."""

from collections.abc import Callable

from headway.loop.kernel import Question, without_memory
from headway.model.patience import PatiencePolicy, PatienceView, Wait
from headway.model.time import WallMs

NAME = "patience"
SAME = 0.05  # waits that differ by less say the same


def patience(
    scope: str, policy: PatiencePolicy, see: Callable[[WallMs], PatienceView], act: Callable[[Wait, WallMs], str]
) -> Question[PatienceView, None, Wait]:
    return Question(
        NAME,
        scope,
        policy,
        without_memory(policy),
        see,
        act,
        None,
        guards=(never_hurry_the_old, within(policy)),
        news=is_news,
    )


def never_hurry_the_old(wait: Wait, seen: PatienceView) -> Wait:
    """The windows of old rows are not urgent, so they wait as long as the policy allows."""
    if not seen.old or wait.ms >= seen.most_ms:
        return wait
    return Wait(seen.most_ms, f"{wait.because}; but its rows are old, and their windows are not urgent")


def within(policy: PatiencePolicy) -> Callable[[Wait, PatienceView], Wait]:
    """A policy keeps to the bounds that it has promised."""

    def guard(wait: Wait, seen: PatienceView) -> Wait:
        kept = min(max(wait.ms, policy.least_ms), policy.most_ms)
        return wait if kept == wait.ms else Wait(kept, f"{wait.because}; bounded to {policy.least_ms}..{policy.most_ms} ms")

    return guard


def is_news(decided: Wait, before: Wait | None) -> bool:
    return before is None or abs(decided.ms - before.ms) > max(1.0, SAME * before.ms)
