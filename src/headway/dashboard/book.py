"""What is kept in memory of each query: its newest batches, windows and decisions. Bounded, however long the journal is.

`Book.take...` is told line after line, in the journal's order. How they are read, from where and how often, is elsewhere.
"""

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from headway.dashboard.lines import BatchLine, DecisionLine, NoteLine, WindowOut
from headway.dashboard.windows import further, windows_of
from headway.loop import codec
from headway.model.patience import Wait
from headway.model.sampling import Sampling
from headway.model.time import EventMs, WallMs
from headway.model.view import QueryView

MOST_BATCHES, MOST_WINDOWS, MOST_WAITS = 300, 600, 500
MOST_QUERIES = 5_000
MOST_NOTES = 1_000
LEFT, FAILED, PUT_ASIDE = "left: ", "failed: ", "put aside"


@dataclass
class Totals:
    """Counts since the dashboard began to read; they only grow."""

    batches: int = 0
    rows: int = 0
    busy_ms: int = 0
    dropped: int = 0
    windows: int = 0
    overdue: int = 0  # windows that came out later than the target
    latency_ms: int = 0  # of all windows, added up


@dataclass
class QueryBook:
    """One query."""

    name: str
    batches: deque[BatchLine] = field(default_factory=lambda: deque(maxlen=MOST_BATCHES))
    windows: deque[WindowOut] = field(default_factory=lambda: deque(maxlen=MOST_WINDOWS))
    waits: dict[str, deque[tuple[WallMs, int]]] = field(default_factory=dict)  # by input: patience, and since when
    sampled: dict[str, deque[tuple[WallMs, Sampling, str]]] = field(default_factory=dict)  # by input, with its policy
    view: QueryView | None = None
    granted: DecisionLine | None = None  # the last grant
    decided: DecisionLine | None = None  # the last decision of any question
    ended: NoteLine | None = None  # it has left, failed or was put aside, and has not come back
    watermark: EventMs | None = None
    totals: Totals = field(default_factory=Totals)
    latencies: Counter[int] = field(default_factory=Counter)  # windows by bucket of latency: see `metrics`
    version: int = 0  # it has changed since a lower one

    def patience_ms(self, at: int) -> int:
        """How long stragglers were waited for at that moment, by the slowest input."""
        known = [ms for since in self.waits.values() if (ms := _standing(since, at)) is not None]
        return max(known) if known else (0 if self.view is None else self.view.patience_ms)


class Book:
    """All queries, by name."""

    def __init__(self, target_ms: int = 1_000, edges_ms: tuple[int, ...] = ()) -> None:
        self.target_ms, self.edges_ms = target_ms, edges_ms
        self.queries: dict[str, QueryBook] = {}
        self.decisions: Counter[str] = Counter()
        self.choices: Counter[str] = Counter()  # of a fleet, by kind: start, move, refuse
        self.changes: Counter[tuple[str, str]] = Counter()  # of a wide area, by pipeline and kind: keep, reassign, ...
        self.notes: deque[NoteLine] = deque(maxlen=MOST_NOTES)
        self.at = WallMs(0)  # of the newest line
        self.slots = 0
        self.policy = ""
        self.memory = 0.0
        self.version = 0
        self.fleet = False  # of an orchestrator, not of a runtime
        self.area = False  # of the controller of a wide area
        self.oldest: WallMs | None = None  # of the lines that were read

    def of(self, name: str) -> QueryBook:
        """The book of this query, opened if there is none. It is then taken to have changed."""
        found = self.queries.get(name)
        if found is None:
            if len(self.queries) >= MOST_QUERIES:
                del self.queries[next(iter(self.queries))]
            found = self.queries[name] = QueryBook(name)
        found.version = self.version
        return found

    def of_known(self, name: str) -> QueryBook:
        """The book of this query, as it is; an empty one where there is none."""
        return self.queries.get(name) or QueryBook(name)

    def take_views(self, views: Iterable[QueryView], slots: int, memory: float) -> None:
        """The newest snapshot."""
        self.slots, self.memory = slots, memory
        for view in views:
            known = self.queries.get(view.name)
            if known is None or known.view is not view:
                self.of(view.name).view = view

    def take_decision(self, line: DecisionLine) -> None:
        self._saw(line.at)
        self.decisions[line.question] += 1
        if line.question == "order":
            self.policy = line.policy or self.policy
        elif line.question in ("request", "placement"):
            self.fleet = True
            told = None if line.decided is None else told_of(line.decided)
            self.choices.update(type(choice).__name__.lower() for choice in getattr(told, "choices", ()))
            return
        elif line.question == "adaptation":  # of a pipeline, whose pieces are queries of others
            self.area = True
            self.changes[line.scope, line.kind] += 1
            return
        if not line.query or (line.question == "order" and line.kind != "grant"):
            return
        book = self.of(line.query)
        book.decided = line
        if line.question == "order":
            book.granted, book.ended = line, None
        elif line.decided is not None:
            self._take_answer(book, line, told_of(line.decided))

    def take_batch(self, line: BatchLine) -> None:
        self._saw(line.at)
        book, totals = self.of(line.query), self.of(line.query).totals
        book.batches.append(line)
        totals.batches, totals.rows = totals.batches + 1, totals.rows + line.rows
        totals.busy_ms, totals.dropped = totals.busy_ms + line.took_ms, totals.dropped + line.dropped
        if book.view is not None:
            for window in windows_of(book.watermark, line, book.view.deadlines, book.patience_ms(line.began)):
                self._take_window(book, window)
        book.watermark = further(book.watermark, line.watermark)

    def take_note(self, line: NoteLine) -> None:
        self._saw(line.at)
        self.notes.append(line)
        if line.query and line.text.startswith((LEFT, FAILED, PUT_ASIDE)):
            self.of(line.query).ended = line

    def _take_window(self, book: QueryBook, window: WindowOut) -> None:
        book.windows.append(window)
        book.totals.windows += 1
        book.totals.overdue += window.latency_ms > self.target_ms
        book.totals.latency_ms += max(0, window.latency_ms)
        book.latencies[bisect_left(self.edges_ms, window.latency_ms)] += 1

    @staticmethod
    def _take_answer(book: QueryBook, line: DecisionLine, answer: Any) -> None:
        match answer:
            case Wait(ms=ms):
                book.waits.setdefault(line.scope, deque(maxlen=MOST_WAITS)).append((line.at, ms))
            case Sampling(wait_ms=ms):
                book.waits.setdefault(line.scope, deque(maxlen=MOST_WAITS)).append((line.at, ms))
                kept = book.sampled.setdefault(line.scope, deque(maxlen=MOST_WAITS))
                kept.append((line.at, answer, line.policy))

    def _saw(self, at: WallMs) -> None:
        self.at = max(self.at, at)
        self.oldest = at if self.oldest is None else min(self.oldest, at)


def told_of(text: str) -> Any:
    """What was decided, or None: a question that a user has added may answer in kinds that are unknown here."""
    try:
        return codec.told(text)
    except (KeyError, TypeError, ValueError):
        return None


def _standing(since: Iterable[tuple[WallMs, int]], at: int) -> int | None:
    """What stood at that moment; before the first, the first."""
    found = None
    for moment, ms in since:
        if found is not None and moment > at:
            break
        found = ms
    return found


def ended_as(book: QueryBook) -> str | None:
    """`ended`, `failed` or `put aside`, by what was noted; None while it runs."""
    if book.ended is None:
        return None
    text = book.ended.text
    return "failed" if text.startswith(FAILED) else "put aside" if text.startswith(PUT_ASIDE) else "ended"
