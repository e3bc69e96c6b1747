"""A journal for tests: three queries in virtual time, written as a live controller would."""

from pathlib import Path

from headway.loop.journal import Journal
from headway.model.deadline import Grid
from headway.policy.order import Klink
from headway.testing import VirtualInput, VirtualQuery, VirtualWorld


def write(path: Path, until_ms: int = 30_700) -> Path:
    journal = Journal(path)
    world = VirtualWorld(Klink(), slots=1, journal=journal)
    for name in ("alerts", "books", "clicks"):
        world.add(VirtualQuery(name, Grid(3_000), VirtualInput(f"{name}-rows")))
    world.at(until_ms - 1_000, lambda: world.stop("clicks"))
    world.run(until_ms)
    journal.close()
    return path
