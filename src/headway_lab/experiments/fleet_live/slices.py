"""Machines that are a part of a core each: control groups of Linux with a limit on processor time.

Three nodes on two cores are three machines if each may use 0.6 of a core and no more, and whatever is put beside a node in
its group takes from that node alone. It takes root, or groups that one may write to; version 1 and 2 are both known.
"""

import contextlib
import os
import time
from collections.abc import Iterable
from pathlib import Path

import psutil

from headway.errors import HeadwayError

MOUNTS = Path("/sys/fs/cgroup")
PREFIX = "headway-slice-"
PERIOD_US = 50_000  # short, so that a node stands still for a moment and not for long
# A group's part of the cores beside everybody else who wants them: what the limit leaves it is its own, as on a machine.
WEIGHTS = {"cpu.shares": 16_384, "cpu.weight": 1_600}  # 16 times the usual, by version
EMPTY_S = 10.0  # for the processes of a group to be gone


class CoreSlices:
    """A group for each name. Processes are put into them, with all that they have started."""

    def __init__(self, names: Iterable[str], cores: float, mounts: Path = MOUNTS) -> None:
        self._cores, self._mounts = cores, mounts
        self._second = (mounts / "cgroup.controllers").is_file()
        self._groups = {name: f"{PREFIX}{os.getpid()}-{name}" for name in names}
        try:
            if self._second:
                (mounts / "cgroup.subtree_control").write_text("+cpu")
            self._remove_stale()
            for folder in self._all_folders():
                folder.mkdir(exist_ok=True)
            self.limit(False)
            self._weigh()
        except OSError as error:
            self.close()
            raise HeadwayError(f"no control groups can be made under {mounts} ({error.strerror}): that takes root") from None

    def limit(self, on: bool) -> None:
        """Whether the limit holds: a JVM that starts is glad of more."""
        quota = round(self._cores * PERIOD_US) if on else None
        for group in self._groups.values():
            if self._second:
                (self._mounts / group / "cpu.max").write_text(f"{quota or 'max'} {PERIOD_US}")
            else:
                (self._mounts / "cpu" / group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
                (self._mounts / "cpu" / group / "cpu.cfs_quota_us").write_text(str(quota or -1))

    def put(self, name: str, pid: int) -> None:
        """This process and its descendants; twice, since one may have been born meanwhile."""
        for _ in range(2):
            with contextlib.suppress(psutil.Error):
                root = psutil.Process(pid)
                for process in (root, *root.children(recursive=True)):
                    for folder in self._folders(self._groups[name]):
                        with contextlib.suppress(OSError):  # it has ended
                            (folder / "cgroup.procs").write_text(str(process.pid))

    def close(self) -> None:
        """When everything in the groups has ended."""
        until = time.monotonic() + EMPTY_S
        left = list(self._all_folders())
        while left and time.monotonic() < until:
            left = [folder for folder in left if not _removed(folder)]
            if left:
                time.sleep(0.1)

    def _weigh(self) -> None:
        file = "cpu.weight" if self._second else "cpu.shares"
        tree = self._mounts if self._second else self._mounts / "cpu"
        for group in self._groups.values():
            (tree / group / file).write_text(str(WEIGHTS[file]))

    def _all_folders(self) -> list[Path]:
        return [folder for group in self._groups.values() for folder in self._folders(group)]

    def _folders(self, group: str) -> list[Path]:
        trees = [self._mounts] if self._second else [self._mounts / "cpu", self._mounts / "cpuacct"]
        return [tree / group for tree in dict.fromkeys(tree.resolve() for tree in trees)]

    def _remove_stale(self) -> None:
        """Groups of a run that was killed are empty now, or none of our business."""
        for tree in {folder.parent for folder in self._all_folders()}:
            for folder in tree.glob(f"{PREFIX}*"):
                _removed(folder)


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
