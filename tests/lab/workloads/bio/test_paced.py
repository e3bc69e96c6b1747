"""Records played over and over: row after row, however the stream is cut, at the rate of the profile."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_lab.workloads.bio.load_profiles import Dormant, RecurringRate, SteadyRate
from headway_lab.workloads.bio.paced import PacedRecord, paced_ecg, paced_thorax
from headway_lab.workloads.data import folder

EPOCH = 1_700_000_000_123
real = pytest.mark.skipif(folder() is None, reason="no real data: HEADWAY_DATA names no folder")


def numbered(i: int) -> tuple[bytes, bytes]:
    return b'"n":%d' % i, b"k%d" % (i % 3)


@given(
    profile=st.sampled_from([SteadyRate(40), RecurringRate(50, 5), Dormant(SteadyRate(30), 2)]),
    cuts=st.lists(st.integers(EPOCH - 2_000, EPOCH + 8_000), max_size=6),
)
def test_however_time_is_cut_no_row_is_lost_or_doubled(profile: SteadyRate, cuts: list[int]) -> None:
    paced = PacedRecord("rows", numbered, profile, EPOCH)
    whole = paced.feed(EPOCH - 5_000, EPOCH + 8_000)
    edges = [EPOCH - 5_000, *sorted(cuts), EPOCH + 8_000]
    pieces = [paced.feed(since, until) for since, until in pairwise(edges)]
    assert [row for piece in pieces for row in piece.rows()] == list(whole.rows())
    assert whole.body == [numbered(i)[0] for i in range(profile.rows(0, 8).sum())]


@real
def test_patients_and_records_take_turns_and_begin_again_at_their_end() -> None:
    chests = paced_thorax(SteadyRate(60, 0), EPOCH)
    sent = chests.feed(EPOCH, EPOCH + 2_000)
    assert len(sent) == 120 and sent.key is not None and len(set(sent.key[:6])) == 6
    assert chests.body(0) == chests.body(6 * 18_020) != chests.body(6)
    hearts = paced_ecg(SteadyRate(28, 0), EPOCH, packet=36)
    body, key = hearts.body(14 * 18_055)  # all 18,055 whole packets of the record are through
    again, same = hearts.body(0)
    assert key == same and b'"first":649980,' in body and b'"first":0,' in again
    assert body.partition(b"samples")[2] == again.partition(b"samples")[2]
