"""Finished batches of a live query, as they are reported, and what they say of its windows."""

import json
from collections.abc import Sequence
from typing import Any

from headway.model.deadline import Grid


class ProgressReports:
    """What Spark reports of a query, each report once."""

    def __init__(self, query: Any) -> None:
        self._query, self._last = query, None

    def new(self) -> list[dict[str, Any]]:
        """Reports since the last look, oldest first; Spark keeps the last hundred."""
        reports, new = self._query._jsq.recentProgress(), []
        for place in reversed(range(len(reports))):
            if self._last is not None and reports[place].equals(self._last):
                break
            new.append(reports[place])
        self._last = new[0] if new else self._last
        return [json.loads(report.json()) for report in reversed(new)]


def latencies_ms(batches: Sequence[tuple[int, int, int]], ends_ms: Sequence[int], now_ms: int) -> list[float]:
    """How long after its end each window was out: with the first batch whose watermark has reached it, or not yet.

    A batch is when it ended, its watermark, and something else that counts.
    """
    out, place = [], 0
    for end_ms in ends_ms:
        while place < len(batches) and batches[place][1] < end_ms:
            place += 1
        out.append(float((batches[place][0] if place < len(batches) else now_ms) - end_ms))
    return out


def window_latencies(
    ends: Grid, emitted: Sequence[tuple[int, int]], stretch: Any, patience_ms: int
) -> tuple[list[float], list[int], int]:
    """How long after its due time each window came out, when that was, and how many were not out by the end.

    Windows that fell due within the stretch count; due times are given from its start.

    `emitted` are (watermark, end of batch) pairs in order: a window is out with the first watermark that reaches its end.
    """
    latencies, dues, unfinished = [], [], 0
    first = (stretch.since_ms - patience_ms - ends.offset_ms) // ends.period_ms + 1
    end_ms = first * ends.period_ms + ends.offset_ms
    position = 0
    while (due := end_ms + patience_ms) < stretch.until_ms:
        while position < len(emitted) and emitted[position][0] < end_ms:
            position += 1
        out = emitted[position][1] if position < len(emitted) else None
        if out is None or out > stretch.until_ms:
            unfinished += 1
            out = stretch.until_ms
        latencies.append(float(out - due))
        dues.append(due - stretch.since_ms)
        end_ms += ends.period_ms
    return latencies, dues, unfinished
