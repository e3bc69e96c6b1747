"""What the controller has to know of a query, from its plan and from what its user has said."""

from collections.abc import Mapping
from dataclasses import replace

from headway.model.deadline import Deadlines, Grid
from headway.model.deadline import every as every_
from headway.model.message import InputSpec, QuerySpec
from headway.spark.plan import PlanSeen
from headway.spark.trigger import TriggerSeen

FRESH_MS = 300  # how soon new rows are wanted in a result that does not wait for the end of a window


def spec_of(
    known: Mapping[str, InputSpec],
    name: str,
    seen: PlanSeen,
    windows: list[Grid] | None,
    every: str | int | None,
    trigger: TriggerSeen,
    changing: bool,
) -> QuerySpec:
    """`known` are the inputs by name. `changing` says that results are put out again whenever rows change them, and not once
    their window has ended."""
    deadlines = seen.deadlines
    if windows:
        deadlines = Deadlines(tuple(windows))
    if every is not None:
        deadlines = Deadlines((*(deadlines.grids if seen.found or windows else ()), every_(every)))
    # What a bounded run finds was there before it: rows, and never the clock, say how far it has come.
    by_rows = seen.limited or trigger.bounded
    inputs = tuple(replace(known[i], limited=by_rows, strict=seen.strict) for i in seen.inputs)
    fresh = every is None and (changing or not (seen.found or windows))
    return QuerySpec(
        name, inputs, deadlines, ahead=seen.ordered and not by_rows, window_ms=seen.window_ms,
        trigger_ms=trigger.every_ms, bounded=trigger.bounded, fresh_ms=FRESH_MS if fresh else None,
    )  # fmt: skip
