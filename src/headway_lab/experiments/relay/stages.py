"""The stages of the pipelines: views per advertisement and second, per campaign and second, per campaign and window.

Each is run in two ways. Where stages tell each other, a topic between them is a relay. Where each node is on its own,
Spark's own sink writes the topic, and the next stage guesses by a patience how long what comes may take.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.sim.delays import Uniform
from headway_lab.harness.children import StoredPlan
from headway_lab.workloads.sql import entry
from headway_lab.workloads.ysb import Ysb

WAYS = ("relay", "alone")
STAGES = (1, 2, 3)
DELAY_MS, PATIENCE_MS, WINDOW_MS = 500, 600, 3_000
MARGIN_MS = 1_000  # by which a stage on its own waits longer than the one before it
SCHEMAS = {1: "ad_id int, at timestamp, n long", 2: "campaign_id long, at timestamp, n long"}


@dataclass(frozen=True)
class RelayPlan(StoredPlan):
    """One run: all pipelines, one way."""

    number: int
    way: str
    seed: int
    epoch_ms: int
    address: str
    pipelines: int = 3
    rate: int = 400
    token: str = ""  # of the nodes of this run

    def stream(self, pipeline: int) -> Ysb:
        """Some pipelines have more to do than others, so that it matters which of them goes first; `rate` is their mean."""
        rate = max(1, self.rate * 2 * (pipeline + 1) // (self.pipelines + 1))
        return Ysb(self.seed * 100 + pipeline, rate, self.epoch_ms, Uniform(0, DELAY_MS), WINDOW_MS)

    def query(self, stage: int, pipeline: int) -> str:
        return f"stage{stage}-{self.number}-{pipeline}"

    def topic(self, pipeline: int, stage: int) -> str:
        """What a stage reads; the first one reads events."""
        return f"run-{self.number}-{pipeline}-{stage}"


def writer(rt: Any, spark: Any, plan: RelayPlan, stage: int, pipeline: int, work: Path) -> Any:
    """This stage of a pipeline, ready to be started."""
    stream = plan.stream(pipeline)
    rows = _events(rt, spark, plan, pipeline) if stage == 1 else _from_stage(rt, spark, plan, pipeline, stage)
    if stage == 3:
        from headway_lab.experiments.relay.sink import stamped_writer

        counts = rows.groupBy(_window("3 seconds"), "campaign_id").sum("n").selectExpr(
            "unix_millis(window.end) as end", "campaign_id", "`sum(n)` as count"
        )  # fmt: skip
        return counts.writeStream.foreachBatch(stamped_writer(work / "out" / str(pipeline)))
    key = "ad_id" if stage == 1 else "campaign_id"
    kept = rows if stage == 1 else rows.selectExpr("at", f"{entry(stream.campaign_of, 'ad_id')} as campaign_id", "n")
    counts = kept.groupBy(_window("1 second"), key).sum("n")
    results = counts.selectExpr(key, "window_time(window) as at", "`sum(n)` as n")
    return _to_topic(rt, results, plan, pipeline, stage)


def _window(size: str) -> Any:
    from pyspark.sql import functions as F

    return F.window("at", size)


def _events(rt: Any, spark: Any, plan: RelayPlan, pipeline: int) -> Any:
    records = _records(spark, plan, plan.topic(pipeline, 1)).select("value", "timestamp")
    events = rt.watermark(Ysb.parsed(records), "event_time", PATIENCE_MS, arrival="timestamp", idle_after="5 seconds")
    return events.where("event_type = 'view'").selectExpr("event_time as at", "int(ad_id) as ad_id", "bigint(1) as n")


def _records(spark: Any, plan: RelayPlan, topic: str) -> Any:
    wanted = {"kafka.bootstrap.servers": plan.address, "subscribe": topic, "startingOffsets": "earliest"}
    return spark.readStream.format("kafka").options(**wanted).load()


def _relay(plan: RelayPlan, pipeline: int, stage: int) -> Any:
    import headway as hw

    return hw.Relay(plan.address, plan.topic(pipeline, stage), SCHEMAS[stage - 1], time="at")


def _from_stage(rt: Any, spark: Any, plan: RelayPlan, pipeline: int, stage: int) -> Any:
    rows = (
        _relay(plan, pipeline, stage).rows(rt)
        if plan.way == "relay"
        else rt.watermark(
            _guessed(spark, plan, pipeline, stage), "at", PATIENCE_MS + (stage - 1) * MARGIN_MS, arrival="timestamp"
        )
    )
    return rows


def _guessed(spark: Any, plan: RelayPlan, pipeline: int, stage: int) -> Any:
    text = f"inline(array(from_json(cast(value as string), '{SCHEMAS[stage - 1]}')))"
    return _records(spark, plan, plan.topic(pipeline, stage)).selectExpr("timestamp", text)


def _to_topic(rt: Any, results: Any, plan: RelayPlan, pipeline: int, stage: int) -> Any:
    if plan.way == "relay":
        return results.writeStream.foreachBatch(_relay(plan, pipeline, stage + 1).writer(rt))
    text = "to_json(struct(*), map('timestampFormat', \"yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX\")) as value"
    wanted = {"kafka.bootstrap.servers": plan.address, "topic": plan.topic(pipeline, stage + 1)}
    return results.selectExpr(text).writeStream.outputMode("append").format("kafka").options(**wanted)
