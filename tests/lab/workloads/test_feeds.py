"""Streams by name: in the order of arrival, as many rows as asked for, the same for the same seed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import SettingError
from headway.sim.delays import Constant, Uniform
from headway_lab.workloads import data
from headway_lab.workloads.feed import Feed, merged
from headway_lab.workloads.feeds import FEEDS, ReplayRequest, feed_named

BASE = 1_700_000_000_000
GENERATED = ("ysb", "taxi", "linear-road", "traffic-road")
HELD_UP = ("traffic-bus", "traffic-bus-growing")
PACED = ("thorax", "thorax-recurring", "ecg", "ecg-recurring")  # recorded rows at a rate
RECORDED = tuple(name for name in FEEDS if name not in GENERATED + HELD_UP + PACED)
LONG = ("ecg-real", "road-aarhus")  # files that take seconds to read


def rows(name: str, **more: object) -> list[tuple[int, bytes, bytes | None]]:
    wanted = ReplayRequest(BASE, **{"seconds": 5, "rate": 200, "delay": Uniform(0, 700), **more})  # type: ignore[arg-type]
    return [row for piece in feed_named(name, wanted) for row in piece.rows()]


@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_stream_has_the_rate_that_was_asked_for(name: str) -> None:
    sent = rows(name, delay=Constant(0))
    assert 950 <= len(sent) <= 1_100  # a car may ask a question besides
    assert [at for at, _, _ in sent] == sorted(at for at, _, _ in sent)
    assert all(BASE <= at < BASE + 5_000 for at, _, _ in sent)


@pytest.mark.parametrize("name", HELD_UP)
def test_buses_that_fall_behind_come_in_to_the_last_one(name: str) -> None:
    sent = rows(name, rate=500, seconds=10, delay=Constant(0))
    assert len(sent) == 5_000
    assert sent[-1][0] > BASE + 12_000


@pytest.mark.parametrize("name", GENERATED + HELD_UP)
def test_rows_that_are_held_back_still_come_in_the_order_of_arrival(name: str) -> None:
    sent = rows(name)
    assert [at for at, _, _ in sent] == sorted(at for at, _, _ in sent)
    assert sent == rows(name), "the same seed, the same rows"
    assert sent != rows(name, seed=2)


@pytest.mark.skipif(data.folder() is None, reason="HEADWAY_DATA names no folder with real data")
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in LONG)) for n in RECORDED])
def test_a_recorded_stream_begins_at_its_base_and_runs_at_its_speed(name: str) -> None:
    speeds = (400.0, 800.0) if name == "road-aarhus" else (20.0, 40.0)  # sensors report every five minutes
    sent, faster = (rows(name, seconds=5, speed=speed, delay=Constant(0)) for speed in speeds)
    assert sent and len(faster) > len(sent)
    assert [at for at, _, _ in sent] == sorted(at for at, _, _ in sent)


@pytest.mark.skipif(data.folder() is None, reason="HEADWAY_DATA names no folder with real data")
@pytest.mark.parametrize("name", PACED)
def test_recorded_rows_are_sent_at_the_rate_that_was_asked_for(name: str) -> None:
    sent = rows(name, delay=Constant(0))
    assert 300 <= len(sent) <= 1_700 if name.endswith("recurring") else 950 <= len(sent) <= 1_050
    assert [at for at, _, _ in sent] == sorted(at for at, _, _ in sent)
    assert [at for at, _, _ in rows(name)] == sorted(at for at, _, _ in rows(name))
    assert sent != rows(name, delay=Constant(0), seed=2)


def test_what_there_is_not_is_named() -> None:
    with pytest.raises(SettingError, match="feed = 'nothing': expected one of ysb, taxi"):
        feed_named("nothing", ReplayRequest(BASE, 1))
    with pytest.raises(SettingError, match="expected 1 or more each"):
        feed_named("ysb", ReplayRequest(BASE, 0))


@given(st.lists(st.lists(st.integers(0, 5_000), max_size=8), max_size=6))
def test_pieces_are_merged_without_loss_and_in_order(late: list[list[int]]) -> None:
    """Whatever each piece's rows are held back by, they come out once, and in the order of arrival."""
    pieces = []
    for number, delays in enumerate(late):
        event = np.full(len(delays), number * 1_000, dtype=np.int64)
        body = [b'"n":%d' % (number * 100 + i) for i in range(len(delays))]
        pieces.append((number * 1_000, Feed.of("piece", event, event + np.array(delays, dtype=np.int64), body)))
    out = list(merged(pieces))
    arrivals = [at for piece in out for at in piece.arrival_ms.tolist()]
    assert arrivals == sorted(arrivals)
    assert sorted(b for piece in out for b in piece.body) == sorted(b for _, piece in pieces for b in piece.body)
