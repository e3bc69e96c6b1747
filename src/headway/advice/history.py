"""What is known of a job that is looked at: Spark's progress reports, as values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from headway.model.deadline import Deadlines


@dataclass(frozen=True, slots=True)
class SourceProgress:
    """One source in one batch."""

    description: str
    rows: int
    behind: int | None = None  # rows that were there and not read; None: the source does not say


@dataclass(frozen=True, slots=True)
class StateProgress:
    """One stateful operator in one batch."""

    operator: str
    rows: int
    bytes: int
    refused: int  # rows, or partial results, that came after the watermark
    removed: int
    commit_ms: int
    partitions: int
    rocksdb: bool


@dataclass(frozen=True, slots=True)
class ProgressReport:
    """One finished batch."""

    batch: int
    run: str
    began: int  # wall clock, ms
    took_ms: int
    rows: int
    phases: Mapping[str, int]  # Spark's names: addBatch, queryPlanning, walCommit, ...
    watermark: int | None = None  # event time by which it emitted
    newest: int | None = None  # event times of its rows
    oldest: int | None = None
    mean: int | None = None
    states: tuple[StateProgress, ...] = ()
    sources: tuple[SourceProgress, ...] = ()

    @property
    def ended(self) -> int:
        return self.began + self.took_ms

    @property
    def refused(self) -> int:
        return sum(state.refused for state in self.states)

    @property
    def state_rows(self) -> int:
        return sum(state.rows for state in self.states)

    @property
    def state_bytes(self) -> int:
        return sum(state.bytes for state in self.states)

    @property
    def behind(self) -> int | None:
        """Rows that the sources which say so had left."""
        told = [source.behind for source in self.sources if source.behind is not None]
        return sum(told) if told else None


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """What the plan of a query says; None for what is not known."""

    deadlines: Deadlines | None = None  # the ends of its windows
    delay_ms: int | None = None  # of `withWatermark`
    trigger_ms: int | None = None  # 0: as fast as it can


@dataclass(frozen=True)
class StreamHistory:
    """One query, from when it was first seen."""

    name: str
    reports: tuple[ProgressReport, ...]  # of batches, in their order
    plan: PlanFacts = PlanFacts()
    error: str | None = None  # what it died of
    last_heard: int = 0  # wall clock: its last report, of a batch or of having nothing to do

    @cached_property
    def seconds(self) -> float:
        """How long it was watched."""
        return (self.reports[-1].ended - self.reports[0].began) / 1000 if self.reports else 0.0

    @property
    def windowed(self) -> bool:
        return self.plan.deadlines is not None and self.plan.delay_ms is not None


@dataclass(frozen=True)
class JobHistory:
    """One Spark application."""

    queries: tuple[StreamHistory, ...]
    cores: int | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    until: int = 0  # wall clock: when the last that is known happened
    running: bool = False  # it is watched now; a log tells of a job that may have ended

    @cached_property
    def crowd(self) -> float:
        """How many batches ran at once, on average."""
        reports = [report for query in self.queries for report in query.reports]
        if not reports:
            return 0.0
        span = max(r.ended for r in reports) - min(r.began for r in reports)
        return sum(r.took_ms for r in reports) / span if span > 0 else 0.0
