"""Which watermark rides with a grant: the rule that all gated policies share.

Spark drops late rows by the previous batch's watermark and emits windows by this batch's. A watermark announced with
batch n is therefore acted upon by batch n + 1. Announce the end of the next window early ("ahead"), and batch n + 1 both
reads that window's last rows and emits it: one batch per window. Announce it when it is ripe, and it takes a second one.
"""

from headway.estimate.due import reaches
from headway.estimate.ripe import ripe
from headway.model.time import EventMs, WallMs
from headway.model.view import QueryView


def announce(query: QueryView, now: WallMs, *, ahead: bool, crowd: float = 0.0) -> EventMs | None:
    """The watermark to announce with a batch of `query` that starts now; None when it should stay.

    `ahead` says that no batch is planned before the next deadline, if that is near: until a watermark announced ahead is
    swept, no batch may run. `crowd` is how many due batches share each slot.
    """
    limit = ripe(query, now)
    if limit is None:
        return None
    newest = query.deadlines.upto(limit)
    due = newest if newest > query.announced and newest > 0 else None
    if not (ahead and query.leads):
        return due
    reach = reaches(query, now) - query.patience_ms
    coming = max(query.deadlines.after(max(limit, query.announced)), query.deadlines.upto(reach) if query.trigger_ms else 0)
    if coming > reach:
        return due
    if due is None:
        return EventMs(coming)
    if any(i.upstream is not None for i in query.inputs):
        return due  # when the next window is complete, its upstream knows: a result that is there does not wait for that
    # A window is ripe that this batch will not emit. Announce it and run again at once, or let the next window's batch
    # emit both? The extra batch pays if it spares this window more than it costs the queries that wait.
    cost = query.cost_ms(now)
    spared = coming + query.patience_ms - now - cost
    return due if spared > cost * crowd else EventMs(coming)
