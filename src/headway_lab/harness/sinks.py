"""Where the results of a benchmark's queries go, and how they are read back to be checked."""

from typing import Any, Protocol

from headway.kafka import topics


class ResultSink(Protocol):
    def writer(self, result: Any, name: str) -> Any:
        """What Spark starts."""
        ...

    def show(self, spark: Any, name: str) -> None:
        """Make all that came out a table of this name."""
        ...

    def drop(self, spark: Any, name: str) -> None: ...


class MemorySink:
    """Spark's own table in the driver's heap: cheapest to write, but it keeps every row for as long as the query runs."""

    def writer(self, result: Any, name: str) -> Any:
        return result.writeStream.outputMode("append").format("memory")

    def show(self, spark: Any, name: str) -> None:
        """It is there already."""

    def drop(self, spark: Any, name: str) -> None:
        spark.catalog.dropTempView(name)


class KafkaSink:
    """A topic for each query, as users have it: nothing stays in the engine."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._schemas: dict[str, Any] = {}

    def writer(self, result: Any, name: str) -> Any:
        self._schemas[name] = result.schema
        topics.create(self.address, _topic(name), 1)
        to = {"kafka.bootstrap.servers": self.address, "topic": _topic(name)}
        return (
            result.selectExpr("to_json(struct(*)) AS value").writeStream.outputMode("append").format("kafka").options(**to)
        )

    def show(self, spark: Any, name: str) -> None:
        of = {"kafka.bootstrap.servers": self.address, "subscribe": _topic(name), "startingOffsets": "earliest"}
        values = spark.read.format("kafka").options(**of).load().selectExpr("CAST(value AS STRING) AS value")
        schema = self._schemas[name].simpleString()
        values.selectExpr(f"inline(array(from_json(value, '{schema}')))").createOrReplaceTempView(name)

    def drop(self, spark: Any, name: str) -> None:
        spark.catalog.dropTempView(name)
        topics.delete(self.address, _topic(name))


def _topic(name: str) -> str:
    return f"out-{name}"
