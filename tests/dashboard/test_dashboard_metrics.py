"""Metrics, alert rules and the Grafana dashboard say the same names, and the pages about them do."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from dashboard.worlds import BEGAN, write, write_area, write_fleet
from headway.cli.app import main
from headway.dashboard.desk import PageDesk
from headway.dashboard.glance import Glance
from headway.dashboard.metrics_away import OF_NODE
from headway.dashboard.metrics_text import exposition
from headway.sim.microbatch import VirtualWorld

DOCS = Path(__file__).parents[2] / "docs"
MetricSamples = dict[tuple[str, tuple[tuple[str, str], ...]], float]  # by name and labels
# Of a fleet and of a wide area: a journal of queries has none of them.
AWAY = {name for name, *_ in OF_NODE} | {
    "headway_fleet_choices_total", "headway_area_link_fill", "headway_area_waiting_rows", "headway_area_tasks",
    "headway_area_dropping", "headway_area_decisions_total",
}  # fmt: skip
NAME = re.compile(r"\bheadway_[a-z_]+\b")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[VirtualWorld, Path]:
    path = tmp_path_factory.mktemp("journal") / "run.db"
    return write(path, ["alerts", "books"], 60, fixed_ms=200), path


@pytest.fixture(scope="module")
def told(made: tuple[VirtualWorld, Path]) -> MetricSamples:
    glance = Glance(made[1], now=lambda: BEGAN + 61_000)
    glance.look()
    families = text_string_to_metric_families(exposition(glance).decode())
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}


def of(told: MetricSamples, name: str, **labels: str) -> float:
    return told[name, tuple(sorted(labels.items()))]


def test_they_say_what_the_batches_did(made: tuple[VirtualWorld, Path], told: MetricSamples) -> None:
    batches = [b for b in made[0].batches if b.query == "books"]
    assert of(told, "headway_query_batches_total", query="books") == len(batches)
    assert of(told, "headway_query_rows_total", query="books") == sum(b.rows for b in batches)
    assert of(told, "headway_query_busy_seconds_total", query="books") == pytest.approx(
        sum(b.took_ms for b in batches) / 1000
    )
    assert of(told, "headway_query_up", query="books") == 1
    mark = max(b.watermark or 0 for b in batches)
    assert of(told, "headway_query_watermark_lag_seconds", query="books") == pytest.approx((BEGAN + 61_000 - mark) / 1000)


def test_latencies_are_in_the_buckets_that_they_belong_to(made: tuple[VirtualWorld, Path], told: MetricSamples) -> None:
    latencies = [w.latency_ms for w in made[0].windows if w.query == "books"][1:]
    for edge in ("0.2", "0.35", "0.5"):
        within = sum(ms <= float(edge) * 1000 for ms in latencies)
        assert of(told, "headway_query_latency_seconds_bucket", query="books", le=edge) in (within, within + 1)
    assert of(told, "headway_query_latency_seconds_count", query="books") == of(
        told, "headway_query_windows_total", query="books"
    )


def names_of(told: MetricSamples) -> set[str]:
    return {name for name, _ in told}


def test_rules_and_panels_use_names_that_there_are(told: MetricSamples, capsys: pytest.CaptureFixture[str]) -> None:
    # What only a living runtime tells, and what not every query has.
    known = names_of(told) | {"headway_decision_cpu_seconds_total", "headway_query_sample_share"} | AWAY
    for option in ("--alerts", "--grafana"):
        assert main(["metrics", option]) == 0
        used = set(NAME.findall(capsys.readouterr().out)) - {"headway_"}
        assert used and used <= known


def test_every_name_is_documented(told: MetricSamples) -> None:
    page = set(NAME.findall((DOCS / "metrics.md").read_text()))
    plain = {re.sub(r"_(bucket|sum|count)$", "", name) for name in names_of(told) if not name.endswith("_created")}
    assert plain <= page and page - plain <= {"headway_decision_cpu_seconds_total", "headway_query_sample_share"} | AWAY
    assert page >= AWAY


def test_every_alert_says_what_to_do() -> None:
    text = (Path(__file__).parents[2] / "src/headway/dashboard/alerts.yml").read_text()
    rules = [dict(re.findall(r"^ *(\w+): (.+)$", rule, re.M)) for rule in text.split("- alert: ")[1:]]
    assert len(rules) == 11
    for rule in rules:
        assert rule["expr"].count("(") == rule["expr"].count(")") and rule["severity"] in ("warning", "critical")
        assert rule["summary"] and rule["description"]


def test_promtool_finds_no_fault_with_the_rules(tmp_path: Path) -> None:
    promtool, rules = shutil.which("promtool"), Path(__file__).parents[2] / "src/headway/dashboard/alerts.yml"
    if promtool is None:
        pytest.skip("promtool")
    for file in (rules, Path(__file__).with_name("alerts_test.yml")):
        shutil.copy(file, tmp_path)
    tried = subprocess.run([promtool, "test", "rules", str(tmp_path / "alerts_test.yml")], capture_output=True, text=True)
    assert tried.returncode == 0 and "SUCCESS" in tried.stdout, tried.stdout + tried.stderr
    checked = subprocess.run([promtool, "check", "rules", str(rules)], capture_output=True, text=True)
    assert checked.returncode == 0 and "11 rules found" in checked.stdout, checked.stdout + checked.stderr


def test_the_grafana_dashboard_is_one() -> None:
    board = json.loads((Path(__file__).parents[2] / "src/headway/dashboard/grafana.json").read_text())
    numbers = [panel["id"] for panel in board["panels"]]
    assert len(numbers) == len(set(numbers)) > 8 and all(p["targets"] and p["gridPos"]["w"] for p in board["panels"])


def test_the_command_prints_them_for_a_journal(made: tuple[VirtualWorld, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metrics", str(made[1])]) == 0
    assert 'headway_query_windows_total{query="books"}' in capsys.readouterr().out
    assert main(["metrics", "--alerts", "--grafana"]) == 2


def test_without_its_packages_the_exporter_says_which_extra_brings_them(
    made: tuple[VirtualWorld, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http", None)
    assert main(["dashboard", str(made[1]), "--otlp", "http://localhost:4318"]) == 2
    assert "pip install 'headway[otel]' brings it" in capsys.readouterr().err


def exported(path: Path) -> tuple[MetricSamples, PageDesk]:
    glance = Glance(path, now=lambda: BEGAN)
    while glance.look():
        continue
    families = text_string_to_metric_families(exposition(glance).decode())
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for f in families for s in f.samples}, PageDesk(glance)


def test_a_fleet_tells_of_its_nodes_and_choices(tmp_path: Path) -> None:
    write_fleet(tmp_path / "run.db")
    told, desk = exported(tmp_path / "run.db")
    page = desk.fleet(None)
    for node in page["nodes"]:
        assert of(told, "headway_node_ready", node=node["name"]) == node["ready"]
        assert of(told, "headway_node_queries", node=node["name"]) == node["queries"] > 0
        assert of(told, "headway_node_load_per_core", node=node["name"]) == pytest.approx(node["load"])
        assert of(told, "headway_node_expected_use", node=node["name"]) > 0
    kinds = {dict(labels)["kind"]: value for (name, labels), value in told.items() if name == "headway_fleet_choices_total"}
    assert sum(kinds.values()) == len(page["moves"]) > 0 and kinds.keys() == {m["kind"] for m in page["moves"]}
    assert {name for name, *_ in OF_NODE} <= names_of(told)


def test_a_wide_area_tells_of_its_links_and_changes(tmp_path: Path) -> None:
    write_area(tmp_path / "run.db")
    told, desk = exported(tmp_path / "run.db")
    page = desk.area(None, None)
    for link in page["links"]:
        labels = {"pipeline": "chain", "source": link["source"], "target": link["target"]}
        assert of(told, "headway_area_link_fill", **labels) == pytest.approx(link["fill"])
    assert of(told, "headway_area_dropping", pipeline="chain") == 0
    for site in page["sites"]:
        assert of(told, "headway_area_tasks", pipeline="chain", site=site["name"]) == site["taken"]
    kinds = [d["kind"].replace("-", "") for d in page["decisions"]]
    for kind in set(kinds):
        assert of(told, "headway_area_decisions_total", pipeline="chain", kind=kind) == kinds.count(kind)
    assert {"keep", "reassign"} <= set(kinds) and {n for n in AWAY if "area" in n} <= names_of(told)
