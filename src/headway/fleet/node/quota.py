"""What a container leaves its processes of the machine: a number of cores, by the control groups of Linux, version 1 and 2.

In a container the machine's own figures are of no use: its load average is made by others, too, and most of its cores
cannot be had.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

GROUPS, MOUNTS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class QuotaCounters:
    """The limit, and what was counted of the group since it was made. All are seconds but the first."""

    cores: float
    used_s: float  # processor time
    held_s: float  # for which a core had work for the group, and was not given to it because the quota was used up


class CpuQuota:
    """Reads the group that this process is in at the moment: it may be put into another while it runs."""

    def __init__(self, groups: Path = GROUPS, mounts: Path = MOUNTS) -> None:
        self._groups, self._mounts = groups, mounts

    def read(self) -> QuotaCounters | None:
        """None where no limit is set, or none is known: on other systems, say."""
        try:
            paths = dict(_paths(self._groups.read_text("ascii")))
            return self._second(paths.get("")) or self._first(paths)
        except (OSError, ValueError, KeyError):
            return None

    def _second(self, path: str | None) -> QuotaCounters | None:
        for folder in [] if path is None else _upwards(self._mounts, path):
            limit = folder / "cpu.max"
            if limit.is_file() and (words := limit.read_text().split())[0] != "max":
                counted = _counters(folder / "cpu.stat")
                return QuotaCounters(
                    int(words[0]) / int(words[1]), counted["usage_usec"] / 1e6, counted["throttled_usec"] / 1e6
                )
        return None

    def _first(self, paths: dict[str, str]) -> QuotaCounters | None:
        """Use and limit are counted in two trees there, which as a rule have the same groups."""
        for folder in _upwards(self._mounts / "cpu", paths["cpu"]):
            limit = folder / "cpu.cfs_quota_us"
            if limit.is_file() and (quota := int(limit.read_text())) > 0:
                used = int((self._mounts / "cpuacct" / paths["cpuacct"].strip("/") / "cpuacct.usage").read_text())
                cores = quota / int((folder / "cpu.cfs_period_us").read_text())
                return QuotaCounters(cores, used / 1e9, _counters(folder / "cpu.stat")["throttled_time"] / 1e9)
        return None


def _paths(text: str) -> Iterator[tuple[str, str]]:
    """By controller, of which version 2 has none by name."""
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            yield controller, path


def _upwards(mount: Path, path: str) -> Iterator[Path]:
    """The group, and those that it is in: whatever is limited there limits it."""
    parts = [part for part in path.split("/") if part]
    for length in range(len(parts), -1, -1):
        yield mount.joinpath(*parts[:length])


def _counters(file: Path) -> dict[str, int]:
    pairs = (line.split() for line in file.read_text().splitlines())
    return {name: int(value) for name, value in pairs}
