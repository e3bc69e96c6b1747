"""The live table, drawn from what a runtime tells of itself."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from rich.console import Console

from headway.cli.watch import StatusTable
from headway.model.status import InputStatus, LastBatch, QueryStatus, RuntimeStatus
from headway.model.time import EventMs, WallMs

LAST = LastBatch(6, 50, 200, ended=WallMs(10_500), watermark=EventMs(9_000))
BOOKS = QueryStatus("books", "in a batch", WallMs(0), last=LAST, inputs=(InputStatus("rows", late=3),), reason="least slack")


def watch(*queries: QueryStatus, slots: int | None = 2) -> StatusTable:
    rt: Any = SimpleNamespace(status=lambda: RuntimeStatus(WallMs(0), "Klink", slots, queries))
    return StatusTable(rt)


def drawn(watch: StatusTable, width: int = 80) -> str:
    console = Console(width=width)
    with console.capture() as text:
        console.print(watch.table())
    return text.get()


def test_a_gated_query_shows_its_state_lag_late_rows_and_reason() -> None:
    row = next(line for line in drawn(watch(BOOKS)).splitlines() if "books" in line).split()
    assert row[:9] == ["books", "in", "a", "batch", "7", "200", "1.50", "3", "least"]
    assert "at the gate" in drawn(watch(replace(BOOKS, state="at the gate")))


def test_a_query_that_was_put_aside_shows_why() -> None:
    aside = replace(BOOKS, state="put aside", error="KeyError: 'wm'")
    assert "KeyError: 'wm'" in drawn(watch(aside), width=120)


def test_without_a_gate_spark_decides() -> None:
    music = replace(BOOKS, name="music", state="ended")
    shown = drawn(watch(replace(BOOKS, state="between batches", last=None), music, slots=None))
    assert "between batches" in shown and "ended" in shown and "Spark" in shown


def test_a_failed_query_is_found_also_when_it_was_the_last() -> None:
    failed = replace(BOOKS, state="failed", error="no")
    assert watch(failed).failed == failed and not watch(failed).active
    assert watch(replace(failed, state="restarting")).failed is None
    assert watch(BOOKS, replace(failed, name="other")).active
