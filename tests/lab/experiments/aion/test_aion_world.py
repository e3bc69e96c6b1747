"""Windows answered from samples, in virtual time."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from headway.model.sampling import Sampling, SamplingPolicy, StreamView
from headway.policy.sampling import Aion, Everything
from headway.sim.sampled_rows import SampledRows
from headway.sim.samples import Costs, SampledRun, SampledWorld, Windows, truth
from headway_lab.experiments.aion.answers import AGGREGATES
from headway_lab.experiments.aion.streams import stream

THREE = Windows(3_000, 3_000)
SLIDING = Windows(6_000, 3_000)
CHEAP = Costs(fixed_ms=10, read_ms=0.0, row_ms=0.001)


@dataclass(frozen=True)
class Share:
    """A fixed share, at once."""

    share: float
    wait_ms: int = 0
    error: float = 0.05
    confidence: float = 0.95
    most_ms: int = 10_000

    def decide(self, seen: StreamView) -> Sampling:
        return Sampling(self.share, (1.0,) * seen.places, self.wait_ms, "as told")


def run(
    workload: str, rows: SampledRows, windows: Windows, policy: SamplingPolicy, costs: Costs, warm_ms: float = 0.0
) -> SampledRun:
    return SampledWorld(AGGREGATES[workload], rows, windows, policy, costs).run(warm_ms)


def errors(trace: SampledRun) -> list[float]:
    return [w.answer.error(w.exact) for w in trace.windows]


@pytest.mark.parametrize("windows", [THREE, SLIDING], ids=["tumbling", "sliding"])
@pytest.mark.parametrize("workload", ["ysb", "taxi"])
def test_everything_with_k_slack_is_exact_once_the_longest_delay_is_known(workload: str, windows: Windows) -> None:
    rows = stream(workload, "GG", 1_000, 40, seed=1)
    known = run(workload, rows, windows, Everything(), CHEAP).windows[3:]
    assert len(known) >= 8
    for window in known:
        assert window.wait_ms >= 340 and window.answer.holds(window.exact)
        # How much of a window is there is an estimate, also when all of it is.
        assert window.answer.error(window.exact) < 1e-4 and window.late == 0
        assert window.answer.sample == window.rows


def test_sliding_windows_hold_the_rows_of_all_their_panes() -> None:
    rows = stream("taxi", "CC", 1_000, 20, seed=1)
    found = truth(AGGREGATES["taxi"], rows, SLIDING)
    inside = (rows.event_ms >= 3_000) & (rows.event_ms < 9_000)
    assert found.numbers[1] == 2 and found.rows[1] == inside.sum()
    assert found.answers[1] == pytest.approx(rows.value[inside].mean())


def test_a_window_is_emitted_after_its_wait_and_its_work() -> None:
    rows = stream("ysb", "CC", 1_000, 20, seed=1)
    costs = Costs(fixed_ms=20, read_ms=0.01, row_ms=0.1)
    trace = run("ysb", rows, THREE, Share(0.5, wait_ms=200), costs)
    assert len(trace.windows) > 3
    for window in trace.windows[1:]:
        # A second batch reads what came since the first: three seconds of rows, of which one half is taken.
        assert window.latency_ms == pytest.approx(200 + 20 + 30 + 150, rel=0.05)


def test_batches_that_cost_more_than_a_window_wait_for_each_other() -> None:
    rows = stream("ysb", "CC", 1_000, 40, seed=1)
    dear = Costs(fixed_ms=0, read_ms=0.0, row_ms=1.5)  # 4.5 s for the rows of 3
    latency = [w.latency_ms for w in run("ysb", rows, THREE, Share(1.0), dear).windows]
    assert latency[0] == pytest.approx(4_500, rel=0.1)
    assert (
        np.diff(latency) == pytest.approx(1_500, rel=0.15) and len(latency) == 13
    )  # each is later by what it takes too long
    third = [w.latency_ms for w in run("ysb", rows, THREE, Share(0.3), dear).windows]
    assert max(third) < 3_000


def test_until_it_is_warm_batches_take_no_time() -> None:
    rows = stream("ysb", "CC", 1_000, 20, seed=1)
    windows = run("ysb", rows, THREE, Share(1.0), Costs(0, 0.0, 1.5), warm_ms=9_000).windows
    assert [w.latency_ms == 0 for w in windows[:4]] == [True, True, True, False]


def test_batches_differ_by_the_spread_that_is_asked_for_and_by_the_seed() -> None:
    uneven = Costs(10, 0.001, 0.1, spread=0.3)
    luck = uneven.luck(4_000, seed=1)
    assert luck.mean() == pytest.approx(1, rel=0.03) and luck.std() == pytest.approx(0.3, rel=0.1)
    assert (luck == uneven.luck(4_000, seed=1)).all() and (luck != uneven.luck(4_000, seed=2)).any()
    assert (CHEAP.luck(10, seed=1) == 1).all()


def test_what_has_not_come_in_is_late_and_the_count_is_scaled_for_it() -> None:
    rows = stream("ysb", "EG", 5_000, 60, seed=2)
    windows = run("ysb", rows, THREE, Share(1.0), CHEAP).windows[5:]
    assert np.mean([w.late / w.rows for w in windows]) == pytest.approx(240 / 3_000, rel=0.1)
    assert max(w.answer.error(w.exact) for w in windows) < 0.03
    estimates = [w.answer.estimate for w in windows if w.answer.estimate is not None]
    assert len(estimates) == len(windows)
    assert abs(np.mean([said / w.exact - 1 for said, w in zip(estimates, windows, strict=True)])) < 0.005


def test_a_larger_share_has_a_smaller_error() -> None:
    rows = stream("taxi", "EG", 2_000, 60, seed=1)
    means = [float(np.mean(errors(run("taxi", rows, THREE, Share(s), CHEAP)))) for s in (0.02, 0.1, 0.5)]
    assert means[0] > means[1] > means[2] > 0


def test_aion_waits_for_nobody_where_a_small_sample_is_enough() -> None:
    rows = stream("ysb", "EG", 25_000, 24, seed=1)
    windows = run("ysb", rows, THREE, Aion(of="sum"), CHEAP).windows[3:]
    assert {w.wait_ms for w in windows} == {0}
    assert all(0.03 < w.answer.sample / w.rows < 0.1 for w in windows)


def test_aion_waits_for_all_where_delay_grows_with_value() -> None:
    early, late = (stream("taxi", s, 5_000, 45, seed=1) for s in ("EG", "EV"))
    plain, coupled = (run("taxi", rows, THREE, Aion(), CHEAP).windows[5:] for rows in (early, late))
    assert {w.wait_ms for w in plain} == {0} and min(w.wait_ms for w in coupled) > 1_500
    hasty = run("taxi", late, THREE, Share(1.0), CHEAP).windows[5:]
    # All rows that had come by the end are further from the truth than a small sample of all rows that there are.
    assert np.mean([w.answer.error(w.exact) for w in hasty]) > 2 * np.mean([w.answer.error(w.exact) for w in coupled])


def test_a_window_waits_until_each_sub_stream_has_its_rows() -> None:
    """The network holds back everything for a while: rows that were made come in up to 1.5 s later than they ever did."""
    rows = stream("taxi", "CC", 1_000, 30, seed=1)
    stuck = (rows.event_ms >= 20_000) & (rows.event_ms < 21_000)
    arrival = np.where(stuck, 21_000 + 1_500.0, rows.arrival_ms)
    order = np.argsort(arrival, kind="stable")
    held = replace(rows, event_ms=rows.event_ms[order], arrival_ms=arrival[order], value=rows.value[order])
    policy = Aion(most_ms=2_000)
    usual, late = (run("taxi", r, THREE, policy, CHEAP).windows for r in (rows, held))
    at = next(n for n, w in enumerate(late) if w.end_ms == 21_000)
    assert usual[at].latency_ms < 50
    assert late[at].latency_ms > usual[at].latency_ms + 100  # as long as patience: the longest delay known then
    assert all(w.latency_ms < 50 for w in usual[4:])
