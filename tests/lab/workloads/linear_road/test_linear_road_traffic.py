"""Made-up traffic keeps the laws of the road, resembles the real one, and is the same however it is cut."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import SettingError
from headway_lab.workloads.linear_road.accidents import accidents, by_vehicle
from headway_lab.workloads.linear_road.reports import FEET, POSITION, columns, recorded_reports
from headway_lab.workloads.linear_road.traffic import ENTRIES, LANES, QUESTIONS, SPEEDS, TENTHS, Traffic
from lab.workloads.linear_road.roads import CROWDED, EPOCH, needs_real_data
from tried import tried

traffics = st.builds(
    Traffic,
    seed=st.integers(0, 2**31),
    epoch_ms=st.integers(0, EPOCH),
    arrivals=st.sampled_from([3.0, 10.0, 33.0]),
    reports=st.integers(20, 50),
    every_ms=st.sampled_from([100, 1_000, 30_000]),
    expressways=st.integers(1, 4),
    segments=st.integers(1, 100),
    pace=st.sampled_from([0.3, 1.0, 1.2]),
    accident_every=st.sampled_from([0, 2, 20]),
    steady=st.booleans(),
)


def span(work: Traffic) -> int:
    """So long that some vehicles make their whole trip, and that there are not too many."""
    return min((work.reports + 2) * work.every_ms, int(400 / work.arrivals) * 1_000 + work.every_ms)


@given(work=traffics)
@tried(50)
def test_vehicles_report_on_the_dot_and_only_move_forward(work: Traffic) -> None:
    rows = by_vehicle(columns(work.feed(work.epoch_ms, work.epoch_ms + span(work))))
    same = np.diff(rows["vid"]) == 0
    ahead = np.diff(rows["pos"]) * np.where(rows["dir"][1:] == 0, 1, -1)

    assert (np.diff(rows.event_ms)[same] == work.every_ms).all()
    assert (ahead[same] == 44 * rows["spd"][1:][same]).all()
    assert (np.diff(rows["dir"])[same] == 0).all()
    assert (np.diff(rows["xway"])[same] == 0).all()
    assert (rows["seg"] == rows["pos"] // FEET).all()
    assert ((rows["pos"] >= 0) & (rows["pos"] < 100 * FEET)).all()
    assert ((rows["xway"] >= 0) & (rows["xway"] < work.expressways)).all()


@given(work=traffics, cut=st.floats(0, 1))
@tried(30)
def test_a_stretch_made_on_its_own_is_the_same(work: Traffic, cut: float) -> None:
    since, until = work.epoch_ms, work.epoch_ms + span(work)
    middle = since + int(cut * (until - since))
    whole, start, rest = (
        list(replace(work).feed(*ends).rows()) for ends in [(since, until), (since, middle), (middle, until)]
    )

    assert start + rest == whole


@given(work=traffics)
@tried(30)
def test_trips_begin_on_the_ramp_and_end_on_the_other(work: Traffic) -> None:
    length = (work.reports + 1) * work.every_ms
    growing = replace(work, steady=False, arrivals=100_000 / length)
    rows = by_vehicle(columns(growing.feed(work.epoch_ms, work.epoch_ms + length)))
    first = np.flatnonzero(np.diff(rows["vid"], prepend=-1) != 0)
    done = np.flatnonzero(np.bincount(rows["vid"]) == work.reports)

    assert (rows["lane"][first] == 0).all()
    assert 0 in done
    assert (rows["lane"][first[done] + work.reports - 1] == 4).all()
    assert ((rows["lane"] == 4).sum(), (rows["lane"] == 0).sum()) == (len(done), len(first))


def test_another_seed_is_another_traffic() -> None:
    assert list(CROWDED.feed(EPOCH, EPOCH + 999).rows()) != list(replace(CROWDED, seed=4).feed(EPOCH, EPOCH + 999).rows())


def test_the_rate_is_constant_on_request_and_grows_from_an_empty_road_otherwise() -> None:
    steady = Traffic(1, arrivals=5, reports=40, every_ms=1_000, steady=True)
    per_second = [len(columns(steady.feed(s * 1_000, s * 1_000 + 1_000)).of_type(POSITION)) for s in (0, 7, 100)]
    growing = columns(Traffic(1).feed(0, 324_000)).of_type(POSITION)
    rate = np.bincount(growing.event_ms // 1_000)

    assert per_second == [200, 200, 200]
    assert (rate[:30].mean(), rate[300:].mean()) == (10, 110)


@pytest.mark.slow
def test_two_of_every_so_many_vehicles_have_an_accident() -> None:
    work = Traffic(5, arrivals=2, accident_every=50, steady=True)
    found = accidents(columns(work.feed(0, 2 * work.reports * work.every_ms)))

    assert all(second - first == 1 for first, second in (accident.vids for accident in found))
    # Two vehicles enter each second: 2,400 while a trip takes, 48 accidents.
    assert len(found) == pytest.approx(96, rel=0.1)
    assert all(work.collides(np.array(accident.vids)).all() for accident in found)
    assert accidents(columns(replace(work, accident_every=0).feed(0, 600_000))) == []


@pytest.mark.slow
def test_questions_come_as_often_as_in_the_real_input() -> None:
    rows = columns(Traffic(2, steady=True).feed(0, 300_000))
    reports = (rows["type"] == POSITION).sum()

    for kind, share in QUESTIONS.items():
        assert (rows["type"] == kind).sum() / reports == pytest.approx(share / 1_000, rel=0.15)
    assert len(set(rows["qid"][rows["qid"] >= 0].tolist())) == (rows["type"] != POSITION).sum()


@pytest.mark.slow
def test_speeds_follow_the_quantiles_of_each_lane() -> None:
    rows = columns(Traffic(9, steady=True, accident_every=100).feed(0, 300_000)).of_type(POSITION)

    for lane, quantiles in enumerate(SPEEDS):
        speeds = rows["spd"][(rows["lane"] == lane) & (rows["spd"] > 0)]
        assert np.quantile(speeds, TENTHS) == pytest.approx(np.array(quantiles), abs=1.5)


@needs_real_data
def test_the_fitted_numbers_are_those_of_the_real_input() -> None:
    rows = by_vehicle(columns(recorded_reports()))
    travelling = rows["lane"][(rows["lane"] > 0) & (rows["lane"] < 4)]
    first = rows.taken(np.flatnonzero(np.diff(rows["vid"], prepend=-1) != 0))
    entries = np.where(first["dir"] == 0, first["seg"], 99 - first["seg"])
    everything = columns(recorded_reports())

    for lane, quantiles in enumerate(SPEEDS):
        speeds = rows["spd"][(rows["lane"] == lane) & (rows["spd"] > 0)]
        assert np.quantile(speeds, TENTHS) == pytest.approx(np.array(quantiles), abs=0.51)
    assert np.quantile(entries, TENTHS) == pytest.approx(np.array(ENTRIES), abs=0.51)
    for lane in (1, 2, 3):
        assert (travelling == lane).mean() == pytest.approx(LANES.count(lane) / len(LANES), abs=0.005)
    assert len(first) / 324 == pytest.approx(Traffic(0).arrivals, rel=0.01)
    for kind, share in QUESTIONS.items():
        assert (everything["type"] == kind).sum() / len(rows) * 1_000 == pytest.approx(share, abs=0.5)


@needs_real_data
def test_the_made_up_stream_grows_as_the_real_one_does() -> None:
    made, true = (
        np.bincount(columns(feed).of_type(POSITION).event_ms // 54_000)
        for feed in (Traffic(1).feed(0, 324_000), recorded_reports())
    )

    assert made == pytest.approx(true, rel=0.3)
    assert made.sum() == pytest.approx(true.sum(), rel=0.06)


@pytest.mark.parametrize(
    "bad",
    [
        {"arrivals": 0},
        {"every_ms": 0},
        {"expressways": 0},
        {"pace": 0},
        {"segments": 101},
        {"accident_every": 3},
        {"reports": 12},
        {"reports": 400},
    ],
    ids=str,
)
def test_a_setting_that_cannot_work_is_refused_by_name(bad: dict[str, Any]) -> None:
    (name,) = bad
    with pytest.raises(SettingError, match=rf"linear_road\.{name} = {bad[name]}"):
        replace(Traffic(1, accident_every=20), **bad)
