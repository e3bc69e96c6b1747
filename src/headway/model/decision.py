"""What a policy may decide about the order of batches, and why."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from headway.model.time import EventMs, WallMs
from headway.model.view import Snapshot


@dataclass(frozen=True, slots=True)
class Grant:
    """Let this query's next batch run, and announce a watermark with it (None: leave the watermark)."""

    query: str
    announce: EventMs | None
    because: str


@dataclass(frozen=True, slots=True)
class Hold:
    """Let nobody run; look again at `until`, or when something happens."""

    until: WallMs
    because: str


Decision = Grant | Hold
Guard = Callable[[Decision, Snapshot], Decision]  # what becomes of a wish within the limits of the house


class OrderPolicy(Protocol):
    """Whose micro-batch runs next? Same snapshot, same answer. What else it may declare is in `declared.py`."""

    def decide(self, snap: Snapshot) -> Decision: ...
