"""Until when stragglers are waited for: what a patience policy sees, and what it must say."""

from dataclasses import dataclass
from typing import Protocol


class Delays(Protocol):
    """The delays of some rows: of an input, or of one partition of it."""

    @property
    def rows(self) -> float:
        """How many rows that stands for, old ones counting less."""
        ...

    @property
    def longest_ms(self) -> float:
        """The longest delay ever seen."""
        ...

    def within(self, share: float) -> float:
        """The delay that this share of the rows kept to, in ms."""
        ...


@dataclass(frozen=True, slots=True)
class PatienceView:
    """What is known of an input's stragglers."""

    parts: tuple[Delays, ...] = ()  # of each partition, or of the whole input where they are not told apart
    old: bool = False  # its rows are of the past: the clock says nothing about them
    most_ms: int = 0  # how long they may be waited for


@dataclass(frozen=True, slots=True)
class Wait:
    """So long after its end a window waits for stragglers, from now on."""

    ms: int
    because: str


class PatiencePolicy(Protocol):
    """How long after a window's end its stragglers are waited for."""

    @property
    def delay_ms(self) -> int:
        """Until something is known of the stream; and for good where it cannot be adapted, as under Spark's own triggers."""
        ...

    @property
    def least_ms(self) -> int: ...

    @property
    def most_ms(self) -> int:
        """A stream whose fastest rows take longer than this is not live: its rows, not the clock, tell how far it is."""
        ...

    @property
    def memory_rows(self) -> float:
        """Over how many rows delays are remembered; infinity for all."""
        ...

    def decide(self, seen: PatienceView) -> Wait:
        """How long from now on."""
        ...
