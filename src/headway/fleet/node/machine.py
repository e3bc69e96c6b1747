"""The machine that a node runs on: how busy it is, and how much of that is the node's own doing."""

import math
import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import psutil

from headway.fleet.node.quota import CpuQuota
from headway.fleet.node.wire import MachineFigures

FAMILY_EVERY_S = 10.0  # between two looks for child processes: each look goes through all processes of the machine
STRANGE_CORES, STRANGE_EVERY_S = 0.1, 3.0  # in use by others, at which a child that we do not know yet is looked for sooner
MINUTE_S = 60.0
RECENT_S = 3.0  # of what other programs do: one that begins is seen within seconds, and one that has ended is forgotten
# Threads of a node that run no query, by the beginnings of their names.
AGENT = ("headway-node-", "headway-membership", "headway-zookeeper")


@dataclass(frozen=True, slots=True)
class _Counted:
    """Counters at one moment: seconds of the clock, of processors in use, held back and our own; bytes in and out."""

    at: float
    cores: float
    limited: bool  # by a container
    used: float
    held: float
    own: float
    sent: float


class MachineGauge:
    """Reads the machine's counters; what they say is of the time since they were read before.

    In a container with a limit on its processor time, the machine is what the container leaves of it. Its load average is
    made of the cores in use and of those that had work for it and were held back, like the system's own over a minute.
    What other programs use is told over some seconds, too: of one that has just begun a load average says little.

    The machine does not tell which process sent which bytes, so the node's part in them is worked out of its rows. Executors
    on other machines are seen by neither: a node is meant to run where its tasks do.
    """

    def __init__(
        self,
        processes: Iterable[int] = (),
        clock: Callable[[], float] = time.monotonic,
        quota: CpuQuota | None = None,
    ) -> None:
        """`processes` are the node's own besides this one, such as its JVM; their children count as well."""
        self._clock, self._quota = clock, quota or CpuQuota()
        self._roots = [psutil.Process(pid) for pid in {os.getpid(), *processes}]
        self._family: list[psutil.Process] = []
        self._family_at = -FAMILY_EVERY_S
        self._load: float | None = None  # of the container
        self._foreign = 0.0
        self._seen = self._counters()

    def read(self, bytes_of_rows_per_s: float = 0.0, heap: float = 0.0) -> MachineFigures:
        before, self._seen = self._seen, self._counters()
        now, passed = self._seen, self._seen.at - before.at
        if (now.used - before.used) - (now.own - before.own) > STRANGE_CORES * passed:  # another program, or a new worker
            self._seen = now = replace(now, own=self._own(STRANGE_EVERY_S))
        bandwidth = max(0.0, (now.sent - before.sent) / passed) if passed > 0 else 0.0
        alike = now.limited == before.limited  # else the counters are of two different things
        own_load = _share(now.own - before.own, now.used - before.used) if alike else 1.0
        if not alike:  # what others do beside a container is no concern of it
            self._foreign = 0.0
        elif passed > 0:
            busy = max(0.0, (now.used - before.used + now.held - before.held) / passed)
            old = math.exp(-passed / RECENT_S)
            self._foreign = old * self._foreign + (1 - old) * busy * (1 - own_load)
        return MachineFigures(
            load_average=self._load_average(before, passed) if now.limited else float(psutil.getloadavg()[0]),
            cores=now.cores,
            own_load=own_load,
            bandwidth=bandwidth,
            own_bandwidth=_share(bytes_of_rows_per_s, bandwidth),
            memory=float(psutil.virtual_memory().percent) / 100,
            heap=heap,
            foreign=self._foreign,
        )

    def _load_average(self, before: _Counted, passed: float) -> float:
        if passed > 0 and before.limited:  # else nothing is known of the container yet
            load = max(0.0, (self._seen.used - before.used + self._seen.held - before.held) / passed)
            old = math.exp(-passed / MINUTE_S)
            self._load = load if self._load is None else old * self._load + (1 - old) * load
        return self._load or 0.0

    def _counters(self) -> _Counted:
        net, limit = psutil.net_io_counters(), self._quota.read()
        sent = float(net.bytes_sent + net.bytes_recv) if net else 0.0
        if limit is not None:
            return _Counted(self._clock(), limit.cores, True, limit.used_s, limit.held_s, self._own(), sent)
        self._load = None
        times = psutil.cpu_times()
        busy = sum(times) - times.idle - getattr(times, "iowait", 0.0)
        for doubled in ("guest", "guest_nice"):  # Linux counts them under user and nice as well
            busy -= getattr(times, doubled, 0.0)
        return _Counted(self._clock(), float(psutil.cpu_count() or 1), False, float(busy), 0.0, self._own(), sent)

    def _own(self, every_s: float = FAMILY_EVERY_S) -> float:
        if (now := self._clock()) - self._family_at >= every_s:
            self._family_at = now
            self._family = [child for root in self._roots for child in _children(root)]
        known = {process.pid: process for process in (*self._roots, *self._family)}
        return sum(map(_seconds, known.values()))


def agent_seconds() -> float:
    """Processor time that the threads of this process have used which make it a node of a fleet, and run no query."""
    agent = {thread.native_id for thread in threading.enumerate() if thread.name.startswith(AGENT)}
    try:
        return float(sum(one.user_time + one.system_time for one in psutil.Process().threads() if one.id in agent))
    except psutil.Error:
        return 0.0


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        found: list[psutil.Process] = process.children(recursive=True)
    except psutil.Error:
        return []
    return found


def _seconds(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.Error:  # it has ended: the next look leaves it out
        return 0.0
    return float(times.user + times.system)


def _share(part: float, whole: float) -> float:
    return min(1.0, max(0.0, part / whole)) if whole > 0 else 0.0
