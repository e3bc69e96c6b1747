"""An input that is sampled: batches in, an offset out."""

from dataclasses import astuple, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from headway.loop.kernel import Kernel
from headway.loop.questions.sampling import is_news, kind
from headway.loop.sampler import CELL_MS, GUESS, Sampler
from headway.loop.tracker import QueryTracker
from headway.model.deadline import Deadlines, Grid
from headway.model.message import BatchSeen, InputSeen, InputSpec, QuerySpec
from headway.model.offset import ControlOffset, Sampled
from headway.model.sampling import GroupSeen, Sampling, SubStreamSeen
from headway.model.time import EventMs, WallMs
from headway.policy.sampling import Aion, Everything
from headway.sim.microbatch import NoJournal, Notebook

WINDOW_MS = 3_000
MEAN_DELAY = 240.0


class Source:
    """Rows by chance, 2,000 a second, each delayed exponentially; read as batches by the moment they come in."""

    def __init__(self, seconds: int = 60, delay_by_value: bool = False) -> None:
        rng = np.random.default_rng(5)
        n = 2_000 * seconds
        self.at = np.sort(rng.uniform(0, 1_000 * seconds, n))
        self.value = rng.gamma(4.0, 2.0, n)
        self.delay = rng.exponential(MEAN_DELAY, n) * (self.value / 8.0 if delay_by_value else 1.0)

    def between(self, since_ms: float, until_ms: float) -> InputSeen:
        came = self.at + self.delay
        here = (came >= since_ms) & (came < until_ms)
        at, value, delay = self.at[here], self.value[here], self.delay[here]
        cells = []
        for cell in np.unique(at // CELL_MS):
            mine = at // CELL_MS == cell
            v, d = value[mine], delay[mine]
            cells.append(
                SubStreamSeen(int(cell), len(v), d.sum(), (d * d).sum(), v.sum(), (v * v).sum(), (v**3).sum(), (d * v).sum())
            )
        bins, edges = np.histogram(delay, 32)
        delays = tuple((float((a + b) / 2), float(n)) for a, b, n in zip(edges, edges[1:], bins, strict=False) if n)
        newest = EventMs(int(at.max())) if len(at) else None
        return InputSeen("rows", len(at), newest, newest, delays, substreams=tuple(cells))


def sampler(policy: Any = None, period_ms: int = WINDOW_MS, offset_ms: int = 0) -> Sampler:
    return Sampler(policy or Aion(), Deadlines((Grid(period_ms, offset_ms),)), period_ms)


def saw(made: Sampler, seen: InputSeen) -> Sampling:
    """As a kernel does it: after every batch it is asked how much to take."""
    made.saw(seen)
    made.sampling = made.policy.decide(made.view)
    return made.sampling


def run(made: Sampler, source: Source, windows: int) -> list[Sampled]:
    """A batch at each window's end."""
    offsets = []
    for k in range(1, windows):
        offsets.append(made.offset(WallMs(k * WINDOW_MS), EventMs(k * WINDOW_MS), live=True))
        saw(made, source.between((k - 1) * WINDOW_MS, k * WINDOW_MS))
    return offsets


def test_at_first_all_rows_are_taken_and_then_as_many_as_are_enough() -> None:
    offsets = run(sampler(), Source(), 15)
    assert offsets[0].share == 1_000_000 and offsets[0].seen == 1_000_000
    last = offsets[-1]
    assert 50_000 < last.share < 200_000
    assert len(last.arrived) == 5
    assert last.arrived[0] > last.arrived[3] > last.arrived[4]  # the last sub-stream lacks most stragglers
    assert (last.sub_ms, last.every_ms, last.first_ms) == (600, WINDOW_MS, 0)
    assert all(type(value) is int for value in (*astuple(last)[:8], *last.arrived))


def test_the_share_of_a_window_that_will_be_seen_is_foretold() -> None:
    made = sampler()
    seen = run(made, Source(), 18)[-1].seen / 1e6
    true = 1 - MEAN_DELAY / WINDOW_MS * (1 - np.exp(-WINDOW_MS / MEAN_DELAY))
    assert seen == pytest.approx(true, abs=0.01)
    assert made.unsure < 0.02


def test_what_was_foretold_is_held_against_what_came() -> None:
    made = sampler()
    assert made.unsure == GUESS
    run(made, Source(), 18)
    assert 0 < made.unsure != GUESS


def test_of_old_rows_all_are_there() -> None:
    made = sampler()
    run(made, Source(), 10)
    told = made.offset(WallMs(10**9), EventMs(30_000), live=False)
    assert (told.seen, told.unsure) == (1_000_000, 0)


def test_everything_waits_as_long_as_it_ever_had_to() -> None:
    made = sampler(Everything())
    source = Source()
    offsets = run(made, source, 15)
    assert offsets[-1].share == 1_000_000 and made.sampling.wait_ms >= 0.9 * source.delay[source.at < 30_000].max()


def test_a_delay_that_goes_with_the_value_is_news_and_makes_it_wait() -> None:
    made, source = sampler(), Source(delay_by_value=True)
    said = [saw(made, source.between((k - 1) * WINDOW_MS, k * WINDOW_MS)) for k in range(1, 18)]
    assert made.sampling.wait_ms > 4 * MEAN_DELAY
    assert any(decided.because.startswith("delay goes with value") for decided in said)
    assert any(is_news(after, before) for before, after in pairwise(said))


def test_other_numbers_alone_are_no_news() -> None:
    made, source = sampler(), Source()
    said = [saw(made, source.between((k - 1) * WINDOW_MS, k * WINDOW_MS)) for k in range(1, 18)]
    assert "rows are enough" in said[4].because and len({kind(decided) for decided in said[4:]}) == 1
    assert sum(is_news(after, before) for before, after in pairwise(said[4:])) <= 2  # shares that differ by a fifth


def test_groups_of_which_less_is_taken_ride_in_the_offset() -> None:
    made = sampler(Aion(of="count"))
    for k in range(8):
        cells = tuple(SubStreamSeen(k * 30 + i, 700, 0, 0, 700, 700, 700, 0) for i in range(30))
        groups = (GroupSeen(-17, 20_940, 20_940, 20_940), GroupSeen(4, 60, 60, 60))
        saw(made, InputSeen("rows", 21_000, delays=((0.0, 21_000.0),), substreams=cells, groups=groups))
    told = made.offset(WallMs(24_000), EventMs(0), live=True)
    assert told.share == 1_000_000 and [key for key, _ in told.keys] == [-17] and 0 < dict(told.keys)[-17] < 500_000


def steady(since_ms: int, until_ms: int, per_cell: int = 10, every: int = 1, group: int | None = None) -> InputSeen:
    """A batch without stragglers: so many rows in every, or every n-th, tenth of a second; half of them of a group."""
    cells = range(-(-since_ms // (every * CELL_MS)) * every, until_ms // CELL_MS, every)
    n = per_cell * len(cells)
    # Values are 1 and 3: their mean is 2, their deviation 1.
    told = tuple(SubStreamSeen(c, per_cell, 0, 0, 2 * per_cell, 5 * per_cell, 14 * per_cell, 0) for c in cells)
    groups = () if group is None else (GroupSeen(group, n // 2, n, 5 * n / 2),)
    newest = EventMs(until_ms - 1)
    return InputSeen("rows", n, newest, newest, ((0.0, float(n)),), substreams=told, groups=groups)


@pytest.mark.parametrize("minutes", [1, 2, 5, 10, 30, 60])
def test_long_windows_are_sampled_too_with_one_batch_each(minutes: int) -> None:
    window_ms = minutes * 60_000
    made = sampler(period_ms=window_ms)
    for k in range(1, 5):
        saw(made, steady((k - 1) * window_ms, k * window_ms))
    rows = 10 * window_ms // CELL_MS
    assert made.view.known >= 3
    assert made.view.window_rows == pytest.approx(rows, rel=0.05)
    assert made.sampling.share < 0.2


def test_after_a_pause_all_begins_anew() -> None:
    made = sampler()
    for k in range(1, 8):
        saw(made, steady((k - 1) * 3_000, k * 3_000))
    assert made.view.known == 10
    saw(made, steady(3_600_000, 3_603_000))
    assert made.view.known == 0


@pytest.mark.parametrize("batch_ms", [100, 500, 3_000, 30_000, 150_000])
@pytest.mark.parametrize("every", [1, 50])
def test_rows_of_a_group_are_its_share_of_a_window_whatever_batches_are(batch_ms: int, every: int) -> None:
    window_ms = 60_000
    made = sampler(Aion(of="count"), period_ms=window_ms)
    for since in range(0, max(5 * window_ms, 6 * batch_ms), batch_ms):
        made.saw(steady(since, since + batch_ms, per_cell=20, every=every, group=7))
    (group,) = made.view.groups
    assert group.rows == pytest.approx(made.view.window_rows / 2, rel=0.05)
    assert made.view.window_rows == pytest.approx(20 * window_ms / CELL_MS / every, rel=0.05)


@pytest.mark.parametrize(("window_ms", "future"), [(3_000, False), (3_000, True), (300_000, False)])
def test_shares_that_were_as_expected_stay_sure(window_ms: int, future: bool) -> None:
    made = Sampler(Aion(of="count"), Deadlines((Grid(3_000),)), window_ms)
    for k in range(1, window_ms // 3_000 + 90):
        made.offset(WallMs(k * 3_000), EventMs(k * 3_000), live=True)
        seen = steady((k - 1) * 3_000, k * 3_000)
        if future and k == 9:  # a clock that is decades ahead
            seen = replace(seen, substreams=(*seen.substreams, SubStreamSeen(40_000_000_000, 1)))
        saw(made, seen)
    assert 0 < made.unsure < GUESS


@pytest.mark.parametrize("value", [1e60, -1e60, 0.0])
def test_no_value_is_too_much(value: float) -> None:
    made = sampler()
    for k in range(1, 8):
        seen = steady((k - 1) * 3_000, k * 3_000)
        worst = SubStreamSeen(seen.substreams[0].index, 1, 0, 0, value, value**2, value**3, 0)
        saw(made, replace(seen, substreams=(*seen.substreams, worst)))
    assert 0 < made.sampling.share <= 1


def test_sub_streams_begin_where_windows_end() -> None:
    made = sampler(offset_ms=1_000)
    folded = made._folded([SubStreamSeen(10, 5), SubStreamSeen(15, 6), SubStreamSeen(16, 7)])
    assert [(s.index, s.rows) for s in folded] == [(0, 11), (1, 7)]


# ---- in a query


def query(past: tuple[BatchSeen, ...] = ()) -> QueryTracker:
    spec = InputSpec("rows", 1_000, sampling=Aion())
    return QueryTracker(QuerySpec("q", (spec,), Deadlines((Grid(WINDOW_MS),)), ahead=True, window_ms=WINDOW_MS, past=past))


def played(track: QueryTracker, source: Source, windows: int) -> list[ControlOffset]:
    offset, offsets = ControlOffset(), []
    track.asked(WallMs(0), offset)
    for k in range(1, windows):
        sweeping = track.announced
        offset = track.granted(WallMs(k * WINDOW_MS), EventMs((k + 1) * WINDOW_MS))
        seen = source.between((k - 1) * WINDOW_MS, k * WINDOW_MS)
        track.saw(
            BatchSeen("q", k, WallMs(k * WINDOW_MS), WallMs(k * WINDOW_MS + 50), 50, seen.rows, sweeping or None, (seen,))
        )
        for question in track.questions():
            Kernel(NoJournal()).ask(question, WallMs(k * WINDOW_MS + 50))
        track.asked(WallMs(k * WINDOW_MS + 50), offset)
        offsets.append(offset)
    return offsets


def test_a_query_s_windows_go_when_its_sample_is_there() -> None:
    track = query()
    offsets = played(track, Source(), 15)
    assert track.view().patience_ms == 0 and track.view().live
    assert track.view().inputs[0].delay is None  # rows are worked off before the window's end
    told = offsets[-1].sampled
    assert told is not None and told.share < 200_000 and told.seen < 1_000_000


def test_a_batch_that_announces_nothing_still_says_how_much_it_takes() -> None:
    track = query()
    before = played(track, Source(), 15)[-1]
    offset = track.granted(WallMs(46_000), None)
    assert (offset.seq, offset.wm) == (before.seq + 1, before.wm)
    assert offset.sampled is not None and offset.sampled.share < 200_000


def test_a_query_that_has_no_rows_is_not_made_to_run() -> None:
    track = query()
    last = played(track, Source(seconds=20), 15)[-1]
    track.swept = track.announced
    track.had_rows = False
    assert track.granted(WallMs(100_000), None) == last


def test_what_was_seen_before_a_restart_counts() -> None:
    source, before = Source(), query()
    batches = []
    for k in range(1, 15):
        seen = source.between((k - 1) * WINDOW_MS, k * WINDOW_MS)
        batches.append(BatchSeen("", k, WallMs(0), WallMs(0), 0, seen.rows, None, (seen,)))
        assert before.inputs["rows"].sampler is not None
        saw(before.inputs["rows"].sampler, seen)
    after = query(tuple(batches)).inputs["rows"].sampler
    assert after is not None and before.inputs["rows"].sampler is not None
    assert after.sampling == before.inputs["rows"].sampler.sampling


def test_a_window_whose_sub_streams_lack_rows_is_held_but_no_longer_than_patience() -> None:
    """A batch before its end finds a tenth of the rows that a window usually has by then."""
    track, source = query(), Source()
    played(track, source, 15)
    end = track.announced
    due = track.view().due
    assert due == WallMs(end) and track.view().pending  # announced ahead: the next batch sweeps it
    usual, few = query(), query()
    for one, share in ((usual, 1.0), (few, 0.1)):
        played(one, source, 15)
        one.swept, one.ripens = EventMs(end - WINDOW_MS), WallMs(end)
        read = source.between(end - WINDOW_MS, end - 600)
        cells = tuple(replace(c, rows=round(c.rows * share)) for c in read.substreams)
        one._sweeping = one.swept
        seen = (replace(read, substreams=cells),)
        one.saw(BatchSeen("q", 99, WallMs(end - 600), WallMs(end - 550), 50, read.rows, one.swept, seen))
        kernel = Kernel(book := Notebook())
        for question in one.questions():
            kernel.ask(question, WallMs(end - 550))
    assert usual.view().due == WallMs(end)
    sampler = few.inputs["rows"].sampler
    assert sampler is not None and few.view().due == end + sampler.sampling.until_ms > end
    assert f"is held for {sampler.sampling.until_ms} ms: its sample lacks rows" in book.entries[-1].receipt
