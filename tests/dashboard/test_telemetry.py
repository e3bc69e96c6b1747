"""Metrics by OpenTelemetry: a collector gets what Prometheus reads."""

import http.server
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from dashboard.worlds import BEGAN, write
from headway.cli.app import main
from headway.dashboard.glance import Glance
from headway.dashboard.metrics_text import exposition

pytest.importorskip("opentelemetry.sdk.metrics", reason="opentelemetry")

from headway.dashboard.telemetry import TelemetrySender


class Collector(http.server.BaseHTTPRequestHandler):
    """Keeps what it is sent."""

    taken: list[tuple[str, bytes]]
    answer = 200

    def do_POST(self) -> None:
        self.taken.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(self.answer)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        return None


@pytest.fixture
def collector() -> Iterator[tuple[str, list[tuple[str, bytes]], type[Collector]]]:
    taken: list[tuple[str, bytes]] = []
    kind = type("OneCollector", (Collector,), {"taken": taken})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", taken, kind
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def glance(tmp_path_factory: pytest.TempPathFactory) -> Glance:
    path = tmp_path_factory.mktemp("journal") / "run.db"
    write(path, ["alerts", "<script>"], 30, fixed_ms=200)
    made = Glance(path, now=lambda: BEGAN + 31_000)
    made.look()
    return made


def test_a_collector_gets_what_prometheus_reads(
    glance: Glance, collector: tuple[str, list[tuple[str, bytes]], type[Collector]]
) -> None:
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

    address, taken, _ = collector
    assert TelemetrySender(glance, address).send()
    ((path, body),) = taken
    told = ExportMetricsServiceRequest.FromString(body).resource_metrics[0]
    assert path == "/v1/metrics"
    assert {"service.name": "headway"}.items() <= {a.key: a.value.string_value for a in told.resource.attributes}.items()
    sent = dict(_values(told.scope_metrics[0].metrics))
    read = {
        (s.name, tuple(sorted(s.labels.items()))): s.value
        for family in text_string_to_metric_families(exposition(glance).decode())
        for s in family.samples
        if not s.name.endswith("_created")
    }
    assert sent == pytest.approx(read) and len(read) > 60


def _values(metrics: Any) -> Iterator[tuple[tuple[str, tuple[tuple[str, str], ...]], float]]:
    """As Prometheus has them: counters end with _total, buckets are added up."""
    for metric in metrics:
        kind = metric.WhichOneof("data")
        for point in getattr(metric, kind).data_points:
            labels = {a.key: a.value.string_value for a in point.attributes}
            if kind != "histogram":
                yield (metric.name + ("_total" if kind == "sum" else ""), tuple(sorted(labels.items()))), point.as_double
                continue
            reached = 0
            for edge, count in zip([*map(str, point.explicit_bounds), "+Inf"], point.bucket_counts, strict=True):
                reached += count
                yield (f"{metric.name}_bucket", tuple(sorted({**labels, "le": edge}.items()))), reached
            yield (f"{metric.name}_count", tuple(labels.items())), point.count
            yield (f"{metric.name}_sum", tuple(labels.items())), point.sum


def test_a_collector_that_refuses_is_said_once_and_tried_again(
    glance: Glance, collector: tuple[str, list[tuple[str, bytes]], type[Collector]], capsys: pytest.CaptureFixture[str]
) -> None:
    address, taken, kind = collector
    kind.answer = 400
    sender = TelemetrySender(glance, address)
    assert [sender.send(), sender.send()] == [False, False] and len(taken) == 2
    assert capsys.readouterr().err.count(f"metrics cannot be sent to {address}/v1/metrics") == 1
    kind.answer = 200
    assert sender.send()


def test_what_is_known_in_the_end_is_sent(
    glance: Glance, collector: tuple[str, list[tuple[str, bytes]], type[Collector]]
) -> None:
    address, taken, _ = collector
    sender = TelemetrySender(glance, address)
    sender.start()
    sender.stop()
    assert len(taken) == 1


def test_an_address_that_is_none_is_told_in_a_line(glance: Glance, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dashboard", str(glance.journal), "--port", "0", "--otlp", "localhost:4318"]) == 2
    assert "otlp = 'localhost:4318': expected the address of a collector" in capsys.readouterr().err
