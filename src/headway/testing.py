"""A world in virtual time, to try a policy on without Spark and without waiting: the simulator's own.

world = VirtualWorld(Klink(), slots=1)
world.add(VirtualQuery("orders", window("3 s"), VirtualInput("clicks", patience_ms=500, rows_per_s=10_000)))
world.run(until_ms=30_000)
assert not world.early and max(w.latency_ms for w in world.windows) < 400

A view that a test writes by hand is `worked_out(QueryView(...))`: what follows from it, such as when its query is due, is
worked out by its maker.
"""

from headway.estimate.due import worked_out
from headway.sim.microbatch import Emitted, Notebook, VirtualQuery, VirtualWorld
from headway.sim.streams import VirtualInput

__all__ = ["Emitted", "Notebook", "VirtualInput", "VirtualQuery", "VirtualWorld", "worked_out"]
