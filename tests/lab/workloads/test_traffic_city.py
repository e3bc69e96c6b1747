"""The real streams of three cities, as the files have them."""

import json
from typing import Any

import numpy as np
import pytest

from headway.errors import HeadwayError, SettingError
from headway_lab.workloads.data import folder
from headway_lab.workloads.feed import Feed
from headway_lab.workloads.traffic import aarhus, austin, dublin, found, one_city, troubles
from headway_lab.workloads.traffic.city import DAY_MS, HOUR_MS

real = pytest.mark.skipif(folder() is None, reason="no real data: HEADWAY_DATA names no folder")
BASE = 1_800_000_000_000


def fields(feed: Feed) -> list[dict[str, Any]]:
    return [json.loads(row) for _, row, _ in feed.rows()]


def hours(feed: Feed) -> dict[int, int]:
    values, counts = np.unique(feed.event_ms % DAY_MS // HOUR_MS, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


@real
def test_dublins_night_is_as_the_file_has_it() -> None:
    feed = dublin()
    said = fields(feed)
    assert len(feed) == 10_000 and len(set(feed.key or ())) == 259
    assert hours(feed) == {0: 8_282, 1: 54, 2: 97, 6: 1_567}
    assert sum(row["congested"] for row in said) == 36
    assert (min(row["delay_s"] for row in said), max(row["delay_s"] for row in said)) == (-1_414, 1_820)
    assert len(troubles(feed, "bus").area) == 459


@real
def test_austins_day_is_sorted_and_has_its_hole() -> None:
    feed = austin()
    assert len(feed) == 53_569 and (np.diff(feed.event_ms) >= 0).all()
    assert 10 not in hours(feed) and hours(feed)[14] > 4_000
    assert max(row["speed_kmh"] for row in fields(feed)) == 113  # seventy miles
    assert len(troubles(feed, "bus").area) / len(feed) == pytest.approx(0.203, abs=0.001)


@real
def test_a_day_of_aarhus_is_its_own_from_midnight_to_midnight() -> None:
    feed = aarhus("2014-09-04")
    said = fields(feed)
    assert len(set(feed.key or ())) == 65 and 0.8 * 65 * 288 < len(feed) <= 65 * 288
    assert (feed.event_ms % 300_000 == 0).all()
    assert int(feed.event_ms.min()) // DAY_MS == int(feed.event_ms.max()) // DAY_MS == 16_317
    # A sensor says one thing at a time, although the file says some twice.
    assert len({(row["sensor"], row["event_ms"]) for row in said}) == len(said)
    # On a Thursday there is more trouble when people drive to work and home than in between: the clock is the city's.
    slow = troubles(feed, "road").event_ms % DAY_MS // HOUR_MS
    busy = sum(int((slow == hour).sum()) for hour in (7, 8, 15, 16))
    assert busy > 1.5 * sum(int((slow == hour).sum()) for hour in (10, 11, 18, 19))


@real
def test_the_streets_of_two_cities_meet_in_the_same_areas() -> None:
    bus, road = austin(), aarhus()
    assert {row["area"] for row in fields(bus)} == {row["area"] for row in fields(road)} == set(range(16))
    bus, road = one_city(bus, road, BASE, speed=400, hour=12)
    assert BASE <= bus.event_ms.min() < BASE + 1_000 and BASE <= road.event_ms.min() < BASE + 1_000
    assert bus.event_ms.max() == pytest.approx(BASE + 12 * HOUR_MS / 400, abs=1_000)
    events = found(troubles(bus, "bus"), troubles(road, "road"))
    assert 0.1 * 16 * 108 < len(events) < 0.9 * 16 * 108


def test_what_cannot_be_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    none = Feed("none", np.zeros(0, np.int64), np.zeros(0, np.int64), [])
    assert len(one_city(none, none, BASE, 1)[0]) == 0
    with pytest.raises(SettingError, match="speed = 0: expected more than 0"):
        one_city(none, none, BASE, 0)
    with pytest.raises(SettingError, match="hour = 24: expected an hour of the day"):
        one_city(none, none, BASE, 1, hour=24)
    for day in ("yesterday", "2013-01-31"):
        with pytest.raises(SettingError, match=rf"aarhus\.day = '{day}': expected a day from 2014-08-02 to 2014-09-30"):
            aarhus(day)
    monkeypatch.setenv("HEADWAY_DATA", "gone")
    with pytest.raises(HeadwayError, match=r"it must name the folder that holds city/dublin_siri"):
        dublin()
