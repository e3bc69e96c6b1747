"""A session with the tree of small nodes that the whole fleet shares: what can be asked of it, and how it is lost.

The tree is ZooKeeper's, or one in memory for worlds in virtual time. A node has a text, a version that grows by one with
every change, and perhaps an owner: it goes when the owner's session is over. A commit does all of its steps or none.

A session is *connected*, *suspended* (it is not known whether it still lives: stop acting now) or *over*, which it remains.
A process that goes on after that opens another session, and stands in line again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Protocol

from headway.errors import HeadwayError


class SessionState(StrEnum):
    """What we know of our session."""

    CONNECTED = "connected"
    SUSPENDED = "suspended"
    OVER = "over"


class Unheard(HeadwayError):
    """No answer came. What was asked for may have been done, or may be done yet."""


class SessionOver(Unheard):
    """The session is over, and all that lived by it is gone."""


# ---- what is told, on a thread of the connection: the callback may post it somewhere, and must do nothing else


@dataclass(frozen=True, slots=True)
class SessionChanged:
    """The session of this name is in another state now."""

    session: str
    state: SessionState


@dataclass(frozen=True, slots=True)
class NodeChanged:
    """A node that was watched has changed, once; it is watched no more."""

    session: str
    path: str


SessionMessage = SessionChanged | NodeChanged
Tell = Callable[[SessionMessage], None]


def tell_nobody(message: SessionMessage) -> None:
    """For sessions whose owner looks by itself."""


# ---- what is in the tree, and how it is changed


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A node as it was read."""

    text: str
    version: int
    own: bool  # it lives by this very session


@dataclass(frozen=True, slots=True)
class MakeNode:
    """One that is not there yet. In a line, its path ends with a number that grows; such a node lives by the session."""

    path: str
    text: str = ""
    life: Literal["lasting", "session", "line"] = "lasting"


@dataclass(frozen=True, slots=True)
class SetNode:
    """Another text, if it was not changed since this version."""

    path: str
    text: str
    version: int


@dataclass(frozen=True, slots=True)
class DropNode:
    """Remove it, if it was not changed since this version."""

    path: str
    version: int


@dataclass(frozen=True, slots=True)
class CheckNode:
    """It is there, and was not changed since this version."""

    path: str
    version: int


TreeStep = MakeNode | SetNode | DropNode | CheckNode


@dataclass(frozen=True, slots=True)
class Committed:
    """All steps are done."""

    paths: tuple[str, ...]  # of each step; of one in a line with its number
    versions: tuple[int, ...]  # of its node afterwards; of one that was dropped, as it was


@dataclass(frozen=True, slots=True)
class Rejected:
    """Nothing is done: this step could not be."""

    step: TreeStep
    why: Literal["version", "missing", "exists", "children"]

    @property
    def because(self) -> str:
        said = {
            "version": "has been changed meanwhile",
            "missing": "is not there",
            "exists": "is there already",
            "children": "has nodes below it",
        }
        return f"{self.step.path} {said[self.why]}"


class Session(Protocol):
    """One holder's session. Any call may raise `Unheard` after a bounded time."""

    name: str  # no other session has it, ever
    timeout_ms: int  # of silence, after which the others give it up

    @property
    def state(self) -> SessionState: ...

    @property
    def breaks(self) -> int:
        """How often it has been suspended: what was true before a break need not be true after it."""
        ...

    def sure(self) -> bool:
        """The server cannot have given it up at this moment. Asks nothing but our own clock, and may be asked from any
        thread."""
        ...

    def read(self, path: str, *, watch: bool = False) -> TreeNode | None:
        """None if it is not there; a watch tells once of its next change."""
        ...

    def read_all(self, paths: Sequence[str]) -> list[TreeNode | None]:
        """The same for many, in one go."""
        ...

    def children(self, path: str, *, watch: bool = False) -> tuple[str, ...]:
        """Names of the nodes right below, sorted; none if it is not there. A watch tells once when one comes or goes."""
        ...

    def commit(self, *steps: TreeStep) -> Committed | Rejected: ...

    def ensure(self, path: str) -> None:
        """The node and those above it are there, and last."""
        ...

    def on_beat(self, chore: Callable[[], None]) -> None:
        """Call this whenever the session has just been heard of; it may raise `Unheard`, and is called again."""
        ...

    def close(self) -> None:
        """End it now, and all that lives by it. Never from where messages are told."""
        ...
