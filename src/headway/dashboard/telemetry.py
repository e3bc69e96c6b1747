"""The same metrics for OpenTelemetry, by its own exporter: OTLP over HTTP, to a collector that the user names.

Nothing is sent anywhere unless an address is given. Names and labels are those of `metrics_text`.
"""

import logging
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from headway.dashboard.metrics_text import JournalCollector
from headway.errors import SettingError, aloud

if TYPE_CHECKING:
    from headway.dashboard.glance import Glance

EVERY_S = 15.0
ANSWER_S = 5.0  # for a collector to take it
PATH = "/v1/metrics"


class TelemetrySender:
    """Sends what is known every 15 s, on a thread of its own. A collector that is away is said once, and tried again."""

    def __init__(self, glance: "Glance", endpoint: str) -> None:
        if not endpoint.startswith(("http://", "https://")):
            raise SettingError("otlp", endpoint, "the address of a collector, http://localhost:4318 say")
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # it has a line for every attempt; we have one for all
        address = endpoint.rstrip("/")
        self.address = address if address.endswith(PATH) else address + PATH
        self._exporter: Any = OTLPMetricExporter(endpoint=self.address, timeout=ANSWER_S)
        self._glance, self._began, self._said = glance, time.time_ns(), False
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headway-telemetry", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """What is known by then is sent once more."""
        self._over.set()
        self._thread.join(2 * ANSWER_S)
        self._exporter.shutdown()

    def send(self) -> bool:
        """Whether the collector has taken it."""
        sent = self._exporter.export(metrics_data(self._glance, self._began, time.time_ns()))
        taken = bool(sent.name == "SUCCESS")
        if not taken and not self._said:
            self._said = True
            aloud(f"metrics cannot be sent to {self.address}: start a collector there, or correct --otlp; it is tried again")
        return taken

    def _run(self) -> None:
        while not self._over.wait(EVERY_S):
            self.send()
        self.send()


def metrics_data(glance: "Glance", began_ns: int, now_ns: int) -> Any:
    """All metrics as the exporter takes them; counters have grown since `began_ns`."""
    from opentelemetry.sdk.metrics.export import Metric, MetricsData, ResourceMetrics, ScopeMetrics
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    import headway

    made = []
    for family in JournalCollector(glance).collect():
        if not family.samples:
            continue
        unit = "s" if family.name.endswith("_seconds") else "By" if family.name.endswith("_bytes") else "1"
        made.append(Metric(family.name, family.documentation, unit, _points(family, began_ns, now_ns)))
    scope = InstrumentationScope("headway", headway.__version__)
    resource = Resource.create({"service.name": "headway", "headway.journal": glance.journal.name})
    return MetricsData([ResourceMetrics(resource, [ScopeMetrics(scope, made, "")], "")])


def _points(family: Any, began_ns: int, now_ns: int) -> Any:
    from opentelemetry.sdk.metrics.export import AggregationTemporality, Gauge, Histogram, NumberDataPoint, Sum

    since = AggregationTemporality.CUMULATIVE
    match family.type:
        case "histogram":
            return Histogram(list(_histograms(family, began_ns, now_ns)), since)
        case "counter":
            told = [s for s in family.samples if s.name.endswith("_total")]
            return Sum([NumberDataPoint(s.labels, began_ns, now_ns, float(s.value)) for s in told], since, True)
    return Gauge([NumberDataPoint(s.labels, now_ns, now_ns, float(s.value)) for s in family.samples])


def _histograms(family: Any, began_ns: int, now_ns: int) -> Iterator[Any]:
    """Prometheus adds buckets up; OpenTelemetry counts each by itself."""
    from opentelemetry.sdk.metrics.export import HistogramDataPoint

    upto: dict[str, list[tuple[float, float]]] = {}
    total: dict[str, float] = {}
    for sample in family.samples:
        query = sample.labels["query"]
        if sample.name.endswith("_bucket"):
            upto.setdefault(query, []).append((float(sample.labels["le"].replace("+Inf", "inf")), sample.value))
        elif sample.name.endswith("_sum"):
            total[query] = sample.value
    for query, reached in upto.items():
        edges, sums = [edge for edge, _ in reached], [int(count) for _, count in reached]
        counts = [count - before for count, before in zip(sums, [0, *sums], strict=False)]
        unknown: Any = None  # the least and the greatest
        yield HistogramDataPoint(
            {"query": query}, began_ns, now_ns, sums[-1], total[query], counts, edges[:-1], unknown, unknown
        )  # fmt: skip
