"""The fleet, out of the journal of an orchestrator: nodes with what they are expected to use, and how queries moved."""

from typing import Any

from headway.dashboard.book import told_of
from headway.dashboard.reading import JournalFile
from headway.dashboard.words import readable
from headway.loop.questions.placement import PLACEMENT, REQUEST
from headway.model.placement import Choice, FleetView, HostView, Move, NodeView, Placements, Refuse, Start
from headway.model.ring import Ring

MOST_NODES, MOST_LINES, MOST_MOVES, MOST_COMPUTATIONS = 64, 500, 100, 60


def fleet_page(file: JournalFile, before: int | None = None) -> dict[str, Any]:
    """The fleet as it was seen last, or as it was by line `before`."""
    upto = 1 << 62 if before is None else before
    rows = file.all(
        "select id, at, question, scope from entries where id <= ? and question in (?, ?) order by id desc"
        f" limit {MOST_LINES}",
        (upto, REQUEST, PLACEMENT),
    )
    nodes: dict[str, dict[str, Any]] = {}
    newest: dict[tuple[str, str], int] = {}
    for number, _, question, scope in rows:
        newest.setdefault((question, scope), number)
    for number in sorted(newest.values(), reverse=True)[: MOST_NODES + 1]:
        _add_nodes(nodes, file, number)
    moves = [move for number, at, question, _ in rows if question == PLACEMENT for move in _moves(file, number, at)]
    last = rows[0] if rows else None
    until = 1 << 62 if last is None or before is None else last[1]
    return {
        "line": None if last is None else last[0], "at": None if last is None else last[1],
        "nodes": sorted(nodes.values(), key=lambda node: str(node["name"]))[:MOST_NODES],
        "moves": moves[:MOST_MOVES],
        "notes": [
            {"at": note.at, "query": note.query, "text": note.text}
            for note in file.note_lines("at <= ? order by id desc", (until,), 100)
        ],
    }  # fmt: skip


def _add_nodes(nodes: dict[str, dict[str, Any]], file: JournalFile, number: int) -> None:
    """The newest view of each node wins; only its own tells of its queries one by one."""
    row = file.one("select at, seen from entries where id = ?", (number,))
    if row is None or row[1] is None:
        return
    match told_of(row[1]):
        case FleetView(nodes=views):
            for view in views:
                nodes.setdefault(view.name, node(view, row[0]))
        case HostView(node=view, computations=computations):
            means = computations.rings.values.mean(axis=1).tolist() if len(computations) else []
            told = sorted(zip(computations.names, means, strict=True), key=lambda pair: -pair[1])[:MOST_COMPUTATIONS]
            found = nodes.setdefault(view.name, node(view, row[0]))
            found["computations"] = found["computations"] or [{"query": name, "use": use} for name, use in told]


def node(view: NodeView, at: int) -> dict[str, Any]:
    return {
        "name": view.name, "at": at, "cores": view.cores, "load": view.load, "own_load": view.own_load,
        "bandwidth": view.bandwidth, "queries": view.queries, "ready": view.ready, "moving": view.moving,
        "cooling_until": view.cooling_until or None, "ring": ring(view.ring), "computations": [],
    }  # fmt: skip


def ring(of: Ring) -> dict[str, Any]:
    """Windows from the inside out: `values` are the use per second of each."""
    return {
        "at": of.at, "lengths_ms": list(of.shape.lengths_ms), "windows": of.shape.windows,
        "values": [round(value, 5) for value in of.values.tolist()],
    }  # fmt: skip


def _moves(file: JournalFile, number: int, at: int) -> list[dict[str, Any]]:
    row = file.one("select decided, receipt from entries where id = ?", (number,))
    decided = None if row is None else told_of(row[0])
    if not isinstance(decided, Placements):
        return []
    return [_move(number, at, choice, row[1] if row is not None else "") for choice in decided.choices]


def _move(number: int, at: int, choice: Choice, receipt: str) -> dict[str, Any]:
    made = {"line": number, "at": at, "query": choice.query, "because": readable(choice.because), "receipt": receipt,
            "source": "", "target": "", "expected": None}  # fmt: skip
    match choice:
        case Move(source=source, target=target, expect=expect):
            gain = None if expect is None else {"reduction": expect.reduction, "threshold": expect.threshold}
            return made | {"kind": "move", "source": source, "target": target, "expected": gain}
        case Start(target=target):
            return made | {"kind": "start", "target": target}
        case Refuse():
            return made | {"kind": "refuse"}
