"""The real records: all there, read whole, and sent whole."""

import json

import numpy as np
import pytest

from headway.errors import HeadwayError, SettingError
from headway_lab.workloads.bio.ecg import detected, mitbih, packets, records, scored
from headway_lab.workloads.bio.ecg.mitbih import BEATS
from headway_lab.workloads.data import folder
from lab.workloads.bio.ecg.hearts import made_record, regular

real = pytest.mark.skipif(folder() is None, reason="no real data: HEADWAY_DATA names no folder")


@real
def test_there_are_fourteen_records_of_half_an_hour() -> None:
    found = records()
    assert len(found) == len({record.name for record in found}) == 14
    assert {(record.fs, len(record.samples)) for record in found} == {(360, 650_000)}
    for record in found:
        assert len(record.beats) == len(record.symbols) > 1_000 and set(record.symbols) <= BEATS
        assert (np.diff(record.beats) > 0).all() and 0 <= record.samples.min() < record.samples.max() < 2_048


@real
@pytest.mark.slow
def test_a_clean_record_is_read_as_cardiologists_read_it() -> None:
    clean = next(record for record in records() if record.clean)
    score = scored(clean, [beat.at for beat in detected(clean.samples, clean.fs)])
    assert score.sensitivity > 0.99 and score.positive_predictivity > 0.99


@real
def test_a_record_that_is_not_there_is_named() -> None:
    with pytest.raises(SettingError, match=r"ecg\.record = 'nobody': expected one of 1"):
        records(["nobody"])


def test_packets_hold_every_sample_once_and_come_when_the_last_one_was_taken() -> None:
    record = made_record("a", regular(5), 1_805)
    sent = packets(record, 36)
    rows = [json.loads(row) for _, row, _ in sent.rows()]
    assert [value for row in rows for value in row["samples"]] == record.samples.tolist()
    assert [row["first"] for row in rows] == list(range(0, 1_805, 36))
    assert [row["event_ms"] for row in rows][:2] == [100, 200] and sent.key is not None and set(sent.key) == {b"a"}
    with pytest.raises(SettingError, match=r"ecg\.packet = 0"):
        packets(record, 0)


def test_without_the_data_one_line_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_DATA", "gone")
    mitbih._all.cache_clear()
    with pytest.raises(HeadwayError, match="it must name the folder that holds bio/mitbih_14records"):
        records()
