"""Beats as a streaming query: an ordered merge hands each record's packets, in order, to a detector of its own."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from headway_lab.workloads.bio.ecg.detector import QrsDetector, fed, started
from headway_lab.workloads.feed import parsed

# Of the JSON that a packet is.
SCHEMA = "event_ms long, record string, fs int, first long, samples array<int>"
BODY = b'"record":"%b","fs":%d,"first":%d,"samples":[%b]'
RESULT = "record string, sample long, rr long, height long, searched boolean"


def typed(rows: Any) -> Any:
    """The packets in column `value`, beside the other columns."""
    return parsed(rows, SCHEMA)


def beats(rt: Any, rows: Any, patience: str | int = "500 ms", **watermark: Any) -> Any:
    """The beats of all records in `typed` rows, under a `headway.Runtime`; `watermark` has more settings of `rt.merge`.

    Columns: record, sample, rr (samples since the beat before), height (of the band-passed signal), searched.
    """
    return rt.merge(
        [rows], on="record", time="event_time", ties="first", step=found, output=RESULT, patience=patience, **watermark
    )


def found(record: str, rows: list[Any], detector: QrsDetector | None) -> tuple[list[tuple[Any, ...]], QrsDetector | None]:
    """The step of the merge: packets of one record, oldest first, and the detector that has seen those before.

    What it has seen already, in a packet that comes twice or too late, is passed over. After a gap it begins anew: the
    samples on both sides of it do not belong together.
    """
    results: list[tuple[Any, ...]] = []
    for fs, first, samples in _runs(rows):
        if detector is None or first > detector.seen:
            detector = started(fs, first)
        new, detector = fed(detector, samples[detector.seen - first :])
        results += [(record, beat.at, beat.rr, beat.height, beat.searched) for beat in new]
    return results, detector


def _runs(rows: list[Any]) -> Iterator[tuple[int, int, Any]]:
    """Packets that follow each other without a gap, as one: a detector is quick with many samples, not with many calls."""
    run: list[Any] = []
    for row in rows:
        if run and row.first != run[-1].first + len(run[-1].samples):
            yield _joined_run(run)
            run = []
        run.append(row)
    if run:
        yield _joined_run(run)


def _joined_run(run: list[Any]) -> tuple[int, int, Any]:
    return run[0].fs, run[0].first, np.concatenate([np.asarray(row.samples, dtype=np.int64) for row in run])
