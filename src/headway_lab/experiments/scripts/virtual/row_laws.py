"""The laws of rows: each is counted once, refused only as the contract says, and what is in no result is told of.

A law is a function that yields what is wrong, in words.
"""

from collections import Counter
from collections.abc import Iterator

from headway.loop.sampler import CELL_MS
from headway_lab.experiments.scripts.virtual.reasons import Evidence, setting, stock_batches
from headway_lab.experiments.scripts.virtual.reports import OLD_BINS, beyond_horizon
from headway_lab.experiments.scripts.virtual.script import kind_of, moment
from headway_lab.experiments.scripts.virtual.trace import QueryTrace, ScriptTrace


def nobody_is_counted_twice(trace: ScriptTrace, history: QueryTrace) -> Iterator[str]:
    """A row is in each of its windows once at most, and a batch that is run again puts out the same."""
    if history.spark.torn:
        yield f"batches {history.spark.torn} put out something else when they were run again"
    if history.spark.mode == "append":
        out = Counter(end for batch in history.spark.sink.values() for end in batch)
        for end in (end for end, times in out.items() if times > 1):
            yield f"the window that ends at {moment(end)} came out {out[end]} times"
    for (end, key), times in Counter(pair for look in history.batches if look.ran for pair in look.ran.kept).items():
        if times > 1:
            yield f"row {key} is in the window that ends at {moment(end)} {times} times"


def rows_are_refused_only_as_the_contract_says(trace: ScriptTrace, history: QueryTrace) -> Iterator[str]:
    """For each row missing from a window: stock Spark would have refused it as well, or every input gave a reason."""
    evidence = Evidence(trace, history)
    rows = {r.key: r for of_input in history.rows.values() for r in of_input}
    for look, _, also in stock_batches(history):
        assert look.ran is not None
        for end, key in look.ran.refused:
            if (end, key) in also:
                continue
            announced, swept = evidence.announcing(end), evidence.sweeping(end)
            if swept is None:
                yield f"row {key} was refused for the window that ends at {moment(end)}, which was never swept"
                continue
            reasons = evidence.reasons(end, announced, swept)
            if bad := [name for name, reason in reasons.items() if reason is None]:
                row = rows[key]
                yield (
                    f"a row of {row.input} from {moment(row.event or 0)}, there at {moment(row.at)}, was refused by the "
                    f"batch of {moment(look.granted_at)}: its window's end {moment(end)} was "
                    + (f"announced at {moment(announced.granted_at)} and " if announced else "")
                    + f"swept at {moment(swept.granted_at)}, for which {' and '.join(bad)} gave no reason; "
                    "stock keeps the row"
                )


def rows_alone_refuse_what_stock_refuses(trace: ScriptTrace, history: QueryTrace) -> Iterator[str]:
    """Where `idle_after` and `horizon` are "never", no row is refused that stock Spark keeps on the same batches."""
    for look, _, also in stock_batches(history):
        assert look.ran is not None
        inputs = look.query.inputs
        if any(i.idle_after_ms is not None or i.horizon_ms is not None for i in inputs):
            return  # settings have changed on the way, so the watermark may have come from other ones
        if more := set(look.ran.refused) - also:
            end, key = min(more)
            yield f"the batch of {moment(look.granted_at)} refused row {key} for {moment(end)}, which stock Spark keeps"


def future_rows_are_beyond_the_horizon(trace: ScriptTrace, history: QueryTrace) -> Iterator[str]:
    """A row is set aside only if it is further ahead of one of the machine's clocks than the horizon."""
    for look in history.batches:
        aside = [
            r
            for name, rows in look.read.items()
            for r in rows
            if len(rows) > len(look.taken[name]) and r not in look.taken[name]
        ]
        for row in aside:
            if not beyond_horizon(row.event, min(look.wall, look.at), setting(look, row.input).horizon_ms):
                yield f"a row from {moment(row.event or 0)} was set aside at {moment(look.at)}"


def late_rows_are_counted(trace: ScriptTrace, history: QueryTrace) -> Iterator[str]:
    """As many rows are counted as late as were refused for at least one window, in batches that were reported.

    One by one in a plain life. Roughly where a report has no room for all its tenths of a second, or where it tells of rows
    by their delays only: those that another input's patience refused, or a watermark ahead of the clock. After a restart
    no report says by which watermark the first batch refuses, and it may be counted too much. That none
    are late is never said if some were, unless the report of the batch before was lost, which tells of the watermark.
    """
    actions = trace.script.actions
    if any(a.get("how") == "drop" for a in actions):
        return
    grid = history.spark.windows
    tenths = [{r.event // CELL_MS for r in rows if r.event} for look in history.batches for rows in look.read.values()]
    by_delays = len(history.rows) > 1 or any(kind_of(a) in ("future", "ahead") for a in actions)
    rough = 5 if by_delays or max(map(len, tenths), default=0) > OLD_BINS else 0
    told_apart = grid.size_ms % CELL_MS == 0 and grid.slide_ms % CELL_MS == 0 and not any(a["do"] == "step" for a in actions)
    again = len(history.starts) > 1 or any(a["do"] in ("controller", "hang-up") for a in actions)
    refused = {key for look in history.reported if look.ran for _, key in look.ran.refused}
    for name, rows in history.rows.items():
        there = sum(r.key in refused for r in rows)
        said = trace.counted.get((history.last.name, name), {}).get("late", 0)
        near = abs(said - there) <= (max(rough, there / 10) if rough else 0)
        if bool(said) < bool(there) or (told_apart and not near and (said < there or not again)):
            yield f"{there} rows of {name} were refused, and {said} were counted as late"


def rows_set_aside_are_counted(trace: ScriptTrace, history: QueryTrace) -> Iterator[str]:
    """Rows without a time, and rows from beyond the horizon, in batches that were reported, are counted one by one."""
    for name in history.rows:
        said = trace.counted.get((history.last.name, name), {})
        timeless = sum(r.event is None for look in history.reported for r in look.read[name])
        future = sum(len(look.read[name]) - len(look.taken[name]) for look in history.reported)
        for reason, there in (("timeless", timeless), ("future", future)):
            if said.get(reason, 0) != there:
                yield f"{there} rows of {name} were {reason}, and {said.get(reason, 0)} were counted"
