"""Journals for tests of what people see: queries in virtual time, on a clock that shows a day of 2026."""

from pathlib import Path

import numpy as np

from headway.loop.journal import Journal
from headway.loop.kernel import Entry
from headway.model.deadline import Grid
from headway.model.sampling import StreamView
from headway.model.time import WallMs
from headway.policy.adaptation import Wasp
from headway.policy.order import Klink
from headway.policy.patience import Quantile
from headway.policy.sampling import Aion
from headway.sim.fleet.world import FleetTimes, FleetWorld
from headway.sim.wan.truth import AreaTruth
from headway.sim.wan.world import WanWorld
from headway.testing import VirtualInput, VirtualQuery, VirtualWorld
from headway_lab.experiments.fleet import cases, run
from model.areas import MB, area, chain, running

BEGAN = 1_794_825_300_000  # 2026-11-16, at a full minute
NASTY = "<script>document.title='harmed'</script>"


def write(path: Path, names: list[str], seconds: int = 30, *, slots: int = 1, fixed_ms: float = 100) -> VirtualWorld:
    """Windows of 3 s; the first query learns how long to wait for its stragglers."""
    journal = Journal(path)
    world = VirtualWorld(Klink(), slots=slots, journal=journal)
    world.clock.at = BEGAN
    for number, name in enumerate(names):
        policy = Quantile(share=0.9) if number == 0 else None
        rows = VirtualInput(f"{name}-rows", patience_ms=200, delays_ms=(20, 60, 100), policy=policy)
        world.add(VirtualQuery(name, Grid(3_000), rows, fixed_ms=fixed_ms, starts_ms=BEGAN))
    world.run(BEGAN + 1000 * seconds)
    journal.close()
    return world


def write_area(path: Path) -> WanWorld:
    """Ten minutes of three sites: after a hundred seconds the link into a stage's site has a tenth of its bandwidth."""
    plan, steps = chain(), 600
    factor = np.ones((steps, 3, 3))
    factor[100:, 1, 0] = 0.1
    rates = np.ones((steps, 2))
    rates[400:] = 3.0  # there is something to decide again, which says what came of the first decision
    truth = AreaTruth(
        area((3, 3, 3), 2 * MB), ("a", "b"), np.array([4_000.0, 4_000.0]), factor, rates,
        np.ones((steps, 3), bool),
    )  # fmt: skip
    journal = Journal(path)
    world = WanWorld(truth, (plan,), running(plan, 3, mid={0: 1}), Wasp(), journal, seed=1)
    world.run()
    journal.close()
    return world


def write_sampled(path: Path, seconds: int = 60) -> None:
    """One query, of whose rows a part is taken: Aion is asked every six seconds, and the values spread more and more."""
    write(path, ["books"], seconds)
    policy, journal = Aion(error=0.05), Journal(path)
    for number, at in enumerate(range(BEGAN + 6_000, BEGAN + 1000 * seconds, 6_000)):
        seen = StreamView(
            600, 3_000, 3_000, known=20, rows=60_000.0, rows_sd=300.0, delay_ms=60.0, delay_sd_ms=20.0, longest_ms=100.0,
            delays=((20.0, 0.3), (60.0, 0.8), (100.0, 1.0)), value_mean=10.0, value_sd=4.0 + number,
        )  # fmt: skip
        said = policy.decide(seen)
        journal.append(
            Entry(WallMs(at), seen, said, said, "set", "sampling", "books/books-rows", "Aion(error=0.05, confidence=0.95)")
        )
    journal.close()


def write_fleet(path: Path) -> None:
    """Eight minutes of three nodes, of which some get more load than the others after five."""
    case, journal = cases.FleetCase(rates="variable", minutes=8, nodes=3, computations=30), Journal(path)
    times = FleetTimes(status_ms=1000 * case.status_s)
    FleetWorld(cases.engine(case, 1), run.ARMS["prediction-rings"]().policy, journal, times, case.sight, 1).run(480_000)
    journal.close()
