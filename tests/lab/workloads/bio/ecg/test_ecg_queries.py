"""The step of the merge is a fold: packets cut into calls anyhow, repeated, or lost, are treated as they should be."""

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headway_lab.workloads.bio.ecg import detected, fed, started
from headway_lab.workloads.bio.ecg.queries import found
from headway_lab.workloads.hashing import Longs
from lab.workloads.bio.ecg.hearts import FS, heart, regular
from tried import tried

TRUE = regular(20)
SIGNAL = heart(TRUE, TRUE[-1] + 400, noise=4.0)


def rows(x: Longs, packet: int = 36) -> list[Any]:
    return [SimpleNamespace(fs=FS, first=i, samples=x[i : i + packet].tolist()) for i in range(0, len(x), packet)]


def told(calls: list[list[Any]]) -> list[tuple[Any, ...]]:
    results, state = [], None
    for call in calls:
        new, state = found("a", call, state)
        results += new
    return results


ALONE = [("a", beat.at, beat.rr, beat.height, beat.searched) for beat in fed(started(FS), SIGNAL)[0]]


@tried(30)
@given(cuts=st.lists(st.integers(0, 175), max_size=10), packet=st.sampled_from([36, 37, 360]))
def test_calls_may_be_cut_anywhere(cuts: list[int], packet: int) -> None:
    sent = rows(SIGNAL, packet)
    edges = [0, *sorted(min(cut, len(sent)) for cut in cuts), len(sent)]
    assert told([sent[a:b] for a, b in pairwise(edges)]) == ALONE != []


def test_a_packet_that_comes_twice_or_too_late_changes_nothing() -> None:
    sent = rows(SIGNAL)
    assert told([sent[:60], sent[40:80], [sent[3]], sent[80:]]) == ALONE


def test_after_a_gap_it_begins_anew_and_the_first_interval_is_unknown() -> None:
    sent = rows(SIGNAL)
    lost = told([sent[:80], sent[90:]])
    before, _ = fed(started(FS), SIGNAL[: 80 * 36])
    after, _ = fed(started(FS, 90 * 36), SIGNAL[90 * 36 :])
    assert [row[1] for row in lost] == [beat.at for beat in (*before, *after)]
    assert [row[2] for row in lost if row[1] == after[0].at] == [None]
    assert len(lost) < len(detected(SIGNAL, FS))
