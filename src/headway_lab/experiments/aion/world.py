"""Windows that are answered from samples, in virtual time: batches that read what has come in, take a part, and emit.

A window is due at its end plus the policy's wait, and when its sub-streams have the rows that they must have; its batch
begins then or when the batch before it is done, whichever is later. It reads what had come in when the window was due, takes
each row with the rate of its place, and emits the window; then the estimator is told of all rows that were read, and the
policy decides about the next batch. Live, it is the same objects that do so. Who cannot keep up has a queue of batches, each
of one window's rows: Spark would make ever larger ones and emit several windows at the end of each, which is no better.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, log1p, sqrt
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from headway.estimate.sample_size import z_of
from headway.estimate.substreams import SubStreams
from headway.model.arrays import Floats
from headway.model.sampling import Sampling, SamplingPolicy, StreamView, SubStreamSeen
from headway_lab.experiments.aion.answers import Answer, Sample, answer, exact
from headway_lab.experiments.aion.streams import Rows

SUB_MS = 600
BINS = 64  # of the histogram of delays: as many as a batch of Spark's tells of


@dataclass(frozen=True, slots=True)
class Costs:
    """What a batch takes."""

    fixed_ms: float
    read_ms: float  # a row that is read, taken or not
    row_ms: float  # a row that is taken
    whole: bool = False  # the query works on a window's rows when it goes, not on each row as it is read
    spread: float = 0.0  # no two batches take the same time: standard deviation over mean

    def luck(self, batches: int, seed: int) -> Floats:
        """By how much longer or shorter each of some batches takes than it should."""
        sigma = sqrt(log1p(self.spread**2))
        return np.random.default_rng(seed).lognormal(-(sigma**2) / 2, sigma, batches)


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of one length that end every `slide_ms`."""

    size_ms: int
    slide_ms: int

    @property
    def panes(self) -> int:
        """A pane is the rows between two ends of windows: how many make up a window."""
        return self.size_ms // self.slide_ms

    def of(self, number: int) -> range:
        """The panes of the window that ends with pane `number`."""
        return range(number - self.panes + 1, number + 1)


@dataclass(frozen=True, slots=True)
class Emitted:
    """A window that came out."""

    end_ms: float
    latency_ms: float
    wait_ms: int
    answer: Answer
    exact: float
    rows: int  # that happened in it
    late: int  # of those, that had not come in


@dataclass(frozen=True, eq=False, slots=True)
class Trace:
    """A run: its windows, and what the estimator and the policy took of the machine's time."""

    windows: Sequence[Emitted]
    overhead_ms: float
    views: Sequence[StreamView]


@dataclass(frozen=True, eq=False, slots=True)
class Truth:
    """The exact answer and the number of rows of every window that ends within the stream."""

    numbers: tuple[int, ...]  # of the last pane
    answers: Floats
    rows: NDArray[np.int64]


@lru_cache(maxsize=2)
def truth(kind: str, rows: Rows, windows: Windows) -> Truth:
    pane = (rows.event_ms // windows.slide_ms).astype(np.int64)
    last = int(pane.max())  # not whole, so no window ends with it
    of_pane = [np.flatnonzero(pane == p) for p in range(last)]
    numbers = tuple(range(windows.panes - 1, last))
    chosen = [np.concatenate([of_pane[p] for p in windows.of(n)]) for n in numbers]
    answers = [exact(kind, rows.value[at], None if rows.points is None else rows.points[at]) for at in chosen]
    return Truth(numbers, np.array(answers), np.array([len(at) for at in chosen]))


@dataclass(frozen=True, eq=False, slots=True)
class _Taken:
    """Rows that one batch took of one pane: where they are in the stream, and with which rate."""

    at: NDArray[np.int64]
    rate: Floats


def run(
    kind: str, rows: Rows, windows: Windows, policy: SamplingPolicy, costs: Costs, warm_ms: float = 0.0, seed: int = 0
) -> Trace:
    """All windows of a stream under one policy. Until `warm_ms` batches take no time: who knows nothing of its stream takes
    all of it, and a queue from then would stand for minutes at the head of a short run."""
    known = truth(kind, rows, windows)
    estimator = SubStreams(SUB_MS, windows.size_ms, windows.slide_ms)
    view = estimator.view()
    decided = policy.decide(view)
    z = z_of(policy.confidence)
    sample: dict[int, list[_Taken]] = defaultdict(list)
    seen: dict[int, int] = defaultdict(int)
    read, due_ms, free_ms, overhead_s = 0, 0.0, 0.0, 0.0
    out, views = [], []
    each = zip(known.numbers, known.answers.tolist(), known.rows.tolist(), costs.luck(len(known.rows), seed), strict=True)
    for number, truly, happened, luck in each:
        end_ms = (number + 1.0) * windows.slide_ms
        due_ms = max(end_ms + decided.wait_ms, due_ms, end_ms + held_ms(rows, end_ms, decided))
        begins_ms = max(due_ms, free_ms)
        upto = int(np.searchsorted(rows.arrival_ms, due_ms, side="right"))
        batch, read = slice(read, upto), upto
        taken = _take(rows, batch, windows, decided, number, sample, seen)
        worked = sum(len(t.at) for p in windows.of(number) for t in sample[p]) if costs.whole else taken
        took_ms = costs.fixed_ms + costs.read_ms * (upto - batch.start) + costs.row_ms * worked
        free_ms = begins_ms + (took_ms * float(luck) if end_ms > warm_ms else 0.0)
        arrived = seen_share(view, due_ms - end_ms)
        chosen = _sample(rows, [t for p in windows.of(number) for t in sample[p]], arrived)
        whole = len(chosen.value) == happened and bool((chosen.chance == 1).all())
        said = Answer(truly, truly, truly, happened) if whole else answer(kind, chosen, z)
        late = happened - sum(seen[p] for p in windows.of(number))
        out.append(Emitted(end_ms, free_ms - end_ms, decided.wait_ms, said, truly, happened, late))
        views.append(view)
        sample.pop(number - windows.panes + 1, None)  # the next window begins after it
        subs, delays = sub_streams(rows, batch), histogram(rows, batch)
        began = perf_counter()
        estimator = estimator.add(subs, (), delays, windows.slide_ms)
        view = estimator.view()
        decided = policy.decide(view)
        overhead_s += perf_counter() - began
    return Trace(out, overhead_s * 1000, views)


def _take(
    rows: Rows,
    batch: slice,
    windows: Windows,
    decided: Sampling,
    number: int,
    sample: dict[int, list[_Taken]],
    seen: dict[int, int],
) -> int:
    """Add a batch's sample to that of the panes which some window still waits for; returns how many rows were taken."""
    event = rows.event_ms[batch]
    pane = (event // windows.slide_ms).astype(np.int64)
    places = max(1, windows.slide_ms // SUB_MS)
    rates = np.array([decided.rate(place) for place in range(places)])
    rate = rates[(event // SUB_MS).astype(np.int64) % places]
    taken = rows.chance[batch] < rate
    total = 0
    for p in range(number - windows.panes + 1, int(pane.max(initial=0)) + 1):
        mine = pane == p
        seen[p] += int(mine.sum())
        at = np.flatnonzero(mine & taken)
        if len(at):
            sample[p].append(_Taken(at + batch.start, rate[at]))
        total += len(at)
    return total


def held_ms(rows: Rows, end_ms: float, decided: Sampling) -> float:
    """How long after its end a window waits until each of its last sub-streams has the rows that it must have (Algorithm 4).

    Here, as in the paper's engine, every row is seen as it comes in; live, only what a batch has read is.
    """
    start_ms = end_ms - len(decided.least) * SUB_MS
    coming = slice(*np.searchsorted(rows.arrival_ms, [start_ms, end_ms + decided.until_ms]))
    arrival, place = rows.arrival_ms[coming], np.floor((rows.event_ms[coming] - start_ms) / SUB_MS)
    held = 0.0
    for p, least in enumerate(decided.least):
        if (count := ceil(least - 1e-9)) > 0:
            came = arrival[place == p]
            held = max(held, float(came[count - 1]) - end_ms if count <= len(came) else float(decided.until_ms))
    return held


def seen_share(view: StreamView, after_ms: float) -> float:
    """The share of a window's rows that are there so long after its end: all, if no row ever took longer."""
    return 1.0 if view.delays and after_ms >= view.longest_ms else view.window_arrived(after_ms)


def _sample(rows: Rows, taken: Sequence[_Taken], arrived: float) -> Sample:
    at = np.concatenate([t.at for t in taken]) if taken else np.empty(0, np.int64)
    rate = np.concatenate([t.rate for t in taken]) if taken else np.empty(0)
    return Sample(rows.value[at], rate, arrived, None if rows.points is None else rows.points[at])


def sub_streams(rows: Rows, batch: slice) -> list[SubStreamSeen]:
    """What a batch read of each sub-stream, late rows too."""
    event, value = rows.event_ms[batch], rows.value[batch]
    if not len(event):
        return []
    delay = rows.arrival_ms[batch] - event
    index = (event // SUB_MS).astype(np.int64)
    first = int(index.min())
    at, square = index - first, value * value
    sums = [np.bincount(at, w) for w in (delay, delay * delay, value, square, square * value, delay * value)]
    counts = np.bincount(at)
    return [SubStreamSeen(first + i, int(counts[i]), *(float(s[i]) for s in sums)) for i in np.flatnonzero(counts).tolist()]


def histogram(rows: Rows, batch: slice) -> list[tuple[float, float]]:
    """Delays of a batch in bins of one width, each with the mean delay of its rows; the longest stands alone."""
    delay = np.rint(rows.arrival_ms[batch] - rows.event_ms[batch])  # they are whole, but for the last digits of a float
    if not len(delay):
        return []
    low, longest = float(delay.min()), float(delay.max())
    width = (longest - low) / BINS
    at = np.minimum((delay - low) / width, BINS - 1).astype(np.int64) if width > 0 else np.zeros(len(delay), np.int64)
    counts, sums = np.bincount(at), np.bincount(at, delay)
    # One of the last bin is the longest itself.
    counts[-1], sums[-1] = counts[-1] - 1, sums[-1] - longest
    there = np.flatnonzero(counts)
    return [*zip((sums[there] / counts[there]).tolist(), counts[there].tolist(), strict=True), (longest, 1.0)]
