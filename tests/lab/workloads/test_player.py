"""A tape is played by the clock, and the rows between two offsets are always the same."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from headway_lab.workloads import player
from headway_lab.workloads.feed import Feed
from headway_lab.workloads.player import PlayerReader, record

T = 1_700_000_000_000


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The wall clock, in ms, in a list that a test can write."""
    now = [float(T)]
    monkeypatch.setattr(player, "time", SimpleNamespace(time=lambda: now[0] / 1_000))
    yield now


@pytest.fixture
def tape(tmp_path: Path) -> str:
    """Two buses that come in late, a road between them."""
    bus = Feed("bus", np.array([T, T + 1]), np.array([T + 10, T + 30]), [b'"n":1', b'"n":2'])
    road = Feed("road", np.array([T + 20]), np.array([T + 20]), [b'"n":3'])
    record({"bus": bus, "road": road}, tmp_path / "tape.json")
    return str(tmp_path / "tape.json")


def numbers(rows: Iterator[Any]) -> list[tuple[str, int]]:
    return [(topic, json.loads(value)["n"]) for topic, value, _ in rows]


def test_rows_come_in_at_their_time_and_never_twice(wall: list[float], tape: str) -> None:
    reader = PlayerReader(tape)
    offset, seen = reader.initialOffset(), []
    for moment in (T, T + 10, T + 5, T + 29, T + 1_000, T + 2_000):
        wall[0] = moment
        rows, offset = reader.read(offset)
        seen.append(numbers(rows))
    assert seen == [[], [("bus", 1)], [], [("road", 3)], [("bus", 2)], []]
    assert offset == {"rows": 3}


def test_a_replay_gives_the_same_rows_whatever_the_time(wall: list[float], tape: str) -> None:
    wall[0] = T - 1_000
    rows = list(PlayerReader(tape).readBetweenOffsets({"rows": 1}, {"rows": 2}))
    assert rows == [("road", f'{{"event_ms":{T + 20},"n":3}}', datetime.fromtimestamp((T + 20) / 1_000, UTC))]


def test_who_is_there_before_the_tape_waits_for_it(wall: list[float], tape: str) -> None:
    wall[0] = T + 1_000
    there = Path(tape)
    hidden = there.rename(there.with_name("hidden.json"))
    reader = PlayerReader(tape)
    assert reader.read(reader.initialOffset())[1] == {"rows": 0}
    hidden.rename(there)
    assert reader.read(reader.initialOffset())[1] == {"rows": 3}
