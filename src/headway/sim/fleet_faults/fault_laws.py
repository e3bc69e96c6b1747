"""What must hold in every schedule, whatever happens in it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from headway.fleet.moves.record import Phase
from headway.sim.fleet_faults.schedule import FleetSchedule
from headway.sim.fleet_faults.world import CALM_MS, FaultyFleet, FleetRules

BOUND_MS = 30_000  # after the last fault is over, so soon every query runs again, and every move has ended


@dataclass(frozen=True, slots=True)
class BrokenLaw:
    """A law that was broken, and how."""

    law: str
    says: str


FleetLaw = Callable[[FaultyFleet], Iterator[str]]


def one_incarnation_commits(world: FaultyFleet) -> Iterator[str]:
    """What was put out under an epoch never comes after what was put out under a later one."""
    for query, sink in world.disk.sinks.items():
        epochs = [written.epoch for written in sink.batches]
        if epochs != sorted(epochs):
            yield f"{query}: batches of an earlier epoch after those of a later: {epochs[-8:]}"


def no_batch_is_lost_or_doubled(world: FaultyFleet) -> Iterator[str]:
    for query, sink in world.disk.sinks.items():
        yield from (f"{query}: {what}" for what in sink.wrong)


def the_order_of_things_is_kept(world: FaultyFleet) -> Iterator[str]:
    """No batch without the lease, no state without its rows, no folder deleted too soon."""
    yield from world.wrong


def one_leader_writes(world: FaultyFleet) -> Iterator[str]:
    """A write takes effect under the newest election only, and one epoch is given out once."""
    assigned: dict[tuple[str, int], object] = {}
    for write in world.store.applied:
        if write.leader != write.newest:
            yield f"at {write.at} leader {write.leader} wrote {write.record.query} when {write.newest} was elected"
        here = write.record.here
        if here is not None and assigned.setdefault((write.record.query, here.epoch), here) != here:
            yield f"{write.record.query}: epoch {here.epoch} was given out twice"


def every_query_runs_again(world: FaultyFleet) -> Iterator[str]:
    """It serves, and what came in until shortly before the end has been put out; one that was stopped stays so."""
    for query, sink in world.disk.sinks.items():
        stored = world.store.records.get(query)
        if stored is None:
            yield f"{query} was submitted, and is not in the store"
        elif query in world.schedule.stopped and (stored.record.stop is not None or _told_to_stop(world, query)):
            if stored.record.phase is not Phase.STOPPED:
                yield f"{query} was to be stopped, and is {stored.record.phase} at the end: {stored.record}"
        elif stored.record.phase is not Phase.SERVING:
            yield f"{query} is {stored.record.phase} at the end: {stored.record}"
        else:
            wanted = min(world.rows_there(query), (world.agenda.clock.at - (CALM_MS - BOUND_MS)) // 100)
            if sink.upto < wanted:
                yield f"{query} has put out {sink.upto} rows of {wanted}: {stored.record}"


def _told_to_stop(world: FaultyFleet, query: str) -> bool:
    """Whether an orchestrator has said that it will: one may be asked before it knows the query."""
    ids = {action["id"] for action in world.schedule.actions if action["do"] == "stop" and action["query"] == query}
    return any(answer.id in ids and answer.accepted for answer in world.answers())


def every_move_ends(world: FaultyFleet) -> Iterator[str]:
    for query, stored in world.store.records.items():
        if stored.record.move is not None:
            yield f"{query}: {stored.record.move} has not ended"
        if stored.record.retired:
            yield f"{query}: folders {stored.record.retired} are still there"


LAWS: tuple[FleetLaw, ...] = (
    one_incarnation_commits,
    no_batch_is_lost_or_doubled,
    the_order_of_things_is_kept,
    one_leader_writes,
    every_query_runs_again,
    every_move_ends,
)
NAMES = tuple(law.__name__ for law in LAWS)


def judged(schedule: FleetSchedule, rules: FleetRules | None = None) -> tuple[FaultyFleet, list[BrokenLaw]]:
    """Play a schedule and hold the laws against what happened."""
    world = FaultyFleet(schedule, rules)
    world.play()
    return world, [BrokenLaw(law.__name__, says) for law in LAWS for says in list(law(world))[:1]]
