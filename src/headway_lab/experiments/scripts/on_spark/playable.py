"""Scripts that real Spark can play in a minute: those of `virtual`, one query each, with what cannot be done left out.

Clocks are set and drivers killed by `headway bench chaos`, which has a process for each; reports are never lost on their way
inside one driver.
"""

from dataclasses import replace
from typing import Any

from headway_lab.experiments.scripts.virtual import making
from headway_lab.experiments.scripts.virtual.script import DAY_MS, Action, Script, ScriptInput, ScriptQuery

LENGTH_MS = 20_000
CLOSING_MS = 25_000  # fresh rows come so long after the script, so that every window can end
FRESH_EVERY_MS, FRESH_DELAY_MS = 500, 50
MOST_WINDOW_MS, MOST_PATIENCE_MS, MOST_IDLE_MS, MOST_TRIGGER_MS = 10_000, 3_000, 10_000, 5_000
BATCH_MS = 2_000  # what a batch is allowed to take here, among many on few cores
PLAYED = ("rows", "stream", "restart", "crash", "controller", "hang-up")
FAR_MS = 40 * DAY_MS  # rows of the year 9999 kill stock Spark, beside which we want to stand


def script(seed: int, number: int) -> Script:
    """Script `number` of a seed, as it can be played here."""
    drawn = making.script(seed, number)
    query = _query(drawn.queries[0])
    actions = [_within_limits(a) for a in drawn.actions if a["at"] < LENGTH_MS and a.get("query", query.name) == query.name]
    fresh = [
        {"do": "stream", "kind": "fresh", "query": query.name, "input": i.name, "at": LENGTH_MS, "skew_ms": i.skew_ms,
         "until": LENGTH_MS + CLOSING_MS, "every": FRESH_EVERY_MS, "delays": [FRESH_DELAY_MS]}
        for i in query.inputs
    ]  # fmt: skip
    played = tuple(a for a in actions if a["do"] in PLAYED)
    return Script((query,), (*played, *([] if query.bounded else fresh)), LENGTH_MS, seed=drawn.seed)


def _query(query: ScriptQuery) -> ScriptQuery:
    slide = query.slide_ms
    return replace(
        query,
        inputs=tuple(_input(i) for i in query.inputs),
        window_ms=min(query.window_ms, MOST_WINDOW_MS),
        slide_ms=slide,
        trigger_ms=min(query.trigger_ms, MOST_TRIGGER_MS),
        before_gate=False,
        fixed_ms=BATCH_MS,
        per_row_ms=0,
        starts_ms=0,
    )


def _input(source: ScriptInput) -> ScriptInput:
    idle = source.idle_after_ms
    return replace(
        source,
        patience_ms=min(source.patience_ms, MOST_PATIENCE_MS),
        idle_after_ms=None if idle is None else min(idle, MOST_IDLE_MS),
        whole=source.limit is None,
    )


def _within_limits(action: Action) -> Action:
    """Nothing of it lies beyond the script's end, nor beyond what stock Spark can bear."""
    cut: dict[str, Any] = dict(action)
    for key in {"until", "released"} & cut.keys():
        cut[key] = min(cut[key], LENGTH_MS + (3_000 if key == "released" else 0))
    if "events" in cut:
        cut["events"] = [e if e is None else min(e, cut["at"] + FAR_MS) for e in cut["events"]]
    if "down" in cut:
        cut["down"] = min(cut["down"], 3_000)
    return cut
