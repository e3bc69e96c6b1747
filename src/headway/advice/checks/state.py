"""What a query remembers, and what that costs."""

from headway.advice.advice import AdviceItem, size, span
from headway.advice.checks.looks import ENOUGH, steady, thirds, usual
from headway.advice.history import JobHistory, StreamHistory

GROWN = 1.2  # from one third of the time to the next
MANY_ROWS = 1_000
HEAP_BYTES = 500_000_000
FEW_ROWS = 200  # for a partition and batch


def grows(query: StreamHistory, job: JobHistory) -> AdviceItem | None:
    """Rows go into the state and none ever leaves it."""
    reports = [r for r in steady(query) if r.states]
    if len(reports) < 2 * ENOUGH:
        return None
    first, middle, last = (usual(part, lambda r: r.state_rows) for part in thirds(reports))
    removed = sum(state.removed for r in reports for state in r.states)
    if last < MANY_ROWS or middle < GROWN * first or last < GROWN * middle or removed > reports[-1].state_rows / 100:
        return None
    marked = reports[-1].watermark is not None
    operators = ", ".join(sorted({state.operator for state in reports[-1].states}))
    return AdviceItem(
        "state-grows", query.name, "high",
        f"its state grew from {first:.0f} to {last:.0f} rows, {size(reports[-1].state_bytes)}, and nothing is taken out",
        (f"{operators}; {removed} rows removed while {sum(r.rows for r in reports)} came in",),
        "a condition on event time in the join, or the time column among the keys: the watermark alone removes nothing there"
        if marked else "withWatermark on its inputs, and the time column among the keys: without, Spark keeps all for ever",
    )  # fmt: skip


def in_heap(query: StreamHistory, job: JobHistory) -> AdviceItem | None:
    reports = [r for r in query.reports if r.states]
    if not reports or any(state.rocksdb for state in reports[-1].states) or reports[-1].state_bytes < HEAP_BYTES:
        return None
    return AdviceItem(
        "state-in-heap", query.name, "medium",
        f"its state takes {size(reports[-1].state_bytes)} of the executors' heap",
        ("the default store keeps every key as an object, and the collector walks through all of them",),
        "spark.sql.streaming.stateStore.providerClass = org.apache.spark.sql.execution.streaming.state."
        "RocksDBStateStoreProvider, with a new checkpoint",
    )  # fmt: skip


def too_many_partitions(query: StreamHistory, job: JobHistory) -> AdviceItem | None:
    reports = [r for r in steady(query) if r.states]
    if len(reports) < ENOUGH or job.cores is None:
        return None
    partitions = max(state.partitions for state in reports[-1].states)
    rows, took = usual(reports, lambda r: r.rows), usual(reports, lambda r: r.took_ms)
    if partitions <= 4 * job.cores or rows > FEW_ROWS * partitions:
        return None
    return AdviceItem(
        "too-many-partitions", query.name, "high" if took > 1_000 else "medium",
        f"{partitions} partitions of state for {rows:.0f} rows a batch: so many tasks on {job.cores} cores",
        (f"a batch usually takes {span(took)}; the number of partitions is fixed in the checkpoint",),
        "spark.sql.shuffle.partitions = 1 to twice the cores, with a new checkpoint or `headway checkpoint repartition`",
    )  # fmt: skip
