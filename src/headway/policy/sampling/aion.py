"""Aion: a sample that is large enough for the wanted error, and no waiting for stragglers (Farhat's thesis, chapter 4)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil, sqrt

import numpy as np

from headway.estimate.sample_size import needed_each, of_finite, sound_rows, z_of
from headway.model.arrays import Floats
from headway.model.sampling import Sampling, StreamView
from headway.policy.sampling.promise import LEAST_KNOWN, Promise, unknown

WHOLE = 0.95  # a stream that needs so much of its rows is not sampled: to leave out the rest would save nothing
MOST_KEYS = 256  # groups with a rate of their own
STRAY = 2.0  # standard deviations by which a window may have more rows than expected, or fewer
CHANCE = 3.0  # standard deviations by which a sub-stream may have fewer rows before its window is held for it
MARGIN = 1.1  # more rows than Eq. 4.4: a bound that is kept on average is missed in every other run of a hundred windows
LEAST_CORRELATION = 0.05
SURE_CORRELATION = 5.0  # standard errors


@dataclass(frozen=True, slots=True)
class Wish:
    """What a window's sample must be."""

    needed: float  # rows
    rows: float  # of so many
    share: float  # wanted of those rows whose group is not in `keys`
    keys: Mapping[int, float]
    sampled: float  # so much must be there since the last window's end, for those that are sampled
    whole: float  # so much of the window must be there, for those that are not


@dataclass(frozen=True, slots=True)
class Aion(Promise):
    """Take just so many rows that the answer keeps to the error, more from a sub-stream of which stragglers will be missing.

    A window goes at its end if what is there suffices, otherwise as soon as it does. Where the stream is known by groups,
    each keeps to the error by itself; those that are too small for a sample are taken whole.
    """

    def decide(self, seen: StreamView) -> Sampling:
        if seen.known < LEAST_KNOWN:
            return self.all_of(seen, unknown(seen))
        return self.timed(seen, self.wish(seen))

    def timed(self, seen: StreamView, wish: Wish) -> Sampling:
        """When to let windows go, and what will be there then."""
        if waits_for_all := self.of != "count" and goes_with_value(seen):
            # The rows that come early are not like the others: no sample of them is representative, however large.
            wait = self.longest_ms(seen)
        else:
            wait = max(
                self.least_wait(lambda ms: slide_arrived(seen, ms), wish.sampled, seen),
                self.least_wait(seen.window_arrived, wish.whole, seen),
            )
        arrived = arrived_by_place(seen, wait)
        share = float(made_up(np.array([wish.share]), arrived)[0])
        made = made_up(np.array(list(wish.keys.values())), arrived)
        keys = {key: own for key, own in zip(wish.keys, made.tolist(), strict=True) if own < WHOLE}
        goes = f"{enough(seen, wish)}; {self._goes(seen, wait)}"
        because = f"delay goes with value, r = {seen.correlation:.2f}: {goes}" if waits_for_all else goes
        said = Sampling(share if share < WHOLE else 1.0, arrived, wait, because, keys, ceil(wish.needed))
        return replace(said, least=least_rows(seen, said), until_ms=max(wait, self.longest_ms(seen)))

    def _goes(self, seen: StreamView, wait: int) -> str:
        there = f"{seen.window_arrived(wait):.1%} of the window, {seen.arrived(wait):.0%} of its last {seen.sub_ms} ms"
        if wait == 0:
            return f"goes at the window's end with {there}"
        return f"waits {wait} ms{', as long as it may,' if wait == self.most_ms else ''} for {there}"

    def wish(self, seen: StreamView) -> Wish:
        window_sd = seen.rows_sd * sqrt(seen.window_ms / seen.sub_ms)
        parts = [(g.rows, g.mean, g.sd) for g in seen.groups] or [(seen.window_rows, seen.value_mean, seen.value_sd)]
        rows, mean, sd = np.array(parts, float).T
        rows_sd = rows * window_sd / max(seen.window_rows, 1e-9)
        if seen.groups:
            # How a single group strays is not known: like the whole stream, and no less than rows do that come by chance.
            rows_sd = np.maximum(rows_sd, np.sqrt(rows))
        size, share, there = self.sizes(rows, rows_sd, mean, sd, seen.value_skew)
        sampled = np.flatnonzero(share < WHOLE)[:MOST_KEYS]
        return Wish(
            needed=float(size.sum()),
            rows=float(rows.sum()),
            share=float(share[0]) if len(sampled) and not seen.groups else 1.0,
            keys={seen.groups[i].key: float(share[i]) for i in sampled.tolist()} if seen.groups else {},
            sampled=float(share[sampled].max(initial=0.0)),
            whole=float(np.delete(there, sampled).max(initial=0.0)),
        )

    def sizes(self, rows: Floats, rows_sd: Floats, mean: Floats, sd: Floats, skew: float) -> tuple[Floats, Floats, Floats]:
        """Of windows or groups: the sample needed, the share to take, and the share that must be there of one kept whole."""
        more = rows + STRAY * rows_sd
        # The paper only thinks of more rows than expected. They make the sample larger but its rate smaller, and that is
        # wrong for a window with fewer: so the sample is that of the larger window, and the rate that of the smaller one.
        fewer = np.maximum(1e-9, np.maximum(rows - STRAY * rows_sd, rows / 2))
        size = self._least(more, mean, sd, skew)
        # How many rows a coin picks is chance: of this many more, fewer than `size` are picked in one window of forty.
        picked = size + 2 + 2 * np.sqrt(1 + size)
        # Eq. 4.4 always leaves some rows out. Of a small window no more than half as many, since what is known of mean and
        # deviation is itself an estimate; but the last straggler is not waited for.
        left_out = 1 - np.minimum(1.0, self._least(fewer, mean, sd, skew) / fewer)
        share = np.minimum(picked / fewer, 1 - left_out / 2)
        # A handful of rows is waited for until all of them are likely to be there: then there is no error at all, except of
        # a total, which is scaled by the share that is there.
        exact = np.maximum(self.confidence ** (1 / np.maximum(more, 1.0)), 1 - self.error / 2)
        return np.minimum(size, rows), share, np.minimum(share, exact)

    def _least(self, rows: Floats, mean: Floats, sd: Floats, skew: float) -> Floats:
        skew = skew if self.of in ("mean", "sum") else 0.0
        # The deviation of one window is not that of the last ones: the more skewed the value, the less so.
        strays = 1 + STRAY * np.sqrt((2 + 2 * skew**2) / np.maximum(rows, 1.0))
        z = z_of(self.confidence) * np.sqrt(MARGIN * np.minimum(2.0, strays))
        size = needed_each(rows, mean, sd, error=self.error, z=z, of=self.of)
        sound = of_finite(np.full_like(rows, sound_rows(skew)), np.maximum(rows, 1e-9))
        return np.maximum(np.maximum(size, sound), np.minimum(self.least, rows))


def goes_with_value(seen: StreamView) -> bool:
    """Whether rows of other values come later, so surely that it is not chance and so much that it matters."""
    r = abs(seen.correlation)
    return r > LEAST_CORRELATION and r * sqrt(seen.correlated_rows) > SURE_CORRELATION


def arrived_by_place(seen: StreamView, wait_ms: float) -> tuple[float, ...]:
    """N_i by the deadline over N_i (Eq. 4.7), by the place of the sub-stream: the last has had the least time."""
    return tuple(seen.arrived(wait_ms + (seen.places - 1 - place) * seen.sub_ms) for place in range(seen.places))


def slide_arrived(seen: StreamView, wait_ms: float) -> float:
    """The share that is there of the rows since the last window's end."""
    return replace(seen, window_ms=seen.places * seen.sub_ms).window_arrived(wait_ms)


def least_rows(seen: StreamView, said: Sampling) -> tuple[float, ...]:
    """n_i by place, as rows that must have come in: of so many, the rate of its place takes n_i.

    A sub-stream may have fewer rows than others by chance. It is not waited for unless it lacks more than that: with two
    deviations one window in ten would wait for rows that never were.
    """
    arrived = np.array(said.arrived)
    share = float(np.minimum(said.share, arrived).mean())  # of a window, as planned
    needed = said.needed * seen.sub_ms / seen.window_ms / max(share, 1e-9)
    by_chance = CHANCE * max(seen.rows_sd, sqrt(seen.rows))
    return tuple(np.maximum(0.0, arrived * min(needed, seen.rows) - by_chance).tolist())


def made_up(share: Floats, arrived: tuple[float, ...]) -> Floats:
    """What to want of each sub-stream, so that all together have this share although some lack rows.

    Their watermarks go together here, at the window's end. Where the paper waits until the last sub-stream has enough
    (theta > 1), the ones before it can make up for that.
    """
    there = np.sort(np.array(arrived))
    left = np.arange(len(there), 0, -1)  # sub-streams of which there is no less
    # If this much is wanted of each, where there is so much, then this is the share of all: a line from point to point.
    of_all = (np.cumsum(there) + (left - 1) * there) / len(there)
    return np.asarray(np.interp(share, np.concatenate([[0.0], of_all]), np.concatenate([[0.0], there]), right=1.0))


def enough(seen: StreamView, wish: Wish) -> str:
    some = f"{ceil(wish.needed):,} of {wish.rows:,.0f} rows"
    if seen.groups:
        return f"{some} are enough, {len(wish.keys)} of {len(seen.groups)} groups are sampled"
    if wish.share < 1:
        return f"{some} are enough, takes {wish.share:.1%}"
    return f"needs {some}: window too small for sampling, takes all"
