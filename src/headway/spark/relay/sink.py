"""The sink of a stage: a batch and its punctuation in one transaction, and no batch twice.

Spark runs a batch again if its end was not put down. Then the topic says whether it is there: in each of its partitions the
last punctuation of the stage has the number of the batch, and a digest of what it has read.
"""

import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame

from headway.errors import HeadwayError, aloud
from headway.kafka.marks import last_mark
from headway.kafka.transactions import TransactionalWriter
from headway.loop.punctuation_text import UnreadablePunctuation, punctuation_in, punctuation_text
from headway.loop.stage_lag import StageLag
from headway.model.message import Relaying
from headway.model.punctuation import Punctuation, verdict
from headway.model.time import EventMs, WallMs
from headway.spark.plane import Plane
from headway.spark.relay.planned import BatchPlan, PlannedStage, stage_of

PARTITIONS_FOR_S = 2.0  # a topic seldom grows


@dataclass
class _Opened:
    """The stage under one writer."""

    stage: PlannedStage
    writer: TransactionalWriter
    incarnation: int
    last: Punctuation | None
    swept: EventMs | None = None  # by this writer
    partitions: int = 0
    counted_at: float = 0.0


@dataclass(frozen=True, slots=True)
class RelayTarget:
    """Where a stage writes, and what of."""

    servers: str
    topic: str
    place: str  # the same in one word
    column: str  # the time of a row
    lag_ms: int  # by which it may be older than the watermark
    client: Mapping[str, Any]
    progress: str | None  # a topic with the punctuations alone
    records: Callable[[DataFrame], DataFrame]  # a batch's rows: value, key, time in microseconds


class RelaySink:
    """Writes the batches of a stage. Spark calls it from one thread at a time."""

    def __init__(self, target: RelayTarget, spark: Any, plane: Plane) -> None:
        self._target, self._spark, self._plane = target, spark, plane
        self._lag = StageLag()
        self._opened: _Opened | None = None
        self._warned = False

    def __call__(self, batch: DataFrame, number: int) -> None:
        try:
            self._write(batch, number)
        except BaseException:
            self._opened = None  # the next batch looks into the topic first
            raise

    def _write(self, batch: DataFrame, number: int) -> None:
        opened = self._open()
        planned = opened.stage.planned(number)
        match verdict(opened.last, opened.stage.lineage, number, planned.digest):
            case "written":
                batch.write.format("noop").mode("append").save()  # what the query remembers is made by running it
                self._plane.note(
                    opened.stage.name, f"{self._target.place}: batch {number} is there already, and not written again"
                )
            case "write":
                self._write_anew(opened, self._target.records(batch), planned)
            case wrong:
                raise HeadwayError(_refusal(self._target.place, opened.stage, number, wrong, opened.last))

    def _write_anew(self, opened: _Opened, records: DataFrame, planned: BatchPlan) -> None:
        rows = records.collect()
        promised = None if opened.last is None else opened.last.complete
        late = 0 if promised is None else sum(row.at is not None and row.at < promised * 1_000 for row in rows)
        if late:
            self._broken(opened, min(row.at for row in rows if row.at is not None) // 1_000, late)
        partitions = self._partitions(opened)
        at = WallMs(time.time_ns() // 1_000_000)
        if planned.watermark is not None:
            opened.swept = EventMs(planned.watermark - self._target.lag_ms)
        complete = max((moment for moment in (opened.swept, promised) if moment is not None), default=None)
        self._lag.writes(complete, at)
        view = self._plane.status().query(opened.stage.name)
        said = Punctuation(
            opened.stage.name, opened.stage.lineage, opened.incarnation, planned.number, planned.digest, partitions, at,
            complete, len(rows), late, self._lag.flow(None if view is None else view.view),
        )  # fmt: skip
        opened.writer.write(_records(rows, partitions, planned.number), punctuation_text(said).encode(), partitions)
        opened.last = said
        self._tell(opened.writer, said)

    def _tell(self, writer: TransactionalWriter, said: Punctuation) -> None:
        """To the topic of punctuations alone, when all readers can see the rows before it. One speaks for all partitions."""
        if self._target.progress is not None:
            writer.note(self._target.progress, punctuation_text(replace(said, partitions=1)).encode())

    def _broken(self, opened: _Opened, oldest: int, late: int) -> None:
        """Rows older than was promised. A stage of windows has none, but by mistake or after a new checkpoint."""
        target, stage = self._target, opened.stage.name
        text = f"{target.place}: {late} rows of stage {stage!r} are older by their {target.column!r} than its watermark"
        if opened.stage.of_windows and opened.swept is not None and oldest < opened.swept:
            text += f", by up to {opened.swept - oldest} ms"
            raise HeadwayError(f"{text}: stamp them with the end of their window, or say lag='...' in writer(rt, lag=...)")
        if not self._warned:
            self._warned = True
            aloud(f"{text}: they are sent, and count as late behind it")

    def _partitions(self, opened: _Opened) -> int:
        if time.monotonic() - opened.counted_at >= PARTITIONS_FOR_S:
            opened.partitions, opened.counted_at = opened.writer.partitions(), time.monotonic()
        return opened.partitions

    # ---- a stage begins to write, or begins again

    def _open(self) -> _Opened:
        if self._opened is None:
            stage = stage_of(self._spark)
            if stage.mode != "Append":
                raise HeadwayError(
                    f"outputMode = {stage.mode.lower()!r}: expected append: what is relayed is never taken back"
                )
            # First the fence: after it no other writer of this name can add anything, so what is there now is all.
            target = self._target
            name = _writer_name(target.topic, stage.name)
            writer = TransactionalWriter(target.servers, target.topic, name, target.client)
            last = self._last_of(stage.name, target.topic)
            if last is not None and target.progress is not None:  # its writer may have died before it told
                told = self._last_of(stage.name, target.progress)
                if told is None or told.order != last.order:
                    self._tell(writer, last)
            self._opened = _Opened(stage, writer, 1 if last is None else last.incarnation + 1, last)
            if last is not None and last.lineage != stage.lineage:
                aloud(
                    f"{target.place}: stage {stage.name!r} has another checkpoint than before, and writes its batches anew"
                )
            self._plane.post(Relaying(stage.name, target.place))
        return self._opened

    def _last_of(self, stage: str, topic: str) -> Punctuation | None:
        """Every batch has its punctuation in every partition, so the first tells of all."""

        def ours(value: bytes) -> Punctuation | None:
            try:
                said = punctuation_in(value)
            except UnreadablePunctuation as error:
                raise HeadwayError(
                    f"{self._target.place}: {error}: expected a topic that only stages of Headway write to"
                ) from None
            return said if said is not None and said.stage == stage else None

        return last_mark(self._target.servers, topic, 0, ours, self._target.client)


def fence(servers: str, topic: str, stage: str, client: Mapping[str, Any]) -> None:
    """No writer that began to write for this stage before writes any more."""
    TransactionalWriter(servers, topic, _writer_name(topic, stage), client)


def _writer_name(topic: str, stage: str) -> str:
    return f"headway/{topic}/{stage}"


def _records(rows: list[Any], partitions: int, number: int) -> Iterator[tuple[int, bytes | None, bytes]]:
    for n, row in enumerate(rows, number):
        key = None if row.key is None else row.key.encode()
        yield (n if key is None else zlib.crc32(key)) % partitions, key, row.value.encode()


def _refusal(place: str, stage: PlannedStage, number: int, wrong: str, last: Punctuation | None) -> str:
    there = None if last is None else last.batch
    if wrong == "behind":
        return (
            f"{place} has batch {there} of stage {stage.name!r} already, and its checkpoint goes on with batch {number}:"
            " expected the newest checkpoint of the stage"
        )
    return (
        f"{place} has a batch {there} of stage {stage.name!r} that has read other rows than this one:"
        " expected the checkpoint that it was written from"
    )
