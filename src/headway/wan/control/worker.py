"""Carries out what the record says: pieces begin, move, are brought back and end. A thread of its own, which may wait."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Protocol

from headway.errors import HeadwayError
from headway.model.piece import Piece
from headway.model.time import EventMs
from headway.wan.control.book import AreaBook
from headway.wan.control.changes import next_life
from headway.wan.control.lives import BroughtOver
from headway.wan.control.record import PlacedPiece, RunningPlan
from headway.wan.control.sites import SiteAddress, StepFailed

EVERY_S = 0.5
PAUSE_S, MOST_PAUSE_S = 2.0, 30.0  # before what failed is tried again
Say = Callable[[str, str], None]  # about a piece, in words


class LifeSteps(Protocol):
    """What begins and ends lives of pieces: see `PieceLives`."""

    def make_topics(self, piece: Piece) -> None: ...
    def begin(self, placed: PlacedPiece) -> BroughtOver: ...
    def settle(self, placed: PlacedPiece) -> None: ...
    def given_up(self, placed: PlacedPiece) -> bool: ...
    def end(self, placed: PlacedPiece) -> None: ...
    def trouble(self, placed: PlacedPiece, since: float) -> str | None: ...


class AreaWorker:
    """Makes true what the book says, again and again: a step that was taken already is found out, and not taken twice."""

    def __init__(
        self, book: AreaBook, lives: LifeSteps, sites: Mapping[str, SiteAddress], say: Say, over: threading.Event
    ) -> None:
        self.book, self._lives, self._sites, self._say = book, lives, sites, say
        self.complete: dict[str, EventMs] = {}  # of topics, as the controller has seen it last
        self.watermarks: dict[str, EventMs] = {}  # of pieces
        self.over, self.pause_s = over, PAUSE_S
        self._begun_at: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self._again_at: dict[str, float] = {}
        self._topics: set[str] = set()
        self._thread = threading.Thread(target=self._run, name="headway-area", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.over.set()
        if self._thread.ident is not None:
            self._thread.join(10)

    @property
    def busy(self) -> bool:
        """A change is under way."""
        record = self.book.record
        return bool(record.retiring) or not all(placed.begun for placed in record.current.pieces)

    def step(self) -> None:
        """One look at everything."""
        self._retire()
        self._find_trouble()
        waiting = defaultdict(list)
        for plan in self.book.record.plans:
            for placed in plan.pieces:
                if not placed.begun and self._again_at.get(placed.name, 0.0) <= time.monotonic():
                    waiting[placed.now.site].append(placed)
        if waiting:
            with ThreadPoolExecutor(len(waiting), thread_name_prefix="headway-begin") as workers:
                list(workers.map(self._begin_all, waiting.values()))

    def end_all(self) -> None:
        """Every piece, between two batches."""
        at = defaultdict(list)
        for plan in self.book.record.plans:
            for placed in plan.pieces:
                at[placed.now.site].append(placed)

        def end(those: list[PlacedPiece]) -> None:
            for placed in those:
                quietly(self._say, placed.name, lambda placed=placed: self._lives.end(placed))  # type: ignore[misc]

        with ThreadPoolExecutor(max(1, len(at))) as workers:
            list(workers.map(end, at.values()))

    # ---- beginning

    def _begin_all(self, those: list[PlacedPiece]) -> None:
        for placed in those:
            if self.over.is_set():
                return
            try:
                self._begin(placed)
            except StepFailed as error:
                self._failed(placed, error)
            except HeadwayError as error:
                self._failed(placed, StepFailed(str(error)))

    def _begin(self, placed: PlacedPiece) -> None:
        if placed.name not in self._topics:
            self._lives.make_topics(placed.piece)
            self._topics.add(placed.name)
        how = self._lives.begin(placed)
        self._say(placed.name, how.words)
        quietly(self._say, placed.name, lambda: self._lives.settle(placed))
        self._begun_at[placed.name] = time.monotonic()
        self._failures.pop(placed.name, None)
        self.book.put(replace(placed, begun=True, before=None))

    def _failed(self, placed: PlacedPiece, error: StepFailed) -> None:
        """Home, if that is certain to lose nothing; else once more where it is."""
        if self.over.is_set():
            return
        failures = self._failures[placed.name] = self._failures.get(placed.name, 0) + 1
        self._again_at[placed.name] = time.monotonic() + min(self.pause_s * 2 ** (failures - 1), MOST_PAUSE_S)
        self._say(placed.name, str(error))
        try:
            goes_on_from_here = self._lives.given_up(placed)
        except StepFailed:  # no node is there that could say: whatever was begun there may go on
            return
        if goes_on_from_here:
            self.book.put(next_life(replace(placed, begun=True, before=None), self._sites[placed.now.site]))
        elif placed.moving and error.certain and placed.before is not None:
            home = self._sites[placed.before.site]
            self._say(placed.name, f"it goes home to {home.name}")
            self.book.put(next_life(placed, home))
        else:
            self.book.put(next_life(placed, self._sites[placed.now.site]))

    # ---- looking after

    def _find_trouble(self) -> None:
        for plan in self.book.record.plans:
            for placed in plan.pieces:
                if not placed.begun:
                    continue
                why = self._lives.trouble(placed, self._begun_at.setdefault(placed.name, time.monotonic()))
                if why is not None:
                    self._say(placed.name, f"{why}: it begins anew there")
                    self.book.put(next_life(placed, self._sites[placed.now.site]))

    def _retire(self) -> None:
        """Of a plan that is over, all pieces end as soon as they are not needed."""
        record = self.book.record
        for old, after in zip(record.plans, record.plans[1:], strict=False):
            end = after.since
            if end is None or not all(placed.begun for placed in after.pieces):
                continue
            done = [placed for placed in old.pieces if self._has_done(placed, end)]
            sinks = [placed for placed in old.pieces if not placed.piece.writes]
            if all(placed in done for placed in sinks):
                self._gone(old)
                return
            if ended := [placed for placed in done if placed.piece.writes]:
                self._leave(old, ended)

    def _has_done(self, placed: PlacedPiece, end: EventMs) -> bool:
        """What it has said is complete up to there; or, at the sink, delivered."""
        if placed.piece.writes:
            return all(self.complete.get(channel.topic, -1) >= end for channel in placed.piece.writes)
        return self.watermarks.get(placed.name, -1) >= end

    def _leave(self, old: RunningPlan, ended: list[PlacedPiece]) -> None:
        for placed in ended:
            self._lives.end(placed)
        names = {placed.name for placed in ended}
        kept = tuple(placed for placed in old.pieces if placed.name not in names)
        self.book.change(lambda record: record.with_plan(replace(old, pieces=kept)))

    def _gone(self, old: RunningPlan) -> None:
        for placed in old.pieces:
            self._lives.end(placed)
        self.book.change(lambda record: record.without_plan(old.number))
        self._say("", f"plan {old.plan} (generation {old.number}) has delivered everything, and is over")

    def _run(self) -> None:
        while not self.over.wait(EVERY_S):
            quietly(self._say, "", self.step)


def quietly(say: Say, piece: str, work: Callable[[], None]) -> None:
    """What fails now may be done in the next step."""
    try:
        work()
    except HeadwayError as error:
        say(piece, str(error))
