"""Sends a stream's events to its topic, each once and in their order, also while the broker is away."""

import threading
from typing import Any

from headway.kafka import topics
from headway_lab.workloads.wall_clock import now_ms
from headway_lab.workloads.ysb import Ysb

PIECE_MS = 200
# A row that is tried again must not be there twice, nor overtake another.
SETTINGS = {"enable.idempotence": True, "linger.ms": 5, "delivery.timeout.ms": 600_000, "retry.backoff.max.ms": 200,
            "reconnect.backoff.max.ms": 500}  # fmt: skip


class Sender:
    """A thread for one topic."""

    def __init__(self, address: str, topic: str, stream: Ysb) -> None:
        topics.create(address, topic, 1)
        self.topic, self._stream, self._over = topic, stream, threading.Event()
        self._producer = topics.client("producer", address, **SETTINGS)
        self.failed = 0
        self._thread = threading.Thread(target=self._run, name=f"sender-{topic}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join(60)

    def _run(self) -> None:
        until = self._stream.epoch_ms
        while not self._over.wait(PIECE_MS / 1000):
            since, until = until, now_ms()
            for at, value, _ in self._stream.feed(since, until).rows():
                self._producer.produce(self.topic, value, timestamp=at, on_delivery=self._done)
            self._producer.poll(0)
        self._producer.flush(30)

    def _done(self, error: Any, _: Any) -> None:
        self.failed += error is not None
