"""What a policy may decide about the order of batches, and why."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from headway.model.time import EventMs, WallMs
from headway.model.view import Snapshot


@dataclass(frozen=True, slots=True)
class Grant:
    """Let this query's next batch run, and announce a watermark with it (None: leave the watermark)."""

    query: str
    announce: EventMs | None
    because: str
    # Before this no other query is wanted; None: that is to be asked. It spares a question, and is no part of the wish.
    then: WallMs | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Hold:
    """Let no query run; look again at `until`, or when something happens."""

    until: WallMs
    because: str


Decision = Grant | Hold
Guard = Callable[[Decision, Snapshot], Decision]  # what becomes of a wish within the limits of the house


class OrderPolicy(Protocol):
    """Which query runs its next micro-batch? Same snapshot, same answer. What else it may declare is in `declared.py`."""

    def decide(self, snap: Snapshot) -> Decision: ...
