"""Producers: feeds sent to Kafka as they arrived, row by row, at their own time."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from headway.errors import HeadwayError
from headway.kafka.topics import client
from headway_lab.workloads.feed import Feed
from headway_lab.workloads.wall_clock import now_ms

TICK_S = 0.01  # rows that are due within one of these go together
TELL_S = 0.5
ShowProgress = Callable[["ReplayProgress"], None]


@dataclass(slots=True)
class ReplayProgress:
    """How a replay goes."""

    rows: int = 0
    failed: int = 0
    behind_ms: int = 0  # how late the last rows were sent
    most_behind_ms: int = 0
    told_at: float = 0.0


def replay(
    pieces: Iterable[Feed], address: str, topic: str, show: ShowProgress = lambda sent: None, **settings: Any
) -> ReplayProgress:
    """Send each row when its arrival time comes; what is overdue goes at once. Returns when the broker has all of them.

    Nothing is sent twice and order is kept within a partition, also when the broker is away for a while.
    """
    producer = client("producer", address, **{"linger.ms": 10, "enable.idempotence": True, **settings})
    sent = ReplayProgress()

    def delivered(error: Any, _: Any) -> None:
        sent.failed += error is not None

    try:
        for piece in pieces:
            for at, value, key in piece.rows():
                _await(at, producer, sent, show)
                _send(producer, topic, value, key, delivered)
                sent.rows += 1
    finally:
        left = producer.flush(30)
    show(sent)
    if sent.failed or left:
        raise HeadwayError(f"topic = {topic!r}: {sent.failed + left} of {sent.rows} rows did not reach {address}")
    return sent


def _await(at: int, producer: Any, sent: ReplayProgress, show: ShowProgress) -> None:
    """Until it is time. Where there is nothing to wait for, a glance at the clock is all it costs."""
    now = now_ms()
    if at <= now:
        sent.behind_ms = now - at
        sent.most_behind_ms = max(sent.most_behind_ms, sent.behind_ms)
        return
    if time.monotonic() - sent.told_at > TELL_S:
        sent.told_at = time.monotonic()
        show(sent)
    while at > now:
        producer.poll(0)
        time.sleep(min(max(TICK_S, (at - now) / 1000), 0.2))
        now = now_ms()


def _send(producer: Any, topic: str, value: bytes, key: bytes | None, delivered: Callable[[Any, Any], None]) -> None:
    while True:
        try:
            producer.produce(topic, value, key, on_delivery=delivered)
            return
        except BufferError:  # more is on its way than fits: let some arrive
            producer.poll(0.1)
