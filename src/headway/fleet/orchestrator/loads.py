"""What each query of the fleet is expected to use: its prediction ring, filled from what the nodes' statuses tell of it.

This is done here and not on the nodes: a status has the rates and costs already, a forecast stays with its query when that
moves, and all series of the fleet take a step together, as arrays. A secondary hears the statuses, too, so its forecasts are
as old as the primary's when it takes over.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from time import thread_time

import numpy as np

from headway.estimate.arrivals import QueryArrivals
from headway.estimate.fitting import Fit, fit
from headway.estimate.forecast import Forecaster, ForecastSettings
from headway.estimate.rings import REFERENCE_BYTES, fill
from headway.fleet.node.wire import HostedQuery, NodeStatus
from headway.fleet.orchestrator.translate import NOT_RUNNING
from headway.model.arrays import Floats
from headway.model.placement import Computations
from headway.model.ring import NEPTUNE, Ring, Rings, RingShape
from headway.model.time import WallMs

LONGEST_SEASON = 120  # steps: two minutes of seconds; a season that is longer is not looked for
FIT_SHARE = 0.02  # of a core that fits may use: each takes tens of milliseconds, aside
LONGEST_REST_MS = 10_000  # the first takes seconds, in which the library is loaded
MEMORY = 0.9  # of the batches of the status before, in what a row costs
GONE_AFTER_MS = 60_000  # a query that no status has named for so long is forgotten


@dataclass(frozen=True, slots=True)
class TimedFit:
    """What was found, and how much processor time it took."""

    fit: Fit
    took_ms: float


Submit = Callable[..., "Future[TimedFit]"]


@dataclass(frozen=True, slots=True)
class FitFound:
    """A model was fitted aside, to the series of this query."""

    query: str
    fit: Fit


@dataclass(frozen=True, slots=True)
class RowCost:
    """What a row costs a query: how long its batches took, divided by their rows; older ones count for less and less."""

    rows: float = 0.0
    busy_ms: float = 0.0

    def after(self, rows: float, busy_ms: float) -> "RowCost":
        return RowCost(MEMORY * self.rows + max(0.0, rows), MEMORY * self.busy_ms + max(0.0, busy_ms))

    def weighing(self, batches: int) -> "RowCost":
        """The same cost, out of so many batches, with the weight that they would have if they had come one by one."""
        share = (1 - MEMORY**batches) / (1 - MEMORY) / batches if batches > 0 else 1.0
        return RowCost(share * self.rows, share * self.busy_ms)

    @property
    def ms_per_row(self) -> float:
        """0 where no row has been seen: nothing is known of its use then."""
        return self.busy_ms / self.rows if self.rows > 0 else 0.0


@dataclass(frozen=True, slots=True)
class QuerySeen:
    """The last that was told of a query: on which node, under which epoch, and what it costs."""

    node: str
    epoch: int
    rows: int
    busy_ms: int
    bytes_per_row: float
    at: WallMs
    cost: RowCost = RowCost()
    arrivals: QueryArrivals = QueryArrivals()

    def told(self, node: str, query: HostedQuery, now: WallMs, fresh: int, waits: bool) -> tuple["QuerySeen", list[float]]:
        """With the next that is told, and how fast rows came in the last of its seconds, so many, as far as that is known.

        Another life has counters of its own, which begin with 0.
        """
        same = (node, query.epoch) == (self.node, self.epoch)
        rows, busy = (query.rows - self.rows, query.busy_ms - self.busy_ms) if same else (query.rows, query.busy_ms)
        cost = self.cost.after(rows, busy) if rows > 0 else self.cost
        size = query.bytes_per_row or REFERENCE_BYTES
        arrivals, reads, took_s = self.arrivals if same else self.arrivals.elsewhere(), query.rates[-fresh:], 0.0
        if same and (batches := len(reads) - reads.count(0.0)):
            took_s = busy / 1000 / batches
        arrivals, rates = arrivals.after(reads, waits, took_s)
        seen = QuerySeen(node, query.epoch, query.rows, query.busy_ms, size, now, cost, arrivals)
        return seen, rates

    @classmethod
    def first(cls, node: str, query: HostedQuery, now: WallMs, fresh: int, waits: bool) -> "QuerySeen":
        """One that has run before anybody asked: it is known what its batches have cost, as the mean of them all, and how
        they come, by the seconds before those that are fresh."""
        cost = RowCost(float(query.rows), float(query.busy_ms)).weighing(query.commits)
        arrivals, _ = QueryArrivals().after(query.rates[:-fresh], waits)
        return cls(node, query.epoch, query.rows, query.busy_ms, REFERENCE_BYTES, now, cost, arrivals)


class FleetLoads:
    """The series of all queries, and what they cost. One thread; `step` is called once a second, or more seldom."""

    def __init__(self, submit: Submit, shape: RingShape = NEPTUNE, settings: ForecastSettings | None = None) -> None:
        """`submit` runs something aside."""
        self.shape = shape
        self._settings = settings or ForecastSettings(longest=LONGEST_SEASON)
        self._submit = submit
        self._series = Forecaster([], self._settings)
        self._names: list[str] = []  # of its rows
        self._seen: dict[str, QuerySeen] = {}
        self._new: dict[str, list[float]] = {}  # rates that were told since the last step
        self._sequence: dict[str, tuple[str, int]] = {}  # of the last status of each node
        self._fitting: tuple[str, Future[TimedFit]] | None = None
        self._fit_after, self._fitted = WallMs(0), -1  # when, and the row of the last
        self._stepped_at: WallMs | None = None
        self._rings: Rings | None = None  # of this step
        self.trouble: str | None = None  # why no model is fitted; moving averages and models as they begin go on

    def hear(self, status: NodeStatus, now: WallMs) -> None:
        """What a node has told. The same status again says nothing new."""
        run, before = self._sequence.get(status.node, ("", 0))
        fresh = status.sequence - before if run == status.run else 1
        if fresh <= 0:
            return
        self._sequence[status.node] = status.run, status.sequence
        for query in status.queries:
            if query.state not in NOT_RUNNING:  # what is prepared here runs elsewhere still
                self._hear(status, query, fresh, now)

    def _hear(self, status: NodeStatus, query: HostedQuery, fresh: int, now: WallMs) -> None:
        seen = self._seen.get(query.name)
        if seen is not None and query.epoch < seen.epoch:
            return  # what is left of an earlier life
        waits = query.state == "in a batch" or (query.due is not None and query.due <= status.at)
        if seen is None:
            seen = QuerySeen.first(status.node, query, now, fresh, waits)
        self._seen[query.name], rates = seen.told(status.node, query, now, fresh, waits)
        if rates:
            self._new.setdefault(query.name, []).extend(rates)

    def step(self, now: WallMs) -> list[FitFound]:
        """A second or some have passed; the models that were fitted meanwhile are in use from now on."""
        steps = 1 if self._stepped_at is None else round((now - self._stepped_at) / self._settings.step_ms)
        if steps < 1:
            return []
        self._stepped_at, self._rings = now, None
        self._join_and_leave(now)
        found = self._found(now)
        if self._names:
            for column in self._columns(min(steps, self._settings.average)):
                self._series.observe(column)
            self._new.clear()
            self._fit(now)
        return found

    def by_node(self, homes: Mapping[str, str], now: WallMs) -> dict[str, Computations]:
        """The queries that have a home, with their rings, by the node that they are on."""
        every, rows = self._every(now), dict[str, list[int]]()
        for row, name in enumerate(self._names):
            if (home := homes.get(name)) is not None:
                rows.setdefault(home, []).append(row)
        return {
            node: Computations(tuple(self._names[row] for row in own), Rings(self.shape, every.at, every.values[own]))
            for node, own in rows.items()
        }

    def ring(self, query: str, now: WallMs) -> Ring | None:
        """None where nothing has ever been told of it."""
        return self._every(now)[self._names.index(query)] if query in self._names else None

    def _columns(self, steps: int) -> Floats:
        """What was told since the last step, second by second; seconds of which nothing was told are gaps.

        Nodes are not asked at the same moment, so one may have told of a second more or less than have passed here: the
        newest is told last, and what is beyond those that have passed counts with the first.
        """
        table = np.full((len(self._names), steps), np.nan)
        for row, name in enumerate(self._names):
            if told := self._new.get(name):
                first = len(told) - steps + 1
                if first > 1:
                    told = [sum(told[:first]) / first, *told[first:]]
                table[row, steps - len(told) :] = told
        return np.asarray(table.T)

    def _every(self, now: WallMs) -> Rings:
        """The rings of all, worked out once in a step."""
        if self._rings is None:
            seen = [self._seen[name] for name in self._names]
            costs = np.array([one.cost.ms_per_row for one in seen], dtype=np.float64)
            sizes = np.array([one.bytes_per_row for one in seen], dtype=np.float64)
            rates = self._series.rates(self.shape) if seen else np.zeros((0, self.shape.size))
            self._rings = fill(self.shape, now, rates, costs, sizes)
        return self._rings

    def _join_and_leave(self, now: WallMs) -> None:
        self._seen = {name: one for name, one in self._seen.items() if now - one.at < GONE_AFTER_MS}
        kept = [row for row, name in enumerate(self._names) if name in self._seen]
        known = set(self._names)
        joining = [name for name, one in self._seen.items() if name not in known and one.arrivals.rate is not None]
        if len(kept) < len(self._names) or joining:
            self._series = self._series.keep(np.array(kept, dtype=np.int64), [None] * len(joining))
            self._names = [*(self._names[row] for row in kept), *joining]

    def _fit(self, now: WallMs) -> None:
        """One at a time, in turns, and not before the last has been worked off."""
        if self.trouble is not None or self._fitting is not None or now < self._fit_after:
            return
        if due := self._series.due().tolist():
            self._fitted = row = next((row for row in due if row > self._fitted), due[0])
            latest, season = self._series.latest(row), self._series.declared[row]
            season_length = None if season < 2 else int(season)
            self._fitting = self._names[row], self._submit(timed_fit, latest, season_length, self._settings.longest)

    def _found(self, now: WallMs) -> list[FitFound]:
        if self._fitting is None or not self._fitting[1].done():
            return []
        (name, future), self._fitting = self._fitting, None
        if (error := future.exception()) is not None:
            self.trouble = str(error)
            return []
        found = future.result()
        self._fit_after = WallMs(now + min(LONGEST_REST_MS, round(found.took_ms / FIT_SHARE)))
        if name not in self._names:
            return []
        self._series.adopt({self._names.index(name): found.fit})
        return [FitFound(name, found.fit)]


def timed_fit(series: Floats, season: int | None, longest: int) -> TimedFit:
    began = thread_time()
    found = fit(series, season, longest)
    return TimedFit(found, 1000 * (thread_time() - began))
