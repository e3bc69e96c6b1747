"""The streaming query of a piece: from a source's topic or those of other pieces, to further ones or into the sink."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headway.model.piece import Channel, Piece
from headway.model.time import EventMs
from headway.spark.geo.steps import between, delivered, narrowed, parsed, transformed
from headway.spark.plan import quoted
from headway.spark.relay.topic import Relay
from headway.spark.runtime import Runtime
from headway.wan.job import AT, GeoJob

EARLIER_MS = 60_000  # rows of a moment may be stamped by a clock that is so much behind
# Kafka's clients fetch a megabyte at once and give up after 30 s. Over half a Mbit/s, which two readers share, that is not
# enough: they would begin anew each time.
FAR = {"kafka.max.partition.fetch.bytes": "262144", "kafka.request.timeout.ms": "120000"}
Until = Callable[[], EventMs | None]  # results from then on are another generation's


@dataclass(frozen=True, slots=True)
class PieceQuery:
    """A piece, with what it takes to run it at its site."""

    job: GeoJob
    piece: Piece
    servers: Mapping[str, str]  # the broker of each site
    until: Until

    def writer(self, rt: Runtime) -> Any:
        """A DataStreamWriter that is ready to start."""
        piece = self.piece
        rows = transformed(self._from_channels(rt) if piece.reads else self._from_source(rt), self.job, piece)
        deliver = self._to_channels(rt) if piece.writes else self._into_sink()
        return rows.writeStream.outputMode("append").foreachBatch(deliver)

    def _from_source(self, rt: Runtime) -> DataFrame:
        job, piece = self.job, self.piece
        wanted = {"kafka.bootstrap.servers": self.servers[piece.site], "subscribe": job.topic(piece.stages[0])}
        if piece.since is None:
            wanted["startingOffsets"] = "earliest"
        else:
            # A row arrives after it was made: what is of that moment or later stands behind it.
            wanted["startingTimestamp"] = str(piece.since - EARLIER_MS)
            wanted["startingOffsetsByTimestampStrategy"] = "latest"
        records = rt.spark.readStream.format("kafka").options(**wanted).load()
        rows = rt.watermark(parsed(records, job), AT, job.patience, arrival="headway_arrival", idle_after=job.idle_after)
        if piece.since is not None:
            rows = rows.where(F.col(AT) >= F.timestamp_millis(F.lit(int(piece.since))))
        return narrowed(rows, job)

    def _from_channels(self, rt: Runtime) -> DataFrame:
        read = [self._relay(rt, channel).rows(rt) for channel in self.piece.reads]
        return reduce(lambda one, other: one.unionByName(other), read)

    def _to_channels(self, rt: Runtime) -> Callable[[DataFrame, int], None]:
        """A group goes to the part that its columns say, whichever task asks."""
        parts = [self._relay(rt, channel).writer(rt) for channel in self.piece.writes]
        if len(parts) == 1:
            return parts[0]
        last = self.job.aggregate
        assert last is not None  # without state a piece writes for one reader
        part = F.pmod(F.hash(*map(quoted, last.by)), F.lit(len(parts)))

        def write(batch: DataFrame, number: int) -> None:
            kept = batch.persist()
            try:
                for n, to_part in enumerate(parts):
                    to_part(kept.where(part == n), number)
            finally:
                kept.unpersist()

        return write

    def _into_sink(self) -> Callable[[DataFrame, int], None]:
        deliver, job, until = self.job.sink(self.piece.name), self.job, self.until

        def write(batch: DataFrame, number: int) -> None:
            end = until()
            if end is not None:
                batch = batch.where(F.col(AT) < F.timestamp_millis(F.lit(int(end))))
            deliver(delivered(batch, job.aggregate), number)

        return write

    def _relay(self, rt: Runtime, channel: Channel) -> Relay:
        far = FAR if channel.site != self.piece.site else {}
        return Relay(
            self.servers[channel.site], channel.topic, between(rt.spark, self.job), time=AT, stages=(channel.writer,),
            options=far, progress=channel.progress,
        )  # fmt: skip
