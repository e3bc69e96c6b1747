"""The tables of `headway fleet status`: nodes and queries, as the primary sees them."""

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from headway.fleet.orchestrator.wire import FleetStanding, NodeStanding, QueryStanding


def tables(seen: FleetStanding) -> RenderableType:
    if not seen.primary:
        said = f"{seen.orchestrator} is not the primary, which alone knows the queries; primary: {seen.leader or 'none'}"
        return Group(Text(said), _nodes(seen.nodes))
    return Group(Text(f"primary: {seen.leader}"), _nodes(seen.nodes), _queries(seen.queries))


def _nodes(nodes: tuple[NodeStanding, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for head in ("node", "state"):
        table.add_column(head, no_wrap=True)
    for head in ("queries", "load/core", "will use", "heap", "age ms"):
        table.add_column(head, justify="right", no_wrap=True)
    for node in nodes:
        age = "-" if node.age_ms is None else f"{node.age_ms:,}"
        cells = (_number(node.load), _number(node.use), "-" if node.heap is None else f"{node.heap:.0%}", age)
        table.add_row(node.name, node.state, str(node.queries), *cells)
    table.caption = "will use: cores, as the prediction rings say of the next three minutes"
    return table


def _queries(queries: tuple[QueryStanding, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for head in ("query", "node", "state"):
        table.add_column(head, no_wrap=True)
    for head in ("epoch", "batches", "rows/s", "latency ms", "backlog"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("move")  # the only one that gives way on a narrow screen
    for one in queries:
        state = one.phase if one.state is None or one.phase != "serving" else one.state
        numbers = (one.batches, one.rows_per_s, one.latency_ms, one.backlog)
        said = one.error or one.move or one.ended or ""
        cells = [str(one.epoch), *("-" if n is None else f"{n:,.0f}" for n in numbers)]
        table.add_row(one.name, one.node or "-", state, *cells, Text(said, no_wrap=True, overflow="ellipsis"))
    return table


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
