"""Which of several orchestrators decides: the first in a line of nodes that live by sessions.

A leader steps down by itself: while its session is suspended, or when nothing has been heard for so long that another one
may have been made leader, `sure()` is false at once, on every thread. It leads again only by a new leadership.

Every leadership has an epoch, which only grows. It is written by compare-and-set before any candidate leads, and every write
of the store checks it: a leader that was frozen between `sure()` and its write is refused by the store.
"""

from dataclasses import dataclass
from typing import Protocol

from headway.errors import HeadwayError
from headway.fleet.records import Shelf, dumps, loads
from headway.fleet.session import (
    CheckNode,
    Committed,
    DropNode,
    MakeNode,
    Rejected,
    Session,
    SessionState,
    SetNode,
    TreeNode,
    Unheard,
)


@dataclass(frozen=True, slots=True)
class Leading:
    """We decide. What the predecessor has written is to be read after this was said, not before."""

    epoch: int
    version: int  # of the node that holds the epoch


@dataclass(frozen=True, slots=True)
class Following:
    """Another candidate was first; we stand in line."""

    leader: str | None  # None while there is no leader


@dataclass(frozen=True, slots=True)
class Away:
    """It is not known whether we lead: then we do not."""

    because: str


Office = Leading | Following | Away


class Election(Protocol):
    """One candidate's part in an election. One thread turns it."""

    def turn(self) -> Office:
        """Do what is next, and say where we stand: after each message of the session, and now and then without one."""
        ...

    def sure(self) -> bool:
        """We lead at this moment. Asks nothing but our own clock, and may be asked from any thread."""
        ...

    def resign(self) -> None:
        """Lead no more, and leave the line. The next `turn` would stand again."""
        ...


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """The newest leadership there has been."""

    number: int
    leader: str


EPOCHS = Shelf("epoch", EpochRecord)


@dataclass(frozen=True, slots=True)
class ElectionPaths:
    """Where an election has its nodes."""

    root: str

    @property
    def epoch(self) -> str:
        return f"{self.root}/epoch"

    @property
    def line(self) -> str:
        return f"{self.root}/line"


class TreeElection:
    """An election in the tree that all share: ZooKeeper's, or the one in memory."""

    def __init__(self, session: Session, root: str, label: str) -> None:
        """`label` is for people to read; the session's name is what tells candidates apart."""
        self._session, self._label = session, label
        self._at = ElectionPaths(root)
        self._held: tuple[Leading, int] | None = None  # and after how many breaks of the session
        self._made = False

    def turn(self) -> Office:
        try:
            office = self._turn()
        except Unheard as error:
            office = Away(str(error))
        if not isinstance(office, Leading):
            self._held = None
        return office

    def sure(self) -> bool:
        held, session = self._held, self._session
        return held is not None and session.state is SessionState.CONNECTED and session.breaks == held[1] and session.sure()

    def resign(self) -> None:
        self._held = None
        for name in self._own(self._session.children(self._at.line)):
            self._drop(name)

    def _turn(self) -> Office:
        session, breaks = self._session, self._session.breaks
        if session.state is not SessionState.CONNECTED:
            return Away(f"the session is {session.state}")
        if not session.sure():
            return Away("nothing has been heard for too long")
        mine, line = self._stand()
        place = line.index(mine)
        if place > 0:
            # Only the one before us concerns us: when it is gone, we look again; if it is gone already, at once.
            ahead = session.read(f"{self._at.line}/{line[place - 1]}", watch=True)
            return self._turn() if ahead is None else Following(self._leader())
        if self._held is not None and self._held[1] == breaks:
            return self._held[0]
        return self._claim(mine, breaks)

    def _stand(self) -> tuple[str, list[str]]:
        """Our node in the line, and all of the line. An answer that was lost may have left us two: the first counts."""
        if not self._made:
            self._session.ensure(self._at.line)
            self._session.commit(MakeNode(self._at.epoch, dumps(EPOCHS, EpochRecord(0, "nobody"))))
            self._made = True
        line = _in_turn(self._session.children(self._at.line))
        mine = self._own(line)
        for extra in mine[1:]:
            self._drop(extra)
        if not mine:
            made = self._session.commit(MakeNode(f"{self._at.line}/{self._session.name}-", self._label, "line"))
            if isinstance(made, Rejected):
                raise Unheard(f"the line of candidates: {made.because}")
            mine = [made.paths[0].rpartition("/")[2]]
            line = _in_turn(self._session.children(self._at.line))
            if mine[0] not in line:
                raise Unheard("our place in the line is gone again")
        return mine[0], line

    def _claim(self, mine: str, breaks: int) -> Office:
        """Raise the epoch. A candidate that has lost its place meanwhile cannot, nor can two do it from the same number."""
        node, before = self._epoch()
        now = EpochRecord(before.number + 1, self._label)
        done = self._session.commit(
            CheckNode(f"{self._at.line}/{mine}", 0),
            SetNode(self._at.epoch, dumps(EPOCHS, now, now.number), node.version),
        )
        match done:
            case Rejected():
                return Following(None)
            case Committed(versions=(_, version)):
                self._held = (Leading(now.number, version), breaks)
                return self._held[0] if self.sure() else Away("the session has been suspended")
        raise AssertionError(done)

    def _epoch(self) -> tuple[TreeNode, EpochRecord]:
        node = self._session.read(self._at.epoch)
        if node is None:
            raise HeadwayError(f"{self._at.epoch}: it was removed: the fleet's nodes are not for other programs")
        return node, loads(EPOCHS, node.text, self._at.epoch)[0]

    def _leader(self) -> str | None:
        _, record = self._epoch()
        return record.leader if record.number else None

    def _own(self, names: "list[str] | tuple[str, ...]") -> list[str]:
        return [name for name in _in_turn(names) if name.rpartition("-")[0] == self._session.name]

    def _drop(self, name: str) -> None:
        self._session.commit(DropNode(f"{self._at.line}/{name}", 0))


def _in_turn(names: "list[str] | tuple[str, ...]") -> list[str]:
    """By the numbers at their ends."""
    return sorted(names, key=lambda name: name.rpartition("-")[2])
