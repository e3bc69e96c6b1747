"""Klink: the query with the least expected slack runs next (Farhat, Daudjee, Querzoni; SIGMOD 2021)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf, sqrt
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from headway.errors import SettingError
from headway.estimate.delays import normal_half_width
from headway.model.arrays import Floats
from headway.model.columns import Columns
from headway.model.decision import Decision, Grant, Hold
from headway.model.time import WallMs
from headway.model.view import QueryView, Snapshot
from headway.policy.order.emission import announce
from headway.policy.order.relief import most_relieving


@dataclass(frozen=True, slots=True)
class Klink:
    """Order queries by the idle time that they can still afford before their next window must come out.

    A query without history goes first: until it runs we learn nothing about it. Ties break by name. A batch runs when its
    window is due. Where rows cost much, most of them are worked off by batches before, so that the one which emits has few
    left; but each batch has a price, which others pay who wait, so it depends on how busy all are.
    """

    confidence: float = 0.95
    step_ms: int = 120
    interval: Literal["predictive", "paper"] = "predictive"
    # A batch before the one that emits must spare the window this many fixed parts, less where cores idle,
    split: float = 1.0
    before: int = 5  # and there are at most so many of them, ever smaller
    memory: bool = False  # while memory is short, run what frees most; it has not paid anywhere yet
    gated: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise SettingError("order.confidence", self.confidence, "a share between 0 and 1, e.g. 0.95")
        if not self.split >= 0:
            raise SettingError("order.split", self.split, "0 or more fixed parts of a batch")
        if not isinstance(self.before, int) or self.before < 1:
            raise SettingError("order.before", self.before, "1 or more batches")
        if self.step_ms <= 0:
            raise SettingError("order.step_ms", self.step_ms, "more than 0 milliseconds")
        if self.interval not in ("predictive", "paper"):
            raise SettingError("order.interval", self.interval, "'predictive' or 'paper'")

    def decide(self, snap: Snapshot) -> Decision:
        now, seen = snap.now, snap.columns
        if not seen.waiting.any():
            return Hold(WallMs(now + 1000), because="no query waits at the gate")
        if self.memory and snap.memory.pressed:
            ready = snap.waiting
            return most_relieving(ready, self.slack_ms(Columns.of(ready), now), snap, self.step_ms)
        price = self.split * min(1.0, max(LEAST_SPARED, crowd_if_split(snap)))  # of one batch more, in fixed parts
        one_batch = np.asarray(seen.window_ms <= price * seen.fixed_ms)
        slack, wanted, before = self._wanted_at(snap, ~seen.may_split | one_batch, price)
        due = wanted <= now
        if not due.any():
            soonest = wanted.min()
            name = min(snap.queries[i].name for i in np.flatnonzero(wanted == soonest))
            return Hold(WallMs(ceil(soonest)), because=f"{name} is next, in {soonest - now:.0f} ms")
        # A window that is due goes before a batch that only reads, unless that has been put off for as long again.
        first = np.flatnonzero(due)
        if (seen.reads_every[first] > 0).any():
            put_off = np.maximum(seen.reads_every, _reads_total_ms(snap))
            urgent = due & ((seen.reads_every == 0) | (now - wanted >= put_off))
            first = np.flatnonzero(urgent) if urgent.any() else first
        rank = self._rank(seen.take(first), slack[first], now)
        best = min(first[rank == rank.min()].tolist(), key=lambda i: snap.queries[i].name)
        chosen, crowd = snap.queries[best], len(first)
        early = chosen.due is not None and now < chosen.due and before[best] <= 1
        watermark = announce(chosen, now, ahead=early or bool(one_batch[best]), crowd=(crowd - 1) / snap.slots)
        return Grant(chosen.name, watermark, because=self._because(chosen, float(slack[best]), now, crowd))

    def urgency(self, queries: Sequence[QueryView], now: WallMs) -> Floats:
        """The smallest goes first."""
        seen = Columns.of(queries)
        return self._rank(seen, self.slack_ms(seen, now), now)

    def _rank(self, seen: Columns, slack: Floats, now: WallMs) -> Floats:
        """Of those that are due, the one with the smallest runs next."""
        return slack

    def slack_ms(self, seen: Columns, now: WallMs) -> Floats:
        """Expected slack of each query: the least over its inputs (section 3.3); minus infinity for an unknown one.

        Where we send the watermark there is nothing to expect: it comes when the query is due, however late rows may be.
        """
        unknown = np.isneginf(seen.due)
        # Time counts from now: epoch milliseconds leave a float too few digits for fractions, and two queries with the same
        # slack would tie at one hour of the day and not at another.
        release = np.where(unknown, 0.0, seen.due - now)
        cost, start = seen.cost_ms(now), seen.deadline - now
        if not np.isfinite(seen.delays[:, :, 2]).any():
            return np.where(unknown, -inf, release - cost)
        least = np.full(len(release), inf)
        for of_input in range(seen.width):
            low, high, mean, sd = self._sweep(seen, of_input, start, release)
            slack = expected_slack(0.0, cost, low, high, mean, sd, release, self.step_ms)
            there = ~np.isposinf(seen.delays[:, of_input, 2])
            least = np.where(there, np.minimum(least, slack), least)
        return np.where(unknown, -inf, least)

    def _sweep(self, seen: Columns, of_input: int, start: Floats, release: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """When, from now, an input's next sweeping watermark comes in: interval, mean, standard deviation (Eqs. 5-7)."""
        low, high, mean, mean_sd, draw_sd = seen.delays[:, of_input].T
        sd = draw_sd
        if self.interval == "paper":
            half = normal_half_width(self.confidence) * mean_sd
            low, high, sd = mean - half, mean + half, mean_sd
        # We send it, or nothing is known of its delay, or no window ends with its next batch: it comes when we let it go.
        known = seen.live & np.isfinite(mean) & (seen.reads_every == 0)
        at = [np.where(known, start + x, release) for x in (low, high, mean)]
        return at[0], at[1], at[2], np.where(known, sd, 0.0)

    def _wanted_at(self, snap: Snapshot, whole: NDArray[np.bool_], price: float) -> tuple[Floats, Floats, NDArray[np.intp]]:
        """Slack, where it matters; when each next batch should start: when it is due, or sooner if its rows alone would
        make it late; never for who does not wait; and how many batches are to come before the one that emits. Slack orders
        those that are due and moves those whose rows come in several batches; for the rest, most queries at most moments, it
        is not worked out."""
        now, seen = snap.now, snap.columns
        wanted = np.where(seen.waiting, seen.due, inf)
        if (only_read := seen.reads_every > 0).any():
            # They are put off if there are so many of them that they would fill the slots.
            wanted[only_read] += np.maximum(0.0, _reads_total_ms(snap) - seen.reads_every[only_read])
        slack = np.full(len(wanted), inf)
        matters = np.flatnonzero(seen.waiting & (~whole | (wanted <= now)))
        if len(matters):
            slack[matters] = self.slack_ms(seen.take(matters), now)
        before = np.zeros(len(wanted), dtype=np.intp)
        sooner = np.flatnonzero(seen.waiting & ~whole & (wanted > now))
        if len(sooner):
            at, before[sooner] = batches_before(seen.take(sooner), slack[sooner], now, price, self.before)
            wanted[sooner] = np.minimum(at, wanted[sooner])
        return slack, wanted, before

    def _because(self, query: QueryView, slack: float, now: WallMs, due: int) -> str:
        if query.due is None:
            return "first batch: nothing is known of it yet"
        rest = f"a batch costs {query.cost_ms(now):.0f} ms, {due} due"
        first = self._first_word(query, slack, now)
        if not query.live:
            return f"{first}: rows may be waiting for {now - (query.granted_at or now)} ms, {rest}"
        when = f"due {now - query.due} ms ago" if now >= query.due else f"due in {query.due - now} ms, its rows first"
        return f"{first}: window end {query.deadline} {when}, {rest}"

    def _first_word(self, query: QueryView, slack: float, now: WallMs) -> str:
        return f"least slack, {slack:.0f} ms"


def _reads_total_ms(snap: Snapshot) -> float:
    """How often all queries can be read, when no window is due, if that may take half of what there is of slots."""
    return float(2 * snap.columns.fixed_ms[snap.columns.reads_every > 0].sum() / snap.slots)


MOST_STEPS = 64
LEAST_SPARED = 0.1  # of the fixed part of a batch


def crowd_if_split(snap: Snapshot) -> float:
    """How many batches would wait for a slot, on average, if every query worked its windows off in two of them.

    Sakasegawa's approximation for a queue with several servers: busy^sqrt(2 (slots + 1)) / (1 - busy).
    """
    busy = float(snap.columns.split_load.sum()) / snap.slots
    return inf if busy >= 1 else busy ** sqrt(2 * (snap.slots + 1)) / (1 - busy)


def batches_before(seen: Columns, slack: Floats, now: WallMs, price: float, most: int) -> tuple[Floats, NDArray[np.intp]]:
    """When the next batch should start that works for a window which is not due yet, and how many there should be.

    The batch that emits finds what came in during the one before, so that should be short. It is, if it finds little itself:
    with `load` the time that the rows of a moment cost, a batch takes fixed + load x the one before, and ever smaller ones
    approach fixed / (1 - load). The first of k must start as long before the window is due as all of them take. Each spares
    the window a part of its rows, and costs everybody who waits meanwhile a fixed part: one of them at most, since later
    ones have later deadlines. Where cores lie idle, to spare a tenth of a batch is enough to be worth the processor time.
    """
    fixed, cost = seen.fixed_ms, seen.cost_ms(now)
    load = seen.per_row_ms * seen.rows_per_s / 1000
    best, best_at, best_k = np.full(len(cost), inf), np.zeros(len(cost)), np.ones(len(cost), dtype=np.intp)
    # All of them take `ours` x the first + `theirs` x fixed; the one that emits, `share` x the first + `rest` x fixed.
    ours, theirs, rest, share = np.ones_like(load), np.zeros_like(load), np.ones_like(load), load.copy()
    for k in range(1, most + 1):
        # Slack shrinks faster than time passes, because the queue, and with it the cost, grows meanwhile. With some time to
        # spare: if it ends late, it holds up the very batch that it should help.
        lead = (slack - (ours - 1) * cost - theirs * fixed - fixed / 2) / (1 + ours * load)
        score = rest * fixed + share * (cost + load * np.maximum(0.0, lead)) + price * fixed * k
        better = (score < best) & ((lead >= -fixed / 2) | (k == 1))  # too late for as many as that
        best, best_at, best_k = (
            np.where(better, score, best),
            np.where(better, now + lead, best_at),
            np.where(better, k, best_k),
        )
        ours, theirs, rest, share = ours + share, theirs + rest, rest + share, share * load
    return best_at, best_k


# Eight arguments: the terms of the equation, by their names.
def expected_slack(
    now: float, cost: Floats, low: Floats, high: Floats, mean: Floats, sd: Floats, release: Floats, step: float
) -> Floats:
    """Eq. 8: slack over the steps of the interval, each weighed by the chance that the watermark comes in it.

    Corrected from the print: steps before now are out (Eq. 9), the standard deviation scales the normal curve, not the
    variance (Eq. 10). The weights are divided by their sum, so that the confidence does not shrink the slack. And a
    watermark that a source sends takes no effect before our own patience lets it, at `release`.
    """
    start = np.maximum(low, now)
    stop = np.maximum(high, start)
    # A long tail gets longer steps instead of more of them: one such query must not slow down every decision.
    size = np.maximum(step, (stop - start) / MOST_STEPS)
    steps = int(np.clip(np.ceil(((stop - start) / size).max(initial=0.0)), 1, MOST_STEPS))
    edges = np.minimum(start[:, None] + size[:, None] * np.arange(steps + 1), stop[:, None])
    weight = np.diff(ndtr((edges - mean[:, None]) / np.maximum(sd, 1e-9)[:, None]), axis=1)
    right = edges[:, 1:]
    total = weight.sum(axis=1)
    comes = np.maximum(right, release[:, None])
    # Nothing of the interval is left: the watermark is there for the taking since its release, or overdue since `high`.
    # Or the delay is constant, and there never was an interval: then it comes at `start`.
    over = np.maximum(np.minimum(high, start), release)
    expected = np.where(total > 1e-12, (weight * comes).sum(axis=1) / np.maximum(total, 1e-12), over)
    return np.asarray(expected - now - cost)
