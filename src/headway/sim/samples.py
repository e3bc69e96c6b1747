"""Windows that are answered from samples, in virtual time: batches that read what has come in, take a part, and emit.

    world = SampledWorld(Mean(), rows, Windows(3_000, 3_000), Aion(), Costs(fixed_ms=10, read_ms=0.001, row_ms=0.03))
    latencies = [window.latency_ms for window in world.run().windows]

A window is due at its end plus its wait, and when its sub-streams have the rows that they must have; its batch begins then
or when the batch before it is done, whichever is later. It reads what had come in when the window was due, takes each row
with the rate of its place, and emits the window; then the sampler is told of all rows that were read, and the question is
due how much the next batch takes. Sampler, tracker, question, kernel and offset are the live ones: here are rows, costs and
time.

A query that cannot keep up has a queue of batches, each of one window's rows: Spark would make ever larger ones and emit
several windows at the end of each, which is no better.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, log1p, sqrt
from time import perf_counter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from headway.estimate.bounds import Answer, Certainty
from headway.loop.inputs import InputTracker
from headway.loop.kernel import Kernel, Log
from headway.loop.questions.sampling import NAME as SAMPLING
from headway.loop.sampler import Sampler
from headway.model.arrays import Floats
from headway.model.deadline import Deadlines, Grid
from headway.model.message import InputSpec
from headway.model.offset import Sampled
from headway.model.sampling import Sampling, SamplingPolicy
from headway.model.time import EventMs, WallMs
from headway.sim.microbatch import NoJournal
from headway.sim.sampled_rows import SampledRows, WindowSample, read

QUERY, INPUT = "query", "rows"


class Aggregate(Protocol):
    """What the query makes of a window: a value, under which exact answers are remembered."""

    def __hash__(self) -> int: ...

    @property
    def dear(self) -> bool:
        """A window of which every row was taken is not answered once more, but as exactly as it was."""
        ...

    def exact(self, all_rows: WindowSample) -> float:
        """From all rows of a window."""
        ...

    def answer(self, sample: WindowSample, sure: Certainty) -> Answer:
        """From a sample, with its bounds."""
        ...


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
class SampledWindow:
    """A window that came out."""

    end_ms: float
    latency_ms: float
    wait_ms: int
    answer: Answer
    exact: float
    rows: int  # that happened in it
    late: int  # of those, that had not come in


@dataclass(frozen=True, eq=False, slots=True)
class SampledRun:
    """A run: its windows, and what the estimator and the policy took of the machine's time."""

    windows: Sequence[SampledWindow]
    overhead_ms: float


@dataclass(frozen=True, eq=False, slots=True)
class Truth:
    """The exact answer and the number of rows of every window that ends within the stream."""

    numbers: tuple[int, ...]  # of the last pane
    answers: Floats
    rows: NDArray[np.int64]


@lru_cache(maxsize=2)  # the policies take turns on the same stream
def truth(aggregate: Aggregate, rows: SampledRows, windows: Windows) -> Truth:
    pane = (rows.event_ms // windows.slide_ms).astype(np.int64)
    last = int(pane.max())  # not whole, so no window ends with it
    of_pane = [np.flatnonzero(pane == p) for p in range(last)]
    numbers = tuple(range(windows.panes - 1, last))
    chosen = [np.concatenate([of_pane[p] for p in windows.of(n)]) for n in numbers]
    answers = [aggregate.exact(WindowSample.of(rows, at, np.ones(len(at)))) for at in chosen]
    return Truth(numbers, np.array(answers), np.array([len(at) for at in chosen]))


@dataclass(frozen=True, eq=False, slots=True)
class _Taken:
    """Rows that one batch took of one pane: where they are in the stream, and with which rate."""

    at: NDArray[np.int64]
    rate: Floats


class SampledWorld:
    """All windows of a stream under one policy, around the live sampler."""

    def __init__(
        self,
        aggregate: Aggregate,
        rows: SampledRows,
        windows: Windows,
        policy: SamplingPolicy,
        costs: Costs,
        journal: Log | None = None,
    ) -> None:
        self.aggregate, self.rows, self.windows, self.costs = aggregate, rows, windows, costs
        self.sampler = Sampler(policy, Deadlines((Grid(windows.slide_ms),)), windows.size_ms)
        spec = InputSpec(INPUT, self.sampler.sampling.wait_ms, sampling=policy, arrives=True)
        self.tracker = InputTracker(spec, sampler=self.sampler)
        self.kernel = Kernel(NoJournal() if journal is None else journal)
        question = self.tracker.question(QUERY, lambda: "set")
        assert question is not None, "how much is taken of a sampled input is a question"
        self.kernel.add(question)
        self.scope = question.scope
        self._sample: dict[int, list[_Taken]] = defaultdict(list)  # by pane
        self._seen: dict[int, int] = defaultdict(int)  # rows of each pane that were read
        self._read, self._due_ms, self._free_ms, self._overhead_s = 0, 0.0, 0.0, 0.0

    def run(self, warm_ms: float = 0.0, seed: int = 0) -> SampledRun:
        """Until `warm_ms` batches take no time: a policy that knows nothing of its stream takes all of it, and a queue from
        then would stand for minutes at the head of a short run."""
        known = truth(self.aggregate, self.rows, self.windows)
        luck = self.costs.luck(len(known.rows), seed).tolist()
        each = zip(known.numbers, known.answers.tolist(), known.rows.tolist(), luck, strict=True)
        out = [
            self._window(number, exact, happened, 0.0 if (number + 1) * self.windows.slide_ms <= warm_ms else lucky)
            for number, exact, happened, lucky in each
        ]
        return SampledRun(out, self._overhead_s * 1000)

    def _window(self, number: int, exact: float, happened: int, luck: float) -> SampledWindow:
        """The batch that lets a window out."""
        end_ms, wait_ms = (number + 1) * self.windows.slide_ms, self.tracker.view.patience_ms
        held = held_ms(self.rows, end_ms, self.sampler.sampling, self.sampler.sub_ms)
        self._due_ms = max(end_ms + wait_ms, self._due_ms, end_ms + held)
        offset = self.sampler.offset(WallMs(round(self._due_ms)), EventMs(end_ms), self.tracker.view.live)
        upto = int(np.searchsorted(self.rows.arrival_ms, self._due_ms, side="right"))
        batch, self._read = slice(self._read, upto), upto
        taken = self._take(batch, offset, number)
        parts = [part for pane in self.windows.of(number) for part in self._sample[pane]]
        worked = sum(len(part.at) for part in parts) if self.costs.whole else taken
        took_ms = self.costs.fixed_ms + self.costs.read_ms * (upto - batch.start) + self.costs.row_ms * worked
        self._free_ms = max(self._due_ms, self._free_ms) + took_ms * luck
        said = self._answer(parts, exact, happened, Certainty.of(offset))
        late = happened - sum(self._seen[pane] for pane in self.windows.of(number))
        self._sample.pop(number - self.windows.panes + 1, None)  # the next window begins after it
        self._tell(batch)
        return SampledWindow(float(end_ms), self._free_ms - end_ms, wait_ms, said, exact, happened, late)

    def _answer(self, parts: Sequence[_Taken], exact: float, happened: int, sure: Certainty) -> Answer:
        at = np.concatenate([part.at for part in parts]) if parts else np.empty(0, np.int64)
        rate = np.concatenate([part.rate for part in parts]) if parts else np.empty(0)
        if self.aggregate.dear and len(at) == happened and bool((rate == 1).all()):
            return Answer(exact, exact, exact, happened, sure.seen)
        return self.aggregate.answer(WindowSample.of(self.rows, at, rate), sure)

    def _take(self, batch: slice, offset: Sampled, number: int) -> int:
        """Add a batch's sample to that of the panes which some window still waits for; returns how many rows were taken."""
        event = self.rows.event_ms[batch]
        pane = (event // self.windows.slide_ms).astype(np.int64)
        rate = rates(offset)[((event - offset.first_ms) % offset.every_ms // offset.sub_ms).astype(np.int64)]
        taken = self.rows.chance[batch] < rate
        total = 0
        for p in range(number - self.windows.panes + 1, int(pane.max(initial=0)) + 1):
            mine = pane == p
            self._seen[p] += int(mine.sum())
            at = np.flatnonzero(mine & taken)
            if len(at):
                self._sample[p].append(_Taken(at + batch.start, rate[at]))
            total += len(at)
        return total

    def _tell(self, batch: slice) -> None:
        """The batch is done: what it has read is told, and the question about the next one is due."""
        seen = read(INPUT, self.rows, batch)
        began = perf_counter()
        self.tracker.saw(seen, WallMs(round(self._due_ms)), EventMs(0), swept=True)
        self.kernel.due(SAMPLING, self.scope)
        self.kernel.settle(WallMs(round(self._free_ms)))
        self._overhead_s += perf_counter() - began


def rates(offset: Sampled) -> Floats:
    """By place: with which probability a row is taken, as `Sampling.java` reads it from an offset."""
    arrived = np.array(offset.arrived[: max(1, offset.every_ms // offset.sub_ms)])
    return np.asarray(np.minimum(1.0, offset.share / np.maximum(arrived, 1e-3)))


def held_ms(rows: SampledRows, end_ms: float, decided: Sampling, sub_ms: int) -> float:
    """How long after its end a window waits until each of its last sub-streams has the rows that it must have (Algorithm 4).

    Here, as in the paper's engine, every row is seen as it comes in; live, only what a batch has read is.
    """
    start_ms = end_ms - len(decided.least) * sub_ms
    coming = slice(*np.searchsorted(rows.arrival_ms, [start_ms, end_ms + decided.until_ms]))
    arrival, place = rows.arrival_ms[coming], np.floor((rows.event_ms[coming] - start_ms) / sub_ms)
    held = 0.0
    for p, least in enumerate(decided.least):
        if (count := ceil(least - 1e-9)) > 0:
            came = arrival[place == p]
            held = max(held, float(came[count - 1]) - end_ms if count <= len(came) else float(decided.until_ms))
    return held
