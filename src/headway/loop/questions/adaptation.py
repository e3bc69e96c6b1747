"""On which sites, with how many tasks, by which plan? A question for each pipeline of a wide area, every 40 s or so.

What is carried out comes back in the next views: that a change is under way, when the last one was over, and what it was.
"""

from collections.abc import Callable
from dataclasses import dataclass

from headway.loop.kernel import Question
from headway.model.adaptation import (
    AdaptationDecision,
    AdaptationMemory,
    AdaptationPolicy,
    AreaView,
    Degrade,
    Keep,
    PastChange,
    Placed,
    Replan,
    ScaleDown,
    technique_of,
)
from headway.model.time import WallMs

ADAPTATION = "adaptation"
AdaptationGuard = Callable[[AdaptationDecision, AreaView], AdaptationDecision]


@dataclass(frozen=True, slots=True)
class Calm:
    """How much unrest a pipeline is spared."""

    spike_ms: int = 30_000  # a stage that has not kept up for less than this is left alone
    settle_ms: int = 40_000  # after a change, before the next
    return_ms: int = 240_000  # before a stage goes back to where it was; a change for the worse is no way back


def adaptation(
    pipeline: str,
    policy: AdaptationPolicy,
    see: Callable[[WallMs], AreaView | None],
    act: Callable[[AdaptationDecision, WallMs], str],
    calm: Calm | None = None,
) -> Question[AreaView, AdaptationMemory, AdaptationDecision]:
    """The question of one pipeline."""
    calm = calm or Calm()
    guards = (
        never_while_changing,
        settle_first(calm.settle_ms),
        not_for_a_spike(calm.spike_ms),
        never_to_and_fro(calm.return_ms),
        within_the_slots,
        never_drop_unasked,
    )
    return Question(ADAPTATION, pipeline, policy, policy.decide, see, act, AdaptationMemory(), guards, is_news)


def never_while_changing(decided: AdaptationDecision, seen: AreaView) -> AdaptationDecision:
    """One change at a time."""
    if isinstance(decided, Keep) or not seen.changing:
        return decided
    return Keep(f"{decided.because}; but a change is under way")


def settle_first(settle_ms: int) -> AdaptationGuard:
    """Rates of a pipeline that has just changed say what it was, not what it is."""

    def guard(decided: AdaptationDecision, seen: AreaView) -> AdaptationDecision:
        rested = seen.now - seen.changed_at
        if not isinstance(decided, Placed) or not seen.past or rested >= settle_ms:
            return decided
        return Keep(f"{decided.because}; but the last change was over {rested} ms ago, and has {settle_ms} ms to settle")

    return guard


def not_for_a_spike(spike_ms: int) -> AdaptationGuard:
    """What may be over before a change is made is waited for."""

    def guard(decided: AdaptationDecision, seen: AreaView) -> AdaptationDecision:
        if not isinstance(decided, Placed) or isinstance(decided, ScaleDown):
            return decided
        longest = max((rates.strained_ms for rates in seen.rates), default=0)
        if longest >= spike_ms:
            return decided
        return Keep(f"{decided.because}; but for {longest} ms only, and below {spike_ms} ms it may be a spike")

    return guard


def never_to_and_fro(return_ms: int) -> AdaptationGuard:
    """A stage does not go back to where it was a moment ago: whatever made it leave may be there still."""

    def guard(decided: AdaptationDecision, seen: AreaView) -> AdaptationDecision:
        if not isinstance(decided, Placed) or isinstance(decided, Replan):
            return decided
        after = decided.deployed.tasks[seen.plan.index(decided.stage)]
        for past in seen.past:
            young = seen.now - past.at < return_ms
            if young and past.stage == decided.stage and past.before == after and not _a_retreat(past, decided):
                because = f"{decided.because}; but it left there {seen.now - past.at} ms ago by {past.technique}"
                return Keep(because)
        return decided

    return guard


def _a_retreat(past: PastChange, decided: Placed) -> bool:
    """After a task too many was taken away it comes back at once: rows wait meanwhile."""
    return past.technique == "scale-down" and technique_of(decided) != "scale-down"


def within_the_slots(decided: AdaptationDecision, seen: AreaView) -> AdaptationDecision:
    """No site gets more tasks than it has slots, whatever it said of them before."""
    if not isinstance(decided, Placed):
        return decided
    plan = decided.plan if isinstance(decided, Replan) else seen.plan
    table = decided.deployed.table
    if table.shape != (len(plan.stages), len(seen.area)):
        return Keep(f"{decided.because}; but it is for {table.shape[1]} sites, and there are {len(seen.area)}")
    counted = [place for place, stage in enumerate(plan.stages) if stage.kind != "source"]
    for site, taken in zip(seen.area.sites, table[counted].sum(axis=0).tolist(), strict=True):
        if taken > site.slots:
            return Keep(f"{decided.because}; but {site.name} has {site.slots} slots, not {taken}")
    return decided


def never_drop_unasked(decided: AdaptationDecision, seen: AreaView) -> AdaptationDecision:
    """Rows are dropped only if the user has allowed it."""
    if not isinstance(decided, Degrade) or decided.later_than_ms is None or seen.may_degrade:
        return decided
    return Keep(f"{decided.because}; but no row of {seen.pipeline} may be dropped")


def is_news(decided: AdaptationDecision, before: AdaptationDecision | None) -> bool:
    """Something changes; or nothing does, for the first time or since something else was wrong."""
    if not isinstance(decided, Keep) or not isinstance(before, Keep):
        return True
    return _words_of(decided.because) != _words_of(before.because)


def _words_of(because: str) -> list[str]:
    """The reason without its figures."""
    return [word for word in because.split() if not any(letter.isdigit() for letter in word)]
