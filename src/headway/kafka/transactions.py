"""Records of a batch in one transaction: all of them are in the topic, or none is.

Kafka lets one writer of a name be: a writer that begins under it fences off those before, and what they had not committed is
taken back. Readers that ask for committed records only never see any of that.
"""

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from headway.errors import HeadwayError, SettingError
from headway.kafka.topics import client, listed

OPEN_S = 60.0  # a broker that has just started takes its time to find the broker that keeps transactions
COMMIT_S = 30.0


class WriterReplaced(HeadwayError):
    """Another writer has begun under the same name."""


class TransactionalWriter:
    """One writer of one name, from now on the only one."""

    def __init__(self, address: str, topic: str, name: str, settings: Mapping[str, Any] | None = None) -> None:
        """Raises WriterReplaced or a HeadwayError. What an earlier writer had not committed is gone when this returns."""
        self.address, self.topic, self.name = address, topic, name
        self._producer = client("producer", address, **{"linger.ms": 1, "transactional.id": name} | dict(settings or {}))
        self._asked(self._producer.init_transactions, OPEN_S)

    def partitions(self) -> int:
        """How many the topic has now."""
        there = listed(self.address, self._producer)
        if self.topic not in there:
            raise SettingError("topic", self.topic, f"one that {self.address} has: create it first")
        return there[self.topic]

    def write(self, rows: Iterable[tuple[int, bytes | None, bytes]], last: bytes, partitions: int) -> None:
        """Rows by partition, key and value, and behind them this record in each of so many partitions."""
        # One producer's records stand in a partition in the order in which they were given to it.
        marks = ((partition, None, last) for partition in range(partitions))
        self._committed(self.topic, chain(rows, marks))

    def note(self, topic: str, value: bytes) -> None:
        """One record in the first partition of another topic, which is not visible before all of the last `write`.

        Kafka answers a commit before it has told every partition of it, and lets the next transaction begin only afterwards.
        """
        self._committed(topic, [(0, None, value)])

    def _committed(self, topic: str, records: Iterable[tuple[int, bytes | None, bytes]]) -> None:
        self._asked(self._producer.begin_transaction)
        failed: list[Any] = []
        try:
            for partition, key, value in records:
                self._put(topic, partition, key, value, failed)
            self._asked(self._producer.flush, COMMIT_S)
            if failed:
                raise HeadwayError(f"topic {topic!r}: a record was not taken: {failed[0].str()}")
            self._asked(self._producer.commit_transaction, COMMIT_S)
        except WriterReplaced:
            raise
        except BaseException:
            self._give_up()
            raise

    def _put(self, topic: str, partition: int, key: bytes | None, value: bytes, failed: list[Any]) -> None:
        def done(error: Any, record: Any) -> None:
            if error is not None:
                failed.append(error)

        while True:
            try:
                self._producer.produce(topic, value, key, partition, on_delivery=done)
                return
            except BufferError:  # its queue is full: what is under way makes room
                self._producer.poll(0.1)
            except Exception as error:
                raise self._said(error) from None

    def _give_up(self) -> None:
        """If this fails too, the next writer takes back what is left."""
        try:
            self._producer.purge()
            self._producer.abort_transaction(COMMIT_S)
        except Exception:
            return

    def _asked(self, what: Any, *arguments: Any) -> None:
        try:
            what(*arguments)
        except Exception as error:
            raise self._said(error) from None

    def _said(self, error: Exception) -> Exception:
        from confluent_kafka import KafkaError, KafkaException

        if not isinstance(error, KafkaException):
            return error
        found = error.args[0]
        if found.code() in (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED):
            return WriterReplaced(f"topic {self.topic!r}: another process writes as {self.name!r} by now")
        return HeadwayError(f"topic {self.topic!r}, written as {self.name!r}: {found.str()}")
