"""The gate that only lets ready tuples out: threads, memory, and what it refuses."""

import gc
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Any

import numpy as np
import pytest

from headway.errors import SettingError
from headway.merge.rows import Flag, Row
from headway.merge.scale_gate import AHEAD_FROM, TIDY_EVERY, ScaleGate
from headway.merge.slack_gate import SlackScaleGate

TUPLES = 3_000


def test_it_waits_for_the_slowest_writer_and_then_sorts() -> None:
    gate = ScaleGate(2)
    gate.insert_many([1, 4, 9], "aei", 0)
    assert gate.get(0) is None and len(gate.get_many(0)) == 0
    gate.insert_many([2, 4], "bd", 1)
    assert "".join(row.payload for row in gate.get_many(0).rows()) == "abed"
    assert gate.get(0) is None and len(gate) == 1


def test_single_reads_of_much_that_is_ready_are_served_ahead_and_mix_with_reads_of_many() -> None:
    gate = ScaleGate(2)
    stamps = np.arange(10 * AHEAD_FROM)
    for writer in (0, 1):
        gate.insert_many(stamps, stamps, writer)
    rows = [gate.get(0), gate.get(0), *gate.get_many(0, 3).rows(), gate.get(0)]
    for writer in (0, 1):  # not ready when the others were fetched
        gate.insert((10 * AHEAD_FROM, "new"), writer)
    rows += gate.get_many(0).rows()
    assert [row[:2] for row in rows if row] == [(t, w) for t in range(10 * AHEAD_FROM) for w in (0, 1)] + [
        (10 * AHEAD_FROM, 0)
    ]


@pytest.mark.parametrize("single", [False, True], ids=["many a call", "one a call"])
@pytest.mark.parametrize("make", [lambda: ScaleGate(3, 4), lambda: SlackScaleGate(3, 4, 40)], ids=["scale", "slack"])
def test_threads_lose_nothing_and_get_nothing_twice(make: Callable[[], ScaleGate], single: bool) -> None:
    gate, start, written = make(), Barrier(7), Event()
    streams = [np.sort(np.random.default_rng(w).integers(0, TUPLES, TUPLES)) for w in range(3)]

    def write(writer: int) -> None:
        start.wait()
        for at in range(0, TUPLES, 50):
            part = streams[writer][at : at + 50]
            if single:
                for n, stamp in enumerate(part.tolist(), at):
                    gate.insert((stamp, n), writer)
            else:
                gate.insert_many(part, np.arange(at, at + len(part)), writer)

    def read(reader: int) -> list[Row]:
        start.wait()
        rows: list[Row] = []
        while True:
            over = written.is_set()
            if single:
                new = [row] if (row := gate.get(reader)) is not None else []
            else:
                new = gate.get_many(reader, most=200).rows()
            rows += new
            if over and not new:
                return rows

    with ThreadPoolExecutor(7) as pool:
        readers = [pool.submit(read, reader) for reader in range(4)]
        for writing in [pool.submit(write, writer) for writer in range(3)]:
            writing.result()
        for writer in range(3):
            gate.insert((TUPLES, "end"), writer)
        written.set()
        found = [reading.result() for reading in readers]
    expected = sorted((t, w, n) for w, stream in enumerate(streams) for n, t in enumerate(stream.tolist()))
    for rows in found:
        got = [row[:3] for row in rows if row.timestamp < TUPLES]
        assert sorted(got) == expected
        in_turn = [row[:3] for row in rows if not row.flag & Flag.LATE]
        assert in_turn == sorted(in_turn)
        assert all(row.payload == row.sequence for row in rows if row.timestamp < TUPLES)
    if not isinstance(gate, SlackScaleGate):
        assert [row[:3] for row in found[0] if row.timestamp < TUPLES] == expected


def test_threads_that_share_a_reader_share_its_tuples() -> None:
    gate, start = ScaleGate(2), Barrier(4)
    for writer in (0, 1):
        gate.insert_many(np.arange(TUPLES), np.arange(TUPLES), writer)

    def read(_: int) -> list[Row]:
        start.wait()
        rows: list[Row] = []
        while (row := gate.get(0)) is not None:
            rows.append(row)
        return rows

    with ThreadPoolExecutor(4) as pool:
        got = [row[:2] for rows in pool.map(read, range(4)) for row in rows]
    # Where a thread found nothing ahead for a moment and all of it was taken, it stops; nothing may be left behind then.
    got += [row[:2] for row in gate.get_many(0).rows()]
    assert sorted(got) == [(t, w) for t in range(TUPLES) for w in (0, 1)][: 2 * TUPLES - 1]


class Thing:
    """A payload that can be seen to go."""


def test_what_all_readers_have_read_is_let_go() -> None:
    gate = ScaleGate(1, readers=2)
    things = [Thing() for _ in range(5)]
    alive = [weakref.ref(thing) for thing in things]
    gate.insert_many(range(5), things, 0)
    del things
    gate.get_many(0)
    assert len(gate) == 5 and all(ref() for ref in alive), "one reader has still to read them"
    gate.get_many(1)
    gc.collect()
    assert len(gate) == 0 and not any(ref() for ref in alive)


@pytest.mark.parametrize("single", [False, True], ids=["many a call", "one a call"])
def test_however_much_flows_through_the_room_stays_small(single: bool) -> None:
    gate = ScaleGate(2)
    gate.insert_many(np.zeros(100_000, int), np.zeros(100_000), 0)  # a jam, while writer 1 is silent
    for now in range(1, 2_000):
        for writer in (0, 1):
            gate.insert_many([now] * 3, [None] * 3, writer)
        while single and gate.get(0) is not None:
            pass
        gate.get_many(0)
    room = sum(log._timestamps.nbytes + log._payloads.nbytes for log in gate._logs)
    assert len(gate) <= 3 and room <= 2 * 16 * 4 * TIDY_EVERY


def test_a_writer_that_goes_back_is_refused_and_nothing_of_it_is_kept() -> None:
    gate = ScaleGate(2)
    gate.insert((10, "a"), 0)
    calls: list[Callable[[], None]] = [
        lambda: gate.insert((9, "b"), 0),
        lambda: gate.insert_many([9, 20], "bc", 0),
        lambda: gate.insert_many([20, 9], "bc", 0),
    ]
    for call in calls:
        with pytest.raises(SettingError, match=r"timestamp = 9: expected .0 or more, because writer 0 has come") as told:
            call()
        assert "\n" not in str(told.value)
    gate.insert((30, "z"), 1)
    assert [row.payload for row in gate.get_many(0).rows()] == ["a"]
    gate.insert((10, "equal"), 0)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda gate: gate.insert((1, "a"), 2), "writer = 2: expected a number from 0 to 1"),
        (lambda gate: gate.insert((1, "a"), -1), "writer = -1: expected"),
        (lambda gate: gate.get(1), "reader = 1: expected a number from 0 to 0"),
        (lambda gate: gate.get_many("x"), "reader = 'x': expected"),
        (lambda gate: gate.get_many(0, -1), "most = -1: expected a whole number of 0 or more"),
        (lambda gate: gate.insert((1.5, "a"), 0), "timestamp = 1.5: expected whole milliseconds"),
        (lambda gate: gate.insert((2**63, "a"), 0), "timestamp = 9223372036854775808: expected whole milliseconds"),
        (lambda gate: gate.insert_many([1.5], "a", 0), "timestamps = 'float64': expected one row of whole milliseconds"),
        (lambda gate: gate.insert_many([[1]], "a", 0), "timestamps = 'int64': expected one row"),
        (lambda gate: gate.insert_many([1, 2], "a", 0), "payloads = '1 of them': expected one for each of the 2"),
        (lambda gate: ScaleGate(0), "writers = 0: expected a whole number of 1 or more"),
        (lambda gate: ScaleGate(1, 0), "readers = 0: expected a whole number of 1 or more"),
    ],
)
def test_bad_input_is_one_line_and_changes_nothing(call: Callable[[ScaleGate], Any], says: str) -> None:
    gate = ScaleGate(2)
    with pytest.raises(SettingError, match=says.replace("(", r"\(")):
        call(gate)
    assert len(gate) == 0
