"""The order in which an ordered merge hands rows over, whatever the batches in which they come."""

import random
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import HeadwayError
from headway.spark.merge_order import AT, HASH, NULL, SOURCE, Bucket, Column, MergeLayout, advance, row_class
from headway.spark.merge_state import packed, unpacked
from tried import tried

COLUMNS = (
    Column("k", "object", True, "string"),
    Column("v", "number", True, "bigint"),
    Column("ts", "time", False, "timestamp"),
)
LAYOUT = MergeLayout(COLUMNS, on=("k",), ties=(), one_key=True, buckets=1)
Given = tuple[int, int, str, int]  # microseconds, source, key, value
rows = st.lists(
    st.tuples(st.integers(1, 40).map(lambda ms: ms * 1000), st.integers(0, 2), st.sampled_from("ab"), st.integers(0, 3)),
    max_size=25,
)


def arrays(rows: list[Given], missing: tuple[int, ...] = ()) -> dict[str, Any] | None:
    if not rows:
        return None
    at, source, keys, values = (list(x) for x in zip(*rows, strict=True))
    return {
        AT: np.array(at), SOURCE: np.array(source), HASH: np.array([crc32(repr(g).encode()) for g in rows]),
        "k": np.array(keys, dtype=object), "v": np.array(values), "ts": np.array(at),
        NULL + "v": np.array([i in missing for i in range(len(rows))]),
    }  # fmt: skip


def fold(key: str, rows: list[Any], state: Any) -> tuple[list[Any], Any]:
    """Each row with all that came before it: the whole sequence shows in the last result."""
    out = []
    for row in rows:
        state = (*(state or ()), (row.ts, row.source, row.v))
        out.append((key, state, row.late, row.passed))
    return out, state


def run(batches: list[tuple[list[Given], int]], layout: MergeLayout = LAYOUT) -> tuple[list[Any], Bucket]:
    bucket, out = Bucket(layout.spread, layout.shape), []
    for new, watermark_ms in batches:
        results, bucket = advance(layout, fold, bucket, arrays(new), watermark_ms)
        bucket = unpacked(layout, packed(bucket))
        out += results
    return out, bucket


def by_key(out: list[Any]) -> dict[str, list[Any]]:
    return {key: [r for r in out if r[0] == key] for key in "ab"}


@given(rows, st.integers(0, 1_000), st.integers(1, 6))
def test_any_cut_into_batches_gives_the_same_results_while_no_row_is_late(rows: list[Given], seed: int, cuts: int) -> None:
    whole, left = run([(rows, 41)])
    dice = random.Random(seed)
    ordered, batches = sorted(rows), []
    ends = sorted(dice.randrange(len(rows) + 1) for _ in range(cuts))
    for begin, end in zip([0, *ends], [*ends, len(rows)], strict=True):
        new = ordered[begin:end]
        dice.shuffle(new)
        # Up to the oldest row that is still to come, and not beyond.
        batches.append((new, ordered[end][0] // 1000 if end < len(rows) else 41))
    cut, rest = run(batches)
    assert by_key(cut) == by_key(whole)
    assert not any(late for _, _, late, _ in cut)
    assert left.held is None and rest.held is None
    for key, results in by_key(whole).items():
        assert len(results) == sum(k == key for _, _, k, _ in rows)
        moments = [seen[-1][:2] for _, seen, _, _ in results]
        assert moments == sorted(moments)


@given(st.lists(st.tuples(rows, st.integers(0, 41)), max_size=6))
def test_every_row_comes_once_and_is_late_exactly_if_a_watermark_had_passed_it(rows: list[tuple[list[Given], int]]) -> None:
    out, passed, expected = [], 0, []
    bucket = Bucket(LAYOUT.spread, LAYOUT.shape)
    for new, watermark in [*rows, ([], 41)]:
        expected += [(k, v, passed if at < passed * 1000 else None) for at, _, k, v in new]
        results, bucket = advance(LAYOUT, fold, bucket, arrays(new), max(passed, watermark))
        lates = [late for k in "ab" for key, _, late, _ in results if key == k]
        assert lates == [late for k in "ab" for late in sorted((r[2] for r in results if r[0] == k), reverse=True)]
        passed = max(passed, watermark)
        out += results
    got = [(k, seen[-1][2], None if was is None else was.microsecond // 1000) for k, seen, _, was in out]
    assert sorted(map(repr, got)) == sorted(map(repr, expected))
    assert bucket.held is None
    for results in by_key(out).values():
        on_time = [seen[-1][0] for _, seen, late, _ in results if not late]
        assert on_time == sorted(on_time)


@tried(50)
@given(rows, st.integers(1, 41), st.integers(0, 20))
def test_a_key_is_forgotten_after_the_same_silence_wherever_a_batch_ends(rows: list[Given], cut: int, silence: int) -> None:
    layout = replace(LAYOUT, forget_us=silence * 1000)
    early = [row for row in rows if row[0] < cut * 1000]
    whole, _ = run([(rows, 41)], layout)
    halves, _ = run([(early, cut), ([row for row in rows if row not in early], 41)], layout)
    assert by_key(halves) == by_key(whole)
    for _, seen, _, _ in whole:
        gaps = [(b[0] - a[0]).total_seconds() * 1000 for a, b in pairwise(seen)]
        assert all(gap <= silence for gap in gaps)
    assert run([(rows, 41), ([], 41 + 41 + silence)], layout)[1].known == {}


def test_nothing_stays_none_and_numbers_stay_whole() -> None:
    seen: list[Any] = []

    def keep(key: str, rows: list[Any], state: Any) -> tuple[list[Any], Any]:
        seen.extend(rows)
        return [], rows[-1]  # a row as state

    big = 2**62 + 1
    new = arrays([(1000, 0, "a", big), (2000, 1, "a", 0), (1_500_000, 0, "a", 5)], missing=(1,))
    _, bucket = advance(LAYOUT, keep, Bucket(LAYOUT.spread, LAYOUT.shape), new, 1_000)
    assert [row.v for row in seen] == [big, None]
    assert seen[0] == ("a", big, datetime(1970, 1, 1, 0, 0, 0, 1000), 0, False, None)
    assert unpacked(LAYOUT, packed(bucket)).known["a"][0].source == 1
    assert row_class(("a b", "class")) is row_class(("a b", "class"))


def test_times_are_those_of_the_sessions_zone() -> None:
    zone = replace(LAYOUT, zone="Asia/Tokyo")
    out, _ = run([([(1000, 0, "a", 1)], 1_000)], zone)
    assert out == [("a", ((datetime(1970, 1, 1, 9, 0, 0, 1000), 0, 1),), False, None)]


def test_a_checkpoint_of_another_merge_is_refused() -> None:
    _, bucket = run([([(1_000, 0, "a", 1)], 1)])
    with pytest.raises(HeadwayError, match="keep `on` and `buckets` as they were"):
        unpacked(replace(LAYOUT, buckets=2), packed(bucket))
    wider = replace(LAYOUT, columns=(*COLUMNS, Column("w", "object", True, "string")))
    with pytest.raises(HeadwayError, match="holds rows with the columns"):
        unpacked(wider, packed(bucket))
    assert unpacked(wider, packed(replace(bucket, held=None))).passed_ms == 1
