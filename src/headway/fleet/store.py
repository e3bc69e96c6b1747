"""What the orchestrators hand over to each other: records, each written in one transaction with the writer's epoch.

A write names the version of every record that it changes, and checks the epoch's node: a primary that has been replaced,
also one that was frozen and does not know it yet, can write nothing. All changes of a write are made or none is.

`Unheard` says nothing about what was written. A leader that still leads reads again, and then knows; to write the same once
more does no harm, because the version of it has been used up. Readers may be behind; one that has just been made leader is
not.

A record's versions begin anew if it is removed and put again: where nodes compare versions, it stays, with "nothing" in it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from headway.fleet.election import ElectionPaths, Leading
from headway.fleet.records import Shelf, Stored, dumps, key_of, loads, node_name
from headway.fleet.session import CheckNode, Committed, DropNode, MakeNode, Session, SetNode, TreeNode, TreeStep

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PutRecord:
    """Write a record: a new one, or another in place of the one of this version."""

    shelf: Shelf[Any]
    key: str
    record: Any
    version: int | None = None  # None: it is not there yet


@dataclass(frozen=True, slots=True)
class RemoveRecord:
    """Remove the record of this version."""

    shelf: Shelf[Any]
    key: str
    version: int


RecordChange = PutRecord | RemoveRecord


@dataclass(frozen=True, slots=True)
class Written:
    """All changes are made."""

    versions: tuple[int, ...]  # of each record, for the next change of it


@dataclass(frozen=True, slots=True)
class Conflict:
    """No change is made: a record is not as it was when we read it."""

    because: str


@dataclass(frozen=True, slots=True)
class Deposed:
    """No change is made: another orchestrator has been made leader since."""

    because: str


class Store(Protocol):
    """The records of a fleet."""

    def read(self, shelf: Shelf[T], key: str) -> Stored[T] | None: ...

    def all(self, shelf: Shelf[T]) -> Mapping[str, Stored[T]]:
        """All records of a kind, by key."""
        ...

    def write(self, by: Leading, *changes: RecordChange) -> Written | Conflict | Deposed:
        """Raises `Unheard` if no answer comes: then what was written is to be read."""
        ...


class TreeStore:
    """A store in the tree that all share: ZooKeeper's, or the one in memory."""

    def __init__(self, session: Session, root: str) -> None:
        self._session, self._root = session, root
        self._shelves: set[str] = set()  # that are known to be there

    def read(self, shelf: Shelf[T], key: str) -> Stored[T] | None:
        path = self._path(shelf, key)
        node = self._session.read(path)
        return None if node is None else _stored(shelf, node, path)

    def all(self, shelf: Shelf[T]) -> dict[str, Stored[T]]:
        names = self._session.children(self._folder(shelf))
        paths = [f"{self._folder(shelf)}/{name}" for name in names]
        found = zip(names, paths, self._session.read_all(paths), strict=True)
        return {key_of(name): _stored(shelf, node, path) for name, path, node in found if node is not None}

    def write(self, by: Leading, *changes: RecordChange) -> Written | Conflict | Deposed:
        for change in changes:
            self._ensure(change.shelf)
        epoch = CheckNode(ElectionPaths(self._root).epoch, by.version)
        done = self._session.commit(epoch, *(self._step(by, change) for change in changes))
        if isinstance(done, Committed):
            return Written(done.versions[1:])
        if done.step == epoch:
            return Deposed(f"epoch {by.epoch} is over: another orchestrator has been made leader")
        return Conflict(done.because)

    def _step(self, by: Leading, change: RecordChange) -> TreeStep:
        path = self._path(change.shelf, change.key)
        match change:
            case RemoveRecord(version=version):
                return DropNode(path, version)
            case PutRecord(shelf=shelf, record=record, version=None):
                return MakeNode(path, dumps(shelf, record, by.epoch))
            case PutRecord(shelf=shelf, record=record, version=int(version)):
                return SetNode(path, dumps(shelf, record, by.epoch), version)
        raise AssertionError(change)

    def _ensure(self, shelf: Shelf[Any]) -> None:
        if shelf.name not in self._shelves:
            self._session.ensure(self._folder(shelf))
            self._shelves.add(shelf.name)

    def _folder(self, shelf: Shelf[Any]) -> str:
        return f"{self._root}/store/{shelf.name}"

    def _path(self, shelf: Shelf[Any], key: str) -> str:
        return f"{self._folder(shelf)}/{node_name(key)}"


def _stored(shelf: Shelf[T], node: TreeNode, path: str) -> Stored[T]:
    record, epoch = loads(shelf, node.text, path)
    return Stored(record, node.version, epoch)
