"""The git checkout that this package runs from: how old a commit is, and whether some files have changed since."""

import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import headway


@dataclass(frozen=True, slots=True)
class CommitAge:
    """What has happened since a commit. None is unknown: no checkout, or a commit that it does not have."""

    commits: int | None = None
    changes: int | None = None  # those of them that changed the files in question

    @property
    def stale(self) -> bool | None:
        return None if self.changes is None else self.changes > 0

    def __str__(self) -> str:
        if self.commits is None:
            return "age unknown"
        since = f"{self.commits} commit{'' if self.commits == 1 else 's'} ago"
        if self.changes is None:
            return f"{since}, whether its code changed is unknown"
        return f"{since}, stale: {self.changes} changed its code" if self.changes else since


@dataclass(frozen=True, slots=True)
class Checkout:
    """A git work tree, or nothing of the kind."""

    root: Path | None

    def age(self, commit: str, paths: tuple[str, ...]) -> CommitAge:
        """How far back a commit is, and how many commits since have touched what the globs name.

        A '+' behind the commit stands for changes that were never committed: what they were is unknown.
        """
        known = commit.removesuffix("+")
        since = self._count(known)
        changes = self._count(known, *(f":(top,glob){path}" for path in paths)) if paths else None
        return CommitAge(since, None if commit.endswith("+") and not changes else changes)

    def files(self, path: str) -> list[str]:
        """What a glob names at present."""
        return [] if self.root is None else git(self.root, "ls-files", "--", f":(top,glob){path}").splitlines()

    def _count(self, commit: str, *paths: str) -> int | None:
        if self.root is None:
            return None
        try:
            return int(git(self.root, "rev-list", "--count", f"{commit}..HEAD", "--", *paths))
        except (OSError, subprocess.CalledProcessError):
            return None


@cache
def own() -> Checkout:
    """The checkout of this package; none where it is installed, be it inside some other project's work tree."""
    package = Path(headway.__file__).parent
    try:
        git(package, "ls-files", "--error-unmatch", "__init__.py")
        return Checkout(Path(git(package, "rev-parse", "--show-toplevel")))
    except (OSError, subprocess.CalledProcessError):
        return Checkout(None)


def git(folder: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()
