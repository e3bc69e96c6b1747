"""The runs behind `headway bench ecg`: the detector alone on every record, and the same as a streaming query."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headway.errors import HeadwayError
from headway.loop.trouble import says
from headway_lab.workloads.bio.ecg import Beat, BeatScore, EcgRecord, beats, detected, fed, scored, started, typed
from headway_lab.workloads.bio.ecg.mitbih import feed
from headway_lab.workloads.bio.ecg.scoring import LEARNING_S
from headway_lab.workloads.wall_clock import now_ms

EXPERIMENT = "ecg"
DETECTOR, ON_SPARK = "pan-tompkins", "spark"
CLEAN, ALL = "clean", "all"
LONGEST_PIECE_S = 20
LEAD_MS, LOOK_S = 3_000, 0.25
OVER_S = 60  # after its last row, a query that has not brought out everything by then never will
TAPE = "tape.json"


@dataclass(frozen=True, slots=True)
class RecordOutcome:
    """What came of one record."""

    name: str
    clean: bool
    lead: str
    whole: BeatScore
    after_learning: BeatScore  # from the sixth minute on, as the standard has it
    searched: int  # beats that only the second look has found


def outcome(record: EcgRecord, seed: int) -> RecordOutcome:
    """The detector on a whole record, which it gets in pieces drawn by the seed."""
    found = detected(record.samples, record.fs, cuts(record, seed))
    at = [beat.at for beat in found]
    searched = sum(beat.searched for beat in found)
    return RecordOutcome(
        record.name, record.clean, record.lead, scored(record, at), scored(record, at, LEARNING_S), searched
    )


def cuts(record: EcgRecord, seed: int) -> list[int]:
    """Where the record is cut: pieces from one sample to twenty seconds."""
    chance = np.random.default_rng(seed)
    longest = LONGEST_PIECE_S * record.fs
    lengths = chance.integers(1, longest, 2 * len(record.samples) // longest + 100)
    ends = np.cumsum(lengths)
    return [int(end) for end in ends if end < len(record.samples)]


def groups(outcomes: Sequence[RecordOutcome]) -> Iterator[tuple[str, list[RecordOutcome]]]:
    """Each record, the clean ones, and all."""
    yield from ((one.name, [one]) for one in outcomes)
    if clean := [one for one in outcomes if one.clean]:
        yield CLEAN, clean
    yield ALL, list(outcomes)


def figures(of: Sequence[RecordOutcome]) -> dict[str, Any]:
    """For the ledger."""
    whole, later = (total(scores) for scores in ([o.whole for o in of], [o.after_learning for o in of]))
    return {
        "beats": whole.hit + whole.missed,
        "missed": whole.missed,
        "false": whole.false,
        "searched": sum(one.searched for one in of),
        "sensitivity": round(whole.sensitivity, 6),
        "positive_predictivity": round(whole.positive_predictivity, 6),
        "least_sensitivity": round(min(one.whole.sensitivity for one in of), 6),
        "least_positive_predictivity": round(min(one.whole.positive_predictivity for one in of), 6),
        "later_sensitivity": round(later.sensitivity, 6),
        "later_positive_predictivity": round(later.positive_predictivity, 6),
    }


def total(scores: Iterable[BeatScore]) -> BeatScore:
    return sum(scores, BeatScore(0, 0, 0))


# ---- on Spark

BeatRow = tuple[str, int, int | None, int, bool]  # what the query says of a beat
Show = Callable[[int, int], None]  # beats out so far, and all that are expected


def expected(records: Sequence[EcgRecord]) -> list[BeatRow]:
    """What a query over these records must say, in any order: all but what only the end of a record would tell."""
    told: list[BeatRow] = []
    for record in records:
        found, _ = fed(started(record.fs), record.samples)
        told += [as_told(record.name, beat) for beat in found]
    return told


def as_told(record: str, beat: Beat) -> BeatRow:
    return record, beat.at, beat.rr, beat.height, beat.searched


def streamed(spark: Any, records: Sequence[EcgRecord], folder: Path, speed: float, packet: int, show: Show) -> list[BeatRow]:
    """The beats that a query brings out while the records are played, so many times as fast as they were recorded."""
    from headway.spark.runtime import Runtime
    from headway_lab.workloads.player import play, record

    many, name = len(expected(records)), f"ecg_{now_ms()}"
    with Runtime(spark, journal=folder / "journal.db") as rt:
        frame = beats(rt, typed(play(spark, folder / TAPE)), patience="1 s", arrival="timestamp")
        handle = rt.start(frame.writeStream.format("memory"), name=name, every="1 s", checkpoint=str(folder / name))
        sent = feed(records, packet).rebased(now_ms() + LEAD_MS, speed)
        record({"ecg": sent}, folder / TAPE)
        last_ms = int(sent.arrival_ms[-1]) + OVER_S * 1_000
        while (out := spark.table(name).count()) < many and now_ms() < last_ms:
            if (error := handle.exception()) is not None:
                raise HeadwayError(f"query {name} failed: {says(error)}")
            show(out, many)
            time.sleep(LOOK_S)
    columns = ("record", "sample", "rr", "height", "searched")
    rows = spark.table(name).select(*columns).collect()
    spark.catalog.dropTempView(name)
    return [tuple(row) for row in rows]


def different(one: Sequence[BeatRow], other: Sequence[BeatRow]) -> int:
    """How many beats are in one and not in the other, or more than once."""
    return len(set(one) ^ set(other)) + len(one) - len(set(one)) + len(other) - len(set(other))
