"""A writer's log: it finds, grows, forgets, and keeps payloads what they are."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.merge.log import LEAST_ROOM, WriterLog
from headway.merge.rows import Flag, Row, Rows
from tried import tried


@tried(50)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 400), st.booleans()), min_size=1, max_size=20), st.integers(0, 60)
)
def test_it_is_a_list_that_forgets_its_start(steps: list[tuple[int, int, bool]], share: int) -> None:
    log, plain, now = WriterLog(0), [], 0
    for gap, count, many in steps:
        stamps = now + gap * np.arange(count)
        now = int(stamps[-1])
        if many:
            log.extend(stamps, stamps.astype(object))
        else:
            for stamp in stamps.tolist():
                log.append(stamp, stamp)
        plain += stamps.tolist()
        log.forget(log.first + len(log) * share // 60)
        kept = plain[log.first :]
        assert len(log) == len(kept) and log.newest == now
        found, payloads = log.part(log.first, log.end)
        assert found.tolist() == payloads.tolist() == kept
        middle = now // 2
        assert log.until(middle, log.first) == log.first + sum(stamp <= middle for stamp in kept)
        assert len(log._timestamps) <= max(LEAST_ROOM, 4 * len(log), 2 * (len(log) + count))
    assert log.end == len(plain) > 0


@pytest.mark.parametrize(
    ("first", "second", "dtype"),
    [
        (np.array([1, 2]), np.array([3, 4]), np.int64),
        (np.array([1, 2]), np.array([0.5, 4]), object),
        (np.array([1, 2]), np.array(["a", "b"]), object),
        (np.array([2.5, 3]), np.array([None, "x"], object), object),
    ],
)
def test_payloads_keep_their_type_until_another_comes(first: Any, second: Any, dtype: Any) -> None:
    log = WriterLog(0)
    log.extend(np.array([1, 2]), first)
    log.extend(np.array([3, 4]), second)
    _, payloads = log.part(0, 4)
    assert payloads.dtype == dtype and payloads.tolist() == [*first.tolist(), *second.tolist()]


def test_rows_are_the_same_as_arrays_and_one_by_one() -> None:
    rows = [Row(1, 0, 0, "a", Flag.READY), Row(2, 1, 0, (1, 2), Flag.LATE | Flag.SLACK_READY)]
    assert Rows.of(rows).rows() == rows and len(Rows.of([])) == 0
    numbers = Rows(np.array([1]), np.array([0]), np.array([0]), np.array([1.5]), np.array([0], np.uint8))
    both = Rows.joined([Rows.of([]), numbers, Rows.of(rows)])
    assert both.payloads.tolist() == [1.5, "a", (1, 2)] and len(both[:2]) == 2
