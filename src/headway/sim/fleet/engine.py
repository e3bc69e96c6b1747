"""Nodes and computations, stepped: which gets how much of what, what is processed, and how long it took.

    engine = FleetEngine(load, machines, Contention(), MoveTimes(), placed, seed=1)
    step = engine.step(at_ms=0, seconds=1.0)

Every message that a source sent is processed or queued: `sent == processed + queue`, exactly, for messages are whole.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headway.errors import SettingError
from headway.model.arrays import Floats
from headway.sim.fleet.load import Arrivals, FleetLoad
from headway.sim.fleet.machines import MOST_BUSY, Contention, FleetMachines, MovingMeans, SharedResource
from headway.sim.fleet.moving import MoveInFlight, MovesInFlight, MoveTimes

Places = NDArray[np.int64]  # the node of every computation
LOAD_AVERAGE_S = 60.0
BANDWIDTH_S = 10.0
FOREIGN_S = 3.0  # over which nodes tell what other programs use of their cores


@dataclass(frozen=True, eq=False, slots=True)
class FleetStep:
    """What happened in one step."""

    offered: Floats  # messages that sources would have sent, by computation
    came: Floats  # that they could send
    done: Floats
    latency_ms: Floats  # mean of the messages done, by computation; 0 where none was
    held_up: Floats  # the share of a step's messages that met a computation out of service, and
    held_ms: Floats  # how much longer they took
    landed: tuple[MoveInFlight, ...]


class FleetEngine:
    """Computations on the nodes where they are; nothing here decides where that is."""

    def __init__(
        self,
        load: FleetLoad,
        machines: FleetMachines,
        contention: Contention,
        times: MoveTimes,
        placed: Places,
        seed: int = 0,
    ) -> None:
        if len(placed) != len(load) or not np.all((placed >= 0) & (placed < len(machines))):
            raise SettingError(
                "placed", len(placed), f"a node of 0..{len(machines) - 1} for each of {len(load)} computations"
            )
        self.load, self.machines, self.contention = load, machines, contention
        self.node_of = placed.astype(np.int64).copy()
        self.queue, self.sent, self.processed, self.held_back = (np.zeros(len(load)) for _ in range(4))
        self._moves = MovesInFlight(times, seed + 1)
        self._arrivals = Arrivals(load, seed)
        self._room = np.where(load.rate > 0, np.floor(contention.buffer_s * np.maximum(load.rate, 1.0)), 0.0)
        nodes = len(machines)
        self.own_load, self.whole_load = (MovingMeans(nodes, LOAD_AVERAGE_S) for _ in range(2))
        self.foreign = MovingMeans(nodes, FOREIGN_S)
        self.own_wire, self.whole_wire = (MovingMeans(nodes, BANDWIDTH_S) for _ in range(2))

    def move(self, computation: int, target: int, now_ms: float) -> MoveInFlight:
        """Begin to move it: it stays where it is until the move is done."""
        return self._moves.begin(computation, int(self.node_of[computation]), target, now_ms)

    def moves(self, computation: int) -> bool:
        return computation in self._moves

    @property
    def in_flight(self) -> int:
        return len(self._moves)

    def step(self, at_ms: float, seconds: float) -> FleetStep:
        """The next `seconds`: what comes, what is done of it, and which moves end."""
        until_ms = at_ms + 1000 * seconds
        offered = self._arrivals.take(at_ms, seconds)
        out_ms = self._moves.out_of_service(len(self.load), at_ms, until_ms)
        # One thread each: no more than a core's worth, and nothing while it is out of service.
        most = (1 - out_ms / (1000 * seconds)) * seconds * 1e6 / self.load.cpu_us
        reach = np.minimum(self.queue + offered, np.floor(most))
        done, busy = self._serve(at_ms, seconds, offered, reach)
        # What finds no room in the buffer was never sent.
        came = offered - np.clip(self.queue + offered - done - self._room, 0.0, offered)
        left = self.queue + came - done
        latency = self._latency_ms(self.queue, left, done, busy, seconds)
        self.sent += came
        self.held_back += offered - came
        self.processed += done
        self.queue = left
        landed = tuple(self._moves.land(until_ms))
        for move in landed:
            self.node_of[move.computation] = move.target
        return FleetStep(offered, came, done, latency, out_ms / (1000 * seconds), out_ms / 2, landed)

    def _serve(self, at_ms: float, seconds: float, offered: Floats, reach: Floats) -> tuple[Floats, Floats]:
        """Messages done by computation, and how busy its node is: bandwidth first, and of what comes through, cores."""
        where, cores, link = self.node_of, self.machines.cores, self.machines.link
        foreign_cores, foreign_wire = self.machines.foreign(at_ms)
        wire_each, cpu_each = self.load.wire_bytes / seconds, self.load.cpu_us / (1e6 * seconds)
        crowding = self.contention.crowding
        wire = SharedResource.among(
            self._by_node(reach * wire_each), self._by_node(offered * wire_each), foreign_wire, link, crowding
        )
        runnable = self._by_node(reach * wire.share[where] * cpu_each) * wire.crowded
        cpu = SharedResource.among(runnable, self._by_node(offered * cpu_each), foreign_cores, cores, crowding)
        done = np.floor(reach * (wire.share * cpu.share)[where] + 1e-9)
        own_wire = self._by_node(done * wire_each)
        self.own_load.see(runnable, seconds)
        self.whole_load.see(runnable + foreign_cores, seconds)
        self.foreign.see(foreign_cores, seconds)
        self.own_wire.see(own_wire, seconds)
        self.whole_wire.see(own_wire + foreign_wire * wire.share, seconds)
        return done, np.maximum(wire.busy, cpu.busy)[where]

    def _latency_ms(self, before: Floats, after: Floats, done: Floats, busy: Floats, seconds: float) -> Floats:
        """Little's law on what is queued, and bursts on what is not."""
        queued = 500 * seconds * (before + after) / np.maximum(done, 1.0)
        bursts = self.contention.burst_ms / (1 - np.minimum(busy, MOST_BUSY)) - self.contention.burst_ms
        return np.where(done > 0, self.contention.base_ms + self.load.cpu_us / 1000 + bursts + queued, 0.0)

    def _by_node(self, values: Floats) -> Floats:
        return np.bincount(self.node_of, weights=values, minlength=len(self.machines)).astype(np.float64)
