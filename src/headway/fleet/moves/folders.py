"""What a new incarnation copies: the state of the last batch that was committed, and a batch that was planned but not done.

A planned batch may have reached the sink. The next incarnation must run that very batch, with the same rows, so that the
sink knows it again; one that planned a batch of its own would lose rows or double them. So going home is not going back to
what the old folder knew: the plan of the batch that the target was in the middle of comes along.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from headway.errors import HeadwayError


@dataclass(frozen=True, slots=True)
class FolderSeen:
    """What an earlier incarnation has left.

    Look only when the epoch is raised: an older one can put nothing into the sink, whatever it writes here.
    And list the offsets before the commits: an older one may still commit a batch and plan another between the two looks.
    """

    name: str
    complete: bool  # its copy was finished; otherwise it has never run
    planned: int = -1  # the last batch with offsets in the log
    committed: int = -1


@dataclass(frozen=True, slots=True)
class CopyBasis:
    """From where the state, and up to which batch; from where the offsets of the batch after it, if one was planned."""

    state_from: str | None  # None: begin from nothing
    committed: int
    planned_from: str | None = None


def copy_basis(query: str, folders: Sequence[FolderSeen], fresh: bool) -> CopyBasis:
    """Of folders from oldest to newest."""
    complete = [folder for folder in folders if folder.complete]
    if not complete:
        if fresh:
            return CopyBasis(None, -1)
        names = ", ".join(folder.name for folder in folders)
        raise HeadwayError(f"query {query!r}: none of its checkpoints is there ({names}): bring one of them back")
    # Of equals the older: it has run, a copy of it may be why the newer has not.
    best = max(complete, key=lambda folder: folder.committed)
    newest = complete[-1]
    ahead = newest.planned > best.committed
    return CopyBasis(best.name, best.committed, newest.name if ahead else None)
