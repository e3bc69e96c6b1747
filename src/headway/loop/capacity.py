"""How much the machine can take: how many batches at once, and whether memory is short."""

from typing import Literal, Protocol

from headway.estimate.pressure import Pressure
from headway.estimate.slots import Slots
from headway.model.time import WallMs

GAUGE_EVERY_MS = 1_000


class Gauge(Protocol):
    """The host's own figures, read now and then."""

    def cpu_ms(self) -> float:
        """Processor time that the engine has used so far."""
        ...

    def memory_used(self) -> float:
        """The share of the engine's memory that is in use."""
        ...

    def parallelism(self) -> int | None:
        """How many tasks the engine runs at once; None: as many as before."""
        ...


class Capacity:
    """Estimates by the gauge, and by how long batches take beside others."""

    def __init__(
        self,
        gauge: Gauge,
        fixed: int | Literal["auto"] = "auto",
        cores: int = 2,
        one_task: bool = False,
        planning_cores: int | None = None,
    ) -> None:
        """`fixed` batches at once, or as many as fill the cores: see `estimate.slots`."""
        self.gauge, self.slots, self.pressure = gauge, Slots(cores, one_task, planning_cores), Pressure()
        self._begin = (self.slots, self.pressure)
        self._batches = 0
        self._read: tuple[WallMs, float, int] | None = None  # when, processor time and batches by then
        self._beside: dict[str, int] = {}  # how many batches ran when that of this query began
        self.fix(fixed)

    def fix(self, slots: int | Literal["auto"]) -> None:
        """From now on so many batches at once, or as many as fill the cores."""
        self._fixed = None if slots == "auto" else slots
        self._settle()

    def _settle(self) -> None:
        """What every turn asks for is worked out when it may have changed."""
        self.now = self._fixed or self.slots.best  # batches that may run at once
        self.memory = self.pressure.view()

    def began(self, query: str, beside: int) -> None:
        self._beside[query] = beside

    def forget(self, query: str) -> None:
        """How long its batch takes says nothing about our cores."""
        self._beside.pop(query, None)

    def ended(self, query: str, took_ms: int | None, running: int) -> None:
        """Its batch is back; None if there was none: a grant that found no rows says nothing about what a batch takes."""
        beside = self._beside.pop(query, 0)
        if beside and took_ms is not None:
            self.slots = self.slots.add_batch(took_ms, max(beside, running))
            self._settle()

    def batch(self) -> None:
        self._batches += 1

    def begin_anew(self) -> None:
        self.slots, self.pressure = self._begin
        self._read = None
        self._beside.clear()
        self._settle()

    def read_gauge(self, now: WallMs) -> None:
        last = self._read
        if last is not None and now - last[0] < GAUGE_EVERY_MS:
            return
        cpu_ms = self.gauge.cpu_ms()
        if last is not None and self._batches > last[2]:
            self.slots = self.slots.add_cpu(cpu_ms - last[1], self._batches - last[2])
        self.pressure = self.pressure.step(now, self.gauge.memory_used())
        if (cores := self.gauge.parallelism()) is not None:
            self.slots = self.slots.on(cores)
        self._read = (now, cpu_ms, self._batches)
        self._settle()
