"""Answers from a sample and their bounds."""

from dataclasses import asdict
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from golden.answers import VECTORS, Vector
from headway.estimate.bounds import Answer, Certainty, Sums, bounded, deviations
from tried import tried

SURE = Certainty.at(0.95)
every_vector = pytest.mark.parametrize("vector", VECTORS.values(), ids=VECTORS.keys())


@every_vector
def test_an_answer_is_what_the_golden_file_says(vector: Vector) -> None:
    if vector.kind == "quantile":
        found = vector.sums.quantile(vector.share, vector.percentiles, vector.sure)
    else:
        found = getattr(vector.sums, vector.kind)(vector.sure)
    assert vector.is_said_by(found), f"{found}, not {vector.says}"


@every_vector
def test_sums_are_those_of_the_rows(vector: Vector) -> None:
    value, rate = (np.array([row[i] for row in vector.rows]) for i in (0, 1))
    assert asdict(Sums.of(value, rate)) == pytest.approx(asdict(vector.sums), rel=1e-12)


rows = st.lists(st.tuples(st.floats(0.1, 100.0), st.sampled_from([0.1, 0.25, 0.5, 1.0])), min_size=1, max_size=60)


@given(rows=rows, seen=st.floats(0.2, 1.0), unsure=st.floats(0.0, 0.2))
@tried(100)
def test_bounds_are_around_the_answer_and_wider_the_less_is_known(
    rows: list[tuple[float, float]], seen: float, unsure: float
) -> None:
    sums = Sums.of(*(np.array([row[i] for row in rows]) for i in (0, 1)))
    for kind in ("mean", "total"):
        known, guessed = (getattr(sums, kind)(Certainty.at(0.95, seen, off)) for off in (0.0, unsure))
        surer = getattr(sums, kind)(Certainty.at(0.8, seen, unsure))
        assert known.lower <= known.estimate <= known.upper and known.sample == len(rows)
        assert guessed.width >= known.width - 1e-9 and guessed.width >= surer.width - 1e-9


def test_answers_of_the_same_rows_with_all_of_them_there_have_no_width() -> None:
    sums = Sums.of(np.arange(1.0, 50.0), np.ones(49))
    for answer, exact in ((sums.mean(SURE), 25.0), (sums.total(SURE), 1225.0), (sums.number(SURE), 1225.0)):
        assert answer.lower == answer.estimate == answer.upper == exact and answer.sound


@pytest.mark.parametrize("seen", [1.0, 0.9])
def test_bounds_hold_the_exact_answer_as_often_as_they_say(seen: float) -> None:
    rng = np.random.default_rng(4)
    value = rng.gamma(4.0, 2.0, 1_500)
    rate, held = np.where(np.arange(1_500) % 3 == 0, 0.5, 0.15), np.zeros(2)
    for _ in range(400):
        at = np.flatnonzero((rng.random(1_500) < rate) & (rng.random(1_500) < seen))
        sums, sure = Sums.of(value[at], rate[at]), Certainty.at(0.95, seen)
        held += [sums.mean(sure).holds(value.mean()), sums.total(sure).holds(value.sum())]
    assert (held / 400 > 0.925).all() and (held / 400 < 0.985).all()


def test_who_says_nothing_is_off_by_all_and_rules_nothing_out() -> None:
    nothing = Sums(0).mean(SURE)
    assert (nothing.estimate, nothing.error(7.0), nothing.holds(1e9), nothing.width) == (None, 1.0, True, inf)
    assert Sums(0).number(SURE) == Answer(0.0, 0.0, 0.0, 0, sound=False)


def test_few_rows_are_bounded_by_chebyshev_and_many_by_the_normal_curve() -> None:
    assert deviations(20, False, SURE) == SURE.widest > deviations(20, True, SURE) > deviations(10_000, True, SURE) > SURE.z
    few, many = (bounded(10.0, 1.0, n, n >= 30, SURE) for n in (20, 3_000))
    assert (few.sound, many.sound) == (False, True) and few.width > 2 * many.width
    assert bounded(10.0, 0.0, 3, False, SURE) == Answer(10.0, 10.0, 10.0, 3)
