"""The queries of a benchmark know when their windows end and what was sent to them."""

import pytest

from headway.errors import SettingError
from headway.model.deadline import Grid
from headway.sim.delays import Uniform
from headway_lab.harness.tasks import KINDS, FilledTopic, TopicRoad, TopicTrips, TopicViews, check
from headway_lab.workloads.feeds import ReplayRequest, feed_named

BASE = 1_700_000_000_000


def log(feed: str) -> FilledTopic:
    return FilledTopic(feed, "topic", "nowhere:9092", ReplayRequest(BASE, 3_600, 100, delay=Uniform(0, 500), seed=3))


@pytest.mark.parametrize("feed", ["ysb", "taxi", "linear-road"])
def test_what_was_sent_by_some_moment_is_known_again_afterwards(feed: str) -> None:
    known = log(feed).sent(BASE + 2_000)
    first = ReplayRequest(BASE, 3, 100, delay=Uniform(0, 500), seed=3)
    sent = {row for piece in feed_named(feed, first) for _, row, _ in piece.rows() if _event_ms(row) < BASE + 2_000}
    assert {row for _, row, _ in known.rows() if _event_ms(row) < BASE + 2_000} == sent
    assert len(sent) >= 190


def _event_ms(row: bytes) -> int:
    return int(row[len(b'{"event_ms":') :].partition(b",")[0])


def test_windows_end_where_the_query_has_them() -> None:
    assert TopicViews(log("ysb"), 700).ends == Grid(3_000, 700)
    assert TopicTrips(log("taxi"), 2_300).ends == Grid(1_000, 300)
    assert TopicRoad(log("linear-road"), 400).ends == Grid(3_000, 2_400)


def test_a_workload_is_made_of_streams_that_there_are() -> None:
    assert check("taxi+linear-road") == ["taxi", "linear-road"]
    assert set(KINDS) == {"ads", "taxi", "linear-road"}
    with pytest.raises(SettingError, match=r"workload = 'trains': expected ysb, or ads, taxi, linear-road with a plus"):
        check("taxi+trains")
