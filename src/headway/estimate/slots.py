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

    Never more than two per core. A batch that ran alone while forty queries were starting took long because of them;
    then, with all slots busy, no batch ran alone any more to correct that, and nine slots made every window late.
    For the same reason a shorter time alone is believed at once, a longer one slowly.

    Nor fewer than `least`. Where a batch is one task it cannot use a second core, whatever the processor time says: at low
    load that is full of the JVM's own work, compilation above all, and ten queries had one slot on two cores.
    """

    cores: int
    least: int = 1
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

    def add_alone(self, took_ms: float) -> "Slots":
        """After a batch that ran with no other beside it took so long."""
        if self.alone_ms is None:
            return replace(self, alone_ms=took_ms)
        keep = 0.95 if took_ms > self.alone_ms else 0.5
        return replace(self, alone_ms=keep * self.alone_ms + (1 - keep) * took_ms)

    @property
    def best(self) -> int:
        if self.cpu_ms is None or self.alone_ms is None:
            return self.cores + 1  # until we know: one batch may wait for its logs while the others compute
        return max(self.least, min(2 * self.cores, ceil(self.cores * self.alone_ms / self.cpu_ms - 0.25)))
