"""How far the stages have come that write to a topic: what their punctuations say, partition by partition.

A partition is complete, for a stage, up to what the last punctuation says that was heard there. A stage is complete
up to the least of its partitions, and a topic up to the least of its stages. Nothing here is guessed, and nothing goes back:
what was once complete stays so, since a later punctuation can only promise more.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from headway.model.punctuation import Punctuation
from headway.model.time import EventMs, WallMs
from headway.model.view import DelayView


@dataclass(frozen=True, slots=True)
class StageHeard:
    """What one stage has said so far."""

    newest: Punctuation
    at: WallMs  # when it was last heard
    parts: Mapping[int, Punctuation]  # the last one in each partition
    complete: EventMs | None = None  # in all partitions

    def heard(self, partition: int, said: Punctuation, at: WallMs) -> "StageHeard | None":
        """None if it is to be refused: it was heard there before, or its writer has been replaced since.

        Partitions are not read in step, so that an older incarnation may be heard in one after a newer one in another.
        """
        before = self.parts.get(partition)
        if before is not None and said.order <= before.order:
            return None
        newest = max(self.newest, said, key=lambda one: one.order)
        # Should one ever promise less than that before it, what was promised stands.
        kept = said if before is None else replace(said, complete=_latest(before.complete, said.complete))
        parts = {**self.parts, partition: kept}
        return StageHeard(newest, at, parts, _latest(self.complete, _in_all(parts, newest.partitions)))


@dataclass(frozen=True, slots=True)
class StageAge:
    """A stage that others wait for, or have given up waiting for."""

    stage: str
    silent_ms: int  # since it was last heard
    complete: EventMs | None  # as far as it had come then


@dataclass(frozen=True, slots=True)
class CompletenessStanding:
    """How far a topic is complete at a moment, for a reader that waits so long for a stage that is silent."""

    complete: EventMs | None = None
    slowest: StageAge | None = None  # the stage that decides that
    passed: tuple[StageAge, ...] = ()  # stages that are not waited for any more
    lag: DelayView | None = None  # how long after the coming deadline it may be expected to be complete up to that
    told_ms: int | None = None  # how old the statistics are that say so


@dataclass(frozen=True, slots=True)
class Completeness:
    """What was heard of the stages that write to one topic."""

    since: WallMs = WallMs(0)  # when a query first listened
    stages: Mapping[str, StageHeard] = field(default_factory=dict)
    refused: int = 0  # punctuations that were heard before, or of a writer that has been replaced

    def heard(self, partition: int, said: Punctuation, at: WallMs) -> "Completeness":
        """After one more punctuation, read in this partition."""
        known = self.stages.get(said.stage)
        if known is None:
            known = StageHeard(said, at, {partition: said}, _in_all({partition: said}, said.partitions))
        elif (more := known.heard(partition, said, at)) is None:
            return replace(self, refused=self.refused + 1)
        else:
            known = more
        return replace(self, stages={**self.stages, said.stage: known})

    def standing(
        self, now: WallMs, wanted: tuple[str, ...] = (), idle_after_ms: int | None = None, deadline: EventMs | None = None
    ) -> CompletenessStanding:
        """For a reader that waits for the stages `wanted`, or for all that were ever heard if none is named.

        A stage that is idle sends punctuations all the same. So one that says nothing is dead, or cannot be heard, and is
        waited for: for `idle_after_ms`, or for ever if that is None. If none is left to wait for, what one of them had
        said last is all that there is.
        """
        ages = [self._age(stage, now) for stage in (wanted or sorted(self.stages))]
        passed = tuple(a for a in ages if idle_after_ms is not None and a.silent_ms >= idle_after_ms)
        speaking = [a for a in ages if a not in passed]
        if not speaking:
            complete = max((a.complete for a in passed if a.complete is not None), default=None)
            return CompletenessStanding(complete, None, passed)
        slowest = min(speaking, key=lambda a: (a.complete is not None, a.complete or 0, -a.silent_ms, a.stage))
        lag, told_ms = self._expected([a.stage for a in speaking], deadline, now)
        return CompletenessStanding(slowest.complete, slowest, passed, lag, told_ms)

    def _age(self, stage: str, now: WallMs) -> StageAge:
        known = self.stages.get(stage)
        if known is None:
            return StageAge(stage, max(0, now - self.since), None)
        return StageAge(stage, max(0, now - known.at), known.complete)

    def _expected(self, stages: list[str], deadline: EventMs | None, now: WallMs) -> tuple[DelayView | None, int | None]:
        """The stage that is expected last decides, and unless all have said something nothing is expected."""
        if deadline is None or any(stage not in self.stages for stage in stages):
            return None, None
        known = [self.stages[stage] for stage in stages]
        lags = [(lag, one.at) for one in known if (lag := one.newest.flow.lag_at(deadline)) is not None]
        if not lags or len(lags) < len(known):
            return None, None
        lag, at = max(lags, key=lambda pair: pair[0].mean_ms)
        return lag, max(0, now - at)


def _in_all(parts: Mapping[int, Punctuation], partitions: int) -> EventMs | None:
    """The least of so many partitions; None if one of them has said nothing."""
    said = [parts[n].complete if n in parts else None for n in range(partitions)]
    return None if None in said else min(moment for moment in said if moment is not None)


def _latest(one: EventMs | None, other: EventMs | None) -> EventMs | None:
    return other if one is None else one if other is None else max(one, other)
