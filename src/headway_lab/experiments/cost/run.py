"""What a micro-batch costs: processor time by what it was for, and wall time phase by phase."""

from collections.abc import Sequence
from statistics import median
from typing import Any

from headway_lab.harness.ledger import Record
from headway_lab.harness.meter import PARTS

EXPERIMENT = "cost"
POLICIES = ("stock", "stock-tuned", "klink")
PHASES = ("planning", "log", "tasks", "state", "commit", "rest")
# What the words mean, for readers of the table.
MEANING = {
    "cpu_parts": {
        "planning": "the query's own thread: offsets, analysis, optimiser, closures, logs",
        "tasks": "reading, counting, aggregating, state",
        "jit": "the JVM compiling itself",
        "gc": "the JVM's garbage",
        "scheduling": "stages, tasks and their results on their way",
        "listening": "Spark's own book-keeping of it",
        "state upkeep": "snapshots and clean-up of state",
        "forks": "waiting for child processes",
        "other": "all other threads of the driver",
        "python": "Headway's controller, and Python workers",
    },
    "wall_parts": {
        "planning": "analysis, optimiser, physical plan",
        "log": "the offset log",
        "tasks": "making, sending and running tasks, and committing the sink",
        "state": "the state store's updates, removals and commit",
        "commit": "the commit log",
        "rest": "everything Spark does not name",
    },
}


def table(records: Sequence[Record], field: str) -> list[tuple[str, dict[str, float]]]:
    """Per part, the median over seeds of each policy, in ms per batch; the whole comes last."""
    parts = PARTS if field == "cpu_parts" else PHASES
    runs = by_policy(records)
    rows = [(part, {p: median(r[field].get(part, 0.0) for r in of) for p, of in runs.items()}) for part in parts]
    whole = {p: median(sum(r[field].values()) for r in of) for p, of in runs.items()}
    return [*((part, row) for part, row in rows if any(ms >= 0.05 for ms in row.values())), ("all", whole)]


def by_policy(records: Sequence[Record]) -> dict[str, list[Record]]:
    out: dict[str, list[Record]] = {}
    for record in records:
        out.setdefault(record["policy"], []).append(record)
    return dict(sorted(out.items(), key=lambda item: POLICIES.index(item[0]) if item[0] in POLICIES else -1))


def figure(records: Sequence[Record], field: str) -> Any:
    """Stacked bars, one per policy."""
    import plotly.graph_objects as go

    drawn = go.Figure()
    for part, row in table(records, field)[:-1]:
        drawn.add_bar(x=list(row), y=list(row.values()), name=part)
    drawn.update_layout(barmode="stack")
    drawn.update_yaxes(title="ms per batch", rangemode="tozero")
    return drawn
