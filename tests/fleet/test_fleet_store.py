"""The store, in memory and on a real ZooKeeper: compare and set, all or nothing, and only by who leads."""

import pytest

from fleet.trees import PLACED, Placed, World, refused
from headway.errors import HeadwayError
from headway.fleet.election import Leading, TreeElection
from headway.fleet.records import Shelf, Stored
from headway.fleet.session import MakeNode, Session
from headway.fleet.store import Conflict, PutRecord, RemoveRecord, Store, TreeStore, Written

BOOKS = Placed("books", "north", ("asked",))


@pytest.fixture
def session(world: World) -> Session:
    return world.open("primary")


@pytest.fixture
def store(session: Session, root: str) -> Store:
    return TreeStore(session, root)


@pytest.fixture
def leading(session: Session, root: str) -> Leading:
    office = TreeElection(session, root, "primary").turn()
    assert isinstance(office, Leading)
    return office


def test_what_is_put_is_read_with_its_version_and_the_epoch_it_was_written_in(store: Store, leading: Leading) -> None:
    assert store.read(PLACED, "books") is None and store.all(PLACED) == {}
    assert store.write(leading, PutRecord(PLACED, "books", BOOKS)) == Written((0,))
    assert store.read(PLACED, "books") == Stored(BOOKS, 0, leading.epoch)
    moved = Placed("books", "south", ("asked", "drained"))
    assert store.write(leading, PutRecord(PLACED, "books", moved, version=0)) == Written((1,))
    assert store.all(PLACED) == {"books": Stored(moved, 1, leading.epoch)}


def test_who_has_not_read_the_newest_changes_nothing(store: Store, leading: Leading) -> None:
    store.write(leading, PutRecord(PLACED, "books", BOOKS))
    store.write(leading, PutRecord(PLACED, "books", BOOKS, version=0))
    again = store.write(leading, PutRecord(PLACED, "books", Placed("books", "south"), version=0))
    assert isinstance(again, Conflict) and "has been changed meanwhile" in again.because
    twice = store.write(leading, PutRecord(PLACED, "books", BOOKS))
    assert isinstance(twice, Conflict) and "is there already" in twice.because
    gone = store.write(leading, RemoveRecord(PLACED, "films", 0))
    assert isinstance(gone, Conflict) and "is not there" in gone.because
    assert store.all(PLACED) == {"books": Stored(BOOKS, 1, leading.epoch)}


def test_all_changes_of_a_write_are_made_or_none(store: Store, leading: Leading) -> None:
    store.write(leading, PutRecord(PLACED, "books", BOOKS))
    films = Placed("films", "south")
    half = store.write(leading, PutRecord(PLACED, "films", films), RemoveRecord(PLACED, "books", 7))
    assert isinstance(half, Conflict) and store.read(PLACED, "films") is None
    assert store.write(leading, PutRecord(PLACED, "films", films), RemoveRecord(PLACED, "books", 0)) == Written((0, 0))
    assert set(store.all(PLACED)) == {"films"}


def test_a_successor_reads_what_was_written_and_its_predecessor_is_refused(world: World, root: str) -> None:
    one, other = world.open("first"), world.open("second")
    first, second = TreeElection(one, root, "first"), TreeElection(other, root, "second")
    before = first.turn()
    assert isinstance(before, Leading)
    second.turn()
    TreeStore(one, root).write(before, PutRecord(PLACED, "books", BOOKS))
    world.expire(one)
    now = second.turn()
    assert isinstance(now, Leading)
    found = TreeStore(other, root).read(PLACED, "books")
    assert found == Stored(BOOKS, 0, before.epoch)
    done = TreeStore(other, root).write(now, PutRecord(PLACED, "books", Placed("books", "south"), found.version))
    assert done == Written((1,))


@pytest.mark.parametrize("key", ["a/b", ".", "..", "with space", "über", "50%"])
def test_any_name_may_be_a_key(store: Store, leading: Leading, key: str) -> None:
    store.write(leading, PutRecord(PLACED, key, BOOKS))
    assert store.all(PLACED) == {key: Stored(BOOKS, 0, leading.epoch)}


def test_a_record_of_a_newer_version_is_refused_in_one_line(store: Store, session: Session, root: str) -> None:
    newer = Shelf("placed", Placed, version=2)
    session.ensure(f"{root}/store/placed")
    session.commit(MakeNode(f"{root}/store/placed/books", '{"v":2,"kind":"placed","epoch":1,"is":{"query":"books"}}'))
    said = refused(lambda: store.read(PLACED, "books"))
    assert "version 2 of placed, and this Headway knows version 1: use the version" in said
    assert "lacks node" in refused(lambda: store.read(newer, "books"))
    with pytest.raises(HeadwayError, match="version 2"):
        store.all(PLACED)


def test_many_are_read_in_one_go(store: Store, leading: Leading) -> None:
    names = [f"query {n:03d}" for n in range(200)]
    changes = [PutRecord(PLACED, name, Placed(name, "north")) for name in names]
    assert store.write(leading, *changes) == Written((0,) * 200)
    assert [stored.record.query for stored in store.all(PLACED).values()] == names
