"""The exact answers in numpy are right, and the queries say the same of all rows."""

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest

from headway.errors import SettingError
from headway_lab.workloads.approximate import WORKLOADS, SampledViews, TripDistances, WindowQuestion, question, setting_named
from headway_lab.workloads.approximate import boroughs as boroughs_
from headway_lab.workloads.approximate import kmeans as kmeans_
from headway_lab.workloads.approximate import taxi as taxi_
from headway_lab.workloads.approximate.kmeans import CENTRES, WIDTHS, answer, answers, clustered, points, tenths
from headway_lab.workloads.hashing import xxhash64
from headway_lab.workloads.taxi.trips import NAMES

EPOCH = 1_700_000_002_000  # a window is under way
ENDS = [EPOCH + 2_000, EPOCH + 5_000, EPOCH + 8_000]


def slowly(asked: WindowQuestion, until_ms: int) -> list[tuple[int, int, bool]]:
    """(event time, ad, whether it is a view) of every event, one by one, by the rules that `ysb.py` states."""
    made: list[tuple[int, int, bool]] = []
    i = 0
    size = len(asked.stream.gaps)
    while True:
        at = i // size * size * 1_000 + asked.stream.gaps[i % size]
        event_ms = asked.stream.epoch_ms + at // asked.stream.rate
        if event_ms >= until_ms:
            return made
        h = int(xxhash64(asked.stream.seed, np.array([i]))[0])
        made.append((event_ms, (h >> 10) % (1 << 20) % asked.stream.ads, (h >> 30) % (1 << 10) % 3 == 0))
        i += 1


def test_views_are_counted_by_campaign() -> None:
    asked = question("ysb", "EG", 300, 3, 5, EPOCH)
    counts = Counter(
        (ms - ms % 3_000 + 3_000, str(asked.stream.campaign_of[ad])) for ms, ad, view in slowly(asked, ENDS[-1]) if view
    )
    truth = asked.truth(ENDS)
    assert {pane: exact.answer for pane, exact in truth.items()} == dict(counts)
    assert all(exact.rows == exact.answer for exact in truth.values())


def test_the_mean_distance_is_that_of_all_windows_a_trip_is_in() -> None:
    asked = question("taxi", "EG", 300, 6, 5, EPOCH)
    events, truth = slowly(asked, ENDS[-1]), asked.truth(ENDS)
    for end in ENDS:
        inside = [taxi_.distances()[ad] / 100 for ms, ad, _ in events if end - 6_000 <= ms < end]
        assert truth[end, ""].answer == pytest.approx(sum(inside) / len(inside))
        assert truth[end, ""].rows == len(inside)


def test_the_mean_distance_by_borough_is_that_of_its_own_trips() -> None:
    asked = question("boroughs", "EG", 300, 6, 5, EPOCH)
    events, truth = slowly(asked, ENDS[-1]), asked.truth(ENDS)
    borough, hundredths = boroughs_.trips()
    for (end, name), exact in truth.items():
        inside = [hundredths[ad] / 100 for ms, ad, _ in events if end - 6_000 <= ms < end and NAMES[borough[ad]] == name]
        assert exact.answer == pytest.approx(sum(inside) / len(inside)) and exact.rows == len(inside)
    assert sum(exact.rows for (end, _), exact in truth.items() if end == ENDS[-1]) == sum(
        ENDS[-1] - 6_000 <= ms for ms, _, _ in events
    )


def test_trips_without_data_have_the_mean_and_spread_of_the_real_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_DATA", "gone")
    caches = (taxi_.real_trips, taxi_.distances, boroughs_.trips)
    for cache in caches:
        cache.cache_clear()
    try:
        made, (borough, hundredths) = taxi_.distances(), boroughs_.trips()
    finally:
        for cache in caches:
            cache.cache_clear()
    assert len(made) == 4_096 and (np.diff(made) >= 0).all() and made[0] >= 1
    assert made.mean() == pytest.approx(281, rel=0.01) and made.std() == pytest.approx(277, rel=0.05)
    assert sorted(hundredths.tolist()) == made.tolist()
    assert np.bincount(borough)[NAMES.index("Manhattan")] == pytest.approx(0.6 * 4_096, abs=2)


def test_k_means_finds_the_ten_crowds() -> None:
    found = clustered(points(), np.ones(len(points())))
    apart = np.linalg.norm(CENTRES[:, None] - found.centres, axis=2)
    assert sorted(apart.argmin(axis=1).tolist()) == list(range(10))  # each has a centre of its own
    # A tenth of a crowd's width in each dimension; the widest lose points to their neighbours, and are pushed away by that.
    assert (apart.min(axis=1)[:8] < 0.1 * np.sqrt(20) * WIDTHS[:8]).all()
    assert found.mean == pytest.approx(np.linalg.norm(points()[:, None] - found.centres, axis=2).min(axis=1).mean())
    # So what the sampler watches is about what comes out.
    assert tenths().mean() / 10 == pytest.approx(found.mean, rel=0.01) and tenths().max() < 128


def test_one_start_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    def inertias() -> list[float]:
        found = [clustered(points()[first::4], np.ones(len(points()) // 4)) for first in range(4)]
        return [float(f.apart @ f.apart) for f in found]

    best = inertias()
    monkeypatch.setattr(kmeans_, "STARTS", 1)
    assert max(one / ten for one, ten in zip(inertias(), best, strict=True)) > 1.02


def test_a_point_that_stands_for_three_is_worth_three() -> None:
    at = points()[:600]
    weight = np.where(np.arange(600) % 2, 3.0, 1.0)
    once, thrice = clustered(at, weight), clustered(np.repeat(at, weight.astype(int), axis=0), np.ones(int(weight.sum())))
    assert once.mean == pytest.approx(thrice.mean)
    assert once.variance > 0 == thrice.variance and once.estimate > once.mean and thrice.estimate == thrice.mean


@pytest.mark.slow
def test_samples_of_points_are_right_on_average_and_their_bounds_hold_as_often_as_they_say() -> None:
    rng, off, held = np.random.default_rng(2), [], 0
    for _ in range(80):
        ad = rng.integers(0, len(points()), 4_000)
        different, times = np.unique(ad, return_counts=True)
        exact = clustered(points()[different], times.astype(float)).mean
        taken = ad[rng.random(4_000) < 0.2 * 0.9]  # of what has come in a fifth
        _, _, mean, lower, upper, n, seen, sound, centres = answer(0, taken, np.full(len(taken), 0.2), 0.9)
        off.append(mean / exact - 1)
        held += lower <= exact <= upper
        assert n == len(taken) and seen == 0.9 and sound and len(centres) == 200
    assert abs(np.mean(off)) < 0.005  # three standard errors; without making up for it 0.8 % too small
    assert held / 80 > 0.9


def test_few_points_have_a_wide_bound_and_all_points_have_none() -> None:
    ad = np.arange(20)
    assert not answer(0, ad, np.full(20, 0.5), 1.0)[7]
    _, _, mean, lower, upper, *_ = answer(0, ad, np.ones(20), 1.0)
    assert lower == mean == upper > 0
    # Fewer points than centres: nothing is known of those that are missing.
    assert answer(0, ad[:3], np.ones(3), 1.0)[2:6] == (0, 0, 0, 3)
    _, _, _, lower, upper, n, _, sound, _ = answer(0, ad[:3], np.full(3, 0.5), 1.0)
    assert (lower, upper, n, sound) == (-np.inf, np.inf, 3, False)


def test_windows_are_answered_one_by_one_in_whatever_order_their_rows_are() -> None:
    ad = np.arange(100)
    windows = pd.DataFrame(
        {"end_ms": [1, 2], "ad": [ad[:50], ad[50:][::-1]], "rate": [np.ones(1), np.full(50, 0.5)], "seen": [1.0, 0.8]}
    )
    (made,) = answers(iter([windows]))
    assert made["end_ms"].tolist() == [1, 2] and made["sample"].tolist() == [50, 50]
    assert made["estimate"][0] == made["lower"][0] == clustered(points()[:50], np.ones(50)).mean
    assert made["estimate"][1] == answer(2, ad[50:], np.full(50, 0.5), 0.8)[2] > made["lower"][1]


def test_the_exact_distance_is_that_of_the_points_of_a_window() -> None:
    asked = question("kmeans", "EG", 100, 3, 5, EPOCH)
    inside = sorted(ad for ms, ad, _ in slowly(asked, ENDS[1]) if ENDS[0] <= ms)
    exact = asked.truth([ENDS[1]])[ENDS[1], ""]
    assert exact.rows == len(inside) and exact.answer == clustered(points()[inside], np.ones(len(inside))).mean


def test_windows_that_leave_gaps_are_refused() -> None:
    with pytest.raises(SettingError, match=r"approximate\.slide_ms = 4000: expected 1 up to size_ms = 3000"):
        TripDistances(question("taxi", "CC", 100, 3, 1, EPOCH).stream, 3_000, 4_000)


@pytest.mark.spark
@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("sampled", [False, True], ids=["all rows", "a sample of all"])
def test_queries_say_of_all_rows_what_numpy_says(spark: Any, workload: str, sampled: bool) -> None:
    from headway.spark import approx

    asked = question(workload, "EG", 400, 6, 5, EPOCH)
    late_ms = asked.stream.delay.max_ms
    intervals = spark.createDataFrame([(EPOCH, ENDS[1] + late_ms + 1)], "since long, until long")
    rows = asked.rows(asked.stream.expand(intervals)).where(f"unix_millis(event_time) < {ENDS[1]}")
    rows = rows.selectExpr("*", "1.0D as sampling_rate") if sampled else rows
    ends = [end for end in asked.ends_ms(EPOCH, ENDS[1]) if end <= ENDS[1]]
    said = {(row.end_ms, row.key): row for row in asked.query(rows, approx).collect() if row.end_ms in ends}
    truth = asked.truth(ends)
    assert said.keys() == truth.keys() != set()
    for pane, exact in truth.items():
        row = said[pane]
        assert row.estimate == pytest.approx(exact.answer) and row.lower == pytest.approx(row.upper)
        assert row.sample == exact.rows and row.seen == 1 and row.sound


@pytest.mark.spark
def test_half_of_the_rows_stand_for_all_of_them(spark: Any) -> None:
    from headway.spark import approx

    setting = setting_named("CC")
    asked = SampledViews.over(setting, 4_000, 3_000, 5, EPOCH)
    intervals = spark.createDataFrame([(EPOCH, ENDS[1] + 200)], "since long, until long")
    rows = asked.rows(asked.stream.expand(intervals)).selectExpr("*", "0.5D as sampling_rate")
    said = asked.query(rows.where("xxhash64(arrival, ad_id, user_id) % 2 = 0"), approx).collect()
    total = sum(row.estimate for row in said if row.end_ms == ENDS[1])
    exact = sum(e.answer for (_, _), e in asked.truth([ENDS[1]]).items())
    assert total == pytest.approx(exact, rel=0.05) and total != exact
