"""Spark and numpy make the same events from the same seed, however the time of arrival is cut into batches."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import SettingError
from headway.sim.delays import Constant, Exponential, Gamma, Uniform, Zipf
from headway_lab.workloads.hashing import xxhash64
from headway_lab.workloads.ysb import Ysb

EPOCH = 1_700_000_000_123
WORK = Ysb(seed=7, rate=700, epoch_ms=EPOCH, delay=Uniform(0, 500), offset_ms=1_234)

small_works = st.builds(
    Ysb,
    seed=st.integers(-(2**63), 2**63 - 1),
    rate=st.integers(1, 2_000),
    epoch_ms=st.just(EPOCH),
    delay=st.sampled_from([Constant(0), Uniform(0, 500), Zipf(), Gamma(2, 50), Exponential(100)]),
    offset_ms=st.integers(0, 2_999),
)


# Three events at once, a long pause, and one at the very end of the block.
GAPS = (0, 0, 0, 2_500, 2_600, 5_999)


def arrived(work: Ysb, spark: Any, cuts: list[int]) -> Counter[tuple[int, int]]:
    """(event_ms, arrival_ms) of the rows that Spark makes for the intervals between consecutive cuts."""
    intervals = spark.createDataFrame(list(pairwise(cuts)), "since long, until long")
    rows = work.expand(intervals).selectExpr("unix_micros(event_time) as event", "unix_micros(arrival) as arrival")
    return Counter((row.event / 1_000, row.arrival / 1_000) for row in rows.collect())


def known(work: Ysb, since: int, until: int) -> Counter[tuple[int, int]]:
    event_ms, arrival_ms = work.sample(until)
    inside = (arrival_ms >= since) & (arrival_ms < until)
    return Counter(zip(event_ms[inside].tolist(), arrival_ms[inside].tolist(), strict=True))


def panes(rows: list[Any]) -> dict[tuple[int, int], int]:
    return {(row.end_ms, row.campaign_id): row["count"] for row in rows}


def flat(counts: Any) -> Any:
    return counts.selectExpr("unix_millis(window.end) as end_ms", "campaign_id", "count")


@given(work=small_works, length=st.integers(0, 9_000))
def test_every_view_is_in_exactly_one_pane(work: Ysb, length: int) -> None:
    events = work.sample(EPOCH + length)[0]
    true = work.truth(EPOCH + length)

    assert 0 <= sum(true.values()) <= len(events)
    for end_ms, campaign in true:
        assert (end_ms - work.offset_ms) % work.window_ms == 0
        assert 0 <= campaign < work.campaigns


@given(work=small_works, length=st.integers(0, 5_000))
def test_events_keep_to_the_rate_and_the_delays_to_their_bound(work: Ysb, length: int) -> None:
    event_ms, arrival_ms = work.sample(EPOCH + length)

    assert len(event_ms) == -(-length * work.rate // 1_000)
    assert ((event_ms >= EPOCH) & (event_ms < EPOCH + length)).all()
    assert ((arrival_ms >= event_ms) & (arrival_ms <= event_ms + work.delay.max_ms)).all()


def test_the_same_seed_gives_the_same_stream_and_another_seed_another() -> None:
    again, other = replace(WORK), replace(WORK, seed=8)

    assert again.truth(EPOCH + 9_000) == WORK.truth(EPOCH + 9_000)
    assert other.truth(EPOCH + 9_000) != WORK.truth(EPOCH + 9_000)
    assert (other.campaign_of != WORK.campaign_of).any()


def test_hash_bits_spread_evenly_over_delays_types_and_campaigns() -> None:
    work = replace(WORK, rate=100_000)
    event_ms, arrival_ms = work.sample(EPOCH + 6_000)
    per_campaign: Counter[int] = Counter()
    for (_, campaign), count in work.truth(EPOCH + 6_000).items():
        per_campaign[campaign] += count

    assert (arrival_ms - event_ms).mean() == pytest.approx(250, abs=2)
    assert per_campaign.total() == pytest.approx(200_000, rel=0.01)
    assert min(per_campaign.values()) == pytest.approx(2_000, rel=0.1)
    assert max(per_campaign.values()) == pytest.approx(2_000, rel=0.1)


def test_each_campaign_has_its_ten_ads() -> None:
    assert np.bincount(WORK.campaign_of).tolist() == [10] * 100


def test_a_true_answer_has_nothing_wrong_and_a_doctored_one_shows_both_counts() -> None:
    last_ms = EPOCH + 9_000 - (EPOCH + 9_000 - WORK.offset_ms) % WORK.window_ms
    true = {pane: count for pane, count in WORK.truth(last_ms).items() if pane[0] <= last_ms}
    lost, short, *_ = sorted(true)
    ghost = (last_ms, 99)

    assert WORK.wrong(true) == {}
    assert WORK.wrong({}) == {}
    doctored = {**true, short: true[short] - 1, ghost: true.get(ghost, 0) + 3}
    del doctored[lost]
    assert WORK.wrong(doctored) == {
        lost: (0, true[lost]),
        short: (true[short] - 1, true[short]),
        ghost: (true.get(ghost, 0) + 3, true.get(ghost, 0)),
    }


@given(work=small_works, gaps=st.lists(st.integers(0, 999), min_size=1, max_size=9), length=st.integers(0, 500))
def test_unequal_gaps_are_those_of_the_table_over_and_over(work: Ysb, gaps: list[int], length: int) -> None:
    table = sorted(gap * len(gaps) for gap in gaps)  # the first event of a block need not be at its start
    work = replace(work, gaps=tuple(table))
    expected, block = [], 0
    while EPOCH + block * len(table) * 1_000 // work.rate < EPOCH + length:
        expected += [EPOCH + (block * len(table) * 1_000 + offset) // work.rate for offset in table]
        block += 1
    before = [ms for ms in expected if ms < EPOCH + length]

    assert work.sample(EPOCH + length)[0].tolist() == before
    event_ms, ad, kind = work.happened(EPOCH + length // 3, EPOCH + length)
    assert event_ms.tolist() == [ms for ms in before if ms >= EPOCH + length // 3]
    assert len(ad) == len(kind) == len(event_ms) and ((ad >= 0) & (ad < work.ads)).all()


def test_equal_gaps_are_no_gaps() -> None:
    even = replace(WORK, gaps=tuple(range(0, 7_000, 1_000)))
    assert even.truth(EPOCH + 9_000) == WORK.truth(EPOCH + 9_000)
    assert "gaps" in even.options() and "gaps" not in WORK.options()


def test_what_happened_adds_up_to_the_truth() -> None:
    event_ms, ad, kind = WORK.happened(EPOCH, EPOCH + 9_000)
    views = kind == 0
    end_ms = event_ms - (event_ms - WORK.offset_ms) % WORK.window_ms + WORK.window_ms
    counted = Counter(zip(end_ms[views].tolist(), WORK.campaign_of[ad[views]].tolist(), strict=True))
    assert dict(counted) == WORK.truth(EPOCH + 9_000)


@pytest.mark.parametrize("gaps", [(0, 3_000), (5, 4), (-1, 0), (1_000,)])
def test_gaps_that_go_back_or_beyond_their_block_are_refused(gaps: tuple[int, ...]) -> None:
    with pytest.raises(SettingError, match=r"ysb\.gaps = '\d numbers': expected ascending, from 0 on and below"):
        replace(WORK, gaps=gaps)


@pytest.mark.parametrize("bad", [{"rate": 0}, {"offset_ms": 3_000}, {"window_ms": 0}, {"ads_per_campaign": 20_000}])
def test_a_setting_that_cannot_work_is_refused_by_name(bad: dict[str, int]) -> None:
    (name,) = bad
    with pytest.raises(SettingError, match=rf"ysb\.{name} = {bad[name]}"):
        replace(WORK, **bad)  # type: ignore[arg-type]


@pytest.mark.spark
def test_numpy_hashes_as_spark_does(spark: Any) -> None:
    random = Random(1)
    numbers = [0, 1, -1, 2**63 - 1, -(2**63), *(random.randrange(-(2**63), 2**63) for _ in range(500))]
    frame = spark.createDataFrame([(n,) for n in numbers], "i long")

    for seed in (0, 7, -7, 2**63 - 1):
        theirs = [row.h for row in frame.selectExpr(f"xxhash64({seed}L, i) as h").collect()]
        assert xxhash64(seed, np.array(numbers)).view(np.int64).tolist() == theirs


@pytest.mark.spark
@pytest.mark.parametrize("delay", [Constant(0), Uniform(0, 500), Zipf(), Gamma(2, 50), Exponential(100)], ids=repr)
@pytest.mark.parametrize("rate", [1, 700, 1_024, 3_001])
def test_spark_expands_an_interval_into_the_rows_that_numpy_knows(spark: Any, delay: Any, rate: int) -> None:
    work = replace(WORK, delay=delay, rate=rate)

    for since, until in [(EPOCH, EPOCH + 1_500), (EPOCH + 731, EPOCH + 1_500)]:
        assert arrived(work, spark, [since, until]) == known(work, since, until)


@pytest.mark.spark
@pytest.mark.parametrize("rate", [1, 700, 3_001])
def test_spark_spaces_events_by_the_table_of_gaps_as_numpy_does(spark: Any, rate: int) -> None:
    work = replace(WORK, rate=rate, gaps=GAPS)

    for cuts in ([EPOCH, EPOCH + 1_500], [EPOCH + 731, EPOCH + 732, EPOCH + 1_100, EPOCH + 1_500], [0, EPOCH]):
        assert arrived(work, spark, cuts) == known(work, cuts[0], cuts[-1])


@pytest.mark.spark
@pytest.mark.parametrize("seed", range(4))
def test_however_time_is_cut_no_row_is_lost_or_doubled(spark: Any, seed: int) -> None:
    random = Random(seed)
    work = replace(WORK, seed=seed, rate=random.randint(1, 5_000))
    end = EPOCH + 3_000
    inner = [random.randint(EPOCH, end) for _ in range(40)]
    cuts = sorted([EPOCH, *inner, *inner[:5], end])  # a repeated cut is an empty interval

    assert arrived(work, spark, cuts) == arrived(work, spark, [EPOCH, end]) == known(work, EPOCH, end)


@pytest.mark.spark
def test_nothing_arrives_before_the_epoch_or_in_no_time(spark: Any) -> None:
    assert not arrived(WORK, spark, [0, EPOCH - 10_000, EPOCH, EPOCH])


@pytest.mark.spark
def test_columns_have_the_values_of_the_benchmark(spark: Any) -> None:
    intervals = spark.createDataFrame([(EPOCH, EPOCH + 3_000)], "since long, until long")
    rows = WORK.expand(intervals).collect()

    assert {row.event_type for row in rows} == {"view", "click", "purchase"}
    assert {row.ad_type for row in rows} == {"banner", "modal", "sponsored-search", "mail", "mobile"}
    assert {row.user_id for row in rows} == {row.page_id for row in rows} == {str(n) for n in range(100)}
    assert {row.ad_id for row in rows} <= {str(n) for n in range(1_000)}


@pytest.mark.spark
@pytest.mark.parametrize("join", ["lookup", "table"])
def test_counts_of_a_whole_stream_are_the_true_counts(spark: Any, join: Any) -> None:
    work = replace(WORK, delay=Constant(20), join=join)
    intervals = spark.createDataFrame([(EPOCH, EPOCH + 9_020)], "since long, until long")

    assert panes(flat(work.counts(work.expand(intervals))).collect()) == work.truth(EPOCH + 9_000)


@pytest.mark.spark
@pytest.mark.parametrize("join", ["lookup", "table"])
def test_a_streaming_query_emits_true_counts_of_the_windows_it_closes(spark: Any, join: Any, tmp_path: Path) -> None:
    from headway_lab.workloads import clock

    work = replace(WORK, join=join)
    events = work.expand(clock.intervals(spark, EPOCH, EPOCH + 20_000)).withWatermark("event_time", "500 milliseconds")
    name = f"ysb_{join}"
    query = (
        flat(work.counts(events))
        .writeStream.format("memory")
        .queryName(name)
        .outputMode("append")
        .option("checkpointLocation", str(tmp_path))
        .start()
    )
    # Not `availableNow`: that ends with the last rows, before the batch without rows in which the windows close.
    query.processAllAvailable()
    query.stop()

    emitted = panes(spark.table(name).collect())
    assert len({end_ms for end_ms, _ in emitted}) == 6
    assert work.wrong(emitted) == {}
