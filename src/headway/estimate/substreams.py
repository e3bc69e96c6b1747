"""What is to be expected of the coming window, by the last sub-streams that are complete (Aion, section 4.1.1)."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ceil, exp, sqrt

import numpy as np
from numpy.typing import NDArray

from headway.errors import SettingError
from headway.estimate.tail import EDGES, Tail
from headway.model.arrays import Floats
from headway.model.sampling import GroupSeen, GroupView, StreamView, SubStreamSeen

WAITED_MS = 60_000  # no sub-stream is waited for longer than this before it counts as complete
NEARLY_ALL = 0.999  # of a sub-stream's rows: then it is complete
LEAST_ROWS = 2000  # of which the delays are remembered, however few there are in a sub-stream
MOST_GROUPS = 4096  # remembered
GROUPS_SHOWN = 512
GROUP_WINDOWS = 4  # remembered
WANTED_MS = 600  # length of a sub-stream in the paper
MOST_PARTS = 60  # sub-streams between two ends of windows
BEGINS = 0.05  # of a batch's rows: an older row is a straggler
COLUMNS = 7  # rows, delay, delay^2, value, value^2, value^3, delay x value


def fitting_sub_ms(slide_ms: int) -> int:
    """The longest sub-stream of at most 600 ms of which a whole number make up the time between two ends of windows; longer
    where windows are minutes apart, since each of them has a rate."""
    parts = min(MOST_PARTS, -(-slide_ms // WANTED_MS))
    while slide_ms % parts and slide_ms // parts > 100:
        parts += 1
    return slide_ms // parts if slide_ms % parts == 0 else slide_ms


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Sums per group over the last windows; what is older counts less and less."""

    keys: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    sums: Floats = field(default_factory=lambda: np.empty((0, 3)))  # rows, value, value^2
    total: float = 0.0  # rows of all groups, also of those that are not told

    def add(self, seen: Sequence[GroupSeen], rows: float, memory_rows: float) -> "Groups":
        """After a batch of so many rows. Rows and not batches are what makes others old: a batch may be a window or less."""
        if not seen and not len(self.keys):
            return self
        fades = exp(-rows / memory_rows) if memory_rows > 0 else 1.0
        keys = np.concatenate([self.keys, np.array([g.key for g in seen], np.int64)])
        new = np.array([(g.rows, g.value, g.value_sq) for g in seen], float).reshape(-1, 3)
        keys, at = np.unique(keys, return_inverse=True)
        weighted = np.concatenate([self.sums * fades, new])
        sums = np.zeros((len(keys), 3))
        np.add.at(sums, at, weighted)
        if len(keys) > MOST_GROUPS:
            largest = np.sort(np.argsort(-sums[:, 0], kind="stable")[:MOST_GROUPS])
            keys, sums = keys[largest], sums[largest]
        return Groups(keys, sums, self.total * fades + rows)

    def view(self, window_rows: float) -> tuple[GroupView, ...]:
        """The largest, in a window of so many rows."""
        if not len(self.keys) or self.total <= 0:
            return ()
        first = np.argsort(-self.sums[:, 0], kind="stable")[:GROUPS_SHOWN]
        rows, value, square = self.sums[first].T
        mean = value / np.maximum(rows, 1e-300)
        sd = np.sqrt(np.maximum(0.0, square / np.maximum(rows, 1e-300) - mean**2))
        in_window = window_rows * rows / self.total
        return tuple(map(GroupView, self.keys[first].tolist(), in_window.tolist(), mean.tolist(), sd.tolist()))


@dataclass(frozen=True, slots=True, eq=False)
class SubStreams:
    """The sums of the last sub-streams, and a histogram of delays that forgets.

    A sub-stream gets rows from several batches, because stragglers come later. The estimates rest on the last `history`
    that are complete: those that ended so long ago that 99.9 % of the rows are known to take no longer.
    """

    sub_ms: int
    window_ms: int
    slide_ms: int
    history: int = 10  # m
    first: int = 0  # the newest sub-stream of the first batch: of it and those before we may have missed some rows
    newest: int = -1
    sums: Floats = field(default_factory=lambda: np.empty((0, COLUMNS)))  # by index, the newest last
    tail: Tail = field(default_factory=Tail)
    groups: Groups = field(default_factory=Groups)

    def __post_init__(self) -> None:
        for key in ("sub_ms", "window_ms", "slide_ms", "history"):
            if getattr(self, key) <= 0:
                raise SettingError(f"approximate.{key}", getattr(self, key), "more than 0")

    @property
    def span(self) -> int:
        """How many sub-streams are remembered: those that may lack stragglers, and some before them."""
        return self.history + 1 + ceil(WAITED_MS / self.sub_ms)

    def add(
        self,
        seen: Sequence[SubStreamSeen],
        groups: Sequence[GroupSeen] = (),
        delays: Sequence[tuple[float, float]] = (),
        rows: float = 0.0,
    ) -> "SubStreams":
        """After a batch that read this; `rows` are those of all groups."""
        after = self._merged(seen) if seen else self
        memory = max(LEAST_ROWS, self.history * after._rows_each())
        tail = replace(self.tail, memory_rows=memory).add(tuple(delays))
        remembered = after._rows_each() * max(self.history, GROUP_WINDOWS * self.window_ms / self.sub_ms)
        return replace(after, tail=tail, groups=self.groups.add(groups, rows, remembered))

    def _merged(self, seen: Sequence[SubStreamSeen]) -> "SubStreams":
        index = np.array([s.index for s in seen], np.int64)
        new = np.array(
            [(s.rows, s.delay, s.delay_sq, s.value, s.value_sq, s.value_cube, s.delay_value) for s in seen], float
        )
        # A clock that is years ahead must not push all others out of memory: what lies far beyond the bulk is left out.
        order = np.argsort(index, kind="stable")
        index, new = index[order], new[order]
        reached = np.cumsum(new[:, 0])
        bulk = index[np.searchsorted(reached, reached[-1] / 2)]
        far = max(self.span, 2 * int(bulk - index[np.searchsorted(reached, BEGINS * reached[-1])]))
        index, new = index[index <= bulk + far], new[index <= bulk + far]
        latest = int(index.max())
        # At first, after a long pause, or if what we took for the newest was a wrong clock's: all begins anew. It is no
        # pause if a batch is longer than we remember, as with windows of minutes, and begins where the last one ended.
        begins = index[np.searchsorted(np.cumsum(new[:, 0]), BEGINS * new[:, 0].sum())]
        anew = self.newest < 0 or latest < self.newest - self.span or begins > self.newest + self.span
        newest = latest if anew else max(latest, self.newest)
        ahead = self.span if anew else min(self.span, newest - self.newest)
        sums = np.concatenate([self.sums[ahead:], np.zeros((ahead, COLUMNS))])
        at = index - newest + self.span - 1
        np.add.at(sums, at[at >= 0], new[at >= 0])  # the rest is older than we remember
        return replace(self, first=newest if anew else self.first, newest=newest, sums=sums)

    def _complete(self) -> Floats:
        """The sums of those sub-streams that are complete, oldest first; one without rows is a row of zeros."""
        waited = ceil(min(WAITED_MS, self.tail.within(NEARLY_ALL)) / self.sub_ms)
        end = self.span - 1 - waited
        known = min(self.newest - 1 - waited - self.first, end)
        return self.sums[end - known : end] if known > 0 else self.sums[:0]

    def _rows_each(self) -> float:
        rows = self._complete()[-self.history :, 0]
        return float(rows.mean()) if len(rows) else 0.0

    def view(self) -> StreamView:
        complete = self._complete()
        last = complete[-self.history :]
        rows = last[:, 0]
        nothing = StreamView(self.sub_ms, self.window_ms, self.slide_ms)
        of_delays = replace(nothing, longest_ms=self.tail.longest_ms, delays=table(self.tail))
        if rows.sum() <= 0:
            return of_delays
        # Rows that are still missing do not change what values are like: of them the newest sub-streams tell most.
        mean, sd, skew = value_moments(self.sums[-self.history :])
        there = last[rows > 0]
        delay, square = there[:, 1:3].sum(axis=0) / rows.sum()
        return replace(
            of_delays,
            known=len(last),
            rows=float(rows.mean()),
            rows_sd=float(rows.std(ddof=1)) if len(rows) > 1 else 0.0,
            delay_ms=float((there[:, 1] / there[:, 0]).mean()),  # Eq. 4.1
            delay_sd_ms=sqrt(max(0.0, square - delay**2)),
            value_mean=mean,
            value_sd=sd,
            value_skew=skew,
            correlation=within_correlation(complete),
            correlated_rows=float(complete[:, 0].sum()),
            groups=self.groups.view(float(rows.mean()) * self.window_ms / self.sub_ms),
        )


def table(tail: Tail) -> tuple[tuple[float, float], ...]:
    """The distribution of delays as (ms, share of rows that take no longer), ascending, which ends at 1."""
    total = tail.rows
    if total <= 0:
        return ()
    held = tail.weights > 1e-9 * total
    held[:-1] |= held[1:]  # rows lie evenly between the edge before a bucket and its own
    last = int(np.flatnonzero(tail.weights > 0)[-1])
    held[last] = True
    held[last + 1 :] = False
    share = np.minimum(1.0, np.cumsum(tail.weights)[held] / total)
    share[-1] = 1.0
    return tuple(zip(EDGES[held].tolist(), share.tolist(), strict=True))


def value_moments(sums: Floats) -> tuple[float, float, float]:
    """Mean, standard deviation and skew of the value.

    The mean leans on the newest sub-streams, so that it follows a drift. The other two are of all of them about their common
    mean: a tail needs many rows to be known, and a drift makes them larger, which is on the safe side.
    """
    rows, value = sums[:, 0], sums[:, 3]
    weight = np.exp(-3 * np.arange(len(rows))[::-1] / len(rows))
    newest = float(weight @ value) / float(weight @ rows)
    first, second, third = (sums[:, 3:6].sum(axis=0) / rows.sum()).tolist()
    sd = sqrt(max(0.0, second - first**2))
    # Of digits there are sixteen: where the value hardly varies nothing is left of the third moment (nor does skew matter).
    if not sd > 1e-4 * abs(first):
        return newest, sd, 0.0
    return newest, sd, (third - 3 * first * second + 2 * first**3) / sd**3


def within_correlation(sums: Floats) -> float:
    """Of delay and value within sub-streams: if both drift from one sub-stream to the next, that is not it."""
    there = sums[sums[:, 0] > 1]
    rows, delay, delay_sq, value, value_sq, _, both = there.T
    of_delay = float((delay_sq - delay**2 / rows).sum())
    of_value = float((value_sq - value**2 / rows).sum())
    if not (of_delay > 1e-9 * delay_sq.sum() and of_value > 1e-9 * value_sq.sum()):  # constant, or not a number
        return 0.0
    return float(np.clip((both - delay * value / rows).sum() / sqrt(of_delay * of_value), -1.0, 1.0))
