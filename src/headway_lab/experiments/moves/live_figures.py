"""What came of moves: how long they took, what was late because of them, and what the first batch on the target cost."""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

import numpy as np

from headway_lab.experiments.moves.live_run import AFTER_MS, JournalBatch, LiveMove, MovesSeen

PARTS = ("stop", "release", "build", "lease", "fence", "copy", "partitions", "start", "gate", "on the way")


def figures_of(seen: MovesSeen) -> dict[str, Any]:
    """For the ledger."""
    out = [float(move.told.outage_ms) for move in seen.moves if move.told.outage_ms is not None and move.wanted == "done"]
    firsts = [pair for move in seen.moves if move.well and move.wanted == "done" and (pair := first_batch(seen, move))]
    later = [one for move in seen.moves if (one := later_batches(seen, move)) is not None]
    found: dict[str, Any] = {
        "moves": len(seen.moves),
        "well": sum(move.well for move in seen.moves),
        "wrong": len(seen.wrong),
        "windows": len(seen.windows),
        "state_rows": seen.state_rows,
        "heard": len(out),
        "took_ms": _middle([move.ended_ms - move.asked_ms for move in seen.moves]),
        "faults": seen.wrong[:5],
    }
    quiet = [w.late_ms for w in _quiet(seen)]
    if quiet:
        found |= {"quiet_windows": len(quiet), "quiet_ms": _middle(quiet), "quiet_worst_ms": max(quiet)}
    if later:
        found |= {"later_batches": round(max(later), 3), "later_in_time": sum(one <= 1.0 for one in later)}
        found["compared"] = len(later)
    if out:
        found |= {"out_ms": _middle(out), "out_p99_ms": _high(out), "out_max_ms": max(out), "parts_ms": parts(seen.moves)}
        found["outages_ms"] = [int(one) for one in out]
    if firsts:
        first, usual = [one for one, _ in firsts], [one for _, one in firsts]
        found |= {"first_ms": _middle(first), "ordinary_ms": _middle(usual)}
        found["first_ratio"] = round(median(one / max(1, other) for one, other in firsts), 3)
    return found


def parts(moves: Sequence[LiveMove]) -> dict[str, float]:
    """The median of each."""
    told = [move.told.parts_ms for move in moves if move.told.parts_ms is not None and move.wanted == "done"]
    return {part: _middle([one.get(part, 0.0) for one in told]) for part in PARTS if any(part in one for one in told)}


def first_batch(seen: MovesSeen, move: LiveMove) -> tuple[int, float] | None:
    """What the first batch on the target took, and an ordinary one of the same query before; None if it was not noted."""
    there = [b for b in seen.batches if b.query == move.query and b.node == move.target and b.began_ms >= move.asked_ms]
    if not there:
        return None
    first = min(there, key=lambda b: b.number)
    before = [b.took_ms for b in _of(seen.batches, move.query) if b.number < first.number and not _first_there(seen, b)]
    return (first.took_ms, median(before[-20:])) if before else None


def later_batches(seen: MovesSeen, move: LiveMove) -> float | None:
    """How much later than ever while nothing moved a window came, of any query, during and shortly after this move; in
    batches of the query, by their median. None if a query has no windows to compare: then nothing is known."""
    found = 0.0
    for query in seen.load.names:
        quiet = [w.late_ms for w in _quiet(seen) if w.query == query]
        during = [w.late_ms for w in _within(seen, move.asked_ms, move.ended_ms + AFTER_MS) if w.query == query]
        batch = [b.took_ms for b in _of(seen.batches, query)]
        if not quiet or not during or not batch:
            return None
        found = max(found, (max(during) - max(quiet)) / max(1.0, median(batch)))
    return found


def _first_there(seen: MovesSeen, batch: JournalBatch) -> bool:
    """Whether it was the first of its query after a move."""
    return any(m.query == batch.query and m.asked_ms <= batch.began_ms <= m.ended_ms for m in seen.moves)


def _of(batches: Iterable[JournalBatch], query: str) -> list[JournalBatch]:
    return sorted((b for b in batches if b.query == query), key=lambda b: b.began_ms)


def _within(seen: MovesSeen, begin_ms: int, end_ms: int) -> list[Any]:
    return [window for window in seen.windows if begin_ms <= window.at_ms <= end_ms]


def _quiet(seen: MovesSeen) -> list[Any]:
    return [window for stretch in seen.quiet for window in _within(seen, *stretch)]


def _middle(values: Sequence[float]) -> float:
    return round(float(median(values)), 3) if values else 0.0


def _high(values: Sequence[float]) -> float:
    return round(float(np.percentile(values, 99)), 3)
