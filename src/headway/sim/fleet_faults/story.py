"""What a schedule came to."""

from dataclasses import dataclass

from headway.fleet.moves.record import EndedMove
from headway.sim.fleet_faults.world import FaultyFleet


@dataclass(frozen=True, slots=True)
class FleetCounts:
    """Of one schedule, from its beginning to its end."""

    batches: int  # that are in the sinks
    commits_again: int  # batches that came to a sink a second time, with the same rows
    refused_by_sink: int  # writes under an epoch that was over
    refused_files: int  # files that an incarnation was not let make, since its folder was copied
    answers_refused: int


def counts(world: FaultyFleet) -> FleetCounts:
    sinks = world.disk.sinks.values()
    return FleetCounts(
        batches=sum(len(sink.batches) for sink in sinks),
        commits_again=sum(sink.again for sink in sinks),
        refused_by_sink=sum(sink.refused for sink in sinks),
        refused_files=world.disk.refused,
        answers_refused=sum(not answer.accepted for answer in world.answers()),
    )


def moves_ended(world: FaultyFleet) -> list[EndedMove]:
    """In the order in which the store has heard of them."""
    found: dict[str, EndedMove] = {}
    for write in world.store.applied:
        if write.record.ended is not None:
            found[write.record.ended.id] = write.record.ended
    return list(found.values())
