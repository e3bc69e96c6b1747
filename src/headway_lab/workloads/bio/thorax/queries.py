"""The screens at the bedside as streaming queries: sliding windows, and a fold over each patient's samples in order."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from headway.errors import SettingError
from headway_lab.workloads.feed import parsed
from headway_lab.workloads.hashing import Longs

# Of the JSON that a sample is.
SCHEMA = "event_ms long, patient string, micros long"
BODY = b'"patient":"%b","micros":%d'
SIZE_MS, SLIDE_MS = 10_000, 1_000
# What is told at the end of every second: of the last ten seconds, and of all samples so far.
RESULT = (
    "patient string, end_ms long, last_samples long, last_micros long, last_low long, last_high long,"
    " samples long, micros long, low long, high long"
)
MEANS = ("last_micros / last_samples / 1e6D as last_mean", "micros / samples / 1e6D as mean")


def typed(rows: Any) -> Any:
    """The samples in column `value`, beside the other columns."""
    return parsed(rows, SCHEMA)


def last_ten(rows: Any, size_ms: int = SIZE_MS, slide_ms: int = SLIDE_MS, offset_ms: int = 0) -> Any:
    """The last ten seconds of each patient, at every second. Put the watermark on `typed` rows first.

    Columns: window, patient, samples, micros (their sum), low, high, mean.
    """
    require_windows(size_ms, slide_ms)
    lengths = ", ".join(f"'{ms} milliseconds'" for ms in (size_ms, slide_ms, offset_ms))
    window = f"window(event_time, {lengths}) as window"
    return (
        rows.selectExpr(window, "patient", "micros", "micros as low", "micros as high")
        .groupBy("window", "patient")
        .agg({"*": "count", "micros": "sum", "low": "min", "high": "max"})
        .selectExpr(
            "window",
            "patient",
            "`count(1)` as samples",
            "`sum(micros)` as micros",
            "`min(low)` as low",
            "`max(high)` as high",
        )
        .selectExpr("*", "micros / samples / 1e6D as mean")
    )


def monitored(rt: Any, rows: Any, patience: str | int = "500 ms", **watermark: Any) -> Any:
    """What a screen shows of each patient at the end of every second with a sample in it, under a `headway.Runtime`.

    `rows` are `typed`, `watermark` has more settings of `rt.merge`. Columns: those of `RESULT`, and both means. A second is
    told of once a later one has begun.
    """
    told = rt.merge([rows], on="patient", time="event_time", step=watched, output=RESULT, patience=patience, **watermark)
    return told.selectExpr("*", *MEANS)


@dataclass(frozen=True, eq=False)
class ChestState:
    """What is kept of one patient: the samples of the last ten seconds, and what was seen before them and in them."""

    at_ms: Longs
    micros: Longs
    samples: int  # of all so far
    total: int
    low: int
    high: int


def watched(patient: str, rows: list[Any], state: ChestState | None) -> tuple[list[tuple[Any, ...]], ChestState | None]:
    """The step of the merge: what is to be told of one patient, and what is kept.

    A sample that comes too late is left out: what was told of its second stands, and it is counted with the late rows.
    """
    rows = [row for row in rows if not row.late and row.micros is not None]
    if not rows:
        return [], state
    kept = 0 if state is None else len(state.at_ms)
    new = np.array([(row.event_ms, row.micros) for row in rows], dtype=np.int64).reshape(-1, 2)
    at_ms, micros = new[:, 0], new[:, 1]
    count, total = np.arange(1, len(new) + 1), np.cumsum(micros)
    low, high = np.minimum.accumulate(micros), np.maximum.accumulate(micros)
    if state is not None:
        count, total = count + state.samples, total + state.total
        low, high = np.minimum(low, state.low), np.maximum(high, state.high)
        # What was seen by the end of the last call comes first, as if it were a sample of this one.
        at_ms, micros = np.concatenate([state.at_ms, at_ms]), np.concatenate([state.micros, micros])
        count, total, low, high = (
            np.concatenate([[before], values])
            for before, values in zip(
                (state.samples, state.total, state.low, state.high), (count, total, low, high), strict=True
            )
        )
    place = max(0, kept - 1)  # of the first of `count` among `at_ms`
    results = []
    seconds = at_ms[place:] // SLIDE_MS
    for i in np.flatnonzero(np.diff(seconds)).tolist():
        end_ms = (int(seconds[i]) + 1) * SLIDE_MS
        since, until = int(np.searchsorted(at_ms, end_ms - SIZE_MS)), place + i + 1
        last = micros[since:until]
        own = (len(last), int(last.sum()), int(last.min()), int(last.max()))
        results.append((patient, end_ms, *own, int(count[i]), int(total[i]), int(low[i]), int(high[i])))
    # The next second to be told of ends after the last sample, so it may begin ten seconds before that end.
    since = int(np.searchsorted(at_ms, (int(seconds[-1]) + 1) * SLIDE_MS - SIZE_MS))
    sums = (int(values[-1]) for values in (count, total, low, high))
    return results, ChestState(at_ms[since:].copy(), micros[since:].copy(), *sums)


def require_windows(size_ms: int, slide_ms: int) -> None:
    if not 1 <= slide_ms <= size_ms:
        raise SettingError("thorax.slide_ms", slide_ms, f"1 up to size_ms = {size_ms}")
