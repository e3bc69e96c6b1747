"""What is said between the orchestrator and a node about one query.

Each instruction follows from a record in the store and carries the version of it. A node remembers the highest that it has
obeyed for a query, and answers anything older with `Outdated`: a message that was delayed, or whose sender is no longer the
primary, does nothing. Asking twice is asking once; the answer to the second is the answer to the first.
"""

from dataclasses import dataclass

from headway.fleet.moves.record import Revision


@dataclass(frozen=True, slots=True)
class Prepare:
    """Build and analyse the plan, load what can be loaded. It goes stale: dropped if it is not repeated for a minute.

    With `partitions`: and say whether the state can be spread over so many, as far as that shows while the source runs.
    """

    query: str
    version: int
    move: str
    revision: Revision
    partitions: int | None = None


@dataclass(frozen=True, slots=True)
class DrainQuery:
    """End this incarnation between two batches, at a good moment; raise the epoch in the sink, and release the lease."""

    query: str
    version: int
    move: str
    epoch: int  # of the incarnation that ends
    next_epoch: int
    at_once: bool = False  # interrupt the batch that runs: the next incarnation runs it again from the log


@dataclass(frozen=True, slots=True)
class ResumeQuery:
    """Go on as if nothing had been. If it has ended already, say so."""

    query: str
    version: int
    move: str
    epoch: int


@dataclass(frozen=True, slots=True)
class TakeOver:
    """Take the lease with this epoch, then raise the epoch in the sink, then copy the least that is needed.

    With `partitions`: and spread the state of the copy over so many, before it is called complete.
    With `commits`: and then start, as `StartQuery` does, without being told once more: this saves the wait for two messages
    and a write between the two. Not where it may begin from nothing, which has to be in the store before it is done.
    """

    query: str
    version: int
    epoch: int
    revision: Revision
    folders: tuple[str, ...]  # to copy from, oldest first
    folder: str  # to be made
    fresh: bool  # it may begin from nothing: no folder of this query has ever been complete
    partitions: int | None = None
    commits: int | None = None  # so many are awaited of it; None: it is started by another message


@dataclass(frozen=True, slots=True)
class StartQuery:
    """Start from the folder that was made. Only with the lease: a node that has lost it answers that the run has failed.

    The first batch runs at once, rows or no rows: a query whose source is silent must prove itself, too.
    """

    query: str
    version: int
    epoch: int
    commits: int  # so many are awaited


@dataclass(frozen=True, slots=True)
class EndQuery:
    """End this incarnation, and release its lease."""

    query: str
    version: int
    epoch: int
    at_once: bool = True  # else between two batches


@dataclass(frozen=True, slots=True)
class DeleteFolders:
    """Of incarnations that are over, with whatever they may still write."""

    query: str
    version: int
    folders: tuple[str, ...]


Instruction = Prepare | DrainQuery | ResumeQuery | TakeOver | StartQuery | EndQuery | DeleteFolders


# ---- what a node answers


@dataclass(frozen=True, slots=True)
class Prepared:
    query: str
    move: str


@dataclass(frozen=True, slots=True)
class CannotRun:
    """The target has tried to prepare, and cannot. Said at once: there is no use in waiting for what can never be ready."""

    query: str
    move: str
    because: str


@dataclass(frozen=True, slots=True)
class Drained:
    """No batch of it runs and none will; the epoch is raised and the lease released."""

    query: str
    move: str
    epoch: int


@dataclass(frozen=True, slots=True)
class WentOn:
    """It was not drained, and will not be for this move."""

    query: str
    move: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Copied:
    """We hold the lease, the epoch is raised, the folder is complete."""

    query: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Running:
    """It stands at its gate or runs, and has committed so many batches in this life."""

    query: str
    epoch: int
    commits: int


@dataclass(frozen=True, slots=True)
class RunFailed:
    """This incarnation is over here, or could not begin; its lease is released."""

    query: str
    epoch: int
    because: str


@dataclass(frozen=True, slots=True)
class FoldersDeleted:
    query: str
    folders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outdated:
    """The node has obeyed an instruction of a later record."""

    query: str
    version: int  # of that one


Receipt = Prepared | CannotRun | Drained | WentOn | Copied | Running | RunFailed | FoldersDeleted | Outdated
