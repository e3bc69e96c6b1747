"""Which watermark may be announced now: the latest for which patience is over, with the slowest input."""

from collections.abc import Sequence

from headway.model.time import WallMs
from headway.model.view import InputView, QueryView


def ripe(query: QueryView, now: WallMs) -> int | None:
    """The watermark that the slowest input allows now; None: none is known. No window waits for an idle input."""
    active = [i for i in query.inputs if not i.idle] or query.inputs
    limits = [ripe_of(i, now) for i in active if i.slt_ms is None]
    if gates := [i for i in active if i.slt_ms is not None]:
        limits.append(ripe_at_gate(gates))
    return None if not limits or None in limits else min(x for x in limits if x is not None)


def ripe_of(view: InputView, now: WallMs) -> int | None:
    """The watermark that patience allows an input now. A stream of old rows is measured by its own frontier."""
    if view.upstream is not None:
        return view.upstream.complete
    if view.live:
        if view.held_until is not None and view.held_until > now:
            return None if view.held_most_ms is None else now - view.patience_ms - view.held_most_ms
        return (now if view.caught_at is None else view.caught_at) - view.patience_ms
    return None if view.frontier is None else view.frontier - view.patience_ms


def ripe_at_gate(inputs: Sequence[InputView]) -> int | None:
    """max(min_j frontier_j, max_j frontier_j - SLT): the foremost waits for the hindmost, but no longer than SLT.

    An input, or a partition, that has not spoken yet holds the merge back, not the slack.
    """
    reached = [i.frontier for i in inputs if i.frontier is not None]
    if not reached:
        return None
    slack = max(reached) - min(i.slt_ms or 0 for i in inputs)
    merged = [i.slowest for i in inputs if i.slowest is not None]
    return slack if len(merged) < len(inputs) else max(slack, min(merged))
