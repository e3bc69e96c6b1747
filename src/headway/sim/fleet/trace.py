"""What is kept of a run: figures by the minute, moves, and decisions, small enough for a ledger."""

from dataclasses import dataclass, field

import numpy as np

from headway.model.arrays import Floats
from headway.sim.fleet.engine import FleetEngine, FleetStep
from headway.sim.fleet.moving import MoveInFlight

DECADES = (-1.0, 7.0)  # of milliseconds: 0.1 ms to three hours
BINS = 4_000  # a bin is half a percent wide


class LatencyCounts:
    """Latencies by messages: a histogram with bins that are equally wide as shares, and the moments."""

    def __init__(self) -> None:
        self._counts = np.zeros(BINS)
        self._sums = np.zeros(3)  # of messages, of their latencies, of the squares

    def add(self, latency_ms: Floats, messages: Floats) -> None:
        low, high = DECADES
        at = (np.log10(np.maximum(latency_ms, 10**low)) - low) * (BINS / (high - low))
        self._counts += np.bincount(np.clip(at, 0, BINS - 1).astype(np.int64), weights=messages, minlength=BINS)
        self._sums += (messages.sum(), messages @ latency_ms, messages @ latency_ms**2)

    def merge(self, other: "LatencyCounts") -> None:
        self._counts += other._counts
        self._sums += other._sums

    @property
    def messages(self) -> float:
        return float(self._sums[0])

    @property
    def mean_ms(self) -> float:
        return float(self._sums[1] / max(self._sums[0], 1.0))

    @property
    def sd_ms(self) -> float:
        return float(np.sqrt(max(0.0, self._sums[2] / max(self._sums[0], 1.0) - self.mean_ms**2)))

    def percentile(self, share: float) -> float:
        """The latency that this share of the messages does not exceed, to half a percent."""
        upto = np.cumsum(self._counts)
        if not upto[-1]:
            return 0.0
        at = int(np.searchsorted(upto, share * upto[-1]))
        low, high = DECADES
        return float(10 ** (low + (min(at, BINS - 1) + 0.5) * (high - low) / BINS))


@dataclass(frozen=True, slots=True)
class FleetMinute:
    """One minute of a run."""

    throughput: float  # messages a second, of all computations
    wanted: float  # that sources would have sent
    p99_ms: float
    sd_ms: float
    load_mean: float  # load average over cores, over the nodes, at the end of the minute
    load_sd: float
    wire_mean: float  # share of the link in use
    wire_sd: float
    moves: int  # that ended in it


@dataclass(eq=False, slots=True)
class FleetTrace:
    """A run as it goes on."""

    minutes: list[FleetMinute] = field(default_factory=list)
    latencies: list[LatencyCounts] = field(default_factory=list)  # by minute
    moves: list[MoveInFlight] = field(default_factory=list)  # that ended
    round_s: list[float] = field(default_factory=list)  # processor time of the orchestrator's rounds
    request_s: list[float] = field(default_factory=list)  # and of those of all nodes together

    def between(self, from_min: int, until_min: int) -> LatencyCounts:
        """The latencies of some minutes together."""
        together = LatencyCounts()
        for counts in self.latencies[from_min:until_min]:
            together.merge(counts)
        return together


class MinuteBook:
    """Adds steps up to minutes."""

    def __init__(self, trace: FleetTrace) -> None:
        self._trace = trace
        self._begin()

    def _begin(self) -> None:
        self._seconds, self._done, self._wanted, self._moves = 0.0, 0.0, 0.0, 0
        self._counts = LatencyCounts()

    def see(self, step: FleetStep, engine: FleetEngine, seconds: float) -> None:
        self._seconds += seconds
        self._done += float(step.done.sum())
        self._wanted += float(step.offered.sum())
        self._moves += len(step.landed)
        self._trace.moves += step.landed
        self._counts.add(step.latency_ms, step.done * (1 - step.held_up))
        if (held := np.flatnonzero(step.held_up)).size:
            self._counts.add((step.latency_ms + step.held_ms)[held], (step.done * step.held_up)[held])
        if self._seconds >= 60 - 1e-9:
            self._end(engine)

    def _end(self, engine: FleetEngine) -> None:
        load = engine.whole_load.value / engine.machines.cores
        wire = engine.whole_wire.value / engine.machines.link
        self._trace.minutes.append(
            FleetMinute(
                throughput=self._done / self._seconds,
                wanted=self._wanted / self._seconds,
                p99_ms=self._counts.percentile(0.99),
                sd_ms=self._counts.sd_ms,
                load_mean=float(load.mean()),
                load_sd=float(load.std()),
                wire_mean=float(wire.mean()),
                wire_sd=float(wire.std()),
                moves=self._moves,
            )
        )
        self._trace.latencies.append(self._counts)
        self._begin()
