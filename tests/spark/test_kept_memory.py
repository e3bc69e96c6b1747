"""What batches told of a sampled input is there after a restart, and takes no more room than that needs."""

from pathlib import Path

import pytest

from headway.model.message import BatchSeen, InputSeen
from headway.model.sampling import GroupSeen, SubStreamSeen
from headway.model.time import WallMs
from headway.spark.memory import FILE, LINES, Memory


def batch(number: int) -> BatchSeen:
    cells = (SubStreamSeen(number, 5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0),)
    seen = InputSeen("a", 5, delays=((7.0, 5.0),), substreams=cells, groups=(GroupSeen(3, 5, 1.0, 2.0),))
    return BatchSeen("", number, WallMs(1_000 * number), WallMs(1_000 * number), 0, 5, None, (seen,))


def test_a_restart_knows_the_last_batches(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    assert memory.past() == ()
    for number in range(3):
        memory.add(batch(number))
    assert Memory(tmp_path).past() == tuple(batch(number) for number in range(3))


def test_however_long_a_query_runs_the_file_stays_short(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    for number in range(10 * LINES):
        memory.add(batch(number))
    assert len((tmp_path / FILE).read_text().splitlines()) <= 2 * LINES
    assert Memory(tmp_path).past() == tuple(batch(number) for number in range(9 * LINES, 10 * LINES))


def test_batches_of_long_windows_are_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headway.spark.memory.LETTERS", 500)
    memory = Memory(tmp_path)
    for number in range(50):
        memory.add(batch(number))
        assert len((tmp_path / FILE).read_text()) < 3 * 500
    kept = Memory(tmp_path).past()
    assert 1 <= len(kept) < 6 and kept[-1] == batch(49)


def test_a_batch_that_is_run_again_counts_once_and_a_line_that_was_cut_off_not_at_all(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    for number in (0, 1, 1):
        memory.add(batch(number))
    with (tmp_path / FILE).open("a") as file:
        file.write('{"batch": 2, "beg')
    again = Memory(tmp_path)
    assert again.past() == (batch(0), batch(1))
    again.add(batch(2))
    assert Memory(tmp_path).past() == (batch(0), batch(1), batch(2))


def test_a_batch_without_rows_is_not_worth_a_line(tmp_path: Path) -> None:
    Memory(tmp_path).add(BatchSeen("", 0, WallMs(0), WallMs(0), 0, 0, None, (InputSeen("a", 0),)))
    assert not (tmp_path / FILE).exists()
    Memory(None).add(batch(0))
    assert Memory(None).past() == ()


def test_a_file_that_cannot_be_written_or_read_keeps_no_query_from_starting(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    memory.add(batch(0))
    with (tmp_path / FILE).open("ab") as file:
        file.write(b'{"batch": \xff')  # as a full disk leaves it
    blocked = tmp_path / ".headway.new"
    blocked.mkdir()
    again = Memory(tmp_path)
    assert again.past() == (batch(0),)
    again.add(batch(1))
    blocked.rmdir()
    again.add(batch(2))
    assert Memory(tmp_path).past() == (batch(0), batch(1), batch(2))

    (tmp_path / "other" / FILE).mkdir(parents=True)
    assert Memory(tmp_path / "other").past() == ()
