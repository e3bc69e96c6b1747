"""How many rows are in the topics between pieces, and how far each is complete: by what their writers say beside them."""

import threading
from collections.abc import Iterable, Mapping
from typing import Any

from headway.errors import aloud
from headway.kafka.topics import client
from headway.loop.punctuation_text import UnreadablePunctuation, punctuation_in
from headway.model.piece import Channel
from headway.model.time import EventMs

WAIT_S = 0.5
CLOSE_S = 5.0


class ChannelFlows:
    """Follows the punctuations of all channels, with a thread for each broker: one that is away holds up no other."""

    def __init__(self, servers: Mapping[str, str]) -> None:
        self._followers = {site: _BrokerFollower(site, address) for site, address in servers.items()}

    def follow(self, channels: Iterable[Channel]) -> None:
        """These and no others from now on; what was counted of others is forgotten."""
        wanted: dict[str, set[str]] = {site: set() for site in self._followers}
        for channel in channels:
            wanted[channel.site].add(channel.progress)
        for site, follower in self._followers.items():
            follower.follow(frozenset(wanted[site]))

    def rows(self) -> dict[str, int]:
        """Rows in each topic so far."""
        return {_topic(name): n for one in self._followers.values() for name, n in dict(one.rows).items()}

    def complete(self) -> dict[str, EventMs]:
        """Up to where each topic is complete; one that has not said so is left out."""
        return {_topic(name): at for one in self._followers.values() for name, at in dict(one.complete).items()}

    def close(self) -> None:
        for follower in self._followers.values():
            follower.over.set()
        for follower in self._followers.values():
            if follower.ident is not None:
                follower.join(CLOSE_S)


class _BrokerFollower(threading.Thread):
    """The progress topics at one broker."""

    def __init__(self, site: str, address: str) -> None:
        super().__init__(name=f"headway-flows-{site}", daemon=True)
        self.over = threading.Event()
        self.rows: dict[str, int] = {}
        self.complete: dict[str, EventMs] = {}
        self._site, self._address = site, address
        self._wanted: frozenset[str] = frozenset()
        self._orders: dict[tuple[str, str], tuple[int, int]] = {}  # the newest of each writer: it may say it again

    def follow(self, topics: frozenset[str]) -> None:
        self._wanted = topics
        if topics and self.ident is None:
            self.start()

    def run(self) -> None:
        consumer, assigned = None, frozenset[str]()
        while not self.over.is_set():
            try:
                if consumer is None:
                    consumer, assigned = self._consumer(), frozenset()
                    self._forget(self.rows.keys() | self.complete.keys())
                if self._wanted != assigned:
                    assigned = self._assign(consumer, assigned, self._wanted)
                record = consumer.poll(WAIT_S)
                if record is not None and record.error() is None:
                    self._count(record.topic(), record.value() or b"")
            except Exception as error:  # what is counted later is still counted
                aloud(f"the progress at {self._site} cannot be followed ({error}); it is tried again")
                if consumer is not None:
                    consumer.close()
                consumer = None
                self.over.wait(WAIT_S)
        if consumer is not None:
            consumer.close()

    def _consumer(self) -> Any:
        own = {"group.id": "headway-flows", "enable.auto.commit": False, "isolation.level": "read_committed"}
        return client("consumer", self._address, **own)

    def _assign(self, consumer: Any, before: frozenset[str], wanted: frozenset[str]) -> frozenset[str]:
        """Those that are new from their beginnings: they have a record for each batch, and no rows."""
        from confluent_kafka import OFFSET_BEGINNING, TopicPartition

        if gone := sorted(before - wanted):
            consumer.incremental_unassign([TopicPartition(topic, 0) for topic in gone])
            self._forget(gone)
        if new := sorted(wanted - before):
            consumer.incremental_assign([TopicPartition(topic, 0, OFFSET_BEGINNING) for topic in new])
        return wanted

    def _forget(self, gone: Iterable[str]) -> None:
        for topic in list(gone):
            self.rows.pop(topic, None)
            self.complete.pop(topic, None)
            for key in [key for key in self._orders if key[0] == topic]:
                del self._orders[key]

    def _count(self, topic: str, value: bytes) -> None:
        try:
            said = punctuation_in(value)
        except UnreadablePunctuation as error:
            aloud(f"{topic} at {self._site}: {error}")
            return
        if said is None or said.order <= self._orders.get((topic, said.stage), (-1, -1)):
            return
        self._orders[topic, said.stage] = said.order
        self.rows[topic] = self.rows.get(topic, 0) + said.rows
        if said.complete is not None:
            self.complete[topic] = max(said.complete, self.complete.get(topic, said.complete))


def _topic(progress: str) -> str:
    return progress.removesuffix(".progress")
