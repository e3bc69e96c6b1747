"""Spark's progress as JSON, read once: lines of an event log, lines of progress reports, or a list of them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from headway.advice.history import JobHistory, PlanFacts, ProgressReport, SourceProgress, StateProgress, StreamHistory
from headway.errors import HeadwayError
from headway.model.secrets import without_secrets

_EVENT = "org.apache.spark.sql.streaming.StreamingQueryListener$"
_NOTHING = HeadwayError(
    "no progress of a streaming query in there: give a Spark event log (spark.eventLog.enabled=true),"
    " or lines of `query.lastProgress` as JSON"
)


def report_of(progress: Mapping[str, Any]) -> ProgressReport | None:
    """The batch that a progress report tells of; None if it tells of none."""
    phases = {name: int(ms) for name, ms in (progress.get("durationMs") or {}).items()}
    if "addBatch" not in phases:
        return None
    times = {name: _moment(stamp) for name, stamp in (progress.get("eventTime") or {}).items()}
    return ProgressReport(
        batch=int(progress["batchId"]),
        run=str(progress["runId"]),
        began=_wall_ms(progress["timestamp"]),
        took_ms=phases.get("triggerExecution", sum(phases.values())),
        rows=sum(int(source.get("numInputRows") or 0) for source in progress.get("sources") or ()),
        phases=phases,
        watermark=times.get("watermark"),
        newest=times.get("max"),
        oldest=times.get("min"),
        mean=times.get("avg"),
        states=tuple(_state(state) for state in progress.get("stateOperators") or ()),
        sources=tuple(_source(source) for source in progress.get("sources") or ()),
    )


@dataclass
class JobReader:
    """Takes events one by one, in any order of queries, and tells what is known at the end."""

    plans: dict[str, PlanFacts] = field(default_factory=dict)  # by the name of the query
    cores: int | None = None
    running: bool = False
    _settings: dict[str, str] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)  # by Spark's id
    _reports: dict[str, dict[tuple[int, int], ProgressReport]] = field(default_factory=dict)
    _heard: dict[str, int] = field(default_factory=dict)
    _errors: dict[str, str] = field(default_factory=dict)
    _until: int = 0

    def progress(self, progress: Mapping[str, Any]) -> None:
        """One progress report. The same one twice is one."""
        id_, at = str(progress["id"]), _wall_ms(progress["timestamp"])
        self._named(id_, progress.get("name"))
        of = self._reports.setdefault(id_, {})
        if (report := report_of(progress)) is not None:
            of[report.batch, report.began] = report
            at = report.ended
        self._heard[id_] = max(at, self._heard.get(id_, 0))
        self._until = max(at, self._until)

    def died(self, id_: str, name: str | None, error: str | None) -> None:
        self._named(id_, name)
        if error:
            self._errors[id_] = without_secrets(" ".join(error.split()))[:300]

    def seen_until(self, at: int) -> None:
        self._until = max(at, self._until)

    def line(self, event: Mapping[str, Any]) -> None:
        """One line of an event log, or one progress report."""
        kind = str(event.get("Event", ""))
        if not kind and "batchId" in event and "timestamp" in event:
            self.progress(event)
        elif kind == f"{_EVENT}QueryProgressEvent":
            told = event["progress"]
            self.progress(json.loads(told) if isinstance(told, str) else told)
        elif kind == f"{_EVENT}QueryStartedEvent":
            self._named(str(event["id"]), event.get("name"))
        elif kind == f"{_EVENT}QueryTerminatedEvent":
            self.died(str(event["id"]), None, event.get("exception"))
        elif kind == "SparkListenerEnvironmentUpdate":
            self._settings.update({str(k): str(v) for k, v in dict(event.get("Spark Properties") or {}).items()})
        elif kind == "SparkListenerExecutorAdded":
            self.cores = (self.cores or 0) + int((event.get("Executor Info") or {}).get("Total Cores") or 0)
        if isinstance(at := event.get("Timestamp"), int):
            self.seen_until(at)

    def history(self) -> JobHistory:
        queries = tuple(
            StreamHistory(
                self._names.get(id_, id_),
                tuple(sorted(of.values(), key=lambda report: (report.began, report.batch))),
                self.plans.get(self._names.get(id_, id_), PlanFacts()),
                self._errors.get(id_),
                self._heard.get(id_, 0),
            )
            for id_, of in self._reports.items()
        )
        return JobHistory(
            tuple(sorted(queries, key=lambda query: query.name)), self.cores, self._settings, self._until, self.running
        )

    def _named(self, id_: str, name: str | None) -> None:
        self._reports.setdefault(id_, {})
        if name:
            self._names[id_] = name


def read(lines: Iterable[str], into: JobReader) -> None:
    """Every line that is JSON; a log that was cut in the middle of a line is read up to there."""
    found = False
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        for one in event if isinstance(event, list) else [event]:
            if isinstance(one, dict):
                _taken(into, one)
                found = found or "Event" in one or "batchId" in one
    if not found:
        raise _NOTHING


def _taken(into: JobReader, event: Mapping[str, Any]) -> None:
    try:
        into.line(event)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        kind = event.get("Event", "a progress report")
        raise HeadwayError(f"{kind} is not as Spark writes it: {type(error).__name__}: {error}") from None


def _state(state: Mapping[str, Any]) -> StateProgress:
    custom = state.get("customMetrics") or {}
    return StateProgress(
        operator=str(state.get("operatorName", "state")),
        rows=int(state.get("numRowsTotal") or 0),
        bytes=int(state.get("memoryUsedBytes") or 0),
        refused=int(state.get("numRowsDroppedByWatermark") or 0),
        removed=int(state.get("numRowsRemoved") or 0),
        commit_ms=int(state.get("commitTimeMs") or 0),
        partitions=int(state.get("numShufflePartitions") or 0),
        rocksdb=any(name.startswith("rocksdb") for name in custom),
    )


def _source(source: Mapping[str, Any]) -> SourceProgress:
    behind = (source.get("metrics") or {}).get("avgOffsetsBehindLatest")
    end = _kafka(source.get("endOffset"))
    left = (
        _offsets_between(end, _kafka(source.get("latestOffset")))
        if behind is None
        else round(float(behind) * len(end or ()))
    )
    return SourceProgress(str(source.get("description", "source")), int(source.get("numInputRows") or 0), left)


def _offsets_between(reached: Mapping[Any, int] | None, there: Mapping[Any, int] | None) -> int | None:
    """Rows from one of Kafka's offsets to another; None for what are none."""
    if reached is None or there is None:
        return None
    return sum(max(0, offset - reached.get(part, offset)) for part, offset in there.items())


def _kafka(offsets: Any) -> dict[tuple[str, str], int] | None:
    try:
        told = json.loads(offsets) if isinstance(offsets, str) else offsets
        return {(topic, part): int(offset) for topic, parts in told.items() for part, offset in parts.items()}
    except (ValueError, AttributeError, TypeError):
        return None


def _moment(stamp: Any) -> int | None:
    """Spark begins every watermark at the epoch; that is "none yet", not 1970."""
    ms = _wall_ms(str(stamp))
    return ms if ms > 0 else None


def _wall_ms(stamp: str) -> int:
    return round(datetime.fromisoformat(stamp).timestamp() * 1000)
