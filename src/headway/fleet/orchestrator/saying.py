"""What the journal says of a change: of the move, and of the query."""

from collections.abc import Iterator

from headway.fleet.moves.record import QueryRecord, reached


def changes(before: QueryRecord | None, after: QueryRecord) -> Iterator[str]:
    """In words. The same change is always said in the same words."""
    if before is None:
        yield f"submitted: starts on {after.node}"
        return
    if after.move is not None and (before.move, before.phase) != (after.move, after.phase):
        trouble = f", because {after.move.trouble}" if after.move.trouble else ""
        yield f"move {after.move.id} to {after.move.target}: {reached(after.move, after.phase)}{trouble}"
    if after.ended is not None and after.ended != before.ended:
        yield f"move {after.ended.id}: {after.ended.outcome}, because {after.ended.because}"
    if after.stop is not None and after.stop.forget and (before.stop is None or not before.stop.forget):
        yield "it is to be stopped, and its checkpoint deleted"
    elif after.stop is not None and before.stop is None:
        yield "it is to be stopped"
    if before.phase is not after.phase:
        where = "" if after.here is None else f" on {after.here.node} with epoch {after.here.epoch}"
        yield f"{after.phase}{where}"
