"""The live table of `headway run`: one row per query."""

import json
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from headway.loop.journal import JournalReader
from headway.model.message import BatchSeen


class Watch:
    """Running queries, looked at twice a second. It only reads: progress reports, the controller's figures, the journal."""

    def __init__(self, rt: Any, handles: dict[str, Any]) -> None:
        self._rt, self._handles = rt, handles
        self._last: dict[str, BatchSeen] = {}
        self._journal = JournalReader(rt.journal_path) if rt.journal_path is not None else None

    @property
    def active(self) -> bool:
        return any(handle.isActive for handle in self._handles.values())

    def failed(self) -> tuple[str, BaseException] | None:
        for name, handle in self._handles.items():
            if (error := handle.exception()) is not None:
                return name, error
        return None

    def table(self) -> Table:
        table = Table(box=box.SIMPLE_HEAD)
        table.add_column("query", no_wrap=True)
        table.add_column("state", no_wrap=True)
        for head in ("batches", "took ms", "lag s", "late"):
            table.add_column(head, justify="right", no_wrap=True)
        table.add_column("last reason")  # the only one that gives way on a narrow screen
        for name, handle in self._handles.items():
            *cells, reason = self._row(name, handle)
            table.add_row(name, *cells, Text(reason, no_wrap=True, overflow="ellipsis"))
        table.caption = "lag: how far the last batch's watermark was behind when it was done"
        return table

    def _row(self, name: str, handle: Any) -> tuple[str, ...]:
        last = self._seen(name, handle)
        lag = "-" if last is None or last.watermark is None else f"{(last.ended - last.watermark) / 1000:.2f}"
        batches, took = ("0", "-") if last is None else (f"{last.batch + 1:,}", f"{last.took_ms:,}")
        return self._state(name, handle), batches, took, lag, self._late(name), self._reason(name)

    def _seen(self, name: str, handle: Any) -> BatchSeen | None:
        from headway.spark.progress import batch_seen

        progress = handle._jsq.lastProgress()
        seen = None if progress is None else batch_seen(json.loads(progress.json()), name)
        if seen is not None:
            self._last[name] = seen
        return self._last.get(name)

    def _state(self, name: str, handle: Any) -> str:
        if not handle.isActive:
            return "ended"
        tracker = self._tracker(name)
        if tracker is None:
            return "running"
        return "in a batch" if tracker.waiting_since is None else "at the gate"

    def _late(self, name: str) -> str:
        """Late rows, by input where there are several, and if there are any, those that had no event time to be late by."""
        tracker = self._tracker(name)
        if tracker is None:
            return "-"
        late, unread = ({n: getattr(i.view, of) for n, i in tracker.inputs.items()} for of in ("late_rows", "timeless"))
        shown = f"{sum(late.values()):,}"
        if len(late) > 1 and any(late.values()):
            shown += " (" + ", ".join(f"{source} {rows:,}" for source, rows in late.items() if rows) + ")"
        return f"{shown}, {sum(unread.values()):,} unread" if any(unread.values()) else shown

    def _reason(self, name: str) -> str:
        if self._journal is None:
            return "no gate: Spark decides"
        grant = self._journal.last_grant(name)
        return "" if grant is None else grant.because

    def _tracker(self, name: str) -> Any:
        return self._rt.controller.queries.get(name) if self._rt.order.gated else None
