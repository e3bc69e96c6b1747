"""What the dashboard reads: batches, decisions and notes as they stand in the journal. Immutable values."""

from dataclasses import dataclass

from headway.model.time import EventMs, WallMs


@dataclass(frozen=True, slots=True)
class BatchLine:
    """One finished batch."""

    id: int
    at: WallMs  # it was done
    query: str
    batch: int
    began: WallMs
    took_ms: int
    rows: int
    watermark: EventMs | None
    late_rows: int  # of the query, so far
    dropped: int
    state_rows: int
    state_bytes: int


@dataclass(frozen=True, slots=True)
class DecisionLine:
    """One decision, without what was seen for it."""

    id: int
    at: WallMs
    query: str  # "" where it is about no single one
    kind: str  # grant, hold, wait, sampling ...
    because: str
    receipt: str
    question: str
    scope: str
    policy: str
    decided: str | None = None  # as the journal has it; None where the kind says all


@dataclass(frozen=True, slots=True)
class NoteLine:
    """Something that happened, in words."""

    id: int
    at: WallMs
    query: str  # "" for all of them
    text: str


@dataclass(frozen=True, slots=True)
class WindowOut:
    """A window whose result came out."""

    end: EventMs
    due: WallMs  # its end and the patience for stragglers
    out: WallMs
    batch: int  # the number of the batch that emitted it

    @property
    def latency_ms(self) -> int:
        return self.out - self.due
