"""The real input is read as it was published, and rows survive the way into a feed and back."""

import numpy as np

from headway_lab.workloads import data
from headway_lab.workloads.linear_road.reports import FIELDS, SCHEMA, columns, recorded_reports
from lab.workloads.linear_road.roads import needs_real_data, reports


def test_rows_survive_the_way_into_a_feed_and_back() -> None:
    rows = reports({"s": 3, "vid": 8}, {"s": 7, "type": 4, "vid": 9, "qid": 2, "s_init": 3, "s_end": 5})
    again = columns(rows.feed("both"))

    assert again.event_ms.tolist() == [3_000, 7_000]
    assert {name: again[name].tolist() for name in FIELDS} == {name: rows[name].tolist() for name in FIELDS}
    assert rows.feed("both").key == [b"8", b"9"]


def test_an_empty_feed_has_no_rows() -> None:
    assert len(columns(reports({"s": 0}).feed("one").between(1, 2))) == 0


def test_the_schema_names_every_field_once() -> None:
    assert [part.split()[0] for part in SCHEMA.split(", ")] == ["event_ms", *FIELDS]


@needs_real_data
def test_the_real_input_is_all_there_and_begins_with_the_official_sample() -> None:
    rows = columns(recorded_reports())
    kinds, counts = np.unique(rows["type"], return_counts=True)
    sample = np.loadtxt(data.find("linear_road/datafile20seconds.dat"), delimiter=",", dtype=np.int64)
    start = rows.taken(np.flatnonzero(rows.event_ms <= int(sample[:, 1].max()) * 1_000))
    ours = np.column_stack([start["type"], start.event_ms // 1_000, *(start[name] for name in FIELDS[1:])])

    assert dict(zip(kinds.tolist(), counts.tolist(), strict=True)) == {0: 20_136, 2: 119, 3: 18, 4: 95}
    assert sorted(map(tuple, ours.tolist())) == sorted(map(tuple, sample.tolist()))
