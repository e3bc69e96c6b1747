"""Progress reports of made-up queries, as Spark writes them: a healthy one, and what goes wrong with it."""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from headway.advice.history import JobHistory, PlanFacts
from headway.advice.reading import JobReader
from headway.model.deadline import Deadlines, window

START = 1_800_000_000_000


def stamp(ms: float) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True)
class MadeQuery:
    """A windowed query whose batches begin every `every_ms`. What is given under a name of Spark's replaces it."""

    name: str = "clicks"
    every_ms: int = 1_000
    took_ms: int = 200
    rows: int = 1_000
    delay_ms: int = 1_000  # of its watermark
    late_ms: int = 600  # the oldest row of a batch, behind the newest of those before
    period_ms: int = 10_000
    trigger_ms: int = 1_000
    batches: int = 120
    state: Mapping[str, Any] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)
    phases: dict[str, int] = field(default_factory=dict)
    seed: int = 1

    @property
    def plan(self) -> PlanFacts:
        return PlanFacts(Deadlines((window(self.period_ms),)), self.delay_ms, self.trigger_ms)

    def reports(self) -> list[dict[str, Any]]:
        chance = random.Random(self.seed)
        made: list[dict[str, Any]] = []
        watermark, newest, state = 0.0, 0.0, 0
        for number in range(self.batches):
            began = START + number * self.every_ms
            took = round(self.took_ms * chance.uniform(0.9, 1.1))
            oldest, mean = newest - self.late_ms * chance.uniform(0.5, 1), began - self.every_ms / 2
            newest = began - 50.0
            state = min(state + 50, 400)
            made.append(
                {
                    "id": f"id-{self.name}", "runId": f"run-{self.name}", "name": self.name, "timestamp": stamp(began),
                    "batchId": number, "numInputRows": self.rows,
                    "durationMs": {
                        "addBatch": took - 60, "queryPlanning": 20, "walCommit": 10, "commitOffsets": 10,
                        "latestOffset": 10, "getBatch": 5, "triggerExecution": took,
                    } | self.phases,
                    "eventTime": {
                        "watermark": stamp(watermark), "max": stamp(newest), "min": stamp(max(oldest, START - 9_000)),
                        "avg": stamp(mean),
                    },
                    "stateOperators": [
                        {
                            "operatorName": "stateStoreSave", "numRowsTotal": state, "numRowsUpdated": 50,
                            "numRowsRemoved": 50, "memoryUsedBytes": 40_000, "numRowsDroppedByWatermark": 0,
                            "numShufflePartitions": 2,
                            "commitTimeMs": 10, "customMetrics": {},
                        } | {key: of(number) if callable(of) else of for key, of in self.state.items()}
                    ],
                    "sources": [
                        {
                            "description": "KafkaV2[Subscribe[clicks]]", "numInputRows": self.rows,
                            "endOffset": {"clicks": {"0": (number + 1) * self.rows}},
                            "latestOffset": {"clicks": {"0": (number + 1) * self.rows}}, "metrics": {},
                        }
                    ],
                    "sink": {"description": "console", "numOutputRows": -1},
                }
            )  # fmt: skip
            _put(made[-1], self.report, number)
            watermark = max(watermark, newest - self.delay_ms)
        return made


def _put(report: dict[str, Any], changes: Mapping[str, Any], number: int) -> None:
    for path, of in changes.items():
        *way, last = path.split("/")
        place: Any = report
        for step in way:
            place = place[int(step)] if isinstance(place, list) else place[step]
        place[last] = of(number) if callable(of) else of


def job(*queries: MadeQuery, cores: int = 4, errors: Mapping[str, str] | None = None, until_ms: int = 0) -> JobHistory:
    reader = JobReader({query.name: query.plan for query in queries}, cores)
    for query in queries:
        for report in query.reports():
            reader.line(json.loads(json.dumps(report)))
    for name, error in (errors or {}).items():
        reader.died(f"id-{name}", name, error)
    reader.seen_until(START + until_ms)
    return reader.history()
