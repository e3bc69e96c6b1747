"""The sliding mean that Spark emits is the one that numpy knows, of real trips and of made ones, in order and late."""

import json
import os
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import HeadwayError, SettingError
from headway.sim.delays import Constant, Exponential, Uniform, Zipf
from headway_lab.workloads import taxi
from headway_lab.workloads.data import find, folder
from headway_lab.workloads.feed import Feed
from headway_lab.workloads.phones import out_of_order
from headway_lab.workloads.taxi import Taxis, TripTruth, late_trips, left_out, speed_for, taxis, trips
from headway_lab.workloads.taxi.trips import BOROUGHS, KM_PER_HUNDREDTH, NAMES, ZONES, LeftOut
from headway_lab.workloads.taxi.truth import Sums, TaxiPane

EPOCH = 1_700_000_000_123
TAXIS = Taxis(seed=7, rate=400, epoch_ms=EPOCH, delay=Uniform(0, 500))
# Long after every trip: a row that moves the watermark past the last window.
AFTER_MS = EPOCH + 3_600_000

real = pytest.mark.skipif(folder() is None, reason="no real data: HEADWAY_DATA names no folder")

generators = st.builds(
    Taxis,
    seed=st.integers(-(2**63), 2**63 - 1),
    rate=st.integers(1, 500),
    epoch_ms=st.just(EPOCH),
    delay=st.sampled_from([Constant(0), Uniform(0, 500), Zipf(), Exponential(100)]),
)
windows = st.integers(1, 3_000).flatmap(lambda size: st.tuples(st.just(size), st.integers(max(1, size // 8), size)))


def fields(feed: Feed) -> list[dict[str, Any]]:
    return [json.loads(row) for _, row, _ in feed.rows()]


def possible(trip: dict[str, Any]) -> bool:
    """The rule once more, in miles, hours and dollars."""
    miles, seconds = trip["distance"], trip["seconds"]
    if not (0 < miles <= 100 and trip["fare"] >= 0 and 0 < seconds <= 10_800):
        return False
    return bool(round(miles * 100) * 36 <= seconds * 100)


def counted(feed: Feed, size_ms: int, slide_ms: int) -> dict[TaxiPane, Sums]:
    """The panes by walking over windows and trips, one by one."""
    panes: dict[TaxiPane, Sums] = {}
    for trip in filter(possible, fields(feed)):
        at = trip["event_ms"]
        for start in range((at - size_ms) // slide_ms * slide_ms, at + 1, slide_ms):
            if start <= at < start + size_ms:
                miles, count = panes.get((start + size_ms, ""), (0, 0))
                panes[start + size_ms, ""] = (miles + round(trip["distance"] * 100), count + 1)
    return panes


# The truth.


@given(taxis=generators, sizes=windows)
def test_windows_in_numpy_are_those_counted_one_by_one(taxis: Taxis, sizes: tuple[int, int]) -> None:
    feed = replace(taxis, rate=min(taxis.rate, 40)).feed(EPOCH, EPOCH + 2_000)

    assert TripTruth(feed, *sizes).panes == counted(feed, *sizes)


@given(taxis=generators)
def test_boroughs_add_up_to_the_city_and_windows_of_two_slides_count_a_trip_twice(taxis: Taxis) -> None:
    feed = taxis.feed(EPOCH, EPOCH + 2_000)
    whole, parts = TripTruth(feed).panes, TripTruth(feed, by_borough=True).panes

    added: dict[TaxiPane, Sums] = {}
    for (end_ms, _), (miles, count) in parts.items():
        had = added.get((end_ms, ""), (0, 0))
        added[end_ms, ""] = (had[0] + miles, had[1] + count)
    assert added == whole
    assert sum(count for _, count in whole.values()) == 2 * sum(map(possible, fields(feed)))


@given(taxis=generators, seed=st.integers(0, 9))
def test_the_truth_does_not_depend_on_when_rows_arrive(taxis: Taxis, seed: int) -> None:
    feed = taxis.feed(EPOCH, EPOCH + 2_000)

    assert TripTruth(feed.delayed(Zipf(), seed)).panes == TripTruth(feed).panes


def test_a_true_answer_has_nothing_wrong_and_a_doctored_one_shows_both() -> None:
    truth = TripTruth(TAXIS.feed(EPOCH, EPOCH + 6_000))
    lost, short, *_, last = sorted(truth.panes)
    ghost = (last[0] + 1_000, "")
    miles, count = truth.panes[short]

    assert truth.wrong(truth.panes) == {}
    doctored = {**truth.panes, short: (miles - 1, count), ghost: (5, 1)}
    del doctored[lost]
    assert truth.wrong(doctored) == {
        lost: ((0, 0), truth.panes[lost]),
        short: ((miles - 1, count), (miles, count)),
        ghost: ((5, 1), (0, 0)),
    }


def test_what_is_not_emitted_is_wrong_once_it_was_due() -> None:
    truth = TripTruth(TAXIS.feed(EPOCH, EPOCH + 6_000))
    first, second, *_ = sorted(truth.panes)

    assert truth.wrong({}) == {}
    assert truth.wrong({}, until_ms=second[0]).keys() == {first, second}
    assert truth.wrong({first: truth.panes[first]}, until_ms=first[0]) == {}


def test_no_trips_have_no_windows() -> None:
    none = TAXIS.feed(EPOCH, EPOCH)

    assert len(none) == 0
    assert TripTruth(none).panes == {}


def test_each_borough_has_its_zones() -> None:
    counts = {name: ZONES.count(letter) for letter, name in BOROUGHS.items()}

    assert counts == {"Brooklyn": 61, "Manhattan": 69, "Newark": 1, "Queens": 69, "Staten Island": 20, "Bronx": 43}


# The generator.


@given(taxis=generators, cuts=st.lists(st.integers(EPOCH, EPOCH + 2_000), max_size=4).map(sorted))
def test_however_time_is_cut_no_trip_is_lost_or_doubled(taxis: Taxis, cuts: list[int]) -> None:
    whole = taxis.feed(EPOCH, EPOCH + 2_000)
    pieces = [taxis.feed(since, until) for since, until in pairwise([0, *cuts, EPOCH + 2_000])]

    assert [row for piece in pieces for row in piece.rows()] == list(whole.rows())


@given(taxis=generators, length=st.integers(0, 2_000))
def test_trips_keep_to_the_rate_and_the_delays_to_their_bound(taxis: Taxis, length: int) -> None:
    feed = taxis.feed(EPOCH, EPOCH + length + taxis.delay.max_ms + 1).between(EPOCH, EPOCH + length)

    assert len(feed) == -(-length * taxis.rate // 1_000)
    assert ((feed.arrival_ms >= feed.event_ms) & (feed.arrival_ms <= feed.event_ms + taxis.delay.max_ms)).all()


def test_the_same_seed_gives_the_same_trips_and_another_seed_others() -> None:
    assert replace(TAXIS).feed(EPOCH, EPOCH + 1_000).body == TAXIS.feed(EPOCH, EPOCH + 1_000).body
    assert replace(TAXIS, seed=8).feed(EPOCH, EPOCH + 1_000).body != TAXIS.feed(EPOCH, EPOCH + 1_000).body


def test_made_trips_need_the_cleaning_that_real_ones_need() -> None:
    made = fields(replace(TAXIS, rate=20_000).feed(EPOCH, EPOCH + 1_000))

    assert np.mean([trip["distance"] == 0 for trip in made]) == pytest.approx(0.05, abs=0.01)
    assert np.mean([trip["passengers"] is None for trip in made]) == pytest.approx(1 / 16, abs=0.01)
    assert np.mean([trip["fare"] < 0 for trip in made]) == pytest.approx(1 / 256, abs=0.002)
    assert np.mean([possible(trip) for trip in made]) == pytest.approx(0.943, abs=0.01)


@real
def test_made_distances_are_distributed_as_the_real_ones() -> None:
    january = np.array([trip["distance"] * 100 for trip in fields(trips())])
    january = january[january <= 10_000]
    made = np.array([trip["distance"] * 100 for trip in fields(replace(TAXIS, rate=20_000).feed(EPOCH, EPOCH + 2_000))])

    shares = list(taxis.DISTANCES)
    assert list(taxis.DISTANCES.values()) == pytest.approx(np.quantile(january, shares).tolist(), abs=1, rel=0.001)
    assert made.mean() == pytest.approx(january.mean(), rel=0.02)
    # At the low end two standard errors of 40,000 draws and one of the table's slices come to four hundredths.
    between = np.arange(0.1, 0.99, 0.05)
    assert np.quantile(made, between) == pytest.approx(np.quantile(january, between), rel=0.05, abs=4)


@real
def test_made_paces_fares_and_pickups_are_like_the_real_ones() -> None:
    rows = fields(trips())
    driven = [trip for trip in rows if possible(trip) and trip["distance"] > 0.5]
    miles, seconds, fare = (np.array([trip[name] for trip in driven]) for name in ("distance", "seconds", "fare"))
    zones, counts = np.unique([trip["pickup_zone"] for trip in rows], return_counts=True)
    share = dict(zip(zones.tolist(), (counts / len(rows)).tolist(), strict=True))

    inner = [each for each in taxis.PACES if 0 < each < 1]
    assert [taxis.PACES[each] for each in inner] == pytest.approx(np.quantile(seconds / miles, inner).tolist(), rel=0.02)
    line = np.polyfit(miles, fare * 100, 1)
    assert line.tolist() == pytest.approx([taxis.MILE_CENTS, taxis.FLAG_CENTS], rel=0.01)
    for zone in set(taxis.PICKUPS.tolist()):
        assert share[zone] == pytest.approx(np.mean(zone == taxis.PICKUPS), abs=1 / 16)


# The files.


@real
def test_real_trips_are_in_order_and_of_their_month() -> None:
    feed = trips((1, 2))

    assert len(feed) == 68_211 + 64_809 - left_out((1, 2)).stray
    assert (feed.event_ms == feed.arrival_ms).all()
    assert (np.diff(feed.event_ms) >= 0).all()
    assert np.unique(feed.event_ms.astype("datetime64[ms]").astype("datetime64[M]")).astype(str).tolist() == [
        "2023-01",
        "2023-02",
    ]


@real
def test_dirt_stays_in_the_feed_and_unknown_passengers_stay_unknown() -> None:
    import pandas as pd

    file = pd.read_parquet(find("taxi/green_tripdata_2023-01.parquet"))
    rows = fields(trips())

    assert sum(trip["passengers"] is None for trip in rows) == pytest.approx(file["passenger_count"].isna().sum(), abs=4)
    assert sum(trip["fare"] < 0 for trip in rows) == pytest.approx((file["fare_amount"] < 0).sum(), abs=4)
    assert sum(trip["distance"] == 0 for trip in rows) == pytest.approx((file["trip_distance"] == 0).sum(), abs=4)
    assert max(trip["distance"] for trip in rows) > 100_000


@real
def test_late_trips_arrive_when_they_end_and_the_endless_are_counted() -> None:
    feed, out = late_trips(), left_out()

    assert out == LeftOut(stray=4, backwards=0, too_long=len(trips()) - len(feed))
    assert 200 < out.too_long < 300
    lasted = [trip["seconds"] * 1_000 for trip in fields(feed)]
    assert (feed.arrival_ms - feed.event_ms).tolist() == lasted
    assert 0 <= min(lasted) <= max(lasted) <= 10_800_000
    assert 600_000 < np.median(lasted) < 720_000
    assert out_of_order(feed.event_ms) == pytest.approx(0.8, abs=0.02)


@real
def test_a_replay_can_be_as_fast_as_the_paper_wants() -> None:
    feed = trips()
    fast = feed.rebased(EPOCH, speed_for(feed, 7_000))

    assert len(fast) / (np.ptp(fast.event_ms) / 1_000) == pytest.approx(7_000, rel=0.001)


def test_the_speed_of_a_feed_without_length_is_its_own() -> None:
    assert speed_for(TAXIS.feed(EPOCH, EPOCH), 7_000) == 1.0
    with pytest.raises(SettingError, match="rate = 0: expected more than 0 rows a second"):
        speed_for(TAXIS.feed(EPOCH, EPOCH), 0)


def test_settings_that_cannot_work_are_refused_by_name() -> None:
    none = TAXIS.feed(EPOCH, EPOCH)
    with pytest.raises(SettingError, match=r"taxi\.rate = 0"):
        replace(TAXIS, rate=0)
    for slide_ms in (0, 2_001):
        with pytest.raises(SettingError, match=rf"taxi\.slide_ms = {slide_ms}: expected 1 up to size_ms = 2000"):
            TripTruth(none, slide_ms=slide_ms)
    with pytest.raises(SettingError, match=r"months = \(\): expected one month or more"):
        trips(())


def test_without_the_data_one_line_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_DATA", "gone")

    with pytest.raises(HeadwayError, match=r"it must name the folder that holds taxi/green_tripdata_2023-01\.parquet"):
        trips()


# In Spark.


def emitted(rows: list[Any]) -> dict[TaxiPane, Sums]:
    assert all(row.mean_miles == row.hundredths / row.trips / 100 for row in rows)
    return {(row.end_ms, row.borough if "borough" in row else ""): (row.hundredths, row.trips) for row in rows}


def written(feed: Feed, place: Path, files: int) -> None:
    """The feed as files that a stream reads one after the other, and two more with which the last windows close.

    The first of those moves the watermark; the second makes a batch in which Spark acts on it, for `availableNow` ends
    without a batch that has no rows. Spark takes files by their age, so that is set and not left to chance. Give it three
    files or more: rows are late by the watermark of the batch before, so in the first two batches none can be.
    """
    place.mkdir()
    rows = [row for _, row, _ in feed.rows()]
    edges = [len(rows) * cut // files for cut in range(files + 1)]
    texts = [b"\n".join(rows[start:end]) for start, end in pairwise(edges)]
    texts += [b'{"event_ms":%d,"distance":1.0,"fare":9.0,"seconds":300}' % (AFTER_MS + extra) for extra in (0, 1)]
    for number, text in enumerate(texts):
        path = place / f"{number}.json"
        path.write_bytes(text)
        os.utime(path, (EPOCH // 1_000 + number, EPOCH // 1_000 + number))


def streamed(spark: Any, place: Path, patience_ms: int, by_borough: bool, name: str) -> dict[TaxiPane, Sums]:
    rows = spark.readStream.option("maxFilesPerTrigger", "1").text(str(place))
    means = taxi.mean_distance(
        taxi.chain(rows).withWatermark("event_time", f"{patience_ms} milliseconds"), by_borough=by_borough
    )
    query = (
        means.selectExpr("unix_millis(window.end) as end_ms", "*")
        .writeStream.format("memory")
        .queryName(name)
        .outputMode("append")
        .trigger(availableNow=True)
        .start()
    )
    try:
        assert query.awaitTermination(120)
    finally:
        query.stop()
    return emitted(spark.table(name).collect())


@pytest.mark.spark
@pytest.mark.parametrize("by_borough", [False, True])
def test_a_stream_of_made_trips_emits_the_true_means(spark: Any, by_borough: bool, tmp_path: Path) -> None:
    feed = TAXIS.feed(EPOCH, EPOCH + 6_000)
    written(feed, tmp_path / "in", files=3)
    truth = TripTruth(feed, by_borough=by_borough)

    found = streamed(spark, tmp_path / "in", TAXIS.delay.max_ms, by_borough, f"taxis_{by_borough}".lower())
    assert found == truth.panes
    assert truth.wrong(found, until_ms=AFTER_MS) == {}


@real
@pytest.mark.spark
def test_a_stream_of_real_late_trips_emits_the_true_means(spark: Any, tmp_path: Path) -> None:
    feed = late_trips().rebased(EPOCH, 100_000)  # a month in 27 s, three hours in 108 ms
    assert out_of_order(feed.event_ms) > 0.5
    written(feed, tmp_path / "in", files=3)

    assert streamed(spark, tmp_path / "in", 110, True, "late_taxi") == TripTruth(feed, by_borough=True).panes


@pytest.mark.spark
def test_a_watermark_without_patience_loses_late_trips_and_it_shows(spark: Any, tmp_path: Path) -> None:
    feed = replace(TAXIS, delay=Uniform(0, 3_000)).feed(EPOCH, EPOCH + 8_000)
    written(feed, tmp_path / "in", files=4)
    truth = TripTruth(feed)

    wrong = truth.wrong(streamed(spark, tmp_path / "in", 0, False, "hasty"), until_ms=AFTER_MS)
    assert wrong
    assert all(found[1] < true[1] for found, true in wrong.values())


@pytest.mark.spark
@pytest.mark.parametrize("sizes", [(2_000, 1_000), (2_500, 1_000), (700, 700)])
def test_windows_of_any_size_are_as_in_numpy(spark: Any, sizes: tuple[int, int]) -> None:
    feed = replace(TAXIS, rate=100).feed(EPOCH, EPOCH + 5_000)
    rows = spark.createDataFrame([(row.decode(),) for _, row, _ in feed.rows()], "value string")
    means = taxi.mean_distance(taxi.chain(rows), *sizes).selectExpr("unix_millis(window.end) as end_ms", "*")

    assert emitted(means.collect()) == TripTruth(feed, *sizes).panes


@pytest.mark.spark
def test_the_chain_cleans_converts_and_looks_up_text_and_bytes_alike(spark: Any) -> None:
    good = b'{"event_ms":%d,"distance":2.50,"fare":9.00,"passengers":null,"pickup_zone":74,"dropoff_zone":132,"seconds":600}'
    row = good % EPOCH
    bad = [
        b"not json",
        b"{}",
        row.replace(b"2.50", b"0.00"),
        row.replace(b"2.50", b"100.01"),
        row.replace(b"9.00", b"-9.00"),
        row.replace(b":600", b":0"),
        row.replace(b":600", b":10801"),
        row.replace(b":600", b":89"),  # 101 miles an hour
    ]
    for kind, value in (("binary", lambda b: bytearray(b)), ("string", lambda b: b.decode())):
        rows = spark.createDataFrame([(value(each),) for each in [row, *bad]], f"value {kind}")
        (kept,) = taxi.chain(rows).selectExpr("unix_millis(event_time) as event_ms", "*").drop("event_time").collect()
        assert kept.asDict() == {
            "event_ms": EPOCH,
            "borough": "Manhattan",
            "to_borough": "Queens",
            "hundredths": 250,
            "km": 250 * KM_PER_HUNDREDTH,
            "fare": 9.0,
            "passengers": None,
            "seconds": 600,
        }


@pytest.mark.spark
def test_spark_and_numpy_put_every_zone_into_the_same_borough(spark: Any) -> None:
    zones = [-1, 0, *range(1, 267)]
    one = b'"distance":1.00,"fare":9.00,"passengers":1,"pickup_zone":%d,"dropoff_zone":1,"seconds":300'
    at = np.array([EPOCH + 10_000 * place for place in range(len(zones))], dtype=np.int64)
    feed = Feed.of("zones", at, at, [one % zone for zone in zones])
    rows = spark.createDataFrame([(row.decode(),) for _, row, _ in feed.rows()], "value string")
    means = taxi.mean_distance(taxi.chain(rows), by_borough=True).selectExpr("unix_millis(window.end) as end_ms", "*")

    assert emitted(means.collect()) == TripTruth(feed, by_borough=True).panes
    assert {name for _, name in TripTruth(feed, by_borough=True).panes} == set(NAMES)


@pytest.mark.spark
def test_each_row_is_parsed_once(spark: Any) -> None:
    rows = spark.createDataFrame([("{}",)], "value string")
    plan = taxi.mean_distance(taxi.chain(rows))._jdf.queryExecution().optimizedPlan().toString()

    assert plan.count("from_json") == 1
