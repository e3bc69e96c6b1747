"""The MIT-BIH arrhythmia records: half an hour each, 360 samples a second, every beat marked by two cardiologists.

What bites: marks are not all beats (changes of rhythm and noise are marked too); the first lead is not the same limb lead in
all records; in record 207 the heart flutters at times, where there are no beats to be counted, so scores leave that out.

Nothing is unpacked for good: files go into a folder that is gone when they have been read.
"""

import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from headway.errors import SettingError
from headway_lab.workloads.bio.ecg.queries import BODY
from headway_lab.workloads.data import find
from headway_lab.workloads.feed import Feed
from headway_lab.workloads.hashing import Longs

ARCHIVE = "bio/mitbih_14records_wfdb.tar.xz"
FILES = {".hea", ".dat", ".atr"}
# The symbols that mark beats, by the standard for testing such detectors (ANSI/AAMI EC57).
BEATS = frozenset("NLRBAaJSVrFejnE/fQ?")
FLUTTER, FLUTTER_ENDS = "[", "]"
# Records on which the authors' own detector is known to have failed at more than 1 % of the beats (Pan and Tompkins 1985;
# their table itself was not at hand). All others are called clean. The list was written down before ours had seen a record.
DIFFICULT = frozenset({"105", "108", "114", "116", "203", "222", "228"})
PACKET = 36  # samples: a tenth of a second


@dataclass(frozen=True, eq=False)
class EcgRecord:
    """One patient's electrocardiogram, and its beats."""

    name: str
    fs: int
    lead: str
    samples: Longs  # of the first lead, in units of the converter: 200 to a millivolt
    beats: Longs  # samples that are marked as beats
    symbols: tuple[str, ...]  # of those
    flutter: tuple[tuple[int, int], ...]  # stretches without beats to be counted

    @property
    def clean(self) -> bool:
        return self.name not in DIFFICULT


def records(names: Sequence[str] | None = None) -> list[EcgRecord]:
    """The records of these names, or all that there are."""
    there = {record.name: record for record in _all()}
    for name in names or ():
        if name not in there:
            raise SettingError("ecg.record", name, f"one of {', '.join(there)}")
    return [there[name] for name in (there if names is None else names)]


def packets(record: EcgRecord, packet: int = PACKET) -> Feed:
    """A record as it would be sent: packet after packet, each when its last sample was taken."""
    if packet < 1:
        raise SettingError("ecg.packet", packet, "1 sample or more")
    first = np.arange(0, len(record.samples), packet)
    ends = np.minimum(first + packet, len(record.samples))
    at_ms = ends * 1_000 // record.fs
    body = [packet_body(record, since, until) for since, until in zip(first.tolist(), ends.tolist(), strict=True)]
    return Feed.of(f"ecg-{record.name}", at_ms, at_ms, body, [record.name.encode()] * len(body))


def packet_body(record: EcgRecord, since: int, until: int, first: int | None = None) -> bytes:
    """These samples as a row; the first of them has the number `since`, or `first`."""
    samples = b",".join(b"%d" % value for value in record.samples[since:until].tolist())
    return BODY % (record.name.encode(), record.fs, since if first is None else first, samples)


def feed(found: Sequence[EcgRecord] | None = None, packet: int = PACKET) -> Feed:
    """These records, or all, side by side, as if their patients lay in one ward."""
    feeds = [packets(record, packet) for record in (records() if found is None else found)]
    event_ms = np.concatenate([one.event_ms for one in feeds])
    keys = [key for one in feeds for key in one.key or ()]
    return Feed.of("ecg", event_ms, event_ms, [row for one in feeds for row in one.body], keys)


@cache
def _all() -> tuple[EcgRecord, ...]:
    with TemporaryDirectory(prefix="headway-ecg-") as folder:
        for name, content in _unpacked(find(ARCHIVE)):
            (Path(folder) / name).write_bytes(content)
        return tuple(_read(head.with_suffix("")) for head in sorted(Path(folder).glob("*.hea")))


def _unpacked(archive: Path) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(archive) as members:
        for member in members:
            file = members.extractfile(member)
            if file is not None and Path(member.name).suffix in FILES:
                yield Path(member.name).name, file.read()


def _read(path: Path) -> EcgRecord:
    import wfdb

    record = wfdb.rdrecord(str(path), channels=[0], physical=False)
    marks = wfdb.rdann(str(path), "atr")
    marked = list(zip(marks.sample.tolist(), marks.symbol, strict=True))
    beats = [(at, symbol) for at, symbol in marked if symbol in BEATS]
    begins = [at for at, symbol in marked if symbol == FLUTTER]
    ends = [at for at, symbol in marked if symbol == FLUTTER_ENDS]
    return EcgRecord(
        path.name, int(record.fs), str(record.sig_name[0]), record.d_signal[:, 0].astype(np.int64),
        np.array([at for at, _ in beats], dtype=np.int64), tuple(symbol for _, symbol in beats),
        tuple(zip(begins, [*ends, record.sig_len][: len(begins)], strict=True)),
    )  # fmt: skip
