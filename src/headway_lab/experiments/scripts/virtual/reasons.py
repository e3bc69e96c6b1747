"""Why a row may be missing from a window: the contract of docs/semantics.md, worked out from what really happened.

Nothing here asks the controller what it thought. For a window that ends at E there are two moments: the *announcing* look
carried a watermark of E or more to Spark, the *sweeping* batch was the first to act upon it. From then on rows of that
window are refused. Each input of the query must have given one of these reasons for it:

    rows    newest event time read before - patience >= E: what stock Spark goes by
    clock   it was live: at the last look before the announcement, and before E if that is later, its newest row was no older
            than patience, as far as reports had come in; and patience was over when the window was swept, ten seconds after
            the announcement at most. Of looks after it a controller knows nothing that began anew meanwhile.
    idle    it had no row for `idle_after` when the window was announced or swept, and had been live. One that never was live
            may be left out too, but only while another input gives a better reason.

An input by rows alone (`idle_after="never"`, bounded runs, no gate) has the first reason only. One that hands out portions
is never live, but may be idle.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from headway.loop.liveness import LIVE_MEMORY
from headway_lab.experiments.scripts.virtual.engine import ModelRow, SparkQuery
from headway_lab.experiments.scripts.virtual.reports import AHEAD_MS
from headway_lab.experiments.scripts.virtual.script import ScriptInput
from headway_lab.experiments.scripts.virtual.trace import QueryTrace, ScriptTrace, SourceLook

MOST_AHEAD_MS = 10_000  # a window is announced no sooner before its end
CLOCK_MS = 5  # our moments are cut to milliseconds more than once
Reason = Literal["rows", "clock", "idle", "left out"]


def stock_batches(history: QueryTrace) -> Iterator[tuple[SourceLook, SparkQuery, set[tuple[int, int]]]]:
    """Stock Spark on the same batches, with the rows that were not set aside: after each, its state and what it refused.

    It restarts where the query did, and its watermark goes by the rows with the user's patience.
    """
    spark, run = SparkQuery(history.spark.windows, dict.fromkeys(history.rows, 0), history.spark.mode), 0
    for look in sorted(history.batches, key=lambda look: look.batch or 0):
        if look.done_run != run:
            run = look.done_run
            spark.restart({i.name: i.patience_ms for i in look.query.inputs})
        rows = [ModelRow(r.key, r.input, r.event) for of_input in look.taken.values() for r in of_input]
        ran = spark.run(spark.begin({"batch": look.batch}, look.wall), rows)
        spark.commit(ran)
        yield look, spark, set(ran.refused)


@dataclass
class Evidence:
    """What could be known of one query at any moment."""

    trace: ScriptTrace
    history: QueryTrace

    def __post_init__(self) -> None:
        self.looks = sorted(self.history.looks, key=lambda look: look.granted_at)
        self.batches = sorted(self.history.batches, key=lambda look: look.batch or 0)
        self._known: dict[int, dict[str, Reason | None]] = {}

    def announcing(self, end: int) -> SourceLook | None:
        return next((look for look in self.batches if look.end.wm >= end), None)

    def sweeping(self, end: int) -> SourceLook | None:
        return next((look for look in self.batches if look.ran is not None and look.ran.swept >= end), None)

    def before(self, at: int, run: int | None = None) -> list[SourceLook]:
        """Looks that were over by then; if a run is named, those that it began, or ran again because they were logged."""
        return [
            look
            for look in self.looks
            if look.granted_at < at
            and (run is None or run in (look.run, look.done_run))
            and (look.batch is None or (look.done_at is not None and look.done_at <= at))
        ]

    def known(self, at: int, run: int) -> list[SourceLook]:
        """Of those, the ones that a controller had heard of."""
        return [x for x in self.before(at, run) if x.batch is None or (x.told_at is not None and x.told_at <= at)]

    def rows_bound(self, name: str, at: int) -> int:
        """Newest event time read before - patience; 0 if there was none."""
        return max((e - setting(look, name).patience_ms for look in self.before(at) if (e := newest(look, name))), default=0)

    def reasons(self, end: int, announced: SourceLook | None, swept: SourceLook) -> dict[str, Reason | None]:
        """Why each input let the window be swept; None for one that should not have."""
        if end not in self._known:
            found = {i.name: self._reason(i.name, end, announced, swept) for i in swept.query.inputs}
            alone = set(found.values()) <= {"left out", None}
            self._known[end] = dict.fromkeys(found) if alone else found
        return self._known[end]

    def _reason(self, name: str, end: int, announced: SourceLook | None, swept: SourceLook) -> Reason | None:
        if self.rows_bound(name, swept.granted_at) >= end:
            return "rows"
        if announced is None or not announced.gated or by_rows_only(announced, name):
            return None
        if not portions(announced) and self._live(name, end, announced, swept):
            return "clock"
        return self._idle(name, end, announced, swept)

    def _live(self, name: str, end: int, announced: SourceLook, swept: SourceLook) -> bool:
        """By the last look before the window was announced; and if that was ahead of its end, by the last before its end."""
        patience, until = setting(announced, name).patience_ms, max(announced.granted_at, min(end, swept.granted_at))
        if not swept.gated or any(announced.granted_at < anew <= swept.granted_at for anew in self.history.anew):
            until = (
                announced.granted_at
            )  # a query without a gate, or a new controller, knows that it was announced, and nothing else
        looks = self.known(until, announced.run)
        if not looks or end + patience - announced.granted_at > MOST_AHEAD_MS:
            return False
        events = [r.event for look in looks for r in look.taken[name] if r.event is not None]
        seen_at = looks[-1].at  # when its sources were asked, which may be before the gate
        for off_then, off_now in self._clocks(seen_at, swept.granted_at):
            now = seen_at + off_then
            newest = max((e for e in events if e <= now + AHEAD_MS), default=0)
            if now - newest <= patience + CLOCK_MS and swept.granted_at + off_now >= end + patience - CLOCK_MS:
                return True
        return False

    def _clocks(self, then: int, now: int) -> list[tuple[int, int]]:
        """How far clocks were off at two moments: the monotonic one never, the wall clock if it was not set in between."""
        wall = self.trace.wall_off(then)
        return [(0, 0)] + [(wall, wall)] * (wall != 0 and wall == self.trace.wall_off(now))

    def _idle(self, name: str, end: int, announced: SourceLook, swept: SourceLook) -> Reason | None:
        """It had been silent for long enough when the window was announced, by the looks before, or when it was swept."""
        for moment in (announced.granted_at, swept.granted_at):
            if reason := self._idle_at(moment, name, end, announced, swept):
                return reason
        return None

    def _idle_at(self, moment: int, name: str, end: int, announced: SourceLook, swept: SourceLook) -> Reason | None:
        of_input = setting(announced, name)
        looks = self.known(moment, announced.run)
        if not looks or of_input.idle_after_ms is None:
            return None
        spoken = [n for n, look in enumerate(looks) if any(r.event is not None for r in look.taken[name])]
        if moment - looks[spoken[-1] if spoken else 0].granted_at < of_input.idle_after_ms - CLOCK_MS:
            return None
        # The last rows before a silence wait for a look, and are old when they are read: the looks before that count too.
        live = any(self._fresh(looks[n], name) for n in spoken[-LIVE_MEMORY:])
        clocks = [off for _, off in self._clocks(moment, swept.granted_at)]
        over = any(swept.granted_at + off >= end + of_input.patience_ms - CLOCK_MS for off in clocks)
        return "idle" if live and over else "left out"

    def _fresh(self, look: SourceLook, name: str) -> bool:
        """Whether its newest row was read within patience of its event time, by one clock or the other."""
        patience, events = setting(look, name).patience_ms, [r.event for r in look.taken[name] if r.event is not None]
        return any(
            -AHEAD_MS <= look.at + off - e <= patience + CLOCK_MS
            for off, _ in self._clocks(look.at, look.at)
            for e in events
        )


def newest(look: SourceLook, name: str) -> int | None:
    """The newest event time that a look found in an input."""
    return max((r.event for r in look.taken[name] if r.event is not None), default=None)


def setting(look: SourceLook, name: str) -> ScriptInput:
    return next(i for i in look.query.inputs if i.name == name)


def by_rows_only(look: SourceLook, name: str) -> bool:
    """Whether nothing but rows may move the watermark of this input, however long it is silent."""
    return look.query.bounded or setting(look, name).idle_after_ms is None


def portions(look: SourceLook) -> bool:
    """Whether some source may have handed out less than it had: then no clock tells how far the stream is."""
    return any(i.limited for i in look.query.inputs)
