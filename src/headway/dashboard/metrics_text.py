"""What Prometheus is told, and under which names: `docs/metrics.md` has them. Counters grow since the dashboard began."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from headway.dashboard.book import QueryBook
from headway.dashboard.metrics_away import of_areas, of_fleet
from headway.dashboard.rows import WatchedRow

if TYPE_CHECKING:
    from headway.dashboard.glance import Glance

# Windows by latency. A result within 50 ms of its due time is as good as a micro-batch can be.
EDGES_MS = (50, 100, 200, 350, 500, 750, 1_000, 1_500, 2_000, 3_000, 5_000, 10_000, 30_000, 60_000, 300_000)
MOST_QUERIES = 1_000  # with metrics of their own: the first by name
STATES = ("starting", "at the gate", "in a batch", "between batches", "put aside", "restarting", "failed", "ended")
DEAD = ("failed", "ended")

# name, what it is, of a row; None is left out: it is not known
OfRow = Callable[[WatchedRow, int], float | None]
GAUGES: tuple[tuple[str, str, OfRow], ...] = (
    ("headway_query_up", "1 while the query runs, 0 when it has failed or ended", lambda r, now: float(r.state not in DEAD)),
    ("headway_query_latency_last_seconds", "How long after its due time the newest window came out",
     lambda r, now: _seconds(r.last_ms)),
    ("headway_query_slack_seconds", "Time left until the next batch must begin; negative: it is late",
     lambda r, now: None if r.begin_by is None else (r.begin_by - now) / 1000),
    ("headway_query_watermark_lag_seconds", "How far the watermark is behind the clock",
     lambda r, now: None if r.watermark is None else (now - r.watermark) / 1000),
    ("headway_query_watermark_seconds", "The watermark, as a Unix time", lambda r, now: _seconds(r.watermark)),
    ("headway_query_patience_seconds", "How long stragglers are waited for", lambda r, now: _seconds(r.patience_ms)),
    ("headway_query_window_period_seconds", "Time between two ends of its windows", lambda r, now: _seconds(r.period_ms)),
    ("headway_query_silent_seconds", "Time since its last batch was done",
     lambda r, now: None if r.ended is None else (now - r.ended) / 1000),
    ("headway_query_backlog_rows", "Rows that wait to be read, as far as is known", lambda r, now: r.backlog),
    ("headway_query_rows_per_second", "Rows that come in", lambda r, now: r.rows_per_s),
    ("headway_query_state_rows", "Rows of state", lambda r, now: r.state_rows),
    ("headway_query_state_bytes", "Bytes of state", lambda r, now: r.state_bytes),
    ("headway_query_sample_share", "Share of its rows that are taken, where it is sampled", lambda r, now: r.share),
    ("headway_query_batch_fixed_seconds", "What a batch costs, whatever it reads", lambda r, now: _seconds(r.fixed_ms)),
)  # fmt: skip
COUNTERS: tuple[tuple[str, str, Callable[[QueryBook], float]], ...] = (
    ("headway_query_batches", "Batches done", lambda b: b.totals.batches),
    ("headway_query_rows", "Rows read", lambda b: b.totals.rows),
    ("headway_query_busy_seconds", "Time in batches", lambda b: b.totals.busy_ms / 1000),
    ("headway_query_windows", "Windows that came out", lambda b: b.totals.windows),
    ("headway_query_windows_overdue", "Windows that came out later than the target", lambda b: b.totals.overdue),
)


def _seconds(ms: float | None) -> float | None:
    return None if ms is None else ms / 1000


class JournalCollector:
    """Collects when it is asked, out of what the dashboard knows."""

    def __init__(self, glance: "Glance") -> None:
        self._glance = glance

    def collect(self) -> Iterator[Any]:
        with self._glance.lock:
            families = [*self._of_runtime(), *self._of_queries(), *of_fleet(self._glance), *of_areas(self._glance)]
        yield from families

    def _of_runtime(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        head, glance = self._glance.head(), self._glance
        yield GaugeMetricFamily(
            "headway_target_seconds", "Windows that come out later are overdue", head["target_ms"] / 1000
        )
        yield GaugeMetricFamily("headway_slots", "How many batches may run at once", head["slots"] or 0)
        yield GaugeMetricFamily(
            "headway_journal_silent_seconds",
            "Time since anything was written down",
            max(0, glance.wall - glance.newest) / 1000,
        )
        yield GaugeMetricFamily("headway_driver_memory_share", "Share of the driver's heap in use", head["memory"])
        yield CounterMetricFamily("headway_controller_restarts", "How often it began anew", head["controller_restarts"])
        if head["decided_ms"] is not None:
            cost = head["decided_ms"] / 1000
            yield CounterMetricFamily("headway_decision_cpu_seconds", "Processor time that decisions took", cost)
        made = CounterMetricFamily("headway_decisions", "Decisions written down", labels=["question"])
        for question, count in sorted(glance.book.decisions.items()):
            made.add_metric([question], count)
        yield made

    def _of_queries(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        glance = self._glance
        rows = [WatchedRow(**row) for row in sorted(glance.rows(), key=lambda row: str(row["name"]))[:MOST_QUERIES]]
        now = glance.now
        for name, says, of in GAUGES:
            gauge = GaugeMetricFamily(name, says, labels=["query"])
            for row in rows:
                if (value := of(row, now)) is not None:
                    gauge.add_metric([row.name], value)
            yield gauge
        states = GaugeMetricFamily("headway_query_state", "1 for the state that the query is in", labels=["query", "state"])
        late = CounterMetricFamily(
            "headway_query_late_rows", "Rows that came after their window was closed", labels=["query"]
        )
        for row in rows:
            states.add_metric([row.name, row.state], 1)
            late.add_metric([row.name], row.late)
        yield from (states, late)
        books = [glance.book.of_known(row.name) for row in rows]
        for name, says, count in COUNTERS:
            counter = CounterMetricFamily(name, says, labels=["query"])
            for book in books:
                counter.add_metric([book.name], count(book))
            yield counter
        latency = HistogramMetricFamily(
            "headway_query_latency_seconds", "Latency of windows from their due time", labels=["query"]
        )
        for book in books:
            latency.add_metric([book.name], _buckets(book), book.totals.latency_ms / 1000)
        yield latency


def _buckets(book: QueryBook) -> list[tuple[str, float]]:
    made, reached = list[tuple[str, float]](), 0
    for number, edge in enumerate(EDGES_MS):
        reached += book.latencies[number]
        made.append((str(edge / 1000), reached))
    return [*made, ("+Inf", reached + book.latencies[len(EDGES_MS)])]


def exposition(glance: "Glance") -> bytes:
    """The text that Prometheus reads."""
    from prometheus_client import CollectorRegistry, generate_latest

    registry = CollectorRegistry()
    registry.register(JournalCollector(glance))
    return bytes(generate_latest(registry))
