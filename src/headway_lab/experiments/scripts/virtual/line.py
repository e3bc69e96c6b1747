"""The control source of a query: the rows of the real one, and what it does when its line is cut, without the socket.

On its own the source that runs inside the JVM goes by its query's rows (`jvm/headway/ControlStream.java`, `QuerySelf.java`);
that rule stands here once more, since virtual time has no JVM.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from headway.estimate.due import READ_MOST_MS
from headway.model.message import InputSeen
from headway.model.offset import ControlOffset
from headway.model.time import LATEST
from headway.spark.channel import control

SHIFT_MS = control.SHIFT_MS
LOST_MS = 1_000  # between two batches of a query that has lost its gate


@dataclass
class VirtualLine:
    """One query's control source, for one run of the query after the other."""

    patience_ms: dict[str, int] = field(default_factory=dict)  # by input
    newest: dict[str, int | None] = field(default_factory=dict)  # by input, as far as batches of this run have told
    _ahead: tuple[int, int] = (0, 0)  # a watermark announced ahead, and the moment before which it must not be swept

    @staticmethod
    def rows(start: ControlOffset, end: ControlOffset) -> list[int]:
        """The moments of the control rows between two offsets, in ms."""
        return [round(moment.timestamp() * 1000) for moment in control.moments(start, end)]

    def starts(self, patience_ms: dict[str, int]) -> None:
        """A new run: nothing is known of its rows."""
        self.patience_ms, self.newest, self._ahead = patience_ms, dict.fromkeys(patience_ms), (0, 0)

    def looks(self, seen: Iterable[InputSeen]) -> None:
        """Take in what a batch reported."""
        for report in seen:
            reached = (
                report.foremost if report.newest is None else report.newest
            )  # all ahead of the clock: then that is wrong
            found = [min(at, LATEST) for at in (self.newest[report.name], reached) if at is not None]
            self.newest[report.name] = max(found, default=None)

    def early_ms(self, start: ControlOffset, steady: int, wall: int) -> int:
        """How much too early it would be to sweep what was announced last, by the monotonic clock since it was seen."""
        if not start.live:
            return 0
        if start.wm != self._ahead[0]:
            ahead = min(start.wm - wall, READ_MOST_MS)  # what seems further ahead was announced by another clock
            self._ahead = start.wm, steady + ahead + max(self.patience_ms.values(), default=0)
        return self._ahead[1] - steady

    def by_rows(self, start: ControlOffset) -> ControlOffset:
        """Where it goes on its own: as far as stock Spark would."""
        limits = [None if at is None else at - self.patience_ms[name] for name, at in self.newest.items()]
        watermark = 0 if None in limits else min((x for x in limits if x is not None), default=0)
        return start.by_rows(watermark) if watermark > start.wm else start
