"""The live table, drawn from stand-ins for a runtime and its queries."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rich.console import Console

from cli.journals import write
from headway.cli.watch import Watch

REPORT = {
    "id": "1", "name": "books", "batchId": 6, "timestamp": "2026-01-01T00:00:10.000Z", "numInputRows": 50,
    "durationMs": {"addBatch": 80, "latestOffset": 300, "triggerExecution": 500},
    "eventTime": {"watermark": "2026-01-01T00:00:09.000Z"},
}  # fmt: skip


def handle(report: dict[str, Any] | None, active: bool = True, error: Exception | None = None) -> Any:
    progress = None if report is None else SimpleNamespace(json=lambda: json.dumps(report))
    return SimpleNamespace(isActive=active, exception=lambda: error, _jsq=SimpleNamespace(lastProgress=lambda: progress))


def drawn(watch: Watch, width: int = 80) -> str:
    console = Console(width=width)
    with console.capture() as text:
        console.print(watch.table())
    return text.get()


def test_a_gated_query_shows_its_state_lag_late_rows_and_reason(tmp_path: Path) -> None:
    late = SimpleNamespace(view=SimpleNamespace(timeless=0, late_rows=3))
    tracker = SimpleNamespace(waiting_since=None, inputs={"rows": late})
    rt: Any = SimpleNamespace(
        order=SimpleNamespace(gated=True),
        controller=SimpleNamespace(queries={"books": tracker}),
        journal_path=write(tmp_path / "run.db", until_ms=9_000),
    )
    watch = Watch(rt, {"books": handle(REPORT)})
    row = next(line for line in drawn(watch).splitlines() if "books" in line).split()
    assert row[:9] == ["books", "in", "a", "batch", "7", "200", "1.50", "3", "least"]
    tracker.waiting_since = 5
    assert "at the gate" in drawn(watch)


def test_without_a_gate_spark_decides() -> None:
    rt: Any = SimpleNamespace(order=SimpleNamespace(gated=False), journal_path=None)
    shown = drawn(Watch(rt, {"books": handle(None), "music": handle(REPORT, active=False)}))
    assert "running" in shown and "ended" in shown and "Spark decides" in shown


def test_a_failed_query_is_found() -> None:
    rt: Any = SimpleNamespace(order=SimpleNamespace(gated=False), journal_path=None)
    error = ValueError("no")
    watch = Watch(rt, {"a": handle(None), "b": handle(None, active=False, error=error)})
    assert watch.active and watch.failed() == ("b", error)
