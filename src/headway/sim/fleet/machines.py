"""Machines that computations share: cores, links, other programs on them, and what crowding costs."""

from dataclasses import dataclass
from math import exp

import numpy as np

from headway.errors import SettingError
from headway.model.arrays import Floats


@dataclass(frozen=True, slots=True)
class ExternalProcess:
    """A program that is none of ours, and eats processor time and bandwidth of one node for a while."""

    node: int
    cores: float  # that it would use if it were alone
    bytes_per_s: float
    from_ms: float = 0.0
    until_ms: float = float("inf")


@dataclass(frozen=True, eq=False, slots=True)
class FleetMachines:
    """Cores and links by node, and the programs that share them with us."""

    cores: Floats
    link: Floats  # bytes a second
    external: tuple[ExternalProcess, ...] = ()

    def __post_init__(self) -> None:
        if len(self.cores) != len(self.link) or not (np.all(self.cores > 0) and np.all(self.link > 0)):
            raise SettingError("machines", len(self.cores), "as many links as nodes, and cores and bytes a second above 0")
        if wrong := [process.node for process in self.external if not 0 <= process.node < len(self.cores)]:
            raise SettingError("machines.external", wrong[0], f"a node between 0 and {len(self.cores) - 1}")

    @classmethod
    def alike(cls, nodes: int, cores: float, link: float, external: tuple[ExternalProcess, ...] = ()) -> "FleetMachines":
        return cls(np.full(nodes, float(cores)), np.full(nodes, float(link)), external)

    def __len__(self) -> int:
        return len(self.cores)

    def foreign(self, at_ms: float) -> tuple[Floats, Floats]:
        """Cores and bytes a second that other programs ask for, by node."""
        cores, wire = np.zeros(len(self)), np.zeros(len(self))
        for process in self.external:
            if process.from_ms <= at_ms < process.until_ms:
                cores[process.node] += process.cores
                wire[process.node] += process.bytes_per_s
        return cores, wire


@dataclass(frozen=True, slots=True)
class Contention:
    """What sharing costs: our model, in four numbers.

    A resource of which more is asked than there is loses a part of itself to switching between those that ask: with demand
    `d` times the capacity it gives capacity / (1 + crowding * (d - 1)), and on a crowded link cores do the same work that
    many times over. Each gets a share in proportion to what is asked.
    A message waits for what is queued before it, and, as others come in bursts, burst_ms * busy / (1 - busy) more.
    """

    crowding: float = 0.0
    base_ms: float = 2.0  # from source to sink on an idle node
    burst_ms: float = 1.0
    # A source that would fill more than this of its computation's buffer is held up (backpressure), and makes no messages
    # meanwhile; infinity: it goes on, and the backlog grows, as in a log such as Kafka's.
    buffer_s: float = float("inf")

    def __post_init__(self) -> None:
        for key in ("crowding", "base_ms", "burst_ms", "buffer_s"):
            if not getattr(self, key) >= 0:
                raise SettingError(f"contention.{key}", getattr(self, key), "0 or more")


MOST_BUSY = 0.99  # of a step's mean: a resource that is busy all the time queues, and the queue is counted by itself


@dataclass(frozen=True, eq=False, slots=True)
class SharedResource:
    """One resource of every node over one step: processor time, or bandwidth."""

    share: Floats  # that each gets of what it asks for
    busy: Floats  # of what crowding leaves
    crowded: Floats  # 1, or by how much switching makes it less

    @classmethod
    def among(cls, asked: Floats, sent: Floats, foreign: Floats, capacity: Floats, crowding: float) -> "SharedResource":
        """`asked` by computations, backlog included; `sent` is what their sources send, by which it is crowded or not."""
        demand = (sent + foreign) / capacity
        crowded = 1 + crowding * np.maximum(0.0, demand - 1)
        left = capacity / crowded
        share = np.minimum(1.0, left / np.maximum(asked + foreign, 1e-12))
        return cls(share, np.minimum(1.0, (asked + foreign) / left), crowded)


class MovingMeans:
    """Exponential means by node, such as a load average of one minute."""

    def __init__(self, nodes: int, seconds: float) -> None:
        self.value, self._seconds = np.zeros(nodes), seconds

    def see(self, values: Floats, seconds: float) -> None:
        keep = exp(-seconds / self._seconds)
        self.value = keep * self.value + (1 - keep) * values
