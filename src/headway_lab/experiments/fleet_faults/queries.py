"""The queries that a fleet runs while its parts die: counts of the Yahoo workload, whose truth is known beforehand."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.sim.delays import Uniform
from headway_lab.experiments.fleet_faults.fenced_sink import FencedSink
from headway_lab.harness.children import StoredPlan
from headway_lab.workloads.ysb import Ysb

PATIENCE_MS = 500
WINDOW_MS = 1_000
CAMPAIGNS = 20


@dataclass(frozen=True)
class FleetFaultPlan(StoredPlan):
    """What runs on the fleet; every node reads the same."""

    seed: int
    epoch_ms: int
    queries: int = 4
    rate: int = 200

    @property
    def names(self) -> list[str]:
        return [f"views_{number}" for number in range(1, self.queries + 1)]

    def streams(self) -> dict[str, Ysb]:
        """By the name of their query. No row is delayed for longer than `PATIENCE_MS`."""
        delay = Uniform(0, PATIENCE_MS)
        return {
            name: Ysb(self.seed * 1_000 + n, self.rate, self.epoch_ms, delay, WINDOW_MS, campaigns=CAMPAIGNS)
            for n, name in enumerate(self.names)
        }

    def pipeline(self, work: Path) -> str:
        """The text of a pipeline file with all of them."""
        head = f"import headway as hw\nfrom {__name__} import counted\n"
        return head + "".join(
            f"\n\n@hw.query()\ndef {name}(rt, spark):\n    return counted(rt, spark, {str(work)!r}, {name!r})\n"
            for name in self.names
        )


def counted(rt: Any, spark: Any, work: str, name: str) -> Any:
    """One of them, ready to be started: windows of a second, into a sink that keeps the epoch."""
    import headway as hw
    from headway_lab.workloads.events import events

    stream, sink = FleetFaultPlan.read(Path(work)).streams()[name], FencedSink(Path(work), name)
    marked = rt.watermark(events(spark, stream), "event_time", PATIENCE_MS, arrival="arrival")
    counts = stream.counts(marked).selectExpr("unix_millis(window.end) as end", "campaign_id", "count")
    return counts.writeStream.outputMode("append").foreachBatch(sink.writer(hw.epoch(sink.connect)))
