"""A machine of the papers' cluster: its cores, its memory, and what its scheduler costs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """One node of the paper's cluster."""

    cores: int = 24
    memory_bytes: float = 17.5e9  # of queued events; more is not taken in
    heap_bytes: float = 19.5e9
    gc: float = 0.035  # what the collector adds to the work while as much of the heap lives as is free
    cycle_ms: int = 120  # r
    switch_ms: float = 0.5  # a core that turns to another query
    quantum_ms: int = 20  # how finely the operating system shares, for the default
    pressed: float = 0.8  # b: from this share of the bound on, Klink's memory policy is on
    calm_after_ms: int = 3_000  # it ends after that, or when half is freed, and rests as long

    def speed(self, used: float) -> float:
        """How fast cores are beside the garbage collector, with this share of `memory_bytes` in use."""
        return 1 / (1 + self.gc * used / max(1e-6, self.heap_bytes / self.memory_bytes - used))


PAPER = Node()
