"""Policies of your own: one that decides whose batch runs next, and one that decides how long stragglers are waited for.

A policy is a frozen value with a pure `decide`: what it sees comes in, what it decides goes out with a reason. It reads no
clock and keeps no state, so that the simulator runs it as real Spark does, and a journal can be replayed. This file runs
both in virtual time; on Spark they are `hw.Runtime(spark, order=Impatient())` and
`rt.watermark(rows, "time", TwiceTheMedian())`.
"""

from dataclasses import dataclass

from headway.model.deadline import window
from headway.model.decision import Decision, Grant, Hold
from headway.model.patience import PatienceView, Wait
from headway.model.time import WallMs
from headway.model.view import Snapshot
from headway.policy.order.emission import announce
from headway.testing import VirtualInput, VirtualQuery, VirtualWorld


@dataclass(frozen=True)
class Impatient:
    """Of the windows that are due, the one that has been due for longest; no query runs before."""

    def decide(self, snap: Snapshot) -> Decision:
        waiting = [(query.due, query.name, query) for query in snap.waiting if query.due is not None]
        unknown = [query for query in snap.waiting if query.due is None]
        if unknown:
            return Grant(unknown[0].name, None, "nothing is known of it yet: its first batch will tell")
        if not waiting:
            return Hold(WallMs(snap.now + 1_000), "no query waits at the gate")
        due, name, first = min(waiting)  # no two have the same name
        if due > snap.now:
            return Hold(due, f"{name} is next, in {due - snap.now} ms")
        return Grant(name, announce(first, snap.now, ahead=True), f"due for {snap.now - due} ms")


@dataclass(frozen=True)
class TwiceTheMedian:
    """Wait twice as long as half of the rows need."""

    delay_ms: int = 2_000  # until something is known
    least_ms: int = 0  # a guard keeps it within these two
    most_ms: int = 60_000
    memory_rows: float = 10_000  # over how many rows delays are remembered

    def decide(self, seen: PatienceView) -> Wait:
        if not seen.parts:
            return Wait(self.delay_ms, "nothing is known of its delays yet")
        median = max(part.within(0.5) for part in seen.parts)
        return Wait(round(2 * median), f"half of the rows of the slowest partition take {median:.0f} ms")


def main() -> VirtualWorld:
    """Half a minute of three queries on one slot, in virtual time."""
    world, patience = VirtualWorld(Impatient(), slots=1, seed=1), TwiceTheMedian()
    for name in ("books", "games", "music"):
        rows = VirtualInput(name, patience.delay_ms, 100, (100, 300), policy=patience)
        world.add(VirtualQuery(name, window("3 s"), (rows,), fixed_ms=40))
    world.run(30_000)
    return world


if __name__ == "__main__":
    for entry in main().notebook.entries[-12:]:
        print(f"{entry.at:>6} ms  {entry.question:<9}{entry.scope:<12}{entry.decided.because}  ({entry.receipt})")
