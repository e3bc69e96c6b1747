"""The laws of time: the watermark only goes on, no window is swept too soon, and no query waits for longer than promised.

A law is a function that yields what is wrong, in words.
"""

from collections.abc import Iterator

from headway_lab.experiments.scripts.virtual.reasons import Evidence, by_rows_only, setting, stock_batches
from headway_lab.experiments.scripts.virtual.reports import AHEAD_MS
from headway_lab.experiments.scripts.virtual.script import ScriptQuery, moment
from headway_lab.experiments.scripts.virtual.trace import QueryTrace, ScriptTrace, SourceLook

READ_MS = 10_000  # a query with rows is let through within this, times the number of queries
SLACK_MS = 2_000  # for starting, polling, and a controller that looks once a second
FRESH_MS = 2_500  # where windows do not matter and no other query wants the cores: three times a second, with some slack


def the_watermark_never_goes_back(trace: ScriptTrace, history: QueryTrace) -> Iterator[str]:
    """Neither in the offsets nor in Spark; and the number of the grant does not either."""
    last: SourceLook | None = None
    for look in history.looks:
        if look.end.wm < look.start.wm or look.end.seq < look.start.seq:
            yield f"the look of {moment(look.granted_at)} went from {look.start} to {look.end}"
        if last is not None and last.batch is not None and look.start.wm < last.end.wm:
            yield f"the look of {moment(look.granted_at)} starts at {look.start}, after {last.end}"
        last = look
    if history.spark.commits != sorted(history.spark.commits):
        yield "Spark's watermark went back"


def nothing_is_swept_before_it_is_ripe(trace: ScriptTrace, history: QueryTrace) -> Iterator[str]:
    """When a batch acts upon a watermark, each input's rows or patience have passed it, or the input is idle."""
    evidence, before = Evidence(trace, history), 0
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
                yield f"the batch of {moment(look.granted_at)} swept {moment(swept)}, {early:,} ms too soon for {i.name}"


def queries_with_rows_are_read(trace: ScriptTrace, history: QueryTrace) -> Iterator[str]:
    """While rows wait, no more time passes between two looks than was promised, under policies that promise it."""
    if not _promises(trace):
        return
    looks = sorted(history.looks, key=lambda look: look.granted_at)
    ends = [look.granted_at for look in looks[1:]] + [trace.end]
    for look, until in zip(looks, ends, strict=True):
        since = _waiting_since(history, look)
        if since is None or (history.ended and look is looks[-1]):
            continue
        allowed = _patience_of(trace, history, look)
        # After an absence the promise holds from when the query, and the controller, were back.
        since = max([since, *(to for begin, to in history.away if begin < until and to > since)])
        if until - since > allowed:
            yield f"rows waited from {moment(since)} to {moment(until)}, {until - since:,} ms; promised are {allowed:,} ms"


def _promises(trace: ScriptTrace) -> bool:
    """Whether only policies decide that serve all queries in time; the paper's baselines may let a query starve."""
    policies = {trace.script.policy, *(a["name"] for a in trace.script.actions if a["do"] == "policy")}
    return policies <= {"klink", "response-ratio"}


def _waiting_since(history: QueryTrace, look: SourceLook) -> int | None:
    """From when on rows were there that this look has not read."""
    unread = []
    for name, rows in history.rows.items():
        read = (history.spark.log[look.batch].end if look.batch is not None else _offsets_before(history, look)).get(name, 0)
        if read < len(rows):
            unread.append(max(look.granted_at, rows[read].at))
    return min(unread, default=None)


def _offsets_before(history: QueryTrace, look: SourceLook) -> dict[str, int]:
    found: dict[str, int] = {}
    for other in history.looks:
        if other is look:
            break
        if other.batch is not None:
            found = dict(history.spark.log[other.batch].end)
    return found


def _patience_of(trace: ScriptTrace, history: QueryTrace, look: SourceLook) -> int:
    queries = trace.script.queries
    costs = sum(2 * (q.fixed_ms + q.per_row_ms * 50) for q in queries)
    if len(queries) == 1 and look.query.mode == "update" and not look.query.trigger_ms:
        return FRESH_MS + costs + _held_ms(history, look)
    return READ_MS * len(queries) + SLACK_MS + costs + 2 * look.query.trigger_ms + _held_ms(history, look)


def _held_ms(history: QueryTrace, look: SourceLook) -> int:
    """A watermark that is announced waits for inputs that were seen to be silent, and so does whatever comes meanwhile."""
    if look.end.wm <= (look.ran.swept if look.ran else 0):
        return 0
    # A batch that was run again tells of its rows when they are older still, and a new controller knows of no others.
    run = look.done_run or look.run
    seen_at = look.granted_at if look.done_at is None or run == look.run else look.done_at
    known = [other for other in history.looks if run in (other.run, other.done_run) and other.granted_at <= look.granted_at]
    held = 0
    for i in look.query.inputs:
        events = [r.event for other in known for r in other.taken[i.name] if r.event is not None and r.event <= seen_at]
        held = max(held, (i.idle_after_ms or 0) if max(events, default=0) < seen_at - i.patience_ms else 0)
    return held


def nobody_is_stuck(trace: ScriptTrace, history: QueryTrace) -> Iterator[str]:
    """When fresh rows have come for a while, every window has come out that stock Spark would have put out long ago.

    Only rows count that the controller was told of in the last run: what it cannot know, it need not act upon. And a single
    row from the future closes no window here: to follow it, as stock Spark does, is allowed, but not demanded.
    """
    query: ScriptQuery = history.last
    if not _promises(trace):
        return
    if any(to > trace.end - READ_MS for _, to in history.away):
        return
    if not history.looks:
        yield "it never ran"
        return
    if query.bounded and not history.ended:  # one that hands out portions may need longer than the script; it must go on
        if history.looks[-1].granted_at < trace.end - READ_MS * len(trace.script.queries):
            yield "a bounded run has not ended"
        return
    settle = 0 if query.bounded else READ_MS * (1 + len(trace.script.queries)) + 3 * query.trigger_ms
    stock = max(
        (spark.watermark for look, spark, _ in stock_batches(history) if (look.done_at or 0) <= trace.end - settle),
        default=0,
    )
    runs = len(history.starts)
    told_of = [
        look for look in history.reported if (look.told_at or 0) <= trace.end - settle and runs in (look.run, look.done_run)
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
    if history.spark.mode == "append":
        for end in sorted(end for end in history.spark.state if end <= watermark)[:1]:
            yield f"the window that ends at {moment(end)} is still open; stock Spark's watermark is {moment(watermark)}"
