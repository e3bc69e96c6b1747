"""The git checkout that this package runs from: how old a commit is, and whether some files have changed since."""

import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import headway

_GLOB = re.compile(r"(\*\*/|\*\*|\*)")


@dataclass(frozen=True, slots=True)
class CommitAge:
    """What has happened since a commit. None is unknown: no checkout, or a commit that it does not have."""

    commits: int | None = None
    changes: int | None = None  # how many of the files in question are not what they were

    @property
    def stale(self) -> bool | None:
        return None if self.changes is None else self.changes > 0

    def __str__(self) -> str:
        if self.commits is None:
            return "age unknown"
        since = f"{self.commits} commit{'' if self.commits == 1 else 's'} ago"
        if self.changes is None:
            return f"{since}, whether its code changed is unknown"
        files = "1 file of its code has" if self.changes == 1 else f"{self.changes} files of its code have"
        return f"{since}, stale: {files} changed" if self.changes else since


@dataclass(frozen=True, slots=True)
class Checkout:
    """A git work tree, or nothing of the kind."""

    root: Path | None

    def age(self, commit: str, paths: tuple[str, ...]) -> CommitAge:
        """How far back a commit is, and how many of the files that the globs name have changed since.

        A '+' behind the commit stands for changes that were never committed: what they were is unknown.
        """
        known = commit.removesuffix("+")
        since, changed = self._since(known), _changed(self.root, known)
        if changed is None or not paths:
            return CommitAge(since)
        named = re.compile("|".join(map(_pattern, paths)))
        changes = sum(named.fullmatch(file) is not None for file in changed)
        return CommitAge(since, None if commit.endswith("+") and not changes else changes)

    def files(self, path: str) -> list[str]:
        """What a glob names at present."""
        return [] if self.root is None else git(self.root, "ls-files", "--", f":(top,glob){path}").splitlines()

    def _since(self, commit: str) -> int | None:
        if self.root is None:
            return None
        try:
            return int(git(self.root, "rev-list", "--count", f"{commit}..HEAD"))
        except (OSError, subprocess.CalledProcessError):
            return None


def _changed(root: Path | None, commit: str) -> frozenset[str] | None:
    """Files that are not what they were, by their names of today. One that was moved, or imports from another place, is what
    it was: else a new shelf would make every figure stale."""
    if root is None:
        return None
    try:
        head = git(root, "rev-parse", "HEAD")
        return _differ(root, git(root, "rev-parse", "--verify", f"{commit}^{{commit}}"), head)
    except (OSError, subprocess.CalledProcessError):
        return None


@cache
def _differ(root: Path, one: str, other: str) -> frozenset[str]:
    found = git(root, "diff", "-M", "--numstat", "-z", r"-I^\s*(from [a-z_.]+ )?import ", one, other)
    # `added TAB deleted TAB path NUL`, or, of a file that was moved, `added TAB deleted TAB NUL from NUL to NUL`.
    parts, names = iter(found.split("\0")), set()
    for part in parts:
        added, deleted, path = part.split("\t") if part else ("0", "0", "")
        moved = part and not path
        path = [next(parts), next(parts)][1] if moved else path
        if (added, deleted) != ("0", "0"):
            names.add(path)
    return frozenset(names)


def _pattern(glob: str) -> str:
    """A glob of git's as a regular expression: `**` is any folders, `*` anything but a folder."""
    return "".join({"**/": "(.*/)?", "**": ".*", "*": "[^/]*"}.get(part) or re.escape(part) for part in _GLOB.split(glob))


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
