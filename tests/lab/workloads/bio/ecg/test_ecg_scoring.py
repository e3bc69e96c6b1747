"""Beats are matched as well as they can be, and counted as the standard has it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

from headway_lab.workloads.bio.ecg import BeatScore, scored
from headway_lab.workloads.bio.ecg.scoring import matched
from headway_lab.workloads.hashing import Longs
from lab.workloads.bio.ecg.hearts import FS, made_record, regular

moments = st.lists(st.integers(0, 400), max_size=12).map(lambda at: np.array(sorted(at), dtype=np.int64))


@given(true=moments, found=moments, tolerance=st.integers(0, 60))
def test_no_other_choice_has_more_pairs(true: Longs, found: Longs, tolerance: int) -> None:
    near = np.abs(true[:, None] - found[None, :]) <= tolerance
    best = (maximum_bipartite_matching(csr_matrix(near.astype(np.int8))) >= 0).sum() if near.size else 0
    assert matched(true, found, tolerance) == best == matched(found, true, tolerance)


def test_a_beat_counts_within_150_ms_and_once() -> None:
    record = made_record("a", regular(10), 4_000)
    true = record.beats.tolist()
    assert scored(record, true) == BeatScore(10, 0, 0)
    assert scored(record, [at + 54 for at in true]) == BeatScore(10, 0, 0)
    assert scored(record, [at + 55 for at in true]) == BeatScore(0, 10, 10)
    assert scored(record, sorted([*true, *(at + 40 for at in true)])) == BeatScore(10, 0, 10)


def test_flutter_and_the_first_minutes_are_left_out_of_both() -> None:
    record = replace(made_record("a", regular(10), 4_000), flutter=((900, 2_100),))
    left = [at for at in record.beats.tolist() if not 900 <= at <= 2_100]
    assert scored(record, [*left, 1_000, 1_500]) == BeatScore(len(left), 0, 0)
    assert scored(record, [], since_s=2_000 / FS) == BeatScore(0, sum(at >= 2_100 for at in left), 0)


def test_shares_are_of_what_was_marked_and_of_what_was_found() -> None:
    score = BeatScore(98, 2, 0) + BeatScore(1, 0, 11)
    assert score.sensitivity == pytest.approx(99 / 101) and score.positive_predictivity == pytest.approx(99 / 110)
    assert BeatScore(0, 0, 0).sensitivity == BeatScore(0, 0, 0).positive_predictivity == 1.0
