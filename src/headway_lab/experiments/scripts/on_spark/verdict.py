"""What is wrong with a script that real Spark has played: by the laws, the model, the side table and stock Spark."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from headway_lab.experiments.scripts.on_spark.record import Record
from headway_lab.experiments.scripts.on_spark.side_by_side import StagedScript
from headway_lab.experiments.scripts.virtual.laws import broken
from headway_lab.experiments.scripts.virtual.reasons import Evidence
from headway_lab.experiments.scripts.virtual.row_laws import late_rows_are_counted, rows_set_aside_are_counted

COUNTED = {late_rows_are_counted.__name__, rows_set_aside_are_counted.__name__}  # the side table is exact, and held instead


@dataclass
class Verdict:
    """One script's figures, and what is wrong."""

    FIGURES: ClassVar = ("batches", "rows", "windows", "refused", "refused_alone", "kept_alone")

    number: int
    batches: int = 0
    rows: int = 0
    windows: int = 0
    refused: int = 0  # rows, for at least one window
    refused_alone: int = 0  # of those, rows that stock Spark beside has put out; each has a reason in the contract
    kept_alone: int = 0  # rows in a result here that stock Spark refused
    wrong: list[str] = field(default_factory=list)


def judged(part: StagedScript, record: Record) -> Verdict:
    """Hold everything against it."""
    history = record.history
    refused = {key for look in history.batches if look.ran for _, key in look.ran.refused}
    ours = {(end, key) for look in history.batches if look.ran for end, keys in look.ran.out.items() for key in keys}
    theirs = {(end, key) for end, keys in record.stock.items() for key in keys}
    alone = {key for _, key in theirs & _refusals(record)}
    found = Verdict(
        part.number, len(history.batches), sum(map(len, history.rows.values())), len({end for end, _ in ours}), len(refused),
        len(alone), len({pair for pair in ours - theirs if pair[0] in record.stock}),
    )  # fmt: skip
    found.wrong += part.trouble + record.differs[:2]
    found.wrong += [f"{v.law}: {v.says}" for v in broken(record.trace) if v.law not in COUNTED]
    found.wrong += _unkept(record, refused)
    found.wrong += list(_without_reason(record, theirs))
    return found


def _refusals(record: Record) -> set[tuple[int, int]]:
    return {pair for look in record.history.batches if look.ran for pair in look.ran.refused}


def _unkept(record: Record, refused: set[int]) -> list[str]:
    """Every row that is missing from a window is in the side table, and nothing else is."""
    aside = {c.key for look in record.history.batches for name in look.read for c in look.read[name]} - {
        c.key for look in record.history.batches for name in look.taken for c in look.taken[name]
    }
    says = []
    if refused != record.late:
        says.append(
            f"refused and not kept: {sorted(refused - record.late)}; kept and not refused: {sorted(record.late - refused)}"
        )
    if aside != record.aside:
        says.append(f"set aside: {sorted(aside)}, kept as such: {sorted(record.aside)}")
    return says


def _without_reason(record: Record, theirs: set[tuple[int, int]]) -> Iterator[str]:
    """Rows that stock Spark beside has in a result and we refused: the contract must name a reason."""
    evidence = Evidence(record.trace, record.history)
    for end, key in sorted(_refusals(record) & theirs):
        swept = evidence.sweeping(end)
        if swept is None:
            yield f"row {key} was refused for a window that was never swept, {end}"
            return
        reasons = evidence.reasons(end, evidence.announcing(end), swept)
        if None in reasons.values():
            yield f"row {key} is missing from the window that ends at {end}; stock Spark has it, and no reason was found"
            return
