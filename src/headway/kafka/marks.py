"""Marks in a topic: records whose value begins as no other's does. They are found at its end, and followed from there.

Only what is committed is read, so that the order of records is the order in which they count.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from headway.errors import HeadwayError, SettingError
from headway.kafka.topics import TIMEOUT_S, client, listed

LOOK_BACK = 500  # records of a partition among which its last mark is looked for first; then among eight times as many
WIDER = 8
PARTITIONS_EVERY_S = 2.0  # a topic seldom grows
Mark = TypeVar("Mark")


def last_mark(
    address: str,
    topic: str,
    partition: int,
    read: Callable[[bytes], Mark | None],
    settings: Mapping[str, Any] | None = None,
    wait_s: float = 60.0,
) -> Mark | None:
    """The newest record that `read` makes something of, among all that are there now.

    Another writer's open transaction hides what stands behind it, so its end is waited for: Kafka breaks it off in a minute.
    """
    with _consumer(address, {**(settings or {}), "isolation.level": "read_uncommitted"}) as whole:
        low, high = whole.get_watermark_offsets(_part(topic, partition), TIMEOUT_S)
    with _consumer(address, settings) as consumer:
        start, back, end = high, LOOK_BACK, time.monotonic() + wait_s
        while start > low:
            start = max(low, high - back)
            back *= WIDER
            found = None
            for value in _values(consumer, topic, partition, start, high, end):
                found = read(value) or found
            if found is not None:
                return found
    return None


def _values(consumer: Any, topic: str, partition: int, start: int, high: int, end: float) -> Iterator[bytes]:
    """Of the records from `start` until the end of the partition as it was is reached."""
    consumer.assign([_part(topic, partition, start)])
    while time.monotonic() < end:
        record = consumer.poll(0.1)
        if record is None:
            continue
        if (error := record.error()) is None:
            yield record.value() or b""
        elif not _at_end(error):
            raise HeadwayError(f"topic {topic!r}: {error.str()}")
        if record.offset() >= high - (record.error() is None):
            return
    raise HeadwayError(f"topic {topic!r}: partition {partition} cannot be read to its end: a transaction there stays open")


@dataclass
class _Reading:
    """One partition."""

    low: int
    until: int  # its end when it was first looked at
    start: int
    back: int = LOOK_BACK
    found: bool = False


class MarkFollower:
    """Marks of all partitions of a topic: from the last one of each on, as they come."""

    def __init__(self, address: str, topic: str, begins: bytes, settings: Mapping[str, Any] | None = None) -> None:
        """Raises a HeadwayError if there is no such topic."""
        self.topic, self._begins, self._address = topic, begins, address
        self._parts: dict[int, _Reading] = {}
        self._looked_at = 0.0
        self._consumer = _consumer(address, settings)
        try:
            self._look()
        except BaseException:
            self.close()
            raise

    def read(self, wait_s: float) -> list[tuple[int, bytes]]:
        """Partition and value of the marks that have come, as soon as there is one; none after so long."""
        if time.monotonic() - self._looked_at >= PARTITIONS_EVERY_S:
            self._look()
        marks: list[tuple[int, bytes]] = []
        end = time.monotonic() + wait_s
        while (left := end - time.monotonic()) > 0:
            record = self._consumer.poll(0 if marks else left)
            if record is None:
                break
            error, part = record.error(), self._parts.get(record.partition())
            if part is None:
                continue
            if error is None:
                value = record.value() or b""
                if value.startswith(self._begins):
                    part.found = True
                    marks.append((record.partition(), value))
            elif not _at_end(error):
                raise HeadwayError(f"topic {self.topic!r}: {error.str()}")
            if not part.found and part.start > part.low and record.offset() >= part.until - 1:
                self._look_further_back(record.partition(), part)
        return marks

    def close(self) -> None:
        self._consumer.close()

    def _look(self) -> None:
        there = listed(self._address, self._consumer)
        if self.topic not in there:
            raise SettingError("topic", self.topic, f"one that {self._address} has: create it first")
        new = [n for n in range(there[self.topic]) if n not in self._parts]
        for n in new:
            low, high = self._consumer.get_watermark_offsets(_part(self.topic, n), TIMEOUT_S)
            self._parts[n] = _Reading(low, high, max(low, high - LOOK_BACK))
        if new:
            self._consumer.incremental_assign([_part(self.topic, n, self._parts[n].start) for n in new])
        self._looked_at = time.monotonic()

    def _look_further_back(self, n: int, part: _Reading) -> None:
        part.back *= WIDER
        part.start = max(part.low, part.until - part.back)
        self._consumer.seek(_part(self.topic, n, part.start))


class _Consumer:
    """Closed at the end of a `with`."""

    def __init__(self, made: Any) -> None:
        self._made = made

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)

    def __enter__(self) -> Any:
        return self._made

    def __exit__(self, *_: object) -> None:
        self._made.close()


def _consumer(address: str, settings: Mapping[str, Any] | None) -> Any:
    own = {
        "group.id": "headway-marks",  # that has no members: partitions are assigned by us, and nothing is committed
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
        "enable.partition.eof": True,
        "fetch.wait.max.ms": 50,
    }
    return _Consumer(client("consumer", address, **own | dict(settings or {})))


def _part(topic: str, number: int, offset: int | None = None) -> Any:
    from confluent_kafka import TopicPartition

    return TopicPartition(topic, number) if offset is None else TopicPartition(topic, number, offset)


def _at_end(error: Any) -> bool:
    from confluent_kafka import KafkaError

    return bool(error.code() == KafkaError._PARTITION_EOF)
