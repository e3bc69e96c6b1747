"""Six patients whose breathing was recorded by the extension of the chest, each at the rate of the device.

What bites in the files: the two of the Free University of Berlin (Rittweger) are bare columns without a rate; ten samples a
second make breaths of three to four seconds. Their mean was taken away, so values have long tails of digits. The Santa Fe
record says minutes at the head of a column that counts half seconds. The three of BIDMC are of the impedance of the chest,
125 samples a second for eight minutes, with blanks before the names of the columns.
"""

import lzma
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from headway.errors import HeadwayError, SettingError
from headway_lab.workloads.bio.thorax.queries import BODY
from headway_lab.workloads.data import find
from headway_lab.workloads.feed import Feed
from headway_lab.workloads.hashing import Longs

BERLIN_MS, SANTA_FE_MS, BIDMC_MS = 100, 500, 8  # from sample to sample
BIDMC = "bio/bidmc_20records_csv.tar.xz"
BIDMC_PATIENTS = 3
MICROS = 1_000_000


@dataclass(frozen=True, eq=False)
class ChestRecord:
    """One patient's samples: when, from the start of the record, and how far the chest was extended, in millionths."""

    patient: str
    at_ms: Longs
    micros: Longs


def chests(patients: Sequence[str] | None = None) -> list[ChestRecord]:
    """The records of these patients, or of all six."""
    for name in patients or ():
        if name not in PATIENTS:
            raise SettingError("thorax.patient", name, f"one of {', '.join(PATIENTS)}")
    return [_record(name) for name in (PATIENTS if patients is None else patients)]


def feed(patients: Sequence[str] | None = None) -> Feed:
    """All samples, each known at once, keyed by patient."""
    found = chests(patients)
    at_ms = np.concatenate([one.at_ms for one in found])
    body = [row for one in found for row in bodies(one)]
    return Feed.of("thorax", at_ms, at_ms, body, [one.patient.encode() for one in found for _ in range(len(one.at_ms))])


def bodies(record: ChestRecord) -> list[bytes]:
    name = record.patient.encode()
    return [BODY % (name, value) for value in record.micros.tolist()]


@cache
def _record(patient: str) -> ChestRecord:
    every_ms, values = PATIENTS[patient]()
    micros = np.rint(np.asarray(values, dtype=np.float64) * MICROS).astype(np.int64)
    return ChestRecord(patient, np.arange(len(micros), dtype=np.int64) * every_ms, micros)


Values = Sequence[float]


def _berlin(number: int) -> tuple[int, Values]:
    with lzma.open(find(f"bio/grammarviz_nprs{number}.txt.xz"), "rt") as lines:
        return BERLIN_MS, [float(word) for line in lines for word in line.split()]


def _santa_fe() -> tuple[int, Values]:
    lines = find("bio/santafe_B_br1.dat").read_text("utf-8").splitlines()
    return SANTA_FE_MS, [float(line.split()[1]) for line in lines if line.strip() and not line.startswith("#")]


@cache
def _bidmc() -> list[Values]:
    """The first patients of the archive, by name."""
    found: dict[str, Values] = {}
    with tarfile.open(find(BIDMC)) as members:
        for member in members:
            file = members.extractfile(member) if member.name.endswith("_Signals.csv") else None
            if file is not None:
                frame = pd.read_csv(file, skipinitialspace=True, usecols=lambda name: str(name).strip() == "RESP")
                found[member.name] = frame.iloc[:, 0].tolist()
    if len(found) < BIDMC_PATIENTS:
        raise HeadwayError(f"{BIDMC}: expected the signals of {BIDMC_PATIENTS} patients, but there are {len(found)}")
    return [found[name] for name in sorted(found)[:BIDMC_PATIENTS]]


PATIENTS: dict[str, Callable[[], tuple[int, Values]]] = {
    "berlin-43": lambda: _berlin(43),
    "berlin-44": lambda: _berlin(44),
    "santa-fe": _santa_fe,
    "bidmc-1": lambda: (BIDMC_MS, _bidmc()[0]),
    "bidmc-2": lambda: (BIDMC_MS, _bidmc()[1]),
    "bidmc-3": lambda: (BIDMC_MS, _bidmc()[2]),
}
