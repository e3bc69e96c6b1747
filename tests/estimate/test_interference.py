"""The interference score against the pseudocode of Fig. 5, written out line by line, and its laws."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import SettingError
from headway.estimate.interference import Interference, smoothed, window_weights
from headway.model.arrays import Floats
from headway.model.ring import NEPTUNE, RingShape
from model.fleets import SMALL, values

amplifiers = st.integers(1, 6)
SHAPES = st.sampled_from([SMALL, RingShape((1250, 1750), 3), RingShape((500,), 1)])


def figure_5(shape: RingShape, rw: list[float], cw: list[float], settings: Interference) -> float:
    """The pseudocode. It leaves open what `rw[p - 1]` of the first window is; here a ring's edge is its own neighbour."""
    n, cpu, bandwidth = settings.amplifier, settings.cpu, settings.bandwidth
    score, offset, total = 0.0, 0, shape.span_ms
    for ring in range(shape.count):
        rows = range(ring * shape.windows, (ring + 1) * shape.windows)
        first, last, resolution, dist = rows[0], rows[-1], shape.lengths_ms[ring], offset
        for p in rows:
            before, after = max(first, p - 1), min(last, p + 1)
            ru = 0.5 * rw[before] + rw[p] + 0.5 * rw[after]
            rs = ru**n / (cpu * bandwidth) ** n / resolution
            cu = ru + 0.5 * cw[before] + cw[p] + 0.5 * cw[after]
            cs = cu**n / (cpu * bandwidth) ** n / resolution
            score += (cs - rs) * (1 - dist / total)
            dist += resolution
        offset += shape.windows * resolution
    return score


@st.composite
def cases(draw: st.DrawFn) -> tuple[RingShape, Floats, Floats, Interference]:
    """A shape, some nodes, some computations, settings."""
    shape = draw(SHAPES)
    nodes = np.stack([draw(values(shape)) for _ in range(draw(st.integers(1, 4)))])
    computations = np.stack([draw(values(shape)) for _ in range(draw(st.integers(1, 4)))])
    share = st.floats(0.2, 1.0)
    return shape, nodes, computations, Interference(draw(amplifiers), draw(share), draw(share))


Case = tuple[RingShape, Floats, Floats, Interference]


@given(cases())
def test_the_score_is_that_of_figure_5(case: Case) -> None:
    shape, nodes, computations, settings = case
    table = settings.all(shape, nodes, computations)
    assert table.shape == (len(computations), len(nodes))
    wanted = [[figure_5(shape, r.tolist(), c.tolist(), settings) for r in nodes] for c in computations]
    assert table == pytest.approx(np.array(wanted), rel=1e-9, abs=1e-9)


@given(cases())
def test_one_after_another_or_all_at_once_is_the_same(case: Case) -> None:
    shape, nodes, computations, settings = case
    table = settings.all(shape, nodes, computations)
    columns = [settings.each(shape, r[None, :], computations) for r in nodes]
    assert np.stack(columns, axis=1) == pytest.approx(table, rel=1e-9, abs=1e-12)


def test_an_example_by_hand() -> None:
    shape, settings = RingShape((1000,), 2), Interference(2, 1.0, 1.0)
    r, c = np.array([[1.0, 3.0]]), np.array([[1.0, 0.0]])
    # Smoothed, where each edge is its own neighbour: r 3 and 5, c 1.5 and 0.5. The second window is half the span away.
    by_hand = ((3.0 + 1.5) ** 2 - 3.0**2) / 1000 + ((5.0 + 0.5) ** 2 - 5.0**2) / 1000 * 0.5
    assert smoothed(shape, r).tolist() == [[3.0, 5.0]]
    assert settings.all(shape, r, c)[0, 0] == pytest.approx(by_hand)


@given(cases())
def test_a_computation_that_uses_nothing_is_disturbed_by_nothing(case: Case) -> None:
    shape, nodes, computations, settings = case
    assert not settings.all(shape, nodes, np.zeros_like(computations)).any()


@given(cases(), st.integers(0, 20), st.floats(0.01, 5.0))
def test_more_load_in_any_window_means_more_interference(case: Case, at: int, more: float) -> None:
    shape, nodes, computations, settings = case
    window = at % shape.size
    fuller = nodes.copy()
    fuller[:, window] += more
    busy = computations + 0.01
    before, after = settings.all(shape, nodes, busy), settings.all(shape, fuller, busy)
    # With n = 1 the load of others does not count; the last window is all but a span away, and still counts.
    assert (after > before).all() if settings.amplifier > 1 else after == pytest.approx(before)


@given(cases(), st.floats(0.1, 10.0))
def test_twice_the_use_of_all_scores_two_to_the_nth(case: Case, times: float) -> None:
    shape, nodes, computations, settings = case
    scaled = settings.all(shape, times * nodes, times * computations)
    assert scaled == pytest.approx(times**settings.amplifier * settings.all(shape, nodes, computations), rel=1e-8, abs=1e-12)


@given(cases())
def test_slack_that_is_set_aside_makes_every_score_greater(case: Case) -> None:
    shape, nodes, computations, settings = case
    whole = replace(settings, cpu=1.0, bandwidth=1.0)
    share = (settings.cpu * settings.bandwidth) ** settings.amplifier
    wanted = whole.all(shape, nodes, computations)
    assert share * settings.all(shape, nodes, computations) == pytest.approx(wanted, rel=1e-8, abs=1e-12)


@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_nodes_and_computations_changes_no_score(case: Case, chance: Random) -> None:
    shape, nodes, computations, settings = case
    some, others = list(range(len(nodes))), list(range(len(computations)))
    chance.shuffle(some)
    chance.shuffle(others)
    table = settings.all(shape, nodes, computations)
    assert settings.all(shape, nodes[some], computations[others]) == pytest.approx(table[np.ix_(others, some)], rel=1e-9)


def test_the_same_collision_counts_for_less_the_farther_off_it_is() -> None:
    weights = window_weights(NEPTUNE)
    assert (np.diff(weights) < 0).all() and weights[0] == pytest.approx(1 / 1000)
    assert weights[30] == pytest.approx((1 - 30 / 180) / 2000) and weights[89] == pytest.approx((1 - 177 / 180) / 3000)


def test_what_is_left_of_a_node_by_rounding_is_nothing() -> None:
    settings, busy = Interference(), np.ones((1, SMALL.size))
    empty = settings.all(SMALL, np.zeros((1, SMALL.size)), busy)
    assert settings.all(SMALL, np.full((1, SMALL.size), -1e-9), busy) == pytest.approx(empty, rel=0, abs=0)


@pytest.mark.parametrize(
    ("settings", "key"),
    [({"amplifier": 0}, "n"), ({"cpu": 0.0}, "cpu"), ({"cpu": 1.1}, "cpu"), ({"bandwidth": -1.0}, "bandwidth")],
)
def test_settings_without_sense_are_refused(settings: dict[str, float], key: str) -> None:
    with pytest.raises(SettingError, match=f"placement.{key} "):
        Interference(**settings)  # type: ignore[arg-type]
