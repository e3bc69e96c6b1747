"""The bench of pipelines in stages: what it makes of what the last stage has written."""

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from headway.loop.journal import Journal
from headway.loop.kernel import Entry
from headway.model.deadline import Deadlines, Grid
from headway.model.decision import Grant, Hold
from headway.model.time import WallMs
from headway.model.view import QueryView, Snapshot
from headway_lab.experiments.relay import run
from headway_lab.experiments.relay.run import CoresUsed, RelayRun, _outcome, contended
from headway_lab.experiments.relay.sink import stamped
from headway_lab.experiments.relay.stages import WINDOW_MS, RelayPlan

EPOCH_MS = 1_700_000_000_000 // WINDOW_MS * WINDOW_MS
PLAN = RelayPlan(0, "relay", 1, EPOCH_MS, "nowhere", pipelines=1, rate=50)
UNTIL = EPOCH_MS + 4 * WINDOW_MS


def written(folder: Path, lateness_ms: int, drop: int = 0) -> None:
    """What the last stage would put out, window by window; without so many of the counts."""
    out = folder / "out" / "0"
    out.mkdir(parents=True)
    truth = sorted(PLAN.stream(0).truth(UNTIL).items())
    for number, end in enumerate(range(EPOCH_MS + WINDOW_MS, UNTIL + 1, WINDOW_MS)):
        rows = [(at, campaign, count) for (at, campaign), count in truth if at == end][drop:]
        (out / f"{number}.json").write_text(json.dumps({"at": end + lateness_ms, "rows": rows}))
    for stage in (1, 2, 3):
        (folder / f"late-{stage}").write_text(str(stage - 1))
        (folder / f"told-{stage}").write_text(json.dumps({"first": 120.0} if stage == 1 else {}))
        Journal(folder / f"journal-{stage}.db").close()


def test_latency_is_from_the_end_of_a_window_until_it_is_out(tmp_path: Path) -> None:
    written(tmp_path, 1_234)
    found = _outcome(PLAN, tmp_path, EPOCH_MS + WINDOW_MS, UNTIL, 1.4)
    assert (found.windows, found.mean_ms, found.p99_ms) == (3, 1_234.0, 1_234.0)
    assert (found.wrong, found.late, found.cores) == (0, 3, 1.4)


def test_a_count_that_is_missing_is_seen(tmp_path: Path) -> None:
    written(tmp_path, 10, drop=1)
    found = _outcome(PLAN, tmp_path, EPOCH_MS, UNTIL, 1.4)
    assert found.missing == found.wrong == 4


def test_a_window_is_out_with_its_last_row(tmp_path: Path) -> None:
    for number, at in enumerate((10, 20)):
        (tmp_path / f"{number}.json").write_text(json.dumps({"at": at, "rows": [(3_000, number, 1)]}))
    rows, out = stamped(tmp_path)
    assert rows == [((3_000, 0), 1), ((3_000, 1), 1)] and out == {3_000: 20}


def test_the_setting_of_a_run_leaves_out_what_varies() -> None:
    assert RelayRun("alone", 3, 2, 200, 30, 10).setting == {"pipelines": 2, "rate": 200, "seconds": 30, "settle": 10}


def test_a_query_that_never_heard_what_the_stages_behind_it_cost_is_seen(tmp_path: Path) -> None:
    written(tmp_path, 10)
    found = _outcome(PLAN, tmp_path, EPOCH_MS, UNTIL, 1.4)
    assert (found.told, found.untold) == (1, 1)
    alone = _outcome(replace(PLAN, way="alone"), tmp_path, EPOCH_MS, UNTIL, 1.4)
    assert alone.untold == 0


def test_a_node_has_to_choose_where_two_batches_are_wanted() -> None:
    def entry(at: int, *dues: int | None, decided: Grant | Hold | None = None) -> Entry:
        queries = tuple(waiting(f"q{n}", due) for n, due in enumerate(dues))
        grant = decided or Grant("q0", None, "least slack")
        return Entry(WallMs(at), Snapshot(WallMs(at), queries), grant, grant, "accepted")

    one, both = entry(2_000, 1_900, 2_100), entry(2_000, 1_900, 2_000)
    before, held = entry(900, 800, 800), entry(2_000, 1_900, 1_900, decided=Hold(WallMs(2_100), "all wait"))
    assert contended([one, both, before, held, entry(2_000, None, 1_900)], 1_000) == (3, 0.333)


def waiting(name: str, due: int | None) -> QueryView:
    made = QueryView(name, (), Deadlines((Grid(WINDOW_MS, 0),)), waiting_since=WallMs(0))
    object.__setattr__(made, "due", due)
    return made


def test_processor_time_is_that_of_all_that_was_started(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, used = iter([10.0, 14.0]), iter([5.0, 11.0])
    monkeypatch.setattr(run, "_used_s", lambda process: next(used) if process.pid == os.getpid() else 0.0)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    moments = iter([900, 1_000, 5_000, 9_000])
    monkeypatch.setattr(run, "now_ms", lambda: next(moments))
    seen = CoresUsed(1_000, 6_000)
    for _ in range(4):
        seen.look()
    assert seen.cores == 1.5


def test_some_pipelines_have_more_to_do_than_others() -> None:
    plan = replace(PLAN, pipelines=3, rate=400)
    assert [plan.stream(p).rate for p in range(3)] == [200, 400, 600]
