"""A batch's records in one transaction, and the marks behind them, on a real broker."""

from collections.abc import Callable

import pytest

from headway.errors import HeadwayError, SettingError
from headway.kafka import marks, topics
from headway.kafka.marks import MarkFollower, last_mark
from headway.kafka.transactions import TransactionalWriter, WriterReplaced


def mark(text: bytes) -> bytes | None:
    return text if text.startswith(b"#") else None


def rows(count: int, partitions: int) -> list[tuple[int, bytes | None, bytes]]:
    return [(n % partitions, None, b"row %d" % n) for n in range(count)]


def read(follower: MarkFollower, enough: Callable[[list[tuple[int, bytes]]], bool]) -> list[tuple[int, bytes]]:
    found: list[tuple[int, bytes]] = []
    for _ in range(300):
        found += follower.read(0.1)
        if enough(found):
            return found
    pytest.fail(f"only {found} came")


def test_a_mark_stands_behind_the_rows_of_its_batch_in_every_partition(kafka: str) -> None:
    topics.create(kafka, "marked", 3)
    writer = TransactionalWriter(kafka, "marked", "marked-stage")
    assert writer.partitions() == 3
    writer.write(rows(10, 3), b"#1", 3)
    writer.write([], b"#2", 3)
    follower = MarkFollower(kafka, "marked", b"#")
    found = read(follower, lambda marks: len(marks) >= 6)
    assert [[m for p, m in found if p == n] for n in range(3)] == [[b"#1", b"#2"]] * 3
    writer.write(rows(5, 3), b"#3", 3)
    assert sorted(read(follower, lambda marks: len(marks) >= 3)) == [(n, b"#3") for n in range(3)]
    assert follower.read(0.05) == []
    follower.close()
    assert last_mark(kafka, "marked", 1, mark) == b"#3"


def test_who_begins_under_a_name_fences_off_who_wrote_before(kafka: str) -> None:
    topics.create(kafka, "fenced", 1)
    old = TransactionalWriter(kafka, "fenced", "one-stage")
    old.write(rows(2, 1), b"#1", 1)
    new = TransactionalWriter(kafka, "fenced", "one-stage")
    with pytest.raises(WriterReplaced):
        old.write(rows(2, 1), b"#zombie", 1)
    new.write(rows(2, 1), b"#2", 1)
    assert last_mark(kafka, "fenced", 0, mark) == b"#2"


def test_what_was_not_committed_is_never_seen(kafka: str) -> None:
    topics.create(kafka, "aborted", 1)
    dying = TransactionalWriter(kafka, "aborted", "dying")
    dying.write(rows(3, 1), b"#1", 1)
    dying._producer.begin_transaction()  # and dies in the middle of it
    dying._producer.produce("aborted", b"half", partition=0)
    dying._producer.produce("aborted", b"#half", partition=0)
    dying._producer.flush(10)
    after = TransactionalWriter(kafka, "aborted", "dying")
    assert last_mark(kafka, "aborted", 0, mark) == b"#1"
    after.write(rows(1, 1), b"#2", 1)
    follower = MarkFollower(kafka, "aborted", b"#")
    assert read(follower, lambda found: len(found) >= 2) == [(0, b"#1"), (0, b"#2")]
    follower.close()


def test_the_last_mark_is_found_however_far_back_it_stands(kafka: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "LOOK_BACK", 4)
    topics.create(kafka, "far-back", 1)
    writer = TransactionalWriter(kafka, "far-back", "far")
    assert last_mark(kafka, "far-back", 0, mark) is None
    writer.write([], b"#1", 1)
    other = TransactionalWriter(kafka, "far-back", "other")
    other.write(rows(200, 1), b"row, and no mark", 1)
    assert last_mark(kafka, "far-back", 0, mark) == b"#1"
    follower = MarkFollower(kafka, "far-back", b"#")
    assert (0, b"#1") in read(follower, lambda found: len(found) >= 1)
    follower.close()


def test_what_stands_behind_an_open_transaction_of_another_is_waited_for(kafka: str) -> None:
    """Else a batch that is there already would be written again."""
    topics.create(kafka, "hidden", 1)
    open_one = TransactionalWriter(kafka, "hidden", "slow")
    open_one._producer.begin_transaction()
    open_one._producer.produce("hidden", b"row", partition=0)
    open_one._producer.flush(10)
    TransactionalWriter(kafka, "hidden", "quick").write([], b"#1", 1)
    with pytest.raises(HeadwayError, match="stays open"):
        last_mark(kafka, "hidden", 0, mark, wait_s=0.5)
    open_one._producer.commit_transaction(10)
    assert last_mark(kafka, "hidden", 0, mark) == b"#1"


def test_partitions_that_come_later_are_followed(kafka: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "PARTITIONS_EVERY_S", 0.0)
    topics.create(kafka, "growing", 1)
    follower = MarkFollower(kafka, "growing", b"#")
    writer = TransactionalWriter(kafka, "growing", "grows")
    writer.write([], b"#1", 1)
    assert read(follower, lambda found: len(found) >= 1) == [(0, b"#1")]
    topics.grow(kafka, "growing", 2)
    for _ in range(100):
        if writer.partitions() == 2:
            break
    writer.write([], b"#2", 2)
    assert sorted(read(follower, lambda found: len(found) >= 2)) == [(0, b"#2"), (1, b"#2")]
    follower.close()


def test_a_topic_that_is_not_there_is_named(kafka: str) -> None:
    with pytest.raises(SettingError, match="topic = 'nowhere'"):
        MarkFollower(kafka, "nowhere", b"#")
    with pytest.raises(SettingError, match="topic = 'nowhere'"):
        TransactionalWriter(kafka, "nowhere", "x").partitions()
