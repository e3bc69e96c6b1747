"""How the fleet stands, for people: out of records, statuses and rings. Pure."""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from headway.fleet.moves.contract import STOP, standing
from headway.fleet.moves.record import QueryRecord
from headway.fleet.node.wire import HostedQuery
from headway.fleet.orchestrator.outages import MoveOutage
from headway.fleet.orchestrator.posted import ProgressPosted
from headway.fleet.orchestrator.views import FleetSeen, NodeHeard
from headway.fleet.orchestrator.wire import MoveProgress, NodeStanding, QueryStanding
from headway.fleet.registry import NodeRegistration
from headway.model.placement import HostView


def node_standings(
    nodes: Mapping[str, NodeRegistration], seen: FleetSeen, hosts: Mapping[str, HostView]
) -> tuple[NodeStanding, ...]:
    """Those that have a session, by name."""
    queries = Counter(seen.homes.values())
    return tuple(_node(name, nodes[name].address, seen, hosts.get(name), queries[name]) for name in sorted(nodes))


def query_standings(seen: FleetSeen) -> tuple[QueryStanding, ...]:
    told = {
        (node, query.name): query for node, one in seen.heard.items() for query in one.status.queries if fresh(one, seen)
    }
    return tuple(
        _query(record, None if record.node is None else told.get((record.node, record.query)))
        for record in sorted(seen.records, key=lambda record: record.query)
    )


def fresh(heard: NodeHeard, seen: FleetSeen) -> bool:
    return heard.age_ms(seen.now) < seen.fresh_ms


def _node(name: str, address: str, seen: FleetSeen, host: HostView | None, queries: int) -> NodeStanding:
    heard = seen.heard.get(name)
    if heard is None:
        return NodeStanding(name, address, "silent", None)
    figures = heard.status.machine
    state = "silent" if not fresh(heard, seen) else "serving"
    if name in seen.draining and state == "serving":
        state = "draining" if queries else "drained"
    use = None if host is None else float(np.average(host.node.ring.values, weights=host.node.ring.shape.widths_ms))
    load = figures.load_average / (figures.cores or 1.0)
    return NodeStanding(name, address, state, heard.age_ms(seen.now), queries, load, figures.heap, use)


def _query(record: QueryRecord, told: HostedQuery | None) -> QueryStanding:
    known = QueryStanding(
        record.query, record.revision.pipeline, record.revision.number, record.phase.value, record.node,
        0 if record.here is None else record.here.epoch,
        move=None if record.move is None else standing(record, record.move.id).line,
        ended=None if record.ended is None else standing(record, record.ended.id).line,
    )  # fmt: skip
    if told is None or told.epoch != known.epoch:
        return known
    return QueryStanding(
        known.name, known.pipeline, known.revision, known.phase, known.node, known.epoch, known.move, known.ended,
        told.state, told.commits, told.rows_per_s, told.latency_ms, told.backlog, told.error,
    )  # fmt: skip


def progress_of(asked: ProgressPosted, record: QueryRecord | None, outage: MoveOutage | None) -> MoveProgress:
    """How a move stands, and for how long its query was out of service where that is known."""
    if record is None:
        return MoveProgress("unknown", f"{asked.query}: expected a query of this fleet")
    found = standing(record, asked.move)
    if outage is None or record.here is None or outage.epoch != record.here.epoch or asked.move == STOP:
        return MoveProgress(found.state, found.line)
    return MoveProgress(found.state, found.line, outage.ms, outage.parts_ms)
