"""How much of an input is taken: what was seen of it so far, what its policy makes of that, and the offset that says so."""

from collections.abc import Iterable
from dataclasses import replace
from math import sqrt

import numpy as np

from headway.estimate.complete import hold_ms
from headway.estimate.delays import normal_half_width
from headway.estimate.substreams import WAITED_MS, SubStreams, fitting_sub_ms
from headway.loop.kernel import StopWatch
from headway.model.deadline import Deadlines
from headway.model.message import InputSeen
from headway.model.offset import MILLION, Sampled
from headway.model.sampling import Sampling, SamplingPolicy, StreamView, SubStreamSeen
from headway.model.time import EventMs, WallMs

CELL_MS = 100  # batches tell of their rows, late ones too, in cells of this length: how long windows are is not known yet
MEMORY_MS = 120_000  # of cells, at least
CHECKED = 30  # windows whose expected share was compared with the true one
GUESS = 0.01


class Sampler:
    """One input that is sampled."""

    def __init__(self, policy: SamplingPolicy, deadlines: Deadlines, window_ms: int) -> None:
        grid = min(deadlines.grids, key=lambda g: g.period_ms)
        self.policy, self.every_ms = policy, grid.period_ms
        self.sub_ms = fitting_sub_ms(grid.period_ms)
        self.first_ms = grid.offset_ms % grid.period_ms
        self.window_ms = max(window_ms, grid.period_ms)
        self.memory_ms = max(MEMORY_MS, self.window_ms + grid.period_ms + WAITED_MS)  # of cells
        self.streams = SubStreams(self.sub_ms, self.window_ms, self.every_ms)
        self.view: StreamView = self.streams.view()
        self.sampling: Sampling = policy.decide(self.view)  # the last answer
        self.watch = StopWatch()
        self._cells: dict[int, int] = {}  # rows so far
        self._asked: tuple[EventMs, float] | None = None  # the window that is on its way out, and the share we expect of it
        self._gone: list[tuple[EventMs, float, int]] = []  # windows that are out: the same, and rows that they were made of
        self._off: list[float] = []  # by how much the true share differed, relatively

    def saw(self, seen: InputSeen) -> None:
        """Take in a batch."""
        self.watch.start()
        for cell in seen.substreams:
            self._cells[cell.index] = self._cells.get(cell.index, 0) + cell.rows
        if self._asked is not None:
            end, expected = self._asked
            self._gone.append((end, expected, self._rows(end)))
            self._asked = None
        timed = seen.rows - seen.timeless
        self.streams = self.streams.add(self._folded(seen.substreams), seen.groups, seen.delays, timed)
        self.view = self.streams.view()
        self._check()
        self.watch.stop()

    def offset(self, now: WallMs, sweeping: EventMs, live: bool) -> Sampled:
        """What the next batch takes, and how much it will have seen of the window that it lets out, as whole numbers."""
        self.watch.start()
        seen = 1.0
        if sweeping > 0 and live:
            seen = max(1 / MILLION, self.view.window_arrived(now - sweeping))
            self._asked = (sweeping, seen) if self.view.known else None
        taken = Sampled(
            share=_millionths(self.sampling.share),
            seen=_millionths(seen),
            unsure=_millionths(self.unsure) if seen < 1 else 0,
            z=_millionths(normal_half_width(self.policy.confidence)),
            widest=_millionths(1 / sqrt(1 - self.policy.confidence)),
            sub_ms=self.sub_ms,
            every_ms=self.every_ms,
            first_ms=self.first_ms,
            arrived=tuple(map(_millionths, self.sampling.arrived)),
            keys=tuple((int(key), _millionths(share)) for key, share in self.sampling.keys.items()),
        )
        self.watch.stop()
        return taken

    def held_ms(self, end: EventMs, read_at: WallMs) -> int:
        """How long after its end a window waits, given what had been read of it by a batch that began then."""
        starts = range(end - self.view.places * self.sub_ms, end, self.sub_ms)
        rows = [self._rows_between(start, start + self.sub_ms) for start in starts]
        return hold_ms(self.sampling, self.view, rows, read_at - end)

    @property
    def unsure(self) -> float:
        """How far the share that we expect to see is off, as a rule; as if we had once seen it off by a guess."""
        return float(np.sqrt(np.mean(np.square([*self._off, GUESS]))))

    def _rows(self, end: EventMs) -> int:
        return self._rows_between(end - self.window_ms, end)

    def _rows_between(self, start: int, end: int) -> int:
        last = end // CELL_MS
        return sum(self._cells.get(cell, 0) for cell in range(last - (end - start) // CELL_MS, last))

    def _check(self) -> None:
        """Compare the share that was expected with the one that was seen, of windows for which no row can come any more."""
        # Not the newest row: its clock may be years ahead.
        reached = self.streams.newest * self.sub_ms + self.first_ms
        late = [gone for gone in self._gone if reached - gone[0] > self.view.longest_ms]
        for end, expected, rows in late:
            if (all_rows := self._rows(end)) > 0:
                self._off = [*self._off[1 - CHECKED :], rows / all_rows / expected - 1]
        self._gone = [gone for gone in self._gone if gone not in late]
        if len(self._cells) > 2 * self.memory_ms // CELL_MS:
            near = self.memory_ms // CELL_MS
            self._cells = {cell: n for cell, n in self._cells.items() if abs(cell - reached // CELL_MS) < near}

    def _folded(self, cells: Iterable[SubStreamSeen]) -> list[SubStreamSeen]:
        """Cells as sub-streams, which begin where windows end."""
        folded: dict[int, SubStreamSeen] = {}
        for cell in cells:
            index = (cell.index * CELL_MS - self.first_ms) // self.sub_ms
            was = folded.get(index)
            folded[index] = replace(cell, index=index) if was is None else _sum(was, cell)
        return list(folded.values())


def _millionths(share: float) -> int:
    return round(share * MILLION)


def _sum(one: SubStreamSeen, other: SubStreamSeen) -> SubStreamSeen:
    return SubStreamSeen(
        one.index, one.rows + other.rows, one.delay + other.delay, one.delay_sq + other.delay_sq, one.value + other.value,
        one.value_sq + other.value_sq, one.value_cube + other.value_cube, one.delay_value + other.delay_value,
    )  # fmt: skip
