"""A question that is being asked of a live stream: its batches, its latency, its answers."""

from pathlib import Path
from typing import Any, NamedTuple

from headway.errors import HeadwayError
from headway.model.sampling import SamplingPolicy
from headway.policy.patience import MaxDelay
from headway_lab.experiments.aion.covered import WindowResult
from headway_lab.harness.batches import ProgressReports
from headway_lab.workloads.approximate import BY, WindowQuestion


class Batch(NamedTuple):
    """What a finished batch did."""

    ended_ms: int
    watermark: int
    rows: int  # read, before any was left out


class Live:
    """A question that is being asked: started, looked at, read."""

    def __init__(
        self, rt: Any, spark: Any, asked: WindowQuestion, policy: SamplingPolicy | None, name: str, folder: Path
    ) -> None:
        from headway.spark import approx
        from headway_lab.workloads.events import events

        rows = asked.rows(events(spark, asked.stream))
        if policy is None:
            marked = rt.watermark(rows, "event_time", MaxDelay(), arrival="arrival", name=name)
        else:
            told: dict[str, Any] = {"value": asked.value, "of": asked.of, "per": asked.per, "by": list(BY)}
            marked = rt.approximate(rows, "event_time", arrival="arrival", sampling=policy, name=name, **told)
        writer = asked.query(marked, approx).writeStream.outputMode("append").format("memory")
        self.name, self.batches, self._rt, self._spark = name, list[Batch](), rt, spark
        self._handle = rt.start(writer, name=name, checkpoint=str(folder / name))
        self._reports = ProgressReports(self._handle)

    def look(self) -> None:
        """Take in what Spark reports of finished batches."""
        from headway.spark.listening.progress import batch_seen

        if (error := self._handle.exception()) is not None:
            raise HeadwayError(f"query {self.name} failed: {str(error).partition(chr(10))[0]}")
        for report in self._reports.new():
            if (batch := batch_seen(report, self.name)) is not None:
                rows = sum(seen.rows for seen in batch.inputs)
                self.batches.append(Batch(batch.ended, batch.watermark or 0, rows))

    @property
    def watermark(self) -> int:
        return max((batch.watermark for batch in self.batches), default=0)

    @property
    def late(self) -> int:
        """Rows that came too late for their windows, so far."""
        return int(self._told.inputs[0].late)

    @property
    def wait_ms(self) -> int:
        return int(self._told.view.patience_ms)

    def thought_ms(self) -> float:
        """Processor time that its sampler has taken so far."""
        return float(self._told.inputs[0].sampling_ms)

    @property
    def _told(self) -> Any:
        return self._rt.status().query(self.name)

    def answers(self, after_ms: int = 0) -> list[WindowResult]:
        """All that came out, of windows that end after this."""
        columns = ("end_ms", "key", "estimate", "lower", "upper", "sample", "seen", "sound")
        rows = self._spark.table(self.name).where(f"end_ms > {after_ms}").select(*columns).collect()
        return sorted((WindowResult(*row) for row in rows), key=lambda a: (a.end_ms, a.key))

    def drop(self) -> None:
        self._spark.catalog.dropTempView(self.name)
