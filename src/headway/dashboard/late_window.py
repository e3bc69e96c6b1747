"""One window and all that happened to it: found in a journal, told in `story`."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from headway.dashboard.book import QueryBook, told_of
from headway.dashboard.lines import BatchLine, DecisionLine, NoteLine, WindowOut
from headway.dashboard.reading import JournalFile
from headway.dashboard.windows import windows_in, windows_of
from headway.dashboard.words import hour
from headway.errors import HeadwayError, SettingError
from headway.model.patience import Wait
from headway.model.sampling import Sampling
from headway.model.time import EventMs, WallMs
from headway.model.view import QueryView

RECENT = 500  # batches of a query among which its worst windows are looked for
MOST_LINES = 200


@dataclass(frozen=True, slots=True)
class WindowCase:
    """A window that came out, and what is in the journal about the time until it did."""

    query: str
    window: WindowOut
    patience_ms: int
    batch: BatchLine  # that emitted it
    before: BatchLine | None  # the query's own batch before that
    grant: DecisionLine | None  # that let it through
    view: QueryView | None  # of the query, as the policy saw it then
    others: tuple[BatchLine, ...]  # batches of others that ran while it was due
    decisions: tuple[DecisionLine, ...]  # about whose batch runs next, meanwhile
    notes: tuple[NoteLine, ...]
    waiting_since: WallMs | None = None

    @property
    def late_ms(self) -> int:
        return self.window.latency_ms

    @property
    def at_gate(self) -> WallMs:
        """When it came to the gate for this batch."""
        if self.waiting_since is not None:
            return self.waiting_since
        return self.batch.began if self.before is None else self.before.at

    @property
    def parts_ms(self) -> tuple[int, int, int]:
        """How its latency adds up: its own batch before, then waiting at the gate, then the batch that emitted it."""
        due, let_through = self.window.due, max(self.window.due, self.batch.began)
        came = min(max(due, self.at_gate), let_through)
        return came - due, let_through - came, self.batch.at - let_through


def worst_windows(file: JournalFile, query: str, most: int = 1) -> list[WindowOut]:
    """The latest of a query's newest windows."""
    batches = recent(file, query)
    view = view_at(file, query, None)
    if view is None or not batches:
        return []
    found = windows_in(batches, view.deadlines, patience_of(file, query, view))
    return sorted(found, key=lambda w: (-w.latency_ms, w.end))[:most]


def recent(file: JournalFile, query: str, upto: int = 1 << 62) -> list[BatchLine]:
    found = file.batch_lines("query = ? and at <= ? order by at desc, id desc", (query, upto), RECENT)
    return found[::-1]


def case_of(file: JournalFile, query: str, end: int) -> WindowCase:
    """What is known of the window that ends there."""
    found = file.batch_lines("query = ? and watermark >= ? order by at, id", (query, end), 1)
    if not found:
        raise HeadwayError(f"window = {hour(end)!r}: the journal has no batch of {query} that emitted it")
    batch = found[0]
    earlier = file.batch_lines("query = ? and (at < ? or (at = ? and id < ?)) order by at desc, id desc",
                               (query, batch.at, batch.at, batch.id), 1)  # fmt: skip
    before = earlier[0] if earlier else None
    grants = file.decision_lines(
        "query = ? and kind = 'grant' and at <= ? order by at desc, id desc", (query, batch.at), 1
    )  # fmt: skip
    grant = grants[0] if grants else None
    view = view_at(file, query, grant)
    if view is None:
        raise HeadwayError(f"query = {query!r}: the journal has forgotten what was known of it when that window came out")
    patience_ms = patience_of(file, query, view)(batch.began)
    windows = windows_of(before.watermark or EventMs(0) if before else None, batch, view.deadlines, patience_ms)
    window = next((w for w in windows if w.end == end), None)
    if window is None:
        raise SettingError("window", hour(end), _ends(view, end, batch))
    return _with_company(file, query, window, patience_ms, batch, before, (grant, view))


def _with_company(
    file: JournalFile,
    query: str,
    window: WindowOut,
    patience_ms: int,
    batch: BatchLine,
    before: BatchLine | None,
    decided: tuple[DecisionLine | None, QueryView],
) -> WindowCase:
    since, upto = min(window.due, batch.began), batch.began
    others = file.batch_lines("id between ? and ? and query != ? and at > ? and began < ? order by began",
                              (batch.id - 20_000, batch.id + 2_000, query, since, upto), MOST_LINES)  # fmt: skip
    grant, view = decided
    last = grant.id if grant is not None else 0
    decisions = file.decision_lines("id between ? and ? and question = 'order' and at >= ? order by id",
                               (last - 5_000, last, since), MOST_LINES)  # fmt: skip
    notes = file.note_lines("at between ? and ? and query in (?, '') order by id", (window.end, batch.at, query), 20)
    return WindowCase(query, window, patience_ms, batch, before, grant, view, tuple(others), tuple(decisions), tuple(notes),
                      view.waiting_since)  # fmt: skip


def _ends(view: QueryView, end: int, batch: BatchLine) -> str:
    near = sorted({view.deadlines.upto(end), view.deadlines.after(end)})
    return f"the end of one of its windows, such as {' or '.join(hour(at) for at in near)}"


def view_at(file: JournalFile, query: str, grant: DecisionLine | None) -> QueryView | None:
    """The query as the policy saw it at that grant; at its newest, where none is named."""
    if grant is None:
        line = file.last_grant(query)
        number = None if line is None else line.id
    else:
        number = grant.id
    if number is None:
        return None
    try:
        return next((view for view in file.entry(number).seen.queries if view.name == query), None)
    except HeadwayError:
        return None


def patience_of(file: JournalFile, query: str, view: QueryView) -> Callable[[int], int]:
    """How long its stragglers were waited for at a moment."""
    rows = file.all(
        "select at, scope, decided from entries where query = ? and question in ('patience', 'sampling')"
        f" order by at desc, id desc limit {MOST_LINES}",
        (query,),
    )
    book = QueryBook(query, view=view)
    for at, scope, text in reversed(rows):
        if (ms := _waits(text)) is not None:
            book.waits.setdefault(scope, deque(maxlen=MOST_LINES)).append((at, ms))
    return book.patience_ms


def _waits(text: str) -> int | None:
    match told_of(text):
        case Wait(ms=ms) | Sampling(wait_ms=ms):
            return ms
    return None
