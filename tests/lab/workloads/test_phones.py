"""The phones' messages are all there, as late and as disordered as their publishers measured."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import HeadwayError, SettingError
from headway_lab.workloads.data import folder
from headway_lab.workloads.feed import Feed
from headway_lab.workloads.phones import QUANTILES, SCHEMA, SESSIONS, facts, out_of_order, phones

real = pytest.mark.skipif(folder() is None, reason="no real data: HEADWAY_DATA names no folder")
sessions = pytest.mark.parametrize("which", SESSIONS)


@real
@sessions
def test_every_phone_sends_each_of_its_messages_once(which: int) -> None:
    feed = phones(which)
    rows = [json.loads(row) for _, row, _ in feed.rows()]

    assert 9_600 <= len(feed) <= 10_800
    names = {row["phone"] for row in rows}
    assert len(names) in (8, 9)
    assert {(row["phone"], row["message"]) for row in rows} == {(name, n) for name in names for n in range(1_200)}
    assert [row["phone"].encode() for row in rows] == feed.key


@real
@sessions
def test_no_message_arrives_before_it_was_detected(which: int) -> None:
    feed = phones(which)

    assert (feed.arrival_ms > feed.event_ms).all()


@real
def test_disorder_and_delays_are_as_published() -> None:
    known = [facts(phones(which)) for which in SESSIONS]

    assert sum(each.rows for each in known) == 30_000
    assert [round(each.out_of_order, 2) for each in known] == [0.16, 0.34, 0.34]
    assert max(each.delays_ms[-1] for each in known) == pytest.approx(5_500, abs=50)
    assert [len(each.phones) for each in known] == [8, 9, 8]


@real
@sessions
def test_disorder_is_between_phones_and_hardly_within_one(which: int) -> None:
    known = facts(phones(which)).phones.values()
    assert {phone.rows for phone in known} == {1_200}
    assert max(phone.out_of_order for phone in known) < 0.005


@real
@sessions
def test_a_phone_detects_two_things_a_second_by_its_corrected_clock(which: int) -> None:
    feed = phones(which)
    assert feed.key
    for name in set(feed.key):
        own = np.sort(feed.event_ms[[key == name for key in feed.key]])
        assert np.median(np.diff(own)) == pytest.approx(500, abs=5)
        assert own[-1] - own[0] == pytest.approx(599_500, abs=100)


@given(events=st.lists(st.integers(0, 9)))
def test_out_of_order_is_the_share_of_rows_behind_the_newest_seen(events: list[int]) -> None:
    behind = sum(event < max(events[: place + 1]) for place, event in enumerate(events))

    assert out_of_order(np.array(events, dtype=np.int64)) == (behind / len(events) if events else 0.0)


def test_facts_tell_phones_apart() -> None:
    event, arrival = (np.array(column, dtype=np.int64) for column in ([5, 1, 6, 3], [10, 11, 12, 13]))
    known = facts(Feed("small", event, arrival, [b""] * 4, [b"a", b"b", b"a", b"b"]))

    assert (known.rows, known.out_of_order) == (4, 0.5)
    assert known.phones["a"].out_of_order == known.phones["b"].out_of_order == 0.0
    assert known.phones["a"].delays_ms == tuple(np.quantile([5, 6], QUANTILES))
    assert known.phones["b"].delays_ms == (10.0, 10.0, 10.0, 10.0)


def test_a_feed_without_keys_has_no_phones_to_tell_apart() -> None:
    none = np.zeros(0, dtype=np.int64)

    with pytest.raises(SettingError, match="feed = 'bare': expected a feed with keys"):
        facts(Feed("bare", none, none, []))


@pytest.mark.parametrize("which", [0, 4])
def test_a_session_that_never_was_is_refused(which: int) -> None:
    with pytest.raises(SettingError, match=rf"phones\.which = {which}: expected a session"):
        phones(which)


def test_without_the_data_one_line_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_DATA", "gone")

    with pytest.raises(HeadwayError, match=r"it must name the folder that holds out_of_order/ooo_dataset_d-1\.csv\.xz"):
        phones()


@real
@pytest.mark.spark
def test_spark_reads_every_field(spark: Any) -> None:
    rows = [(row.decode(),) for _, row, _ in phones(1).rows()]
    fields = spark.createDataFrame(rows, "value string").selectExpr(f"inline(array(from_json(value, '{SCHEMA}')))")

    first, *_ = fields.limit(1).collect()
    assert first.asDict() == json.loads(rows[0][0])
    assert fields.dropna().count() == len(rows)
