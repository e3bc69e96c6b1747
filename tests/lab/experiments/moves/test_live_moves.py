"""`headway bench moves`: what it makes of what it has seen; and a small run between real nodes, which is exact."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from headway.errors import SettingError
from headway.fleet.orchestrator.wire import MoveProgress
from headway_lab.experiments.moves import command
from headway_lab.experiments.moves.live_figures import figures_of, later_batches
from headway_lab.experiments.moves.live_load import MoveLoad, MoveSink, WindowSeen
from headway_lab.experiments.moves.live_run import JournalBatch, LiveMove, MovePlan, MovesSeen, gets_warmer, move_often
from headway_lab.harness import claims

LOAD = MoveLoad(queries=1)
PARTS = {"stop": 4.0, "copy": 10.0, "gate": 20.0, "on the way": 6.0}


def a_move(at: int, outage: int | None = 40, state: str = "done") -> LiveMove:
    told = MoveProgress(state, "q1 is on n2", outage, None if outage is None else PARTS)  # type: ignore[arg-type] # a state
    return LiveMove("q1", "n2", "done", at, at + 900, told)


def seen(*moves: LiveMove) -> MovesSeen:
    """A batch a second, which takes 100 ms and is done 300 ms after its window; the first on the target takes 140."""
    batches = [JournalBatch("n1", "q1", n, 1_000 * n, 100) for n in range(10)]
    batches += [JournalBatch("n2", "q1", n, 1_000 * n, 140 if n == 10 else 100) for n in range(10, 20)]
    windows = [WindowSeen("q1", 1_000 * n + 300, 300) for n in range(20)]
    return MovesSeen(LOAD, [(0, 8_000)], list(moves), windows, batches)


def test_the_first_batch_on_the_target_is_held_against_those_before_it() -> None:
    found = figures_of(seen(a_move(9_500)))
    assert (found["first_ms"], found["ordinary_ms"], found["first_ratio"]) == (140.0, 100.0, 1.4)
    assert (found["out_ms"], found["moves"], found["well"], found["wrong"]) == (40.0, 1, 1, 0)
    assert found["parts_ms"] == {"stop": 4.0, "copy": 10.0, "gate": 20.0, "on the way": 6.0}


def test_a_window_that_comes_later_than_ever_counts_in_batches_of_its_query() -> None:
    late = seen(a_move(9_500))
    late.windows[10] = replace(late.windows[10], late_ms=550)
    assert later_batches(late, late.moves[0]) == 2.5 and figures_of(late)["later_batches"] == 2.5
    assert figures_of(seen(a_move(9_500)))["later_batches"] == 0.0


def test_where_no_window_can_be_compared_nothing_is_said() -> None:
    cold = replace(seen(a_move(9_500)), quiet=[(100_000, 120_000)])
    assert later_batches(cold, cold.moves[0]) is None and "later_batches" not in figures_of(cold)
    assert later_batches(seen(), a_move(90_000)) is None


def test_windows_are_held_against_those_before_the_moves_and_after_them() -> None:
    late = replace(seen(a_move(9_500)), quiet=[(0, 8_000), (14_000, 20_000)])
    late.windows[10], late.windows[17] = (replace(late.windows[n], late_ms=550) for n in (10, 17))
    found = figures_of(late)
    assert (found["later_batches"], found["compared"]) == (0.0, 1)
    assert (found["quiet_worst_ms"], found["quiet_ms"], found["quiet_windows"]) == (550, 300.0, 14)


def test_it_is_warm_when_no_query_puts_its_windows_out_clearly_earlier_than_before() -> None:
    assert gets_warmer({"q1": 2_000, "q2": 300}, {"q1": 1_500, "q2": 310})
    assert not gets_warmer({"q1": 400, "q2": 300}, {"q1": 390, "q2": 310})
    assert gets_warmer({"q1": 0}, {"q1": 0})  # a query without windows


@pytest.mark.parametrize(
    ("given", "at"), [(["--moves", "0", "--upgrades", "20"], ["M6"]), (["--moves", "34"], ["M2", "M4"])]
)
def test_a_run_is_recorded_as_the_claims_ask_for_it(
    given: list[str], at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans: list[MovePlan] = []

    def moved(load: MoveLoad, plan: MovePlan, *_: object) -> MovesSeen:
        plans.append(plan)
        return seen(a_move(9_500))

    monkeypatch.setattr(command, "move_often", moved)
    app, ledger = typer.Typer(), tmp_path / "ledger.jsonl"
    app.command("moves")(command.moves)
    done = CliRunner().invoke(app, [*given, "--ledger", str(ledger)])
    setting = json.loads(ledger.read_text())["setting"]
    assert done.exit_code == 0 and plans[0].upgrades == 2 * setting["upgrades"]
    for claim in (claim for claim in claims.load() if claim.id == at):
        assert all(setting[name] == value for name, value in claim.at[0].items()), claim.id


def test_a_move_whose_outage_nobody_has_heard_is_left_out_of_the_median() -> None:
    found = figures_of(seen(a_move(9_500), a_move(12_000, None)))
    assert found["heard"] == 1 and found["out_ms"] == 40.0 and "out_ms" not in figures_of(seen(a_move(9_500, None)))


@pytest.mark.parametrize(
    ("keys", "rate", "patience", "moved"), [(300, 100, 3, 3), (50_000, 10_000, 5, 1), (1_000_000, 10_000, 100, 1)]
)
def test_state_has_as_many_keys_as_rows_come_while_a_window_is_open(keys: int, rate: int, patience: int, moved: int) -> None:
    load = MoveLoad(keys=keys)
    assert (load.rate("q1"), load.patience_s("q1"), len(load.moved)) == (rate, patience, moved)
    assert load.rate("q1") * load.patience_s("q1") == keys and load.rate("q2") == 100
    compile(load.pipeline(Path("sink.db"), "bad 1", failing=True), "moving.py", "exec")


def test_a_provider_that_nobody_knows_is_refused() -> None:
    with pytest.raises(SettingError, match="provider = 'redis': expected one of hdfs, rocksdb, rocksdb-changelog"):
        MoveLoad(provider="redis")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("update panes set n = 99 where end_ms = 2000", "has 99 rows"),
        ("delete from panes where end_ms = 2000", "a window comes 2000 ms after another"),
        ("insert into panes select * from panes where end_ms = 3000", "a window comes 0 ms after another"),
        ("delete from panes where end_ms = 1000", "rows before 40 are missing"),
        ("update panes set low = 139, high = 238 where end_ms = 2000", "139 to 238"),
        ("delete from panes", "no window came out"),
    ],
)
def test_what_is_lost_doubled_or_wrong_in_the_sink_is_found(tmp_path: Path, change: str, says: str) -> None:
    sink = MoveSink(tmp_path / "sink.db", LOAD)
    with closing(sqlite3.connect(sink.path)) as db:
        first = [("q1", 0, 1_000, 40, 40, 0, 39)]
        rest = [("q1", n, 1_000 * (n + 1), 100, 100, 100 * n - 60, 100 * n + 39) for n in range(1, 5)]
        db.executemany("insert into panes values (?, ?, ?, ?, ?, ?, ?)", first + rest)
        db.commit()
        assert sink.faults("q1") == []
        db.execute(change)
        db.commit()
    assert any(says in fault for fault in sink.faults("q1"))


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(500)
def test_a_small_run_is_exact_and_leaves_nothing_behind(tmp_path: Path) -> None:
    steps: list[str] = []
    load = MoveLoad(queries=2, nodes=2)
    plan = MovePlan(moves=2, upgrades=2, quiet_s=2, warm_s=0)
    found = move_often(load, plan, lambda what, left: None, steps.append, tmp_path)
    assert found.wrong == [] and [move.told.state for move in found.moves] == ["done", "done", "done", "home"]
    figures = figures_of(found)
    assert figures["heard"] == 3 and figures["out_ms"] > 0 and figures["first_ratio"] > 0 and found.state_rows >= 300
    assert "move 1 of 2" in steps and not (tmp_path / "state" / "headway" / "fleet.json").exists()
