"""The K-slack reference: sorted by waiting, late ones flagged, alike in single calls and batches."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headway.errors import SettingError
from headway.merge.k_slack import KSlack
from headway.merge.rows import Flag, Row
from tried import tried

few = tried(60)
stamps = st.lists(st.integers(0, 40), min_size=1, max_size=4)
steps = st.one_of(
    st.tuples(st.just("write"), st.integers(0, 2), stamps),
    st.tuples(st.just("read"), st.integers(0, 1), st.none() | st.integers(0, 5)),
)


@few
@given(st.lists(steps, max_size=40), st.integers(0, 20), st.randoms(use_true_random=False))
def test_it_gives_the_least_that_has_waited_or_is_late(script: list[tuple[Any, ...]], k_ms: int, chance: Any) -> None:
    """Against a plain list, with single calls and calls for many mixed at random."""
    gate = KSlack(k_ms, readers=2)
    waiting: list[list[tuple[int, int, int]]] = [[], []]
    heads: list[tuple[int, int, int] | None] = [None, None]
    written, newest = [0, 0, 0], 0
    out: list[list[Row | None]] = []
    wanted: list[list[Row]] = []
    for kind, who, what in script:
        if kind == "write":
            if chance.random() < 0.5:
                gate.insert_many(what, what, who)
            else:
                for stamp in what:
                    gate.insert((stamp, stamp), who)
            for stamp in what:
                newest = max(newest, stamp)
                for keys in waiting:
                    keys.append((stamp, who, written[who]))
                written[who] += 1
            continue
        expected: list[Row] = []
        while waiting[who] and len(expected) != what:
            key, head = min(waiting[who]), heads[who]
            late = head is not None and key < head
            if not late and newest - key[0] < k_ms:
                break
            waiting[who].remove(key)
            heads[who] = key if head is None else max(head, key)
            expected.append(Row(key[0], key[1], key[2], key[0], Flag.LATE if late else Flag.READY))
        wanted.append(expected)
        if chance.random() < 0.5:
            out.append([*gate.get_many(who, what).rows()])
        else:
            out.append([gate.get(who) for _ in expected])
            assert len(expected) == what or gate.get(who) is None
    assume(any(wanted))
    assert out == wanted


@few
@given(st.lists(st.integers(0, 9), max_size=60))
def test_disorder_within_k_leaves_no_trace(delays: list[int]) -> None:
    gate, out = KSlack(10), []
    for at, stamp in sorted((n + delay, n) for n, delay in enumerate(delays)):
        gate.insert((stamp, at))
        out += gate.get_many().rows()
    gate.insert((len(delays) + 20, None))
    out += gate.get_many().rows()
    assert [row.timestamp for row in out] == list(range(len(delays)))
    assert not any(row.flag for row in out)


def test_a_caller_may_use_its_arrays_again() -> None:
    gate, mine = KSlack(0), np.array([1, 2])
    gate.insert_many(mine, mine)
    mine[:] = 7
    assert [row[:4] for row in gate.get_many().rows()] == [(1, 0, 0, 1), (2, 0, 1, 2)]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: KSlack(-1), "k_ms = -1: expected a whole number of 0 or more"),
        (lambda: KSlack(1).get(1), "reader = 1: expected a number from 0 to 0"),
        (lambda: KSlack(1).insert((1, None), -1), "writer = -1: expected a whole number"),
        (lambda: KSlack(1).insert_many([1], []), "payloads = '0 of them': expected one for each of the 1"),
    ],
)
def test_bad_input_is_one_line(call: Any, says: str) -> None:
    with pytest.raises(SettingError, match=says):
        call()
