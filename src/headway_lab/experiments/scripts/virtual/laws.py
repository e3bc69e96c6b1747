"""The laws: what must hold in every script, one function each. A law yields what is wrong, in words."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from headway.loop.sampler import CELL_MS
from headway_lab.experiments.scripts.virtual.reasons import Evidence, by_rows_only, setting, stock_batches, told
from headway_lab.experiments.scripts.virtual.reports import AHEAD_MS, OLD_BINS, beyond
from headway_lab.experiments.scripts.virtual.script import ScriptQuery, kind_of
from headway_lab.experiments.scripts.virtual.trace import QueryTrace, ScriptTrace, SourceLook

READ_MS = 10_000  # a query with rows is let through within this, times the number of queries
SLACK_MS = 2_000  # for starting, polling, and a controller that looks once a second
FRESH_MS = 2_500  # where windows do not matter and nobody else wants the cores: three times a second, with some slack


@dataclass(frozen=True, slots=True)
class Violation:
    """A law that was broken, and how."""

    law: str
    query: str
    says: str


Law = Callable[[ScriptTrace, QueryTrace], Iterator[str]]


def nobody_is_counted_twice(trace: ScriptTrace, kept: QueryTrace) -> Iterator[str]:
    """A row is in each of its windows once at most, and a batch that is run again puts out the same."""
    if kept.spark.torn:
        yield f"batches {kept.spark.torn} put out something else when they were run again"
    if kept.spark.mode == "append":
        out = Counter(end for batch in kept.spark.sink.values() for end in batch)
        for end in (end for end, times in out.items() if times > 1):
            yield f"the window that ends at {told(end)} came out {out[end]} times"
    for (end, key), times in Counter(pair for look in kept.batches if look.ran for pair in look.ran.kept).items():
        if times > 1:
            yield f"row {key} is in the window that ends at {told(end)} {times} times"


def rows_are_refused_only_as_the_contract_says(trace: ScriptTrace, kept: QueryTrace) -> Iterator[str]:
    """For each row missing from a window: stock Spark would have refused it as well, or every input gave a reason."""
    evidence = Evidence(trace, kept)
    rows = {r.key: r for of_input in kept.rows.values() for r in of_input}
    for look, _, also in stock_batches(kept):
        assert look.ran is not None
        for end, key in look.ran.refused:
            if (end, key) in also:
                continue
            announced, swept = evidence.announcing(end), evidence.sweeping(end)
            if swept is None:
                yield f"row {key} was refused for the window that ends at {told(end)}, which was never swept"
                continue
            reasons = evidence.reasons(end, announced, swept)
            if bad := [name for name, reason in reasons.items() if reason is None]:
                row = rows[key]
                yield (
                    f"a row of {row.input} from {told(row.event or 0)}, there at {told(row.at)}, was refused by the batch "
                    f"of {told(look.granted_at)}: its window's end {told(end)} was "
                    + (f"announced at {told(announced.granted_at)} and " if announced else "")
                    + f"swept at {told(swept.granted_at)}, for which {' and '.join(bad)} gave no reason; stock keeps the row"
                )


def rows_alone_refuse_what_stock_refuses(trace: ScriptTrace, kept: QueryTrace) -> Iterator[str]:
    """Where `idle_after` and `horizon` are "never", no row is refused that stock Spark keeps on the same batches."""
    for look, _, also in stock_batches(kept):
        assert look.ran is not None
        inputs = look.query.inputs
        if any(i.idle_after_ms is not None or i.horizon_ms is not None for i in inputs):
            return  # settings have changed on the way, so the watermark may have come from other ones
        if more := set(look.ran.refused) - also:
            end, key = min(more)
            yield f"the batch of {told(look.granted_at)} refused row {key} for {told(end)}, which stock Spark keeps"


def future_rows_are_beyond_the_horizon(trace: ScriptTrace, kept: QueryTrace) -> Iterator[str]:
    """A row is set aside only if it is further ahead of one of the machine's clocks than the horizon."""
    for look in kept.batches:
        aside = [
            r
            for name, rows in look.read.items()
            for r in rows
            if len(rows) > len(look.taken[name]) and r not in look.taken[name]
        ]
        for row in aside:
            if not beyond(row.event, min(look.wall, look.at), setting(look, row.input).horizon_ms):
                yield f"a row from {told(row.event or 0)} was set aside at {told(look.at)}"


def late_rows_are_counted(trace: ScriptTrace, kept: QueryTrace) -> Iterator[str]:
    """As many rows are counted as late as were refused for at least one window, in batches that were reported.

    One by one in a plain life. Roughly where a report has no room for all its tenths of a second, or where it tells of rows
    by their delays only: those that another input's patience refused, or a watermark ahead of the clock. After a restart
    nobody says by which watermark the first batch refuses, and it may be counted too much. That none are late is never said
    if some were, unless the report of the batch before was lost, which tells of the watermark.
    """
    actions = trace.script.actions
    if any(a.get("how") == "drop" for a in actions):
        return
    grid = kept.spark.windows
    tenths = [{r.event // CELL_MS for r in rows if r.event} for look in kept.batches for rows in look.read.values()]
    by_delays = len(kept.rows) > 1 or any(kind_of(a) in ("future", "ahead") for a in actions)
    rough = 5 if by_delays or max(map(len, tenths), default=0) > OLD_BINS else 0
    told_apart = grid.size_ms % CELL_MS == 0 and grid.slide_ms % CELL_MS == 0 and not any(a["do"] == "step" for a in actions)
    again = len(kept.starts) > 1 or any(a["do"] in ("controller", "hang-up") for a in actions)
    refused = {key for look in _reported(kept) if look.ran for _, key in look.ran.refused}
    for name, rows in kept.rows.items():
        there = sum(r.key in refused for r in rows)
        said = trace.counted.get((kept.last.name, name), {}).get("late", 0)
        near = abs(said - there) <= (max(rough, there / 10) if rough else 0)
        if bool(said) < bool(there) or (told_apart and not near and (said < there or not again)):
            yield f"{there} rows of {name} were refused, and {said} were counted as late"


def rows_set_aside_are_counted(trace: ScriptTrace, kept: QueryTrace) -> Iterator[str]:
    """Rows without a time, and rows from beyond the horizon, in batches that were reported, are counted one by one."""
    for name in kept.rows:
        said = trace.counted.get((kept.last.name, name), {})
        timeless = sum(r.event is None for look in _reported(kept) for r in look.read[name])
        future = sum(len(look.read[name]) - len(look.taken[name]) for look in _reported(kept))
        for reason, there in (("timeless", timeless), ("future", future)):
            if said.get(reason, 0) != there:
                yield f"{there} rows of {name} were {reason}, and {said.get(reason, 0)} were counted"


def _reported(kept: QueryTrace) -> list[SourceLook]:
    return [look for look in kept.batches if look.told_at is not None]


def the_watermark_never_goes_back(trace: ScriptTrace, kept: QueryTrace) -> Iterator[str]:
    """Neither in the offsets nor in Spark; and the number of the grant does not either."""
    last: SourceLook | None = None
    for look in kept.looks:
        if look.end.wm < look.start.wm or look.end.seq < look.start.seq:
            yield f"the look of {told(look.granted_at)} went from {look.start} to {look.end}"
        if last is not None and last.batch is not None and look.start.wm < last.end.wm:
            yield f"the look of {told(look.granted_at)} starts at {look.start}, after {last.end}"
        last = look
    if kept.spark.commits != sorted(kept.spark.commits):
        yield "Spark's watermark went back"


def nothing_is_swept_before_it_is_ripe(trace: ScriptTrace, kept: QueryTrace) -> Iterator[str]:
    """When a batch acts upon a watermark, each input's rows or patience have passed it, or the input is idle."""
    evidence, before = Evidence(trace, kept), 0
    for look in evidence.batches:
        assert look.ran is not None
        swept, before_, before = look.ran.swept, before, look.ran.swept
        announced = evidence.announcing(swept)
        if swept <= before_ or announced is None:
            continue
        for i in announced.query.inputs:
            clocks = [off for _, off in evidence._clocks(look.granted_at - 1_000, look.granted_at)]
            over = any(look.granted_at + off + 5 >= swept + i.patience_ms for off in clocks)
            if over or evidence.rows_bound(i.name, look.granted_at) >= swept:
                continue
            if by_rows_only(announced, i.name) or evidence._idle(i.name, swept, announced, look) is None:
                early = swept + i.patience_ms - look.granted_at
                yield f"the batch of {told(look.granted_at)} swept {told(swept)}, {early:,} ms too soon for {i.name}"


def queries_with_rows_are_read(trace: ScriptTrace, kept: QueryTrace) -> Iterator[str]:
    """While rows wait, no more time passes between two looks than was promised, under policies that promise it."""
    if not _promises(trace):
        return
    looks = sorted(kept.looks, key=lambda look: look.granted_at)
    ends = [look.granted_at for look in looks[1:]] + [trace.end]
    for look, until in zip(looks, ends, strict=True):
        since = _waiting_since(kept, look)
        if since is None or (kept.ended and look is looks[-1]):
            continue
        allowed = _patience_of(trace, kept, look)
        # Whoever was away starts anew: the promise holds from when the query, and the controller, were back.
        since = max([since, *(to for begin, to in kept.away if begin < until and to > since)])
        if until - since > allowed:
            yield f"rows waited from {told(since)} to {told(until)}, {until - since:,} ms; promised are {allowed:,} ms"


def _promises(trace: ScriptTrace) -> bool:
    """Whether only policies decide that serve everybody in time; the paper's baselines may let a query starve."""
    policies = {trace.script.policy, *(a["name"] for a in trace.script.actions if a["do"] == "policy")}
    return policies <= {"klink", "response-ratio"}


def _waiting_since(kept: QueryTrace, look: SourceLook) -> int | None:
    """From when on rows were there that this look has not read."""
    unread = []
    for name, rows in kept.rows.items():
        read = (kept.spark.log[look.batch].end if look.batch is not None else _offsets_before(kept, look)).get(name, 0)
        if read < len(rows):
            unread.append(max(look.granted_at, rows[read].at))
    return min(unread, default=None)


def _offsets_before(kept: QueryTrace, look: SourceLook) -> dict[str, int]:
    found: dict[str, int] = {}
    for other in kept.looks:
        if other is look:
            break
        if other.batch is not None:
            found = dict(kept.spark.log[other.batch].end)
    return found


def _patience_of(trace: ScriptTrace, kept: QueryTrace, look: SourceLook) -> int:
    queries = trace.script.queries
    costs = sum(2 * (q.fixed_ms + q.per_row_ms * 50) for q in queries)
    if len(queries) == 1 and look.query.mode == "update" and not look.query.trigger_ms:
        return FRESH_MS + costs + _held_ms(kept, look)
    return READ_MS * len(queries) + SLACK_MS + costs + 2 * look.query.trigger_ms + _held_ms(kept, look)


def _held_ms(kept: QueryTrace, look: SourceLook) -> int:
    """A watermark that is announced waits for inputs that were seen to be silent, and so does whatever comes meanwhile."""
    if look.end.wm <= (look.ran.swept if look.ran else 0):
        return 0
    # A batch that was run again tells of its rows when they are older still, and whoever began anew knows of no others.
    run = look.done_run or look.run
    seen_at = look.granted_at if look.done_at is None or run == look.run else look.done_at
    known = [other for other in kept.looks if run in (other.run, other.done_run) and other.granted_at <= look.granted_at]
    held = 0
    for i in look.query.inputs:
        events = [r.event for other in known for r in other.taken[i.name] if r.event is not None and r.event <= seen_at]
        held = max(held, (i.idle_after_ms or 0) if max(events, default=0) < seen_at - i.patience_ms else 0)
    return held


def nobody_is_stuck(trace: ScriptTrace, kept: QueryTrace) -> Iterator[str]:
    """When fresh rows have come for a while, every window has come out that stock Spark would have put out long ago.

    Only rows count that the controller was told of in the last run: what it cannot know, it need not act upon. And a single
    row from the future closes no window here: to follow it, as stock Spark does, is allowed, but nobody waits for that.
    """
    query: ScriptQuery = kept.last
    if not _promises(trace):
        return
    if any(to > trace.end - READ_MS for _, to in kept.away):
        return
    if not kept.looks:
        yield "it never ran"
        return
    if query.bounded and not kept.ended:  # one that hands out portions may need longer than the script; it must go on
        if kept.looks[-1].granted_at < trace.end - READ_MS * len(trace.script.queries):
            yield "a bounded run has not ended"
        return
    settle = 0 if query.bounded else READ_MS * (1 + len(trace.script.queries)) + 3 * query.trigger_ms
    stock = max(
        (spark.watermark for look, spark, _ in stock_batches(kept) if (look.done_at or 0) <= trace.end - settle), default=0
    )
    runs = len(kept.starts)
    told_of = [
        look for look in _reported(kept) if (look.told_at or 0) <= trace.end - settle and runs in (look.run, look.done_run)
    ]
    bounds = [
        max(
            (
                r.event - setting(look, i.name).patience_ms
                for look in told_of
                for r in look.taken[i.name]
                if r.event is not None and r.event <= look.at + max(0, i.skew_ms) + AHEAD_MS
            ),
            default=0,
        )
        for i in query.inputs
    ]
    # Windows of a stream that keeps up with the clock, and will end in the future, may wait for the clock.
    bounds += [trace.end - settle + max(0, i.skew_ms) - i.patience_ms for i in query.inputs]
    watermark = min(stock, *bounds)
    if kept.spark.mode == "append":
        for end in sorted(end for end in kept.spark.state if end <= watermark)[:1]:
            yield f"the window that ends at {told(end)} is still open; stock Spark's watermark is {told(watermark)}"


LAWS: tuple[Law, ...] = (
    nobody_is_counted_twice,
    rows_are_refused_only_as_the_contract_says,
    rows_alone_refuse_what_stock_refuses,
    future_rows_are_beyond_the_horizon,
    late_rows_are_counted,
    rows_set_aside_are_counted,
    the_watermark_never_goes_back,
    nothing_is_swept_before_it_is_ripe,
    queries_with_rows_are_read,
    nobody_is_stuck,
)
NOTHING_RAISES = "nothing_raises"
NAMES = (NOTHING_RAISES, *(law.__name__ for law in LAWS))


def broken(trace: ScriptTrace) -> list[Violation]:
    """Every law that a script has broken, once per query."""
    if trace.raised:  # the script was broken off: nothing else can be said of it
        return [Violation(NOTHING_RAISES, "", trace.raised[0])]
    return [
        Violation(law.__name__, name, says)
        for name, kept in trace.queries.items()
        for law in LAWS
        for says in list(law(trace, kept))[:1]
    ]
