"""What lies in a folder: names, sizes and digests. A file that goes away meanwhile is left out: Spark tidies up."""

import hashlib
import os
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from headway.transfer.wire import CHUNK, FileDigest, TransferRefused, is_inside, is_part

MOST_KEPT = 100_000
# File systems tell times in ticks of some milliseconds, so a file may change twice in one. A digest made between the
# two would remember what is no more: only what has been left alone for a while is remembered.
SETTLED_NS = 2_000_000_000


class DigestCache:
    """Digests of files, remembered until a file changes. Several threads may ask."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, int, int], FileDigest]] = {}
        self._lock = threading.Lock()
        self.reads = 0  # files that had to be read

    def of(self, path: Path) -> FileDigest:
        """Raises OSError if there is no such file."""
        before = _stamp(path.stat())
        with self._lock:
            known = self._known.get(str(path))
        if known is not None and known[0] == before:
            return known[1]
        digest, size = hashlib.sha256(), 0
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                digest.update(chunk)
                size += len(chunk)
            after = _stamp(os.fstat(file.fileno()))
        seen = FileDigest(size, digest.hexdigest())
        with self._lock:
            self.reads += 1
            if before == after and time.time_ns() - after[1] > SETTLED_NS:
                if len(self._known) >= MOST_KEPT:
                    self._known.clear()
                self._known[str(path)] = (after, seen)
        return seen


def _stamp(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ino


def below(root: Path, name: str) -> Path:
    """Where a name leads below a folder; refused if it leads out of it, by dots or by a symbolic link."""
    with suppress(OSError, RuntimeError, ValueError):  # too long a name, or links in a circle
        path = root / name
        if is_inside(name) and path.resolve().is_relative_to(root.resolve()):
            return path
    raise TransferRefused(404, f"{name[:80]!r}: there is no such place here")


def names_in(folder: Path) -> Iterator[str]:
    """All files, half ones too, by their names relative to the folder."""
    for at, _, files in os.walk(folder):
        for file in files:
            yield os.path.relpath(os.path.join(at, file), folder)


def listed(folder: Path, digests: DigestCache) -> dict[str, FileDigest]:
    """Its files but the half ones. Links that lead out of it, and what is no file, are not there."""
    found = {}
    for name in names_in(folder):
        if is_part(name):
            continue
        with suppress(FileNotFoundError, NotADirectoryError, TransferRefused):
            path = folder / name
            if path.is_symlink():
                below(folder, name)
            if stat.S_ISREG(path.stat().st_mode):
                found[name] = digests.of(path)
    return found
