"""A checkpoint's least copy is enough for Spark, wherever it is and whatever keeps the state; a lack is found beforehand."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headway.errors import HeadwayError
from headway.fleet.incarnation import MARK, IncarnationMark
from headway.fleet.node.wire import NodeCommand
from headway.lease.local import LockedLease
from headway.spark.checkpoint.contents import PROVIDER, ROCKSDB
from headway.spark.checkpoint.folder import folder_of
from headway.spark.fleet.incarnation import IncarnationFolder, IncompleteCopy, deleted, replaced_by
from headway.spark.fleet.origins import Origins
from headway.spark.fleet.shelf import NodeShelf
from spark.test_repartition import Books

pytestmark = pytest.mark.spark
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
KINDS: dict[str, dict[str, str]] = {
    "hdfs-backed": {}, "rocksdb": {PROVIDER: ROCKSDB}, "rocksdb with changelogs": {PROVIDER: ROCKSDB, CHANGELOG: "true"},
}  # fmt: skip


def mark(epoch: int, run: str = "this") -> IncarnationMark:
    return IncarnationMark("books", epoch, "n1", run)


@pytest.fixture(params=KINDS)
def store(spark: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    for key, value in KINDS[request.param].items():
        spark.conf.set(key, value)
    yield spark
    for key in KINDS[request.param]:
        spark.conf.unset(key)


def ran(spark: Any, folder: Path, place: str, rounds: int) -> Books:
    """A query that has run so often from its checkpoint."""
    books = Books(spark, folder, place)
    for n in range(rounds):
        books.comes(f"first-{n}", hour=10, rows=200)
        books.run()
    return books


@pytest.mark.parametrize("where", ["here", "hdfs"])
def test_a_query_goes_on_exactly_from_the_least_of_its_checkpoint(
    store: Any, tmp_path: Path, request: pytest.FixtureRequest, where: str
) -> None:
    root = str(tmp_path / "cp") if where == "here" else f"{request.getfixturevalue('hdfs')}/{tmp_path.name}/cp"
    books = ran(store, tmp_path, f"{root}/i-1", rounds=3)
    made = IncarnationFolder(store, f"{root}/i-2", mark(2))
    assert made.ahead([f"{root}/i-1"]) > 0
    books.comes("meanwhile", hour=10, rows=100)
    books.run()
    before = folder_of(store, f"{root}/i-1").sizes()
    taken = made.complete([f"{root}/i-0", f"{root}/i-1"])
    assert taken.origin == f"{root}/i-1" and taken.batch == taken.begun and taken.files < len(before)
    assert made.continues(taken) and not made.continues(replace(taken, origin=f"{root}/i-0"))
    assert not made.continues(replace(taken, batch=0))  # what is in memory would be ahead of it
    assert folder_of(store, f"{root}/i-1").sizes() == before
    books.checkpoint = f"{root}/i-2"
    books.comes("second", hour=10, rows=100)
    books.run()
    books.comes("third", hour=12, rows=1)
    books.run()
    assert books.emitted == Counter({k: n for k, n in books.wanted.items() if k[0] == "10"})
    found = replaced_by(store, f"{root}/i-1", "books", 1, set())
    assert found is not None and found.epoch == 2 and replaced_by(store, f"{root}/i-2", "books", 2, set()) is None
    assert deleted(store, [f"{root}/i-1", f"{root}/i-2"], "books", 3) == [f"{root}/i-2"]  # i-1 has no mark: a user's own
    assert folder_of(store, f"{root}/i-2").sizes() == {} and folder_of(store, f"{root}/i-1").sizes()


def test_on_one_disk_the_state_is_linked_and_what_changes_is_copied(spark: Any, tmp_path: Path) -> None:
    ran(spark, tmp_path, str(tmp_path / "i-1"), rounds=2)
    IncarnationFolder(spark, str(tmp_path / "i-2"), mark(2)).complete([str(tmp_path / "i-1")])
    copied = [f for f in (tmp_path / "i-2").rglob("*") if f.is_file() and not f.name.startswith(".")]
    links = {str(f.relative_to(tmp_path / "i-2")) for f in copied if f.stat().st_nlink > 1}
    assert links and all(name.startswith("state/") for name in links)
    assert not any(half.name.endswith(".tmp") for half in (tmp_path / "i-2").rglob("*"))


def test_what_lacks_something_is_no_checkpoint_to_start_from(spark: Any, tmp_path: Path) -> None:
    ran(spark, tmp_path, str(tmp_path / "i-1"), rounds=2)
    newest = max((tmp_path / "i-1" / "state" / "0" / "0").glob("*.delta"), key=lambda file: int(file.stem))
    newest.rename(tmp_path / "elsewhere")
    made = IncarnationFolder(spark, str(tmp_path / "i-2"), mark(2))
    with pytest.raises(IncompleteCopy, match=f"i-1 lacks state/0/0/{newest.name}"):
        made.complete([str(tmp_path / "i-1")])
    (tmp_path / "elsewhere").rename(newest)
    with pytest.raises(IncompleteCopy, match="batch 99 is not committed in"):
        made.complete([str(tmp_path / "i-1")], batch=99)
    assert '"complete": false' in (tmp_path / "i-2" / MARK).read_text()
    third = IncarnationFolder(spark, str(tmp_path / "i-3"), mark(3)).complete([str(tmp_path / f"i-{n}") for n in (1, 2)])
    assert third.origin == str(tmp_path / "i-1")  # the second was never finished


def test_a_checkpoint_in_use_is_not_taken_over(spark: Any, tmp_path: Path) -> None:
    ran(spark, tmp_path, str(tmp_path / "i-1"), rounds=1)
    lease = LockedLease(tmp_path / "i-1", str(tmp_path / "i-1"), "query 'books' of process 4711")
    made = IncarnationFolder(spark, str(tmp_path / "i-2"), mark(2))
    origins = Origins(spark, "n1", "this", NodeShelf(spark, lambda place: False))
    take = NodeCommand("r1", "start", "books", 2, folder=made.place, origins=(str(tmp_path / "i-1"),))
    with pytest.raises(HeadwayError, match="expected one that no running query uses; query 'books' of process 4711 uses it"):
        origins.now(take)
    assert origins.now(replace(take, force=True)) is not None
    lease.release()
    assert origins.now(take) is not None
    assert made.complete([str(tmp_path / "i-1")]).origin == str(tmp_path / "i-1")


@pytest.mark.parametrize("where", ["here", "hdfs"])
def test_a_folder_is_one_incarnations_own(spark: Any, tmp_path: Path, request: pytest.FixtureRequest, where: str) -> None:
    place = str(tmp_path / "i-4") if where == "here" else f"{request.getfixturevalue('hdfs')}/{tmp_path.name}/i-4"
    IncarnationFolder(spark, place, mark(4))
    IncarnationFolder(spark, place, mark(4))  # the same process, once more
    for other in (mark(4, run="another"), mark(5)):
        with pytest.raises(HeadwayError, match="expected one that is not there yet, this is of epoch 4 of 'books' on n1"):
            IncarnationFolder(spark, place, other)


def test_who_begins_from_nothing_has_nothing_to_take(spark: Any, tmp_path: Path) -> None:
    place = str(tmp_path / "deep" / "i-1")
    taken = IncarnationFolder(spark, place, mark(1)).complete([])
    assert (taken.origin, taken.batch, taken.files) == (None, None, 0) and os.listdir(place) == [MARK]
    with pytest.raises(IncompleteCopy, match="batch 3 is not committed in any of the origins"):
        IncarnationFolder(spark, str(tmp_path / "i-2"), mark(2)).complete([place], batch=3)
