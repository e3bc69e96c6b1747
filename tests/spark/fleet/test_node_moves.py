"""A live query moves between two real nodes, and its sink is exact: nothing lost, nothing twice."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.fleet.client import NodeRefused
from headway.fleet.node.wire import CommandReceipt
from spark.fleet.moving import Fleet, NodeProcess, fleet_in
from spark.scripted import wait_until

pytestmark = pytest.mark.spark
PARTS: list[dict[str, float]] = []  # of the moves of this module, for who runs it with -s


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    yield from fleet_in(tmp_path_factory.mktemp("fleet"))


def move(
    fleet: Fleet, query: str, source: NodeProcess, target: NodeProcess, epoch: int
) -> tuple[CommandReceipt, CommandReceipt]:
    """As an orchestrator does it: prepare there, drain here, start there, and forget it here."""
    plan = fleet.plan(query, epoch + 1, epoch)
    prepared = target.did("prepare", query, epoch + 1, **plan)
    assert target.hosted(query) is not None or prepared.done
    drained = source.did("drain", query, epoch, next_epoch=epoch + 1)
    started = target.did("start", query, epoch + 1, batch=drained.batch, experience=drained.experience, **plan)
    source.did("stop", query, epoch)
    PARTS.append({"drain_total": drained.parts_ms["drain"], **(started.parts_ms or {})} if drained.parts_ms else {})
    return drained, started


def test_a_query_moves_there_and_back_while_another_goes_on(fleet: Fleet) -> None:
    fleet.a.did("start", "counts", 1, **fleet.plan("counts", 1))
    fleet.a.did("start", "stays", 1, **fleet.plan("stays", 1))
    before = fleet.a.await_commits("counts", 1, 4)
    fleet.a.await_commits("stays", 1, 4)
    drained, started = move(fleet, "counts", fleet.a, fleet.b, 1)
    assert drained.stood_at is not None and drained.batch is not None and drained.batch + 1 >= before.commits
    assert drained.fenced and started.fenced and started.batch == drained.batch
    assert drained.experience is not None and drained.experience.cost.weight > 0
    there = fleet.b.await_commits("counts", 2, 3)
    assert there.batch is not None and there.batch >= drained.batch + 3
    wait_until(lambda: fleet.a.hosted("counts") is None, "the source to tell that it is gone")
    move(fleet, "counts", fleet.b, fleet.a, 2)
    fleet.a.await_commits("counts", 3, 3)
    stayed = fleet.a.await_commits("stays", 1, 6)
    assert stayed.state != "ended" and stayed.epoch == 1
    wait_until(lambda: fleet.windows("counts") >= 6 and fleet.windows("stays") >= 6, "six windows")
    assert fleet.check("counts") >= 6 and fleet.check("stays") >= 6


def test_the_copy_has_only_what_is_needed_and_is_marked(fleet: Fleet) -> None:
    folder = Path(fleet.folder("counts", 2))
    assert '"complete": true' in (folder / ".headway.incarnation").read_text()
    first = min(int(file.name) for file in (folder / "commits").iterdir() if file.name.isdigit())
    assert first > 0 and not (folder / "commits" / "0").exists()
    fleet.a.did("clean", "counts", 3, origins=(fleet.folder("counts", 1), fleet.folder("counts", 3)))
    assert not Path(fleet.folder("counts", 1)).exists() and Path(fleet.folder("counts", 3)).exists()


def test_where_the_target_fails_to_start_the_source_goes_on(fleet: Fleet) -> None:
    drained = fleet.a.did("drain", "counts", 3, next_epoch=4)
    refused = fleet.b.ask("start", "counts", 4, batch=(drained.batch or 0) + 7, **fleet.plan("counts", 4, 2, 3))
    assert not refused.done and "is not committed in" in refused.because
    plan = fleet.plan("counts", 5, 2, 3, 4)
    fleet.a.did("start", "counts", 5, batch=drained.batch, experience=drained.experience, **plan)
    fleet.a.await_commits("counts", 5, 2)
    fleet.b.did("abandon", "counts", 4)
    assert fleet.check("counts") >= 6


def test_one_that_was_taken_over_by_force_writes_nothing_more_and_is_stopped(fleet: Fleet) -> None:
    """The source runs on and knows of nothing, as behind a network that was cut."""
    refused = fleet.b.ask("start", "counts", 6, **fleet.plan("counts", 6, 5))
    assert not refused.done and "uses it" in refused.because
    fleet.b.did("start", "counts", 7, force=True, **fleet.plan("counts", 7, 5))
    fleet.b.await_commits("counts", 7, 3)

    def over() -> bool:
        told = fleet.a.hosted("counts")
        return told is not None and told.state == "failed"

    wait_until(over, "the older incarnation to end")
    left = fleet.a.hosted("counts")
    assert left is not None and left.error is not None and ("epoch 7" in left.error or "epoch 5 is over" in left.error)
    with sqlite3.connect(fleet.sink, timeout=30) as db:
        newest = db.execute("select max(rowid) from history where query = 'counts' and epoch = 5").fetchone()[0]
        first = db.execute("select min(rowid) from history where query = 'counts' and epoch = 7").fetchone()[0]
    assert newest < first
    assert fleet.check("counts") >= 6


def test_what_cannot_be_done_is_refused_in_one_line(fleet: Fleet) -> None:
    broken = fleet.a.ask("prepare", "broken", 1, **fleet.plan("broken", 1))
    assert not broken.done and broken.because.endswith("ValueError: not on this node") and "line " in broken.because
    with pytest.raises(NodeRefused, match=r"answers 404: query = 'nobody': expected one of counts, stays, broken"):
        fleet.a.ask("prepare", "nobody", 1, **fleet.plan("nobody", 1))
    older = fleet.b.ask("start", "counts", 2, **fleet.plan("counts", 2))
    assert not older.done and older.because.startswith("epoch = 2: expected 7 or above")
    taken = fleet.a.ask("prepare", "stays", 2, **fleet.plan("stays", 7))
    assert not taken.done and "epoch 1 of 'stays' runs here: drain it first" in taken.because
    changed = fleet.b.ask("prepare", "stays", 9, digest="0" * 64, **fleet.plan("stays", 9))
    assert not changed.done and "expected the file with sha256 0000" in changed.because


def test_the_status_tells_what_a_placement_needs(fleet: Fleet) -> None:
    told = fleet.b.client.status()
    (query,) = [q for q in told.queries if q.name == "counts"]
    assert query.rows > 0 and query.rows_per_s > 0 and query.bytes_per_row == 16.0
    assert query.fixed_ms and query.ms_per_row is not None and query.latency_ms is not None and query.watermark
    assert query.rates and max(query.rates) > 0
    machine = told.machine
    assert 0 < machine.own_load <= 1 and 0 < machine.heap < 1 and machine.cores >= 1


def test_nodes_end_at_sigterm_between_two_batches(fleet: Fleet) -> None:
    assert fleet.end() == [0, 0]
    assert fleet.check("counts") >= 6 and fleet.check("stays") >= 6
    print("parts of the moves, in ms:", PARTS)
