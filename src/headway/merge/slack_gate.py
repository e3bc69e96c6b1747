"""Slack-ScaleGate: a ScaleGate that lets a tuple go once it has waited for its slack (Zacheilas et al., DEBS 2017).

A tuple that comes after its reader has read beyond it is late, and goes before everything else. It needs no queue of its
own: it is simply the least tuple that the reader has not read.
"""

from bisect import bisect_right
from math import inf

from headway.errors import SettingError
from headway.merge.rows import Flag, Rows
from headway.merge.scale_gate import LogKey, ScaleGate, ScaleGateReader


class SlackScaleGate(ScaleGate):
    """Gives every reader all tuples once: in one order while all writers keep up, without those that lag where they do not.

    `slt_ms` is by how much the newest timestamp of all may pass a tuple that waits; `inf` waits for ever.
    """

    def __init__(self, writers: int, readers: int = 1, slt_ms: float = inf) -> None:
        super().__init__(writers, readers)
        self._slt_ms = _slack(slt_ms)

    @property
    def slt_ms(self) -> float:
        return self._slt_ms

    def set_slt(self, ms: float) -> None:
        """Wait so long from now on."""
        slack = _slack(ms)
        with self._lock:
            self._slt_ms = slack

    def _limit(self, place: ScaleGateReader) -> LogKey:
        """Past the merge, whatever has no slack left, of any writer, and whatever is late."""
        overdue = (self._newest() - self._slt_ms - 1, len(self._logs))
        return max(self._merge(), overdue, _late(place))

    def _flag(self, place: ScaleGateReader, key: LogKey, merge: LogKey) -> Flag | None:
        late = key < place.head
        if key <= merge:
            return Flag.LATE if late else Flag.READY
        if late:
            return LATE_AND_SLACK_READY
        return Flag.SLACK_READY if self._newest() - key[0] > self._slt_ms else None

    def _mark(self, place: ScaleGateReader, rows: Rows) -> None:
        """Rows are sorted, so the late ones are the first of them, and the ready ones too."""
        late, ready = (_count(rows, upto) for upto in (_late(place), self._merge()))
        rows.flags[:late] |= int(Flag.LATE)
        rows.flags[ready:] |= int(Flag.SLACK_READY)

    def _newest(self) -> float:
        """The greatest frontier."""
        return max(self._frontiers)[0]


LATE_AND_SLACK_READY = Flag.LATE | Flag.SLACK_READY


def _late(place: ScaleGateReader) -> LogKey:
    """The last key below what a reader has read; what it finds there came too late for its turn."""
    timestamp, writer = place.head
    return (timestamp, writer - 1)


def _count(rows: Rows, upto: LogKey) -> int:
    """How many of these sorted rows are not beyond a key."""

    def key(at: int) -> LogKey:
        return rows.timestamps.item(at), rows.writers.item(at)

    if key(0) > upto:
        return 0
    return len(rows) if key(len(rows) - 1) <= upto else bisect_right(range(len(rows)), upto, key=key)


def _slack(ms: float) -> float:
    if isinstance(ms, bool) or not isinstance(ms, int | float) or not ms >= 0 or (ms != inf and ms != int(ms)):
        raise SettingError("slt_ms", ms, "whole milliseconds of 0 or more, or inf to wait for ever")
    return ms if ms == inf else int(ms)
