"""A topic between two stages of a pipeline, as both of them declare it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headway.errors import HeadwayError, SettingError
from headway.fleet.epochs import fenced_by
from headway.loop.punctuation_text import MARK
from headway.model.time import duration_ms
from headway.policy.patience import Fixed
from headway.spark.inputs import HORIZON, InputSettings
from headway.spark.plan import quoted
from headway.spark.relay.sink import RelaySink, RelayTarget, fence
from headway.spark.runtime import Runtime

# Spark would cut timestamps to milliseconds, leave out what is null, and go by the session's time zone.
JSON = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "timeZone": "UTC", "ignoreNullFields": "false"}


def rows_in(records: DataFrame, columns: T.StructType) -> DataFrame:
    """The rows among the records of a topic, without the punctuations."""
    text = F.col("value").cast("string")
    # `inline` parses each row once, however many of its fields are used.
    return records.where(~F.startswith(text, F.lit(MARK))).select(F.inline(F.array(F.from_json(text, columns, JSON))))


@dataclass(frozen=True)
class Relay:
    """A topic that stages of a pipeline write to, and others read: what its rows are, and which column is their time.

        minutes = hw.Relay("127.0.0.1:9092", "minutes", "campaign string, at timestamp, views long", time="at")

        rt.start(counts.writeStream.foreachBatch(minutes.writer(rt)), name="minutes")     # on one node
        rows = minutes.rows(rt)                                                           # on another

    `key` names a column whose rows of one value go to one partition. `stages` names the queries that write to the topic, if
    there are several, or if nothing may come out before one that has not begun yet has spoken. `client` has settings for the
    broker's clients as librdkafka names them, `options` the same for Spark's source (`kafka.security.protocol`). `progress`
    names a topic of one partition that has the punctuations alone: a reader far away follows that, and not all rows again.
    """

    servers: str
    topic: str
    schema: T.StructType | str
    time: str
    key: str | None = None
    stages: Sequence[str] = ()
    client: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    progress: str | None = None

    def __post_init__(self) -> None:
        fields = {f.name: f.dataType for f in self.columns.fields}
        if self.time not in fields:
            raise SettingError("relay.time", self.time, f"one of the columns {', '.join(fields)}")
        if not isinstance(fields[self.time], T.TimestampType):
            raise SettingError("relay.time", self.time, "a timestamp column")
        if self.key is not None and self.key not in fields:
            raise SettingError("relay.key", self.key, f"one of the columns {', '.join(fields)}")
        if isinstance(self.stages, str):
            raise SettingError("relay.stages", self.stages, "a list of names")

    @property
    def columns(self) -> T.StructType:
        want = "a schema such as 'campaign string, at timestamp, views long'"
        try:
            made = T.StructType.fromDDL(self.schema) if isinstance(self.schema, str) else self.schema
        except Exception as error:  # Spark's own is a page long
            raise SettingError("relay.schema", self.schema, want) from error
        if not isinstance(made, T.StructType):
            raise SettingError("relay.schema", self.schema, want)
        return made

    @property
    def place(self) -> str:
        """Which topic that is, under any spelling of its servers."""
        return f"{self.servers}/{self.topic}"

    def writer(self, rt: Runtime, *, lag: str | int = 0) -> Callable[[DataFrame, int], None]:
        """What a stage gives to `foreachBatch`: it writes each batch once, and says how far the topic is complete.

        `lag` is how much older than the stage's watermark the time of its rows may be: nothing for results of a window that
        are stamped with its end, its length for those that are stamped with its start.
        """
        plane = rt.plane
        if plane is None:
            raise HeadwayError(
                f"relay {self.topic!r} needs a gated order, such as Klink: {type(rt.order).__name__} has no gate"
            )
        lag_ms = duration_ms("relay.lag", lag)
        fenced_by(lambda query: fence(self.servers, self.topic, query, self.client))
        target = RelayTarget(self.servers, self.topic, self.place, self.time, lag_ms, self.client, self.progress, self._rows)
        return RelaySink(target, rt.spark, plane)

    def rows(
        self,
        rt: Runtime,
        *,
        name: str | None = None,
        idle_after: str | int = "never",
        horizon: str | int = HORIZON,
        late: str | None = None,
        rows_per_batch: int | None = None,
    ) -> DataFrame:
        """The rows, with a watermark that goes by what their stages have said, and by nothing else.

        A stage that says nothing is waited for, for ever, or for `idle_after`: then windows come out without what it may
        still bring, which is counted as late. Other settings are those of `rt.watermark`.
        """
        plane = rt.plane
        if plane is None:
            raise HeadwayError(
                f"relay {self.topic!r} needs a gated order, such as Klink: {type(rt.order).__name__} has no gate"
            )
        plane.tails.follow(self.place, self.servers, self.progress or self.topic, dict(self.client))
        wanted = {
            "kafka.bootstrap.servers": self.servers, "subscribe": self.topic, "startingOffsets": "earliest",
            "kafka.isolation.level": "read_committed",
        }  # fmt: skip
        records = rt.spark.readStream.format("kafka").options(**wanted | dict(self.options)).load()
        settings = InputSettings(
            name=name, idle_after=idle_after, horizon=horizon, late=late, rows_per_batch=rows_per_batch,
            relayed=self.place, stages=tuple(self.stages),
        )  # fmt: skip
        return rt.inputs.watermarked(rows_in(records, self.columns), self.time, Fixed(0), settings)

    def _rows(self, batch: DataFrame) -> DataFrame:
        """As records: value, key, and time in microseconds."""
        missing = [f.name for f in self.columns.fields if f.name not in batch.columns]
        if missing:
            raise SettingError(
                "relay.schema", missing[0], f"one of the columns {', '.join(batch.columns)}, which the stage has"
            )
        values = [F.col(quoted(f.name)).cast(f.dataType).alias(f.name) for f in self.columns.fields]
        key = F.lit(None) if self.key is None else F.col(quoted(self.key))
        return batch.select(
            F.to_json(F.struct(*values), JSON).alias("value"),
            key.cast("string").alias("key"),
            F.unix_micros(F.col(quoted(self.time))).alias("at"),
        )
