"""The live table of `headway run`: one row per query."""

from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from headway.model.status import QueryStatus, RuntimeStatus


class StatusTable:
    """The queries of a runtime, looked at twice a second, as it tells of them."""

    def __init__(self, rt: Any) -> None:
        self._rt = rt
        self.look()

    def look(self) -> None:
        self._status: RuntimeStatus = self._rt.status()

    @property
    def active(self) -> bool:
        return any(not q.over for q in self._status.queries)

    @property
    def failed(self) -> QueryStatus | None:
        """One that has failed, and is not to be started again."""
        return next((q for q in self._status.queries if q.state == "failed"), None)

    def table(self) -> Table:
        table = Table(box=box.SIMPLE_HEAD)
        table.add_column("query", no_wrap=True)
        table.add_column("state", no_wrap=True)
        for head in ("batches", "took ms", "lag s", "late"):
            table.add_column(head, justify="right", no_wrap=True)
        table.add_column("last reason")  # the only one that gives way on a narrow screen
        for query in self._status.queries:
            *cells, reason = _row(query, gated=self._status.slots is not None)
            table.add_row(query.name, *cells, Text(reason, no_wrap=True, overflow="ellipsis"))
        table.caption = "lag: how far the last batch's watermark was behind when it was done"
        return table


def _row(query: QueryStatus, gated: bool) -> tuple[str, ...]:
    last = query.last
    lag = "-" if last is None or last.watermark is None else f"{(last.ended - last.watermark) / 1000:.2f}"
    batches, took = ("0", "-") if last is None else (f"{last.number + 1:,}", f"{last.took_ms:,}")
    reason = query.error or query.reason or "" if gated else "no gate: Spark decides"
    return query.state, batches, took, lag, late(query) if gated else "-", reason


def late(query: QueryStatus) -> str:
    """Late rows, by input where there are several, and if there are any, those that had no event time to be late by."""
    counted = {i.name: i.late for i in query.inputs}
    shown = f"{sum(counted.values()):,}"
    if len(counted) > 1 and any(counted.values()):
        shown += " (" + ", ".join(f"{source} {rows:,}" for source, rows in counted.items() if rows) + ")"
    for word, rows in (("unread", sum(i.timeless for i in query.inputs)), ("future", sum(i.future for i in query.inputs))):
        shown += f", {rows:,} {word}" if rows else ""
    return shown
