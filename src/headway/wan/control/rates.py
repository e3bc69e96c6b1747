"""Rates of stages, out of what nodes say of their queries and topics say of themselves. Pure.

Rows that a piece has read are counted by its node, rows that it has written by the topic. What a stage's inputs have
written and it has not read waits for it. Where that is so, a link that is full is what holds it up; if none is, it is the
stage itself.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from headway.model.adaptation import StageRates
from headway.model.geo import GeoPlan, Stage
from headway.model.piece import Piece

FEW = 50.0  # rows, which are nothing
LONGEST_MS = 180_000  # of a batch: it is counted when it is over
Count = Callable[["AreaSample"], int]


@dataclass(frozen=True, slots=True)
class AreaSample:
    """Counts at one moment: all of them only grow."""

    at_ms: int
    read: Mapping[str, int]  # rows, by piece, over all of its lives
    written: Mapping[str, int]  # rows, by topic


@dataclass(slots=True)
class AreaRates:
    """What is seen of one running plan. `period_ms`: so long may rows wait though all is well, until they are read.

    Counts rise when a batch is over. One that takes longer than a round would make a rate of nothing and then of too much:
    so rates are from the end of one batch to the end of another.
    """

    plan: GeoPlan
    pieces: tuple[Piece, ...]
    period_ms: int
    _samples: deque[AreaSample] = field(default_factory=deque)
    _keep_ms: int = 0
    _strained: dict[str, int] = field(default_factory=dict)  # since when a stage has not kept up
    _calm: dict[str, int] = field(default_factory=dict)

    def saw(self, sample: AreaSample, keep_ms: int) -> None:
        """`keep_ms`: rates are those of so long, or of a batch if that is longer."""
        self._samples.append(sample)
        self._keep_ms = keep_ms
        while len(self._samples) > 2 and sample.at_ms - self._samples[1].at_ms >= max(keep_ms, LONGEST_MS):
            self._samples.popleft()
        for stage in self.plan.stages:
            lags = self.waiting(stage) > FEW + self.offered(stage) * self.period_ms / 1000
            begin, end = (self._strained, self._calm) if lags else (self._calm, self._strained)
            begin.setdefault(stage.name, sample.at_ms)
            end.pop(stage.name, None)

    def begin(self) -> None:
        """A change was made: rates are those from here on."""
        while len(self._samples) > 1:
            self._samples.popleft()
        self._strained.clear()
        self._calm.clear()

    def rates(self, full: frozenset[tuple[str, str]] = frozenset()) -> tuple[StageRates, ...]:
        """Of all stages; `full` are links that carry no more than they do."""
        return tuple(self._of(stage, full) for stage in self.plan.stages)

    def waiting(self, stage: Stage) -> float:
        """Rows that were written for a stage and not read by it."""
        if not self._samples:
            return 0.0
        last = self._samples[-1]
        pieces = self._leading(stage)
        there = sum(last.written.get(channel.topic, 0) for piece in pieces for channel in piece.reads)
        return max(0.0, float(there - sum(last.read.get(piece.name, 0) for piece in pieces if piece.reads)))

    def offered(self, stage: Stage) -> float:
        """Rows a second that its inputs write for it."""
        topics = [channel.topic for piece in self._leading(stage) for channel in piece.reads]
        return self._per_s(lambda sample: sum(sample.written.get(topic, 0) for topic in topics))

    def _of(self, stage: Stage, full: frozenset[tuple[str, str]]) -> StageRates:
        leading = self._leading(stage)
        read = self._per_s(lambda sample: sum(sample.read.get(piece.name, 0) for piece in leading))
        sent = self._sent(stage)
        now = self._samples[-1].at_ms if self._samples else 0
        strained = now - self._strained[stage.name] if stage.name in self._strained else 0
        calm = now - self._calm[stage.name] if stage.name in self._calm else 0
        if stage.kind == "source":
            kept = sent if sent is not None else read * stage.selectivity
            return StageRates(stage.name, kept, kept, kept, 0.0, 0, calm)
        if not leading:  # fused into its source: it gets what that has kept
            kept = self._per_s(lambda sample: sum(sample.read.get(p.name, 0) for p in self._holding(stage)))
            kept *= self.plan.stage(stage.inputs[0]).selectivity
            return StageRates(stage.name, kept, kept, sent or 0.0, 0.0, 0, calm)
        offered, waiting = self.offered(stage), self.waiting(stage)
        held_up = any((c.site, piece.site) in full for piece in leading for c in piece.reads)
        arrived = read if waiting <= FEW or held_up else offered
        return StageRates(stage.name, arrived, read, read if sent is None else sent, waiting, strained, calm)

    def _sent(self, stage: Stage) -> float | None:
        """Rows a second that it writes; None if they are not counted: what is fused goes on without a topic."""
        writers = [piece for piece in self._holding(stage) if piece.stages[-1] == stage.name and piece.writes]
        if not writers:
            return None
        topics = {channel.topic for piece in writers for channel in piece.writes}
        return self._per_s(lambda sample: sum(sample.written.get(topic, 0) for topic in topics))

    def _leading(self, stage: Stage) -> list[Piece]:
        return [piece for piece in self.pieces if piece.stages[0] == stage.name]

    def _holding(self, stage: Stage) -> list[Piece]:
        return [piece for piece in self.pieces if stage.name in piece.stages]

    def _per_s(self, count: Count) -> float:
        if len(self._samples) < 2:
            return 0.0
        counts = [(sample.at_ms, count(sample)) for sample in self._samples]
        steps = [counts[0], *(after for before, after in pairwise(counts) if after[1] > before[1])]
        now, last = counts[-1][0], steps[-1]
        begun = [step for step in steps[:-1] if step[0] <= now - self._keep_ms]
        first = begun[-1] if begun else steps[0]
        # A batch that takes longer than those before counts as well: else a stage that stands still would never be slow.
        end = last[0] if now - last[0] <= last[0] - first[0] else now
        return max(0.0, (last[1] - first[1]) / max(1, end - first[0]) * 1000)
