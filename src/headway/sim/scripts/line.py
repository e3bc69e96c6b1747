"""The control source of a query: the real one's rows, and what it does when its line is cut. Only the socket is left out."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from headway.model.time import WallMs
from headway.spark import control

Offset = dict[str, int]
SHIFT_MS = control.SHIFT_MS
ALONE_MS = 1_000  # how long a source without a gate waits before it goes on


@dataclass(frozen=True)
class _Time:
    """The time module, as the control source sees it."""

    wall: Callable[[], WallMs]

    def time(self) -> float:
        return self.wall() / 1000


class Line:
    """One query's control source."""

    def __init__(self, wall: Callable[[], WallMs]) -> None:
        options = {"host": "127.0.0.1", "port": "9", "secret": ""}
        self._time, self._reader = _Time(wall), control.ControlReader(options)

    @property
    def first(self) -> Offset:
        return self._reader.initialOffset()

    def rows(self, start: Offset, end: Offset) -> list[int]:
        """The moments of the control rows between two offsets, in ms."""
        return [round(row[0].timestamp() * 1000) for row in self._reader.readBetweenOffsets(start, end)]

    def pause_ms(self, start: Offset, patience_ms: int) -> int:
        """How long it waits, without a gate, before it goes on with the offset it has."""
        with _instead(control, "time", self._time):
            return max(ALONE_MS, round(self._reader.early_ms(start, patience_ms)))


@contextlib.contextmanager
def _instead(module: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)
