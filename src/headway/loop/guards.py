"""Safety lives here, outside the policies: a policy wishes, a guard knows the limits of the house."""

from dataclasses import replace

from headway.estimate.ripe import ripe
from headway.model.decision import Decision, Grant, Guard, Hold
from headway.model.time import WallMs
from headway.model.view import QueryView, Snapshot


def _granted(decision: Decision, seen: Snapshot) -> QueryView | None:
    return seen.query(decision.query) if isinstance(decision, Grant) else None


def never_sweep_early(decision: Decision, seen: Snapshot) -> Decision:
    """A watermark announced ahead is acted upon by the very next batch: that batch must wait until it is ripe."""
    query = _granted(decision, seen)
    if query is None or not query.pending or query.due is None or query.due <= seen.now:
        return decision
    because = f"{query.name} would sweep {query.announced} before it is ripe, {query.due - seen.now} ms too soon"
    return Hold(query.due, because)


def never_beyond_ripe(decision: Decision, seen: Snapshot) -> Decision:
    """A watermark that is not ripe may be announced only where Spark asks every source after the gate."""
    query = _granted(decision, seen)
    if query is None or not isinstance(decision, Grant) or decision.announce is None or query.leads:
        return decision
    limit = ripe(query, seen.now)
    if limit is not None and decision.announce <= limit:
        return decision
    because = f"{decision.because}; watermark {decision.announce} withheld: not ripe"
    return replace(decision, announce=None, because=because)


def within_slots(decision: Decision, seen: Snapshot) -> Decision:
    """No more batches at once than there are slots."""
    if isinstance(decision, Grant) and seen.busy >= seen.slots:
        return Hold(WallMs(seen.now + 1000), f"{seen.busy} batches run in {seen.slots} slots")
    return decision


STANDARD: tuple[Guard, ...] = (within_slots, never_sweep_early, never_beyond_ripe)
