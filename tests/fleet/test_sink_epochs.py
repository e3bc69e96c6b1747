"""The fence in a sink: whoever comes with an older epoch writes nothing."""

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import headway as hw
from headway.fleet.epochs import FencedOff, SinkEpoch, assigned, fenced_by

Connect = Callable[[], sqlite3.Connection]


@pytest.fixture
def connect(tmp_path: Path) -> Connect:
    def opened() -> sqlite3.Connection:
        return sqlite3.connect(tmp_path / "sink.db", timeout=30)

    with opened() as db:
        db.execute("create table results (epoch int, batch int)")
    return opened


def of(number: int, *stores: Connect) -> SinkEpoch:
    return SinkEpoch("counts", number, stores)


def write(connect: Connect, epoch: SinkEpoch, batch: int) -> None:
    with connect() as db:
        epoch.check(db)
        db.execute("insert into results values (?, ?)", (epoch.number, batch))


def rows(connect: Connect) -> list[tuple[int, int]]:
    return connect().execute("select epoch, batch from results order by batch").fetchall()


def test_an_older_epoch_is_refused_in_its_own_transaction(connect: Connect) -> None:
    assert of(1, connect).raise_in_stores()
    write(connect, of(1), 0)
    write(connect, of(1), 1)
    assert of(2, connect).raise_in_stores()
    with pytest.raises(FencedOff, match="query 'counts': epoch 1 is over, 2 has the sink"):
        write(connect, of(1), 2)
    write(connect, of(2), 2)
    assert rows(connect) == [(1, 0), (1, 1), (2, 2)]


def test_who_comes_too_late_cannot_raise_its_own(connect: Connect) -> None:
    of(3, connect).raise_in_stores()
    with pytest.raises(FencedOff):
        of(2, connect).raise_in_stores()
    assert of(3, connect).raise_in_stores()  # twice is once


def test_queries_are_fenced_each_for_itself(connect: Connect) -> None:
    of(5, connect).raise_in_stores()
    SinkEpoch("sums", 1, (connect,)).raise_in_stores()
    write(connect, SinkEpoch("sums", 1), 0)
    assert rows(connect) == [(1, 0)]


def test_of_two_that_write_at_once_the_newer_one_wins_and_the_older_one_leaves_nothing(connect: Connect) -> None:
    """The older one has looked, and is slow to write: the newer one waits for it, or it is refused. Never both."""
    of(1, connect).raise_in_stores()
    looked, go_on, refused = threading.Event(), threading.Event(), list[str]()

    def slow() -> None:
        with connect() as db:
            of(1).check(db)
            looked.set()
            go_on.wait(30)
            db.execute("insert into results values (1, 7)")
        try:
            write(connect, of(1), 8)
        except FencedOff as error:
            refused.append(str(error))

    zombie = threading.Thread(target=slow)
    zombie.start()
    assert looked.wait(30)
    raised = threading.Thread(target=lambda: of(2, connect).raise_in_stores())
    raised.start()
    assert rows(connect) == []
    go_on.set()
    raised.join(30)
    zombie.join(30)
    write(connect, of(2), 8)
    assert rows(connect)[0] == (1, 7) and rows(connect)[-1] == (2, 8)
    assert [epoch for epoch, batch in rows(connect) if batch == 8] in ([2], [1, 2])  # by who came first to batch 8
    assert len(refused) == 1 or (1, 8) in rows(connect)


def test_outside_of_a_fleet_nothing_is_checked_and_no_store_is_touched(connect: Connect) -> None:
    epoch = hw.epoch(connect)
    assert epoch.number is None and not epoch.raise_in_stores()
    with connect() as db:
        epoch.check(db)
        assert db.execute("select count(*) from sqlite_master where name = 'headway_epochs'").fetchone() == (0,)


def test_what_is_built_for_a_fleet_has_its_epoch(connect: Connect) -> None:
    with assigned("counts", 4) as epochs:
        epoch = hw.epoch(connect)
    assert (epoch.query, epoch.number) == ("counts", 4) and epochs[1:] == [epoch]
    assert hw.epoch().number is None


def test_a_sink_without_the_table_is_an_error_and_not_a_pass(connect: Connect) -> None:
    with pytest.raises(sqlite3.OperationalError, match="no such table: headway_epochs"):
        write(connect, of(1), 0)


def test_a_sink_that_fences_by_itself_is_asked_to_when_its_query_is_taken_over() -> None:
    asked: list[str] = []
    with assigned("counts", 3) as epochs:
        fenced_by(asked.append)
    assert [one.raise_in_stores() for one in epochs] == [False, True]
    assert asked == ["counts"]


def test_without_a_fleet_nobody_is_fenced_off() -> None:
    asked: list[str] = []
    fenced_by(asked.append)
    assert asked == [] and not hw.epoch().raise_in_stores()
