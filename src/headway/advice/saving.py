"""What Headway would spare: the job as it was seen, played in the simulator as it is and under Klink.

The simulator is fitted to how long batches took. Whether it can be believed is shown by the other figure that is known,
how late windows came out: `again_ms` beside `seen_ms`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from headway.advice.checks.looks import ENOUGH, lateness, quantile, steady, usual
from headway.advice.checks.windows import waits
from headway.advice.history import JobHistory, ProgressReport, StreamHistory
from headway.model.deadline import Deadlines, Grid
from headway.model.decision import OrderPolicy
from headway.policy.order import FixedTrigger, Klink, Stock
from headway.sim.microbatch import NoJournal, VirtualQuery, VirtualWorld
from headway.sim.streams import VirtualInput

WARM_S, LOOKED_S = 15, 60
FITS = 7  # of the cost of a batch, each from the one before
SPREAD = 0.3  # of the cost from batch to batch
CADENCE = Deadlines((Grid(1_000),))  # a query without windows is served so often
LOGS = ("walCommit", "commitOffsets")


@dataclass(frozen=True, slots=True)
class Saving:
    """Mean wait of a window beyond its end and its delay."""

    windows: int
    seen_ms: float
    again_ms: float  # the same, as the simulator has it
    headway_ms: float  # what the simulator says of Klink
    batches: float  # that Klink runs, for one that runs now

    @property
    def error(self) -> float:
        """By which part the simulator is off where the answer is known."""
        return self.again_ms / self.seen_ms - 1 if self.seen_ms > 0 else 0.0


@dataclass(frozen=True, slots=True)
class BatchPrice:
    """What a batch of a query takes: of a core, for a row, and beside it for logs."""

    fixed_ms: float
    per_row_ms: float
    wait_ms: float


def saving(job: JobHistory) -> Saving | None:
    """None where too few windows were seen to say anything, or the number of cores is not known."""
    seen = {query.name: [wait for _, wait in waits(query)] for query in job.queries if query.windowed}
    measured = [query for query in job.queries if len(steady(query)) >= ENOUGH]
    windows = [wait for found in seen.values() for wait in found]
    if len(windows) < 2 * ENOUGH or not measured or not job.cores:
        return None
    triggers = [query.plan.trigger_ms for query in measured if query.plan.trigger_ms]
    now: OrderPolicy = FixedTrigger(round(median(triggers))) if 2 * len(triggers) > len(measured) else Stock()
    prices = {query.name: price(steady(query)) for query in measured}
    took = fmean(usual(steady(query), lambda r: r.took_ms) for query in measured)
    times = _times_as_dear(job, now, measured, prices, took)
    as_is, klink = (_played(policy, job, measured, prices, times) for policy in (now, Klink()))
    if not as_is.windows or not klink.windows:
        return None
    return Saving(
        len(windows), fmean(windows),
        fmean(w.latency_ms for w in as_is.windows), fmean(w.latency_ms for w in klink.windows),
        len(klink.batches) / max(1, len(as_is.batches)),
    )  # fmt: skip


def price(reports: Sequence[ProgressReport]) -> BatchPrice:
    """From the cheaper batches: what others took while it ran is not its own."""
    wait = usual(reports, lambda r: sum(r.phases.get(name, 0) for name in LOGS))
    ordered = sorted(reports, key=lambda r: r.rows)
    few, many = ordered[: len(ordered) // 2], ordered[len(ordered) // 2 :]
    rows = usual(many, lambda r: r.rows) - usual(few, lambda r: r.rows)
    more = quantile([r.took_ms for r in many], 0.25) - quantile([r.took_ms for r in few], 0.25)
    per_row = max(0.0, more / rows) if rows > 0 else 0.0
    fixed = quantile([r.took_ms - per_row * r.rows for r in reports], 0.25) - wait
    return BatchPrice(max(1.0, fixed), per_row, max(0.0, wait))


def _times_as_dear(
    job: JobHistory, policy: OrderPolicy, queries: Sequence[StreamHistory], prices: dict[str, BatchPrice], took: float
) -> float:
    """The factor on all prices with which batches take as long in the simulator as they took."""
    low, high = 0.05, 4.0
    for _ in range(FITS):
        middle = (low * high) ** 0.5
        batches = _played(policy, job, queries, prices, middle, LOOKED_S // 2).batches
        played = fmean(b.took_ms for b in batches) if batches else 0.0
        low, high = (middle, high) if played < took else (low, middle)
    return float((low * high) ** 0.5)


def _played(
    policy: OrderPolicy, job: JobHistory, queries: Sequence[StreamHistory], prices: dict[str, BatchPrice], times: float,
    seconds: int = LOOKED_S,
) -> VirtualWorld:  # fmt: skip
    world = VirtualWorld(policy, slots="auto", cores=float(job.cores or 1), spread=SPREAD, seed=1, journal=NoJournal())
    for number, query in enumerate(queries):
        cost = prices[query.name]
        world.add(
            VirtualQuery(
                query.name, query.plan.deadlines or CADENCE, _stream(query), times * cost.fixed_ms, times * cost.per_row_ms,
                cost.wait_ms, starts_ms=number * 50,
            )
        )  # fmt: skip
    world.run((WARM_S + seconds) * 1_000)
    windowed = {query.name for query in queries if query.windowed}
    world.windows = [w for w in world.windows if w.at >= WARM_S * 1_000 and w.query in windowed]
    world.batches = [b for b in world.batches if b.began >= WARM_S * 1_000]
    return world


def _stream(query: StreamHistory) -> VirtualInput:
    reports = steady(query)
    rate = sum(r.rows for r in reports) / max(0.001, (reports[-1].ended - reports[0].began) / 1_000)
    fresh = [r.began - r.newest for r in reports if r.newest is not None]
    least = max(0, round(median(fresh))) if fresh else 0
    late = lateness(query) or [0]
    delays = (least, least + round(median(late)) // 2, least + max(late))
    return VirtualInput("rows", query.plan.delay_ms or 0, rate, delays)
