"""Small disks of their own for what may find no room: journal, checkpoints, side tables. Each can be filled, and freed."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FILLER = ".filler"
SIZE = "256m"


@contextmanager
def disks(folders: list[Path]) -> Iterator[bool]:
    """A tmpfs on each folder; False if this user may not mount any, and then they are plain folders."""
    mounted: list[Path] = []
    try:
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
            command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "headway-chaos", str(folder)]
            if subprocess.run(command, capture_output=True, check=False).returncode != 0:
                break
            mounted.append(folder)
        yield len(mounted) == len(folders)
    finally:
        for folder in mounted:
            subprocess.run(["umount", "-l", str(folder)], capture_output=True, check=False)


def fill(disk: Path) -> None:
    """Not a byte is left: room that is freed while we fill is filled as well."""
    with (disk / FILLER).open("ab", buffering=0) as file:
        for size in (1 << 20, 1 << 12):
            while (free := os.statvfs(disk)).f_bavail * free.f_frsize >= size:
                try:
                    file.write(bytes(size))
                except OSError:
                    break


def free(disk: Path) -> None:
    (disk / FILLER).unlink(missing_ok=True)
