"""The checkpoint of one incarnation: how little of an earlier one it needs, and the mark that says whose it is. Pure.

What Spark reads when a query starts, by its own sources: the query's id; the last two offsets and the last commit; the logs
that sources keep of what they have read, since the last but one that they compacted; what describes the state; and of each
store of it the version of the batch that comes next: a snapshot and the changes after it, or, in RocksDB, the files that a
snapshot shares with others.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from posixpath import dirname

MARK = ".headway.incarnation"
MEMORY = ".headway.seen"  # what a sampled input has told: see `spark/memory.py`
SHARED = ("SSTs", "logs")  # where RocksDB keeps what its snapshots share
SNAPSHOTS = {"snapshot": "delta", "zip": "changelog"}  # and what comes after them
REPLAYED = 10  # changes that are read rather than to copy another snapshot
_STATE = re.compile(r"(\d+)(_[0-9A-Za-z-]+)?\.(snapshot|delta|zip|changelog)(\.crc)?")
_LOGGED = re.compile(r"(\d+)(\.compact)?(\.crc)?")

Sizes = Mapping[str, int]  # of files, by their names below the checkpoint's folder
SharedFiles = Callable[[str], frozenset[str]]  # of a snapshot of RocksDB: the names of the files that it needs


@dataclass(frozen=True, slots=True)
class IncarnationMark:
    """Stands in the folder of an incarnation. Without one a folder is a checkpoint as Spark made it, and complete."""

    query: str
    epoch: int
    node: str
    run: str  # of the node
    origin: str | None = None  # from where it was copied
    complete: bool = False

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))

    def completed(self, origin: str | None) -> "IncarnationMark":
        return replace(self, origin=origin, complete=True)

    def is_of(self, other: "IncarnationMark") -> bool:
        """The same incarnation, by the same process."""
        return (self.query, self.epoch, self.node, self.run) == (other.query, other.epoch, other.node, other.run)


def mark_in(text: str | None) -> IncarnationMark | None:
    """None if that is none, or is not written to its end."""
    try:
        said = json.loads(text or "")
        return IncarnationMark(
            str(said["query"]), int(said["epoch"]), str(said["node"]), str(said["run"]), said["origin"],
            said["complete"] is True,
        )  # fmt: skip
    except (ValueError, KeyError, TypeError):
        return None


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """The least of a checkpoint that a query goes on from."""

    files: frozenset[str]
    missing: tuple[str, ...]  # that should be there and are not: then it must not be started
    batch: int | None  # the last that is committed
    begun: int | None  # the last whose offsets are written


def least(sizes: Sizes, shared: SharedFiles, have: frozenset[str] = frozenset()) -> CopyPlan:
    """`have` are files that the copy has already: a snapshot there is taken if few changes came after it."""
    begun, done = _newest(sizes, "offsets"), _newest(sizes, "commits")
    wanted = {"metadata"}
    if begun is not None:
        wanted |= {f"offsets/{n}" for n in (begun, begun - 1) if n >= 0}
        if done is not None:
            wanted.add(f"commits/{done}")
        if begun > 0 and (done is None or done < begun - 1):  # Spark commits a batch before it begins the next
            wanted.add(f"commits/{begun - 1}")
    state, missing = _state(sizes, 0 if done is None else done + 1, shared, have)
    kept = wanted | state | _sources(sizes) | ({MEMORY} & sizes.keys())
    sums = {f"{name}.crc" for name in kept} & sizes.keys()
    missing |= wanted - sizes.keys()
    return CopyPlan(frozenset((kept | sums) & sizes.keys()), tuple(sorted(missing)), done, begun)


def _newest(sizes: Sizes, log: str) -> int | None:
    names = (name.rpartition("/")[2] for name in sizes if dirname(name) == log)
    return max((int(name) for name in names if name.isdigit()), default=None)


def _sources(sizes: Sizes) -> set[str]:
    """Whatever sources have written; of a log that is compacted, from the last but one compaction on."""
    kept: set[str] = set()
    for folder in {dirname(name) for name in sizes if name.startswith("sources/")}:
        files = {name: _LOGGED.fullmatch(name.rpartition("/")[2]) for name in sizes if dirname(name) == folder}
        compacted = sorted((int(m[1]) for m in files.values() if m and m[2] and not m[3]), reverse=True)
        since = compacted[min(1, len(compacted) - 1)] if compacted else 0
        kept |= {name for name, m in files.items() if (int(m[1]) >= since if m else not _hidden(name))}
    return kept


def _state(sizes: Sizes, version: int, shared: SharedFiles, have: frozenset[str]) -> tuple[set[str], set[str]]:
    """Files to keep, and files that are missing."""
    kept: set[str] = set()
    missing: set[str] = set()
    inside = [name for name in sizes if name.startswith("state/") and not _hidden(name)]
    for folder in {dirname(name) for name in inside}:
        files = [name for name in inside if dirname(name) == folder]
        if any(part.startswith("_") for part in folder.split("/")):  # what describes the state
            kept |= set(files)
        elif folder.rpartition("/")[2] not in SHARED:
            mine, lost = _store(folder, files, version, shared, have)
            kept |= mine
            missing |= lost
    kept |= {name for name in missing if name in sizes}
    return kept, missing - sizes.keys()


def _store(
    folder: str, files: list[str], version: int, shared: SharedFiles, have: frozenset[str]
) -> tuple[set[str], set[str]]:
    """One store of the state, in this version: what to keep, and what must be there besides."""
    known = {name: _STATE.fullmatch(name.rpartition("/")[2]) for name in files}
    kept = {name for name, match in known.items() if match is None}
    versioned = {name: match for name, match in known.items() if match is not None and match[4] is None}
    if any(match[2] for match in versioned.values()):  # which of several files of a version counts is in Spark's commits
        zips = [name for name, match in versioned.items() if match[3] == "zip"]
        return {*kept, *versioned}, {f"{folder}/{name}" for one in zips for name in shared(one)}
    if not versioned:
        return kept, set()
    kinds = {match[3] for match in versioned.values()}
    snapshot = "zip" if kinds & {"zip", "changelog"} else "snapshot"
    changes = SNAPSHOTS[snapshot]
    bases = [int(m[1]) for m in versioned.values() if m[3] == snapshot and int(m[1]) <= version]
    # One that the copy has will do, if all that came after it is there: without changelogs RocksDB has snapshots only.
    held = [n for n in bases if f"{folder}/{n}.{snapshot}" in have and _follow(folder, changes, n, version) <= known.keys()]
    base = _base(bases, held, version)
    needed = _follow(folder, changes, base, version)
    if base:
        needed.add(f"{folder}/{base}.{snapshot}")
        if snapshot == "zip":
            needed |= {f"{folder}/{name}" for name in shared(f"{folder}/{base}.zip")}
    return kept, needed


def _follow(folder: str, changes: str, base: int, version: int) -> set[str]:
    """The changes after a snapshot, up to a version."""
    return {f"{folder}/{n}.{changes}" for n in range(base + 1, version + 1)}


def _base(snapshots: Iterable[int], held: Iterable[int], version: int) -> int:
    near = max(held, default=0)
    return near if near and version - near <= REPLAYED else max(snapshots, default=0)


def _hidden(name: str) -> bool:
    """Half-written files, and sums that are another file system's own."""
    return name.rpartition("/")[2].startswith(".")
