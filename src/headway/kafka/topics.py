"""Topics of a broker: make them, grow them, see how far they have come."""

from typing import Any

from headway.errors import HeadwayError, SettingError

TIMEOUT_S = 10


def client(kind: str, address: str, **more: Any) -> Any:
    """A client of Confluent's library, which is an extra: the runtime itself needs none."""
    try:
        import confluent_kafka
        import confluent_kafka.admin
    except ImportError:
        raise HeadwayError("confluent-kafka is missing: pip install 'headway[kafka]' brings it") from None
    made = {
        "admin": confluent_kafka.admin.AdminClient,
        "producer": confluent_kafka.Producer,
        "consumer": confluent_kafka.Consumer,
    }
    return made[kind]({"bootstrap.servers": address, "log_level": 0, **more})


def create(address: str, topic: str, partitions: int = 1) -> None:
    """Make a topic; one that is there must have as many partitions."""
    from confluent_kafka.admin import NewTopic

    if partitions < 1:
        raise SettingError("partitions", partitions, "1 or more")
    admin = client("admin", address)
    there = listed(address, admin).get(topic)
    if there is None:
        _done(admin.create_topics([NewTopic(topic, partitions, 1)]), topic)
    elif there != partitions:
        raise SettingError("partitions", partitions, f"{there}, which the topic {topic!r} has already")


def grow(address: str, topic: str, partitions: int) -> None:
    """Give a topic more partitions."""
    from confluent_kafka.admin import NewPartitions

    admin = client("admin", address)  # it must outlive its answer
    _done(admin.create_partitions([NewPartitions(topic, partitions)]), topic)


def delete(address: str, topic: str) -> None:
    admin = client("admin", address)
    _done(admin.delete_topics([topic]), topic)


def listed(address: str, admin: Any = None) -> dict[str, int]:
    """All topics of users, and how many partitions each has."""
    from confluent_kafka import KafkaException

    try:
        found = (admin or client("admin", address)).list_topics(timeout=TIMEOUT_S).topics
    except KafkaException as error:
        raise HeadwayError(
            f"kafka = {address!r}: no broker answers ({error.args[0].str()}): start one, or correct it"
        ) from None
    return {name: len(topic.partitions) for name, topic in sorted(found.items()) if not name.startswith("__")}


def ends(address: str, topic: str) -> dict[int, int]:
    """How many rows each partition has had so far."""
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import OffsetSpec

    admin = client("admin", address)
    there = listed(address, admin)
    if topic not in there:
        raise SettingError("topic", topic, f"one that {address} has: {', '.join(there) or 'none so far'}")
    wanted = {TopicPartition(topic, p): OffsetSpec.latest() for p in range(there[topic])}
    return {p.partition: f.result(TIMEOUT_S).offset for p, f in admin.list_offsets(wanted).items()}


def _done(futures: dict[str, Any], topic: str) -> None:
    from confluent_kafka import KafkaException

    for future in futures.values():
        try:
            future.result(TIMEOUT_S)
        except KafkaException as error:
            raise HeadwayError(f"topic = {topic!r}: {error.args[0].str()}") from None
