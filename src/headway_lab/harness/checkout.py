"""The git checkout that this package runs from: how old a commit is, and whether some files have changed since."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import headway
from headway_lab.harness.meaning import meaning

_MEANS: dict[str, str] = {}  # by the number of a blob, which never changes: what its code means
_GLOB = re.compile(r"(\*\*/|\*\*|\*)")


@dataclass(frozen=True, slots=True)
class CommitAge:
    """What has happened since a commit. None is unknown: there is no checkout to ask."""

    commits: int | None = None
    changes: int | None = None  # how many of the files in question are not what they were
    missing: bool = False  # there is a checkout, and it has no such commit: nobody can tell what was measured

    @property
    def stale(self) -> bool | None:
        if self.missing:
            return True
        return None if self.changes is None else self.changes > 0

    def __str__(self) -> str:
        if self.missing:
            return "commit not in this history: counts as stale"
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
        if self.root is None:
            return CommitAge()
        known = commit.removesuffix("+")
        try:
            since, changed = int(git(self.root, "rev-list", "--count", f"{known}..HEAD")), _changed(self.root, known)
        except OSError:
            return CommitAge()  # no git to ask
        except subprocess.CalledProcessError:
            return CommitAge(missing=True)
        if not paths:
            return CommitAge(since)
        named = re.compile("|".join(map(glob_pattern, paths)))
        changes = sum(named.fullmatch(file) is not None for file in changed)
        return CommitAge(since, None if commit.endswith("+") and not changes else changes)

    def files(self, path: str) -> list[str]:
        """What a glob names at present."""
        return [] if self.root is None else git(self.root, "ls-files", "--", f":(top,glob){path}").splitlines()


def _changed(root: Path, commit: str) -> frozenset[str]:
    """Files that are not what they were, by their names of today. One that was moved, or imports from another place, or says
    the same in other words, is what it was: else a new shelf or a better comment would make every figure stale."""
    return _differ(root, git(root, "rev-parse", "--verify", f"{commit}^{{commit}}"), git(root, "rev-parse", "HEAD"))


@cache
def _differ(root: Path, one: str, other: str) -> frozenset[str]:
    found = git(root, "diff", "-M", "--raw", "--no-abbrev", "-z", one, other)
    # `:modes before after letter NUL path NUL`, or, of a file that was moved, `... NUL from NUL to NUL`.
    parts, changed = iter(found.split("\0")), []
    for part in parts:
        if part:
            _, _, before, after, letter = part.split()
            path = [next(parts), next(parts)][1] if letter[0] in "RC" else next(parts)
            changed.append((path, before, after))
    code = list({blob for path, *blobs in changed if path.endswith(".py") for blob in blobs} - _MEANS.keys())
    _MEANS.update(zip(code, map(meaning, _texts(root, code)), strict=True))
    return frozenset(path for path, before, after in changed if _MEANS.get(before, before) != _MEANS.get(after, after))


def _texts(root: Path, blobs: list[str]) -> Iterator[str]:
    """Of files by their numbers; one that was not there yet, or is not any more, is a text that no file has."""
    asked = "".join(f"{blob}\n" for blob in blobs).encode()
    told = subprocess.run(["git", "cat-file", "--batch"], cwd=root, input=asked, capture_output=True, check=True).stdout
    at = 0
    for _ in blobs:
        end = told.index(b"\n", at)
        head = told[at:end].split()
        size = 0 if head[1] == b"missing" else int(head[2])
        yield told[end + 1 : end + 1 + size].decode(errors="replace") if head[1] != b"missing" else "no file ="
        at = end + 1 if head[1] == b"missing" else end + size + 2


def glob_pattern(glob: str) -> str:
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
