"""The settings of the paper's experiments (section 5): computations, nodes, and what disturbs them.

2,250 computations, thorax and ECG in turn, 150 on each of 15 nodes; a fifth of them is active. After five minutes all those
of the first five nodes are activated: 1,050 then, and a third of the nodes has five times the load of the others. In the
other experiment 70 are active on every node, and another program begins on the first five.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from headway.errors import SettingError
from headway.model.arrays import Floats
from headway.sim.fleet.engine import FleetEngine, Places
from headway.sim.fleet.load import ComputationKind, FleetLoad
from headway.sim.fleet.machines import Contention, ExternalProcess, FleetMachines
from headway.sim.fleet.moving import MoveTimes
from headway.sim.fleet.senses import Sight

# A message of thorax takes more of a core and ECG more of the link, as the paper says; how much is ours. 70 fill 95 % of a
# link. So chosen, both kinds weigh alike in a ring, although ECG takes twice as much of the link: see `ecg_us`.
THORAX = ComputationKind("thorax", rate=30_000, cpu_us=1.5, wire_bytes=40)
ECG = ComputationKind("ecg", rate=60_000, cpu_us=0.8, wire_bytes=36.5)
CORES, LINK = 12, 125e6  # an E5-2620 with two threads a core, 1 Gbit/s
BEGINS_MIN = 5  # when dormant computations are activated, or the other program begins
DEEP, PERIOD_S = 0.48, 60.0  # of a variable rate: down to 52 % of the fixed one, once a minute
SPREAD = 0.1  # how much rates differ from computation to computation
OTHERS_RATE = 0.8 / 0.95  # beside other programs: 70 computations fill 80 % of a link
OTHERS_LINK = 0.6  # of a link that the other program asks for, and as many threads as there are cores
# The paper names no unit for the values of a ring. That n = 2 asks for nothing and n > 3 for more than n = 3 needs values
# above 1 on an evenly filled node: so a message of 9 bytes counts once here, and not one of 1 kB as live.
UNIT_BYTES = 9.0


@dataclass(frozen=True, slots=True)
class FleetCase:
    """One experiment; the first five minutes are before whatever disturbs the fleet."""

    scenario: str = "internal"  # or "external"
    rates: str = "fixed"  # or "variable"
    minutes: int = 75
    nodes: int = 15
    computations: int = 2_250
    crowding: float = 0.36
    status_s: int = 5  # between two statuses, and two rounds
    wanted: bool = True  # nodes see what sources would send, not only what gets through
    ecg_us: float = ECG.cpu_us  # of a core, a message: with less, ECG weighs less in a ring than thorax, not on the link

    def __post_init__(self) -> None:
        if self.nodes < 3 or self.computations < 2 * self.nodes:
            raise SettingError("nodes", self.nodes, "3 or more, and at least two computations for each")
        if self.minutes <= BEGINS_MIN:
            raise SettingError("minutes", self.minutes, f"more than {BEGINS_MIN}, before which nothing happens")

    @property
    def hot(self) -> int:
        """Nodes that are disturbed."""
        return self.nodes // 3

    @property
    def per_node(self) -> int:
        return self.computations // self.nodes

    @property
    def contention(self) -> Contention:
        return Contention(crowding=self.crowding, buffer_s=0.5)

    @property
    def sight(self) -> Sight:
        return Sight(self.wanted, UNIT_BYTES)


def kinds(case: FleetCase) -> tuple[Floats, Floats, Floats]:
    """Rate, processor time and size by computation: thorax and ECG in turn."""
    thorax, ecg = np.arange(case.computations) % 2 == 0, replace(ECG, cpu_us=case.ecg_us)
    rate, cpu_us, wire_bytes = (
        np.where(thorax, getattr(THORAX, name), getattr(ecg, name)) for name in ("rate", "cpu_us", "wire_bytes")
    )
    return rate, cpu_us, wire_bytes


def active_from(case: FleetCase) -> Floats:
    """When each computation is activated, in ms; infinity: never."""
    place = np.arange(case.computations) % case.per_node  # within its node
    if case.scenario == "external":
        return np.where(place < round(case.per_node * 70 / 150), 0.0, np.inf)
    crowded = np.arange(case.computations) // case.per_node < case.hot
    later = np.where(crowded, BEGINS_MIN * 60_000.0, np.inf)
    return np.where(place < round(case.per_node * 0.2), 0.0, later)


def load(case: FleetCase, seed: int) -> FleetLoad:
    rng = np.random.default_rng([seed, 1])
    n = case.computations
    rate, cpu_us, wire_bytes = kinds(case)
    rate = rate * (150 / case.per_node) * np.clip(1 + SPREAD * rng.standard_normal(n), 0.5, 1.5)
    if case.scenario == "external":
        rate = rate * OTHERS_RATE
    return FleetLoad(
        rate=rate,
        cpu_us=cpu_us,
        wire_bytes=wire_bytes,
        active_ms=active_from(case),
        depth=np.full(n, DEEP if case.rates == "variable" else 0.0),
        period_s=np.full(n, PERIOD_S),
        phase=rng.random(n),
        jitter=0.1 if case.scenario == "external" else 0.02,
    )


def machines(case: FleetCase, disturbed: bool = True) -> FleetMachines:
    external: tuple[ExternalProcess, ...] = ()
    if case.scenario == "external" and disturbed:
        external = tuple(
            ExternalProcess(node, CORES, OTHERS_LINK * LINK, from_ms=BEGINS_MIN * 60_000.0) for node in range(case.hot)
        )
    return FleetMachines.alike(case.nodes, CORES, LINK, external)


def at_first(case: FleetCase) -> Places:
    """Where computations are before anything moves."""
    return np.minimum(np.arange(case.computations) // case.per_node, case.nodes - 1)


def engine(case: FleetCase, seed: int, placed: Places | None = None, disturbed: bool = True) -> FleetEngine:
    """An engine for one run. `placed`: somewhere else than the experiment has them at first."""
    placed = at_first(case) if placed is None else placed
    return FleetEngine(load(case, seed), machines(case, disturbed), case.contention, MoveTimes(), placed, seed)


def setting(case: FleetCase) -> dict[str, Any]:
    return asdict(case)
