"""Klink by hand: every number here can be checked with pen and paper, or with a brute-force integral."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import SettingError
from headway.model.columns import Columns
from headway.model.deadline import Deadlines, Grid
from headway.model.decision import Grant, Hold
from headway.model.time import EventMs, WallMs
from headway.model.view import DelayView, InputView, QueryView
from headway.policy.order import Klink
from headway.policy.order.klink import MOST_STEPS, expected_slack
from headway.policy.order.splitting import batches_before, batches_before_one
from model.making import NOW, again, query, snapshot, stream, viewed


def one_slack(
    now: float, cost: float, low: float, high: float, mean: float, sd: float, release: float, step: float
) -> float:
    c, lo, hi, m, s, r = (np.array([x], dtype=float) for x in (cost, low, high, mean, sd, release))
    return float(expected_slack(now, c, lo, hi, m, s, r, step)[0])


# ---- Eq. 8


def test_two_equal_steps_weigh_the_same() -> None:
    # The interval [1000, 1400] holds two sigma on either side of 1200. Steps of 200 end at 1200 and 1400, each with the
    # same chance, so the watermark is expected at 1300; now is 0 and the batch costs 100.
    assert one_slack(0, 100, 1_000, 1_400, 1_200, 100, 0, 200) == pytest.approx(1_200)


def test_steps_before_now_are_out() -> None:
    # Eq. 9 corrected: at 1200 only the step that ends at 1400 is left.
    assert one_slack(1_200, 100, 1_000, 1_400, 1_200, 100, 0, 200) == pytest.approx(100)


def test_a_watermark_cannot_come_before_patience_lets_it_go() -> None:
    # The first step would end at 1200, but nothing is released before 1350: (1350 + 1400) / 2.
    assert one_slack(0, 100, 1_000, 1_400, 1_200, 100, 1_350, 200) == pytest.approx(1_275)


def test_the_last_step_ends_with_the_interval() -> None:
    # Steps end at 1300 and, cut short, at 1400: P(first) = .9545/2 + .3413 = .8186, P(second) = .1359 of .9545.
    expected = (0.8185946 * 1_300 + 0.1359051 * 1_400) / 0.9544997
    assert one_slack(0, 0, 1_000, 1_400, 1_200, 100, 0, 300) == pytest.approx(expected, abs=0.001)


def test_a_delay_without_spread_comes_when_it_comes() -> None:
    assert one_slack(0, 50, 1_200, 1_200, 1_200, 0, 0, 120) == pytest.approx(1_150)


def test_once_the_interval_is_over_slack_counts_from_its_end() -> None:
    assert one_slack(2_000, 100, 1_000, 1_400, 1_200, 100, 0, 200) == pytest.approx(1_400 - 2_000 - 100)
    assert one_slack(2_000, 100, 1_000, 1_400, 1_200, 100, 1_900, 200) == pytest.approx(1_900 - 2_000 - 100)


@pytest.mark.parametrize("now", [0, 900, 1_150, 1_390])
@pytest.mark.parametrize("release", [0, 1_100, 1_350, 1_500])
def test_small_steps_come_to_the_integral(now: float, release: float) -> None:
    low, high, mean, sd, cost = 1_020.0, 1_480.0, 1_200.0, 130.0, 75.0
    moments = np.linspace(max(low, now), high, 200_001)
    density = np.exp(-0.5 * ((moments - mean) / sd) ** 2)
    expected = np.trapezoid(density * np.maximum(moments, release), moments) / np.trapezoid(density, moments)
    # A step counts by its end, so the sum is over the integral, by less than a step: there are at most 64 of them.
    over = one_slack(now, cost, low, high, mean, sd, release, 1) - (expected - now - cost)
    assert -0.01 <= over <= (high - max(low, now)) / MOST_STEPS


def test_a_long_tail_is_covered_to_its_end_in_longer_steps() -> None:
    # 200 s in steps of 120 ms would be 1667 of them. The curve is flat over all of it, so half way is the mean.
    assert one_slack(0, 0, 0, 200_000, 100_000, 1e9, 0, 120) == pytest.approx(100_000, rel=0.02)


delays = st.tuples(st.integers(0, 500), st.integers(0, 500), st.integers(0, 800), st.integers(0, 300))


@given(delays, st.integers(-3_000, 3_000), st.integers(0, 1_000), st.integers(0, 2_000))
def test_slack_falls_as_time_passes_and_as_the_batch_grows(
    delay: tuple[int, int, int, int], start: int, cost: int, later: int
) -> None:
    low, below, above, sd = delay
    row = (start + low, start + low + below + above, start + low + below, sd, start)
    first = one_slack(0, cost, *row, 120)
    assert one_slack(later, cost, *row, 120) <= first + 120  # within the precision of a step
    assert one_slack(0, cost + 10, *row, 120) == pytest.approx(first - 10)


# ---- queries


def spread(mean: float = 60.0, half: float = 40.0, mean_sd: float = 2.0) -> DelayView:
    return DelayView(50, mean, mean_sd, half / 2, mean - half, mean + half)


def slack_of(view: QueryView, policy: Klink | None = None) -> float:
    return float((policy or Klink()).slack_ms(Columns.of([view]), NOW)[0])


def test_without_a_known_delay_slack_is_time_left_less_cost() -> None:
    view = query("a", due_in=700, fixed_ms=100.0, per_row_ms=0.1)  # 1000 rows queued
    assert slack_of(view) == pytest.approx(700 - 200)


@pytest.mark.parametrize("patience_ms", [0, 50, 200])
def test_we_send_the_watermark_so_it_comes_when_patience_ends_however_long_the_tail(patience_ms: int) -> None:
    late = stream(patience_ms=patience_ms, delay=spread(900, half=800))
    view = query("a", late, due_in=700, fixed_ms=100.0, per_row_ms=0.0)
    assert slack_of(view) == pytest.approx(600)


def sent(name: str = "rows", patience_ms: int = 0, mean: float = 60.0) -> InputView:
    """An input whose source sends the watermarks, as in the paper's engine."""
    return stream(name, patience_ms=patience_ms, delay=spread(mean), source_sends=True)


def test_patience_outlasts_the_delays_of_a_source_that_sends_the_watermark() -> None:
    view = query("a", sent(patience_ms=200), due_in=700, fixed_ms=100.0, per_row_ms=0.0)
    assert slack_of(view) == pytest.approx(600)  # all delays are under 200 ms: the release decides


def test_a_watermark_of_the_source_comes_when_the_network_brings_it() -> None:
    view = query("a", sent(), due_in=700, fixed_ms=100.0, per_row_ms=0.0)
    assert slack_of(view) == pytest.approx(700 + 100 - 100)  # one step of 120 ms, cut at the interval's end


def test_the_interval_of_the_paper_is_narrower() -> None:
    view = query("a", sent(), due_in=700, fixed_ms=100.0, per_row_ms=0.0)
    assert slack_of(view, Klink(interval="paper")) == pytest.approx(700 + 60 + 1.96 * 2 - 100, abs=0.01)
    assert slack_of(view, Klink(interval="paper", confidence=0.5)) == pytest.approx(700 + 60 + 0.6745 * 2 - 100, abs=0.01)


def test_a_join_has_the_least_slack_of_its_inputs() -> None:
    quick, slow = sent("quick", mean=60), sent("slow", mean=900)
    both = query("a", slow, quick, due_in=700, fixed_ms=100.0, per_row_ms=0.0)
    assert slack_of(both) == slack_of(query("a", quick, due_in=700, fixed_ms=100.0, per_row_ms=0.0)) == pytest.approx(700)


def test_a_join_waits_for_its_most_patient_input() -> None:
    both = query("a", stream("x", 200), stream("y", 900), due_in=700)
    assert both.due == NOW + 700 and both.deadline == NOW - 200


def test_a_query_without_history_has_no_slack_at_all() -> None:
    assert slack_of(viewed("a", (InputView("rows", 0),), Deadlines((Grid(3_000),)), waiting_since=NOW)) == -np.inf


def test_a_query_without_inputs_is_ranked_by_its_pace() -> None:
    bare = viewed("a", (), Deadlines((Grid(3_000),)), waiting_since=NOW, granted_at=WallMs(NOW - 400), fixed_ms=50.0)
    assert slack_of(bare) == pytest.approx(600 - 50)


# ---- decisions


def test_least_slack_beats_the_longest_queue() -> None:
    long = query("long", stream(rows_per_s=90_000.0), due_in=0, fixed_ms=50.0, per_row_ms=0.001)
    soon = query("soon", stream(rows_per_s=10.0), due_in=-400, fixed_ms=50.0)
    decision = Klink().decide(snapshot(long, soon))
    assert isinstance(decision, Grant) and decision.query == "soon"
    assert decision.because == f"least slack, -450 ms: window end {NOW - 600} due 400 ms ago, a batch costs 50 ms, 2 due"


def test_of_two_windows_due_at_once_the_dearer_batch_goes_first() -> None:
    cheap, dear = query("cheap", due_in=0, fixed_ms=50.0), query("dear", due_in=0, fixed_ms=500.0)
    decision = Klink().decide(snapshot(cheap, dear))
    assert isinstance(decision, Grant) and decision.query == "dear"


def test_ties_break_by_name() -> None:
    decision = Klink().decide(snapshot(query("b", due_in=0), query("a", due_in=0), query("c", due_in=0)))
    assert isinstance(decision, Grant) and decision.query == "a"


def test_nothing_due_means_waiting_for_what_is_due_first() -> None:
    decision = Klink().decide(snapshot(query("a", due_in=900), query("b", due_in=400)))
    assert decision == Hold(WallMs(NOW + 400), because="b is next, in 400 ms")


def test_a_first_batch_goes_before_everything_overdue() -> None:
    fresh = query("new", InputView("rows", 200), granted_at=None)
    decision = Klink().decide(snapshot(query("a", due_in=-60_000), fresh))
    assert decision == Grant("new", None, because="first batch: nothing is known of it yet")


def test_old_rows_are_replayed_as_fast_as_they_come() -> None:
    old = query("old", stream(live=False, frontier=NOW - 86_400_000), pace_ms=0, swept=NOW - 86_500_000)
    decision = Klink().decide(snapshot(old, query("live", due_in=500)))
    assert isinstance(decision, Grant) and decision.query == "old"
    assert "rows may be waiting for 1000 ms" in decision.because
    assert decision.announce == (NOW - 86_400_000 - 200) // 3_000 * 3_000


def test_a_sliding_window_is_due_every_slide() -> None:
    view = query("slides", stream(), deadlines=Deadlines((Grid(1_000, 200),)), announced=NOW - 800, swept=NOW - 800)
    assert view.deadline == NOW + 200 and view.due == NOW + 400
    assert Klink().decide(snapshot(view)) == Hold(WallMs(NOW + 400), because="slides is next, in 400 ms")


# ---- heavy queries: 10,000 rows/s at 0.1 ms per row make 3 s of work per 3 s window, fixed 100 ms


def heavy(**more: Any) -> QueryView:
    known = {"granted_at": NOW - 900, "fixed_ms": 100.0, "per_row_ms": 0.1}
    return query("heavy", stream(rows_per_s=10_000.0), **(known | more))


def test_a_heavy_query_gets_a_batch_before_its_deadline_that_announces_it() -> None:
    # Swept up to NOW - 2200, so NOW + 800 is next and due at NOW + 1000. 9000 rows queued cost 1000 ms: start now.
    grid = Deadlines((Grid(3_000, 800),))
    view = heavy(deadlines=grid, announced=NOW - 2_200, swept=NOW - 2_200)
    decision = Klink().decide(snapshot(view))
    assert isinstance(decision, Grant) and decision.announce == NOW + 800
    assert "due in 1000 ms, its rows first" in decision.because
    light = heavy(deadlines=grid, announced=NOW - 2_200, swept=NOW - 2_200, per_row_ms=0.0001)
    assert isinstance(Klink().decide(snapshot(light)), Hold)


def test_a_tail_longer_than_patience_does_not_put_off_the_batch_before_the_deadline() -> None:
    """The rows of the tail may come seconds later; the window goes out at NOW + 1000 all the same."""
    grid = Deadlines((Grid(3_000, 800),))
    tail = DelayView(50, 900.0, 20.0, 2_000.0, 10.0, 6_000.0)
    view = heavy(deadlines=grid, announced=NOW - 2_200, swept=NOW - 2_200)
    late = again(view, inputs=tuple(replace(i, delay=tail) for i in view.inputs))
    assert Klink().decide(snapshot(late)) == Klink().decide(snapshot(view))
    assert isinstance(Klink().decide(snapshot(late)), Grant)


def test_its_second_batch_sweeps_when_it_is_due_and_announces_nothing() -> None:
    early = heavy(due_in=1_000)
    held = Klink().decide(snapshot(early))
    assert isinstance(held, Hold) and held.until == NOW + 1_000
    decision = Klink().decide(snapshot(heavy(due_in=0)))
    assert isinstance(decision, Grant) and decision.announce is None


def test_split_says_from_when_on_a_query_is_heavy() -> None:
    view = heavy(deadlines=Deadlines((Grid(3_000, 800),)), announced=NOW - 2_200, swept=NOW - 2_200)
    assert isinstance(Klink(split=31).decide(snapshot(view)), Hold)
    assert isinstance(Klink(split=29).decide(snapshot(view)), Grant)


def test_a_query_whose_sources_are_asked_first_is_never_served_early() -> None:
    view = heavy(deadlines=Deadlines((Grid(3_000, 800),)), announced=NOW - 2_200, swept=NOW - 2_200, ahead=False)
    assert isinstance(Klink().decide(snapshot(view)), Hold)


# ---- settings


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"confidence": 1.0}, "order.confidence = 1.0: expected a share between 0 and 1, e.g. 0.95"),
        ({"confidence": float("nan")}, "order.confidence = nan: expected a share between 0 and 1, e.g. 0.95"),
        ({"step_ms": 0}, "order.step_ms = 0: expected more than 0 milliseconds"),
        ({"spare": -0.1}, "order.spare = -0.1: expected 0 or more, a share of the time that batches should take"),
        ({"interval": "wide"}, "order.interval = 'wide': expected 'predictive' or 'paper'"),
    ],
)
def test_a_bad_setting_is_refused(settings: dict[str, object], says: str) -> None:
    with pytest.raises(SettingError) as error:
        Klink(**settings)  # type: ignore[arg-type]
    assert str(error.value) == says


# ---- heavy queries: as many batches before the one that emits as pay


def loaded(load: float, since_ms: int = 1_000, due_in_ms: int = 3_000, fixed_ms: float = 80.0) -> QueryView:
    """Its last batch began a while ago, its window is due later; the rows of a moment cost `load` of it."""
    rows = stream(rows_per_s=100_000.0)
    end = NOW + due_in_ms - 200
    return viewed(
        "heavy", (rows,), Deadlines((Grid(3_000, end % 3_000),)), waiting_since=NOW, granted_at=WallMs(NOW - since_ms),
        announced=EventMs(end - 3_000), swept=EventMs(end - 3_000), ahead=True, fixed_ms=fixed_ms, per_row_ms=load / 100,
    )  # fmt: skip


def planned(view: QueryView, price: float = 0.1, most: int = 5, spare: float = 0.3) -> tuple[float, int]:
    seen = Columns.of((view,))
    slack = Klink().slack_ms(seen, NOW)
    at, k = batches_before(seen, slack, NOW, price, most, spare)
    assert batches_before_one(view, float(slack[0]), NOW, price, most, spare) == (at[0], k[0])
    return float(at[0]) - NOW, int(k[0])


def test_the_more_rows_cost_the_more_batches_there_are_before_the_last_one_and_the_sooner_the_first_begins() -> None:
    plans = [planned(loaded(load)) for load in (0.05, 0.2, 0.4, 0.6)]
    assert [k for _, k in plans] == sorted(k for _, k in plans) and plans[0][1] <= 2 and plans[-1][1] >= 3
    assert [at for at, _ in plans] == sorted((at for at, _ in plans), reverse=True)


def test_where_others_wait_there_are_fewer_and_none_is_too_many() -> None:
    counts = [planned(loaded(0.4), price)[1] for price in (0.0, 0.1, 1.0, 10.0)]
    assert counts == sorted(counts, reverse=True) and counts[-1] == 1
    assert planned(loaded(0.4), 0.1, most=1)[1] == 1


def test_when_it_is_too_late_for_all_of_them_the_last_ones_are_made() -> None:
    """Each batch is planned anew, so one that took longer than it should costs one of those that follow."""
    left = [planned(loaded(0.4, since_ms=800, due_in_ms=due))[1] for due in (2_500, 1_000, 700, 300)]
    assert left == sorted(left, reverse=True) and left[-1] == 1


def test_the_more_time_is_kept_in_hand_the_sooner_they_begin() -> None:
    begins = [planned(loaded(0.4), spare=spare)[0] for spare in (0.0, 0.15, 0.3, 0.6)]
    assert begins == sorted(begins, reverse=True) and begins[0] - begins[2] > 100
    light = [planned(loaded(0.05), spare=spare)[0] for spare in (0.0, 0.3)]
    assert 0 < light[0] - light[1] < 100, "less time for less work"


def test_a_batch_that_is_not_the_last_before_its_window_announces_nothing() -> None:
    view = loaded(0.5, since_ms=1_900, due_in_ms=1_660)
    assert planned(view)[1] > 1
    granted = Klink().decide(snapshot(view, slots=2))
    assert isinstance(granted, Grant) and granted.announce is None
    last = loaded(0.5, since_ms=300, due_in_ms=260)
    granted = Klink().decide(snapshot(last, slots=2))
    assert isinstance(granted, Grant) and granted.announce == NOW + 60
