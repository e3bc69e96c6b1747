"""Klink: the query with the least expected slack runs next (Farhat, Daudjee, Querzoni; SIGMOD 2021)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, fsum, inf
from typing import ClassVar, Literal

import numpy as np
from scipy.special import ndtr

from headway.errors import SettingError
from headway.estimate.delays import normal_half_width
from headway.estimate.due import NEVER
from headway.model.arrays import Floats
from headway.model.columns import Columns
from headway.model.decision import Decision, Grant, Hold
from headway.model.time import WallMs
from headway.model.view import QueryView, Snapshot
from headway.policy.order.emission import announce
from headway.policy.order.relief import most_relieving
from headway.policy.order.splitting import batches_before, batches_before_one, never_before, price


@dataclass(frozen=True, slots=True)
class Klink:
    """Order queries by the idle time that they can still afford before their next window must come out.

    A query without history goes first: until it runs we learn nothing about it. Ties break by name. A batch runs when its
    window is due. Where rows cost much, most of them are worked off by batches before, so that the one which emits has few
    left; but each batch has a price, which waiting queries pay, so it depends on how busy the cores are.
    """

    confidence: float = 0.95
    step_ms: int = 120
    interval: Literal["predictive", "paper"] = "predictive"
    # A batch before the one that emits must spare the window this many fixed parts, less where cores idle,
    split: float = 1.0
    before: int = 5  # and there are at most so many of them, ever smaller
    spare: float = 0.3  # of the time that they should take is kept in hand: they may take longer
    memory: bool = False  # while memory is short, run what frees most; it has not paid anywhere yet
    gated: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise SettingError("order.confidence", self.confidence, "a share between 0 and 1, e.g. 0.95")
        if not self.split >= 0:
            raise SettingError("order.split", self.split, "0 or more fixed parts of a batch")
        if not isinstance(self.before, int) or self.before < 1:
            raise SettingError("order.before", self.before, "1 or more batches")
        if not 0 <= self.spare < inf:
            raise SettingError("order.spare", self.spare, "0 or more, a share of the time that batches should take")
        if self.step_ms <= 0:
            raise SettingError("order.step_ms", self.step_ms, "more than 0 milliseconds")
        if self.interval not in ("predictive", "paper"):
            raise SettingError("order.interval", self.interval, "'predictive' or 'paper'")

    def decide(self, snap: Snapshot) -> Decision:
        now, queries = snap.now, snap.queries
        if self.memory and snap.memory.pressed and (ready := snap.waiting):
            return most_relieving(ready, self.slack_ms(Columns.of(ready), now), snap, self.step_ms)
        worth = price(snap, self.split)
        slack, wanted, before = self._few(snap, worth) if snap.few else self._many(snap, worth)
        due = [row for row, at in enumerate(wanted) if at <= now]
        if not due:
            soonest = min(wanted, default=inf)
            if soonest == inf:
                return Hold(WallMs(now + 1000), because="no query waits at the gate")
            name = min(queries[row].name for row, at in enumerate(wanted) if at == soonest)
            when = "when its upstream says so" if soonest >= NEVER else f"in {soonest - now:.0f} ms"
            return Hold(WallMs(ceil(soonest)), because=f"{name} is next, {when}")
        first = _windows_first(snap, due, wanted)
        ranks = self._rank([queries[row] for row in first], [slack[row] for row in first], now)
        best = min(zip(ranks, (queries[row].name for row in first), first, strict=True))[2]
        chosen, crowd = queries[best], len(first)
        early = chosen.due is not None and now < chosen.due and before[best] <= 1
        ahead = early or _one_batch(chosen, worth)
        watermark = announce(chosen, now, ahead=ahead, crowd=(crowd - 1) / snap.slots)
        others = min((at for row, at in enumerate(wanted) if row != best), default=inf)
        then = None if others <= now else WallMs(ceil(min(others, now + 1000)))
        return Grant(chosen.name, watermark, self._because(chosen, slack[best], now, crowd), then)

    def not_before(self, query: QueryView, now: WallMs) -> float:
        """The moment before which it is granted no batch, whatever the other queries do."""
        if query.waiting_since is None:
            return inf
        if query.due is None or query.sent or self.memory:
            return -inf
        if not query.may_split:
            return query.due
        return min(query.due, never_before(query, _time_left(query, now), now, self.before, self.spare))

    def urgency(self, queries: Sequence[QueryView], now: WallMs) -> Floats:
        """The smallest goes first."""
        slack = self.slack_ms(Columns.of(queries), now)
        return np.asarray(self._rank(queries, slack.tolist(), now))

    def _rank(self, queries: Sequence[QueryView], slack: list[float], now: WallMs) -> list[float]:
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
        # What stages on other nodes still make of it is time that cannot be spent here.
        cost, start = seen.cost_ms(now) + seen.below_ms, seen.deadline - now
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

    # When each next batch should start: when it is due, or sooner if its rows alone would make it late; never for a query
    # that does not wait. Slack, where it matters: it orders those that are due and moves those whose rows come in several
    # batches; for the rest, most queries at most moments, it is not worked out. And how many batches are to come before the
    # one that emits. Both ways come to the same.

    def _few(self, snap: Snapshot, worth: float) -> tuple[list[float], list[float], list[int]]:
        """One query after the other, in plain Python."""
        now, reads_ms = snap.now, _reads_total_ms(snap)
        slack, wanted, before = [inf] * len(snap.queries), [inf] * len(snap.queries), [0] * len(snap.queries)
        for row, query in enumerate(snap.queries):
            if query.waiting_since is None:
                continue
            at = -inf if query.due is None else float(query.due)
            if query.reads_every_ms > 0:
                at += max(0.0, reads_ms - query.reads_every_ms)
            sooner = at > now and query.window_ms > worth * query.fixed_ms and query.may_split
            if sooner or at <= now:
                slack[row] = left = -inf if query.due is None else _time_left(query, now)
            if sooner:
                start, before[row] = batches_before_one(query, left, now, worth, self.before, self.spare)
                at = min(start, at)
            wanted[row] = at
        return slack, wanted, before

    def _many(self, snap: Snapshot, worth: float) -> tuple[list[float], list[float], list[int]]:
        """All at once, by columns; also where sources send watermarks, whose coming is a matter of chance."""
        now, seen = snap.now, snap.columns
        whole = ~seen.may_split | (seen.window_ms <= worth * seen.fixed_ms)
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
            taken = seen.take(sooner)
            at, before[sooner] = batches_before(taken, slack[sooner], now, worth, self.before, self.spare)
            wanted[sooner] = np.minimum(at, wanted[sooner])
        return slack.tolist(), wanted.tolist(), before.tolist()

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


def _one_batch(query: QueryView, worth: float) -> bool:
    """The rows of a window cost no more than a batch before the one that emits would."""
    return query.window_ms <= worth * query.fixed_ms


def _time_left(query: QueryView, now: WallMs) -> float:
    """Slack where we send the watermark: until the query is due, less what its batch takes."""
    assert query.due is not None
    return query.due - now - query.cost_ms(now) - query.below_ms


def _windows_first(snap: Snapshot, due: list[int], wanted: list[float]) -> list[int]:
    """A window that is due goes before a batch that only reads, unless that has been put off for as long again."""
    reads_every = [snap.queries[row].reads_every_ms for row in due]
    if not any(reads_every):
        return due
    total = _reads_total_ms(snap)
    urgent = [
        row for row, every in zip(due, reads_every, strict=True) if not every or snap.now - wanted[row] >= max(every, total)
    ]
    return urgent or due


def _reads_total_ms(snap: Snapshot) -> float:
    """How often all queries can be read, when no window is due, if that may take half of what there is of slots."""
    if snap.few:
        fixed = [q.fixed_ms for q in snap.queries if q.reads_every_ms > 0]
    else:
        fixed = snap.columns.fixed_ms[snap.columns.reads_every > 0].tolist()
    return 2 * fsum(fixed) / snap.slots


MOST_STEPS = 64


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
