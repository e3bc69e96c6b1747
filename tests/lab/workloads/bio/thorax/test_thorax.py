"""What Spark shows of six chests is what numpy knows; what numpy knows is what is counted one by one."""

import json
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headway as hw
from headway.errors import HeadwayError, SettingError
from headway_lab.workloads.bio import thorax
from headway_lab.workloads.bio.thorax import PATIENTS, ThoraxTruth, chests
from headway_lab.workloads.bio.thorax import records as thorax_records
from headway_lab.workloads.bio.thorax.queries import BODY, watched
from headway_lab.workloads.bio.thorax.truth import BedPane, ChestSums
from headway_lab.workloads.data import folder
from headway_lab.workloads.feed import Feed
from headway_lab.workloads.player import play, record
from headway_lab.workloads.wall_clock import now_ms
from spark.scripted import wait_until

EPOCH = 1_700_000_000_000
LEAD_MS = 3_000  # a query must have started when its stream begins
real = pytest.mark.skipif(folder() is None, reason="no real data: HEADWAY_DATA names no folder")

samples = st.lists(
    st.tuples(st.integers(0, 30_000), st.sampled_from("ab"), st.integers(-(10**10), 10**10)), min_size=1, max_size=60
)


def feed(rows: list[tuple[int, str, int]]) -> Feed:
    at_ms = np.array([EPOCH + at for at, _, _ in rows], dtype=np.int64)
    return Feed.of("chests", at_ms, at_ms, [BODY % (name.encode(), value) for _, name, value in rows])


def made(seconds: int = 25) -> Feed:
    """Two patients at two rates, one of them silent for a while."""
    rows = [(at, "a", round(1e6 * np.sin(at / 600))) for at in range(0, seconds * 1_000, 100)]
    return feed(rows + [(at, "b", at * 1_000 - 7) for at in range(0, seconds * 1_000, 500) if not 5_000 <= at < 9_000])


def sums(values: list[int]) -> ChestSums:
    return len(values), sum(values), min(values), max(values)


@given(rows=samples, sizes=st.sampled_from([(10_000, 1_000, 0), (2_500, 1_000, 300), (700, 700, 0)]))
def test_windows_in_numpy_are_those_counted_one_by_one(
    rows: list[tuple[int, str, int]], sizes: tuple[int, int, int]
) -> None:
    size, slide, offset = sizes
    counted: dict[BedPane, ChestSums] = {}
    for start in range((EPOCH - size) // slide * slide + offset - slide, EPOCH + 30_001, slide):
        for name in "ab":
            inside = [value for at, who, value in rows if who == name and start <= EPOCH + at < start + size]
            if inside:
                counted[start + size, name] = sums(inside)
    assert ThoraxTruth(feed(rows), *sizes).windows == counted


@given(rows=samples)
def test_seconds_in_numpy_are_those_counted_one_by_one(rows: list[tuple[int, str, int]]) -> None:
    counted = {}
    for name in "ab":
        mine = sorted((EPOCH + at, value) for at, who, value in rows if who == name)
        for second in sorted({at // 1_000 for at, _ in mine})[:-1]:
            end = second * 1_000 + 1_000
            last = [value for at, value in mine if end - 10_000 <= at < end]
            counted[end, name] = sums(last), sums([value for at, value in mine if at < end])
    assert ThoraxTruth(feed(rows)).seconds == counted


@given(rows=samples, cuts=st.lists(st.integers(0, 60), max_size=6))
def test_the_fold_tells_the_same_however_it_is_called(rows: list[tuple[int, str, int]], cuts: list[int]) -> None:
    mine = sorted((EPOCH + at, value) for at, who, value in rows if who == "a")
    sent = [SimpleNamespace(event_ms=at, micros=value, late=False) for at, value in mine]
    edges = [0, *sorted(min(cut, len(sent)) for cut in cuts), len(sent)]
    told: dict[BedPane, tuple[ChestSums, ChestSums]] = {}
    state = None
    for a, b in pairwise(edges):
        results, state = watched("a", sent[a:b], state)
        for name, end, *values in results:
            assert (end, name) not in told
            told[end, name] = (tuple(values[:4]), tuple(values[4:]))
    assert told == {pane: both for pane, both in ThoraxTruth(feed(rows)).seconds.items() if pane[1] == "a"}
    assert state is None or state.at_ms[-1] - state.at_ms[0] < 10_000, "no more than ten seconds are kept"


def test_a_late_sample_is_left_out_of_what_is_shown() -> None:
    rows = [SimpleNamespace(event_ms=EPOCH + at, micros=at, late=at == 3) for at in (3, 100, 1_100)]
    results, state = watched("a", rows, None)
    assert results == [("a", EPOCH + 1_000, 1, 100, 100, 100, 1, 100, 100, 100)]
    assert state is not None and (state.samples, state.total) == (2, 1_200)
    assert watched("a", rows[:1], state) == ([], state)


def test_a_doctored_answer_shows_and_what_is_missing_is_wrong_once_it_was_due() -> None:
    truth = ThoraxTruth(made())
    first, second, *_, last = sorted(truth.windows)
    assert truth.wrong(truth.windows) == {} == truth.wrong({})
    doctored = {**truth.windows, second: (1, 1, 1, 1)}
    del doctored[first]
    assert truth.wrong(doctored) == {first: (None, truth.windows[first]), second: ((1, 1, 1, 1), truth.windows[second])}
    assert len(truth.wrong({}, until_ms=last[0])) == len(truth.windows)


def test_settings_that_cannot_work_are_refused_by_name() -> None:
    with pytest.raises(SettingError, match=r"thorax\.slide_ms = 0: expected 1 up to size_ms = 10000"):
        ThoraxTruth(made(), slide_ms=0)
    with pytest.raises(SettingError, match=r"thorax\.patient = 'nobody': expected one of berlin-43"):
        chests(["nobody"])


def test_without_the_data_one_line_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_DATA", "gone")
    thorax_records._record.cache_clear()
    with pytest.raises(HeadwayError, match=r"it must name the folder that holds bio/santafe_B_br1\.dat"):
        chests(["santa-fe"])


# The files.


@real
def test_six_patients_breathe_as_people_do() -> None:
    found = {one.patient: one for one in chests()}
    assert list(found) == list(PATIENTS) and len(found) == 6
    assert {name: len(one.at_ms) for name, one in found.items()} == {
        "berlin-43": 18_020, "berlin-44": 24_125, "santa-fe": 4_096, "bidmc-1": 60_001, "bidmc-2": 60_001, "bidmc-3": 60_001,
    }  # fmt: skip
    for one in found.values():
        every_s = float(one.at_ms[1] - one.at_ms[0]) / 1_000
        wave = np.fft.rfft(one.micros - one.micros.mean())
        often = np.fft.rfftfreq(len(one.micros), every_s)
        slow = (often > 0.08) & (often < 1)
        breaths_a_minute = 60 * often[slow][np.abs(wave[slow]).argmax()]
        assert 6 < breaths_a_minute < 45, one.patient


@real
def test_the_feed_has_every_sample_in_order() -> None:
    sent = thorax.feed(["santa-fe", "bidmc-1"])
    assert len(sent) == 64_097 and (np.diff(sent.event_ms) >= 0).all()
    values = [json.loads(row)["micros"] for _, row, key in sent.rows() if key == b"bidmc-1"]
    assert values == chests(["bidmc-1"])[0].micros.tolist()


# In Spark.


@pytest.mark.spark
@pytest.mark.parametrize("sizes", [(10_000, 1_000, 0), (2_500, 700, 300)])
def test_spark_shows_the_windows_that_numpy_knows(spark: Any, sizes: tuple[int, int, int]) -> None:
    rows = spark.createDataFrame([(row.decode(),) for _, row, _ in made().rows()], "value string")
    shown = thorax.last_ten(thorax.typed(rows), *sizes).selectExpr("unix_millis(window.end) as end_ms", "*").collect()
    assert {(r.end_ms, r.patient): (r.samples, r.micros, r.low, r.high) for r in shown} == ThoraxTruth(
        made(), *sizes
    ).windows
    assert shown[0].mean == shown[0].micros / shown[0].samples / 1e6


@pytest.mark.spark
def test_a_screen_under_headway_shows_the_seconds_that_numpy_knows(spark: Any, tmp_path: Path) -> None:
    sent = made().rebased(now_ms() // 1_000 * 1_000 + LEAD_MS, 5)
    record({"thorax": sent}, tmp_path / "tape.json")
    true = {pane: (*last, *all_) for pane, (last, all_) in ThoraxTruth(sent).seconds.items()}
    with hw.Runtime(spark, journal=tmp_path / "journal.db") as rt:
        screen = thorax.monitored(rt, thorax.typed(play(spark, tmp_path / "tape.json")), "1 s", arrival="timestamp")
        writer = screen.writeStream.format("memory")
        query = rt.start(writer, name="screen", every="1 s", checkpoint=str(tmp_path / "screen"))
        wait_until(lambda: spark.table("screen").count() >= len(true), "every second but the last", query)
    shown = spark.table("screen").collect()
    assert len(shown) == len(true) >= 8
    assert {(r.end_ms, r.patient): tuple(r)[2:10] for r in shown} == true
    assert shown[0].mean == shown[0].micros / shown[0].samples / 1e6
