"""Journals for tests of what people see: queries in virtual time, on a clock that shows a day of 2026."""

from pathlib import Path

from headway.loop.journal import Journal
from headway.model.deadline import Grid
from headway.policy.order import Klink
from headway.policy.patience import Quantile
from headway.testing import VirtualInput, VirtualQuery, VirtualWorld

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
