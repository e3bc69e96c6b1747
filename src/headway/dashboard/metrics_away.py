"""Metrics of a fleet and of a wide area, as their controllers saw them last. Names: `docs/metrics.md`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from headway.dashboard.area_page import area_page
from headway.dashboard.fleet_page import fleet_page
from headway.dashboard.reading import JournalFile

if TYPE_CHECKING:
    from headway.dashboard.glance import Glance

MOST_PIPELINES = 20  # with metrics of their own: those asked about last
OF_NODE = (
    ("headway_node_ready", "1 while the node takes queries", lambda n: float(n["ready"])),
    ("headway_node_queries", "Queries that it runs", lambda n: n["queries"]),
    ("headway_node_cores", "Its cores", lambda n: n["cores"]),
    ("headway_node_load_per_core", "Its load per core, all programs together", lambda n: n["load"]),
    ("headway_node_own_load_share", "The share of its load that its queries make", lambda n: n["own_load"]),
    ("headway_node_expected_use", "What its queries are expected to use soon, in cores", lambda n: _soon(n["ring"])),
)


def of_fleet(glance: "Glance") -> Iterator[Any]:
    """Nodes and moves; nothing where the journal is of no orchestrator."""
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    if not glance.book.fleet:
        return
    nodes = _read(glance, fleet_page)["nodes"]
    for name, says, of in OF_NODE:
        gauge = GaugeMetricFamily(name, says, labels=["node"])
        for node in nodes:
            gauge.add_metric([node["name"]], float(of(node)))
        yield gauge
    moves = CounterMetricFamily("headway_fleet_choices", "Choices of a node for a query", labels=["kind"])
    for kind, many in sorted(glance.book.choices.items()):
        moves.add_metric([kind], many)
    yield moves


def of_areas(glance: "Glance") -> Iterator[Any]:
    """Links, stages and changes of each pipeline; nothing where the journal is of no wide area's controller."""
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    if not glance.book.area:
        return
    fill = GaugeMetricFamily(
        "headway_area_link_fill", "Use of a link, as a share of its bandwidth; above 1 it is too much",
        labels=["pipeline", "source", "target"],
    )  # fmt: skip
    waiting = GaugeMetricFamily("headway_area_waiting_rows", "Rows that wait before a stage", labels=["pipeline", "stage"])
    tasks = GaugeMetricFamily("headway_area_tasks", "Tasks that run at a site", labels=["pipeline", "site"])
    dropping = GaugeMetricFamily("headway_area_dropping", "1 while rows that are too late are dropped", labels=["pipeline"])
    names = _read(glance, area_page)["pipelines"][:MOST_PIPELINES]
    for name in names:
        told = _read(glance, area_page, name)
        for link in told["links"]:
            # A link that is down carries nothing: whatever is to go over it is too much.
            fill.add_metric([name, link["source"], link["target"]], float("inf") if link["fill"] is None else link["fill"])
        for stage in told["stages"]:
            if stage["waiting"] is not None:
                waiting.add_metric([name, stage["name"]], stage["waiting"])
        for site in told["sites"]:
            tasks.add_metric([name, site["name"]], site["taken"])
        dropping.add_metric([name], float(told.get("degrading", False)))
    yield from (fill, waiting, tasks, dropping)
    changes = CounterMetricFamily("headway_area_decisions", "Decisions about a pipeline", labels=["pipeline", "kind"])
    for (name, kind), many in sorted(glance.book.changes.items()):
        changes.add_metric([name, kind], many)
    yield changes


def _read(glance: "Glance", page: Any, *arguments: Any) -> dict[str, Any]:
    file = JournalFile(glance.journal)
    try:
        found: dict[str, Any] = page(file, *arguments)
    finally:
        file.close()
    return found


def _soon(ring: dict[str, Any]) -> float:
    inner = ring["values"][: ring["windows"]]
    return sum(inner) / len(inner) if inner else 0.0
