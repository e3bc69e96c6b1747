"""How many batches should run at once."""

from dataclasses import dataclass, replace
from math import ceil


@dataclass(frozen=True, slots=True)
class Slots:
    """Just as many batches at once as keep every core busy.

    A batch is on a core for `cpu_ms` and waits (for logs, locks, sockets) the rest of its time. Alone it takes
    `alone_ms`. So `cores x alone / cpu` batches fill the cores; fewer leave cores idle while windows wait, more only
    share the same cores and make every batch, the urgent one too, slower. Both figures fade: the JIT makes batches
    ever cheaper for minutes.

    Never more than two per core. A batch that ran alone while forty queries were starting took long because of them; then
    nine slots made every window late. For the same reason a shorter time is believed at once, a longer one slowly, and
    batches that ran beside others count too: under overload none ever runs alone.

    Nor fewer than one per core where a batch is one task: it cannot use a second core, whatever the processor time says. At
    low load that is full of the JVM's own work, compilation above all, and ten queries had one slot on two cores.

    On a cluster `cores` are those of the executors, and the processor time is that of the driver, which has `planning_cores`
    and only plans and commits. What tasks use is not known: then one batch more than there are cores, so that none is idle
    and an allocator of executors that goes by waiting tasks sees one wait; but not more than the driver can plan for.
    """

    cores: int
    one_task: bool = False
    planning_cores: int | None = None  # None: tasks run where batches are planned
    cpu_ms: float | None = None
    alone_ms: float | None = None
    keep: float = 0.8

    def add_cpu(self, cpu_ms: float, batches: int) -> "Slots":
        """After `batches` batches used `cpu_ms` of processor time in all."""
        if batches < 1 or cpu_ms <= 0:
            return self
        one = cpu_ms / batches
        mixed = one if self.cpu_ms is None else self.keep * self.cpu_ms + (1 - self.keep) * one
        return replace(self, cpu_ms=mixed)

    def add_batch(self, took_ms: float, at_once: int = 1) -> "Slots":
        """After a batch took so long while `at_once` ran, itself among them. With a core for each it was as good as alone;
        with fewer, it had its share of them."""
        alone = took_ms * min(1.0, self.cores / at_once)
        if self.alone_ms is None:
            return replace(self, alone_ms=alone)
        keep = 0.95 if alone > self.alone_ms else 0.5
        return replace(self, alone_ms=keep * self.alone_ms + (1 - keep) * alone)

    def on(self, cores: int) -> "Slots":
        """The same on more cores, or fewer: executors come and go."""
        return self if cores < 1 or cores == self.cores else replace(self, cores=cores)

    @property
    def best(self) -> int:
        if self.cpu_ms is None or self.alone_ms is None:
            return self.cores + 1  # until we know: one batch may wait for its logs while the others compute
        if self.planning_cores is not None:
            return max(1, min(self.cores + 1, ceil(self.planning_cores * self.alone_ms / self.cpu_ms)))
        least = self.cores if self.one_task else 1
        return max(least, min(2 * self.cores, ceil(self.cores * self.alone_ms / self.cpu_ms - 0.25)))
