"""Checkpoints on the disks of other nodes: who has which, and from which of them an incarnation may go on. Pure.

Where nodes share no file system, a folder that cannot be seen may never have been made, or may lie on the disk of a node
that is dead, with batches in it that the sink has. To take an older one then would lose rows. So who copies a checkpoint
from another node has its owner write down who goes on from it, before the copy is called complete. A checkpoint that was
not promised has no successor that ever ran.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from headway.errors import HeadwayError
from headway.transfer.wire import FileDigest

PROMISED = ".headway.promised"  # in a checkpoint: the folder of the incarnation that goes on from it
PULLED = ".headway.pulled"  # beside a checkpoint: what was copied from other nodes, for it to be made of


@dataclass(frozen=True, slots=True)
class CheckpointTold:
    """What a node knows of a checkpoint's folder."""

    place: str
    there: bool = False
    complete: bool = False  # it may be taken over from
    mark: str | None = None  # the text of the incarnation's mark, which no other folder has
    hosted: bool = False  # the node itself made it, in this run
    holder: str | None = None  # whose lease is on it
    promised: str | None = None  # the folder of the incarnation that goes on from it


@dataclass(frozen=True, slots=True)
class CheckpointPromise:
    """Asks a node to write down who goes on from a checkpoint of its disk."""

    place: str
    to: str  # the folder of the incarnation
    instead: str | None = None  # of one that was found to be incomplete, so that it has never run


class CheckpointShelf(Protocol):
    """The checkpoints that a node reads by itself."""

    def told(self, place: str) -> CheckpointTold: ...

    def listing(self, place: str, have: Sequence[str]) -> Mapping[str, FileDigest]:
        """The least that a query goes on from, for who has these files already. Raises TransferRefused."""
        ...

    def open(self, place: str, name: str) -> BinaryIO:
        """Raises TransferRefused."""
        ...

    def promise(self, asked: CheckpointPromise) -> None:
        """Raises a HeadwayError if it was promised to another incarnation, or is not here."""
        ...


@dataclass(frozen=True, slots=True)
class OriginSeen:
    """One of the folders that an incarnation may go on from."""

    told: CheckpointTold
    url: str | None = None  # of the node that has it; None: this one, or nobody who can be asked


@dataclass(frozen=True, slots=True)
class OriginChoice:
    """From which one, and whether that has to be written down in it."""

    seen: OriginSeen
    promised: bool
    instead: str | None = None


def choice(origins: Sequence[OriginSeen]) -> OriginChoice | None:
    """Of folders from oldest to newest the newest complete one; None if there is none. Raises a HeadwayError if a newer one
    may be complete where it cannot be seen."""
    best = max((n for n, one in enumerate(origins) if one.told.complete), default=None)
    if best is None:
        return None
    found, unseen = origins[best], [one.told.place for one in origins[best + 1 :] if not one.told.there]
    if found.told.promised in unseen:
        raise HeadwayError(
            f"checkpoint = {found.told.promised!r}: no node that answers has it, and {found.told.place!r} is older: "
            "start the node again on whose disk it is"
        )
    return OriginChoice(found, found.url is not None or bool(unseen), found.told.promised)


def theirs(mine: CheckpointTold, others: Mapping[str, CheckpointTold]) -> str | None:
    """The node whose folder of this name counts, by its URL; None: the one that is seen here does, or there is none.

    Of the same file on a shared disk all have the same mark. A folder of the same name with another mark, or without one,
    may be left from another fleet: the one counts that a node has made in this run.
    """
    makers = [url for url, told in others.items() if told.hosted]
    if makers:
        return None if mine.there and others[makers[0]].mark == mine.mark else makers[0]
    if mine.there:
        return None
    there = sorted((not told.complete, url) for url, told in others.items() if told.there)
    return there[0][1] if there else None
