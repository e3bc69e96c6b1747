"""The laws of the slack gate: section 5.1.1 of the paper, and what we promise beyond it."""

from math import inf
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import SettingError
from headway.merge import scale_gate
from headway.merge.rows import Flag, Row
from headway.merge.scale_gate import ScaleGate
from headway.merge.slack_gate import SlackScaleGate
from merge.gates import READERS, WRITERS, Paper, PlayedStep, Player, compatible_order, dense_streams, row, scripts

ends = st.sampled_from([0, 1, 5, 20])
slacks = ends | st.just(inf)
# Behind any script: all writers have come further, so that something is ready.
READ_FOR_CERTAIN: list[PlayedStep] = [
    *[("write", writer, [1_000, 1_000]) for writer in range(WRITERS)],
    *[("read many", reader, None) for reader in range(READERS)],
]


def come_late(player: Player) -> list[Row]:
    """Writer 0 goes ahead of all by more than the slack and is read; then comes writer 1. All that is read."""
    newest = max(player.now)
    player.write(0, [newest + 1 - player.now[0], 100])
    rows = [one for reader in range(READERS) for one in player.play(("read many", reader, None))]
    player.write(1, [0])
    return rows + [one for reader in range(READERS) for one in player.play(("read many", reader, None))]


def both(slt_ms: float) -> tuple[Player, Player, Paper]:
    paper = Paper(slt_ms)
    return Player(SlackScaleGate(WRITERS, READERS, slt_ms)), Player(paper), paper


@pytest.mark.parametrize("ahead", [1, scale_gate.AHEAD_FROM])
@given(scripts, slacks)
def test_it_does_what_the_papers_algorithms_do(ahead: int, script: list[PlayedStep], slt_ms: float) -> None:
    """Also where single reads are served from a batch as soon as two tuples are ready."""
    ours, plain, _ = both(slt_ms)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scale_gate, "AHEAD_FROM", ahead)
        script = [*script, *READ_FOR_CERTAIN]
        out = [ours.play(step) for step in script]
    assert any(out) and out == [plain.play(step) for step in script]


@given(scripts, st.lists(slacks, min_size=1))
def test_it_does_so_while_the_slack_is_tuned(script: list[PlayedStep], tuned: list[float]) -> None:
    ours, plain, paper = both(tuned[0])
    assert isinstance(ours.gate, SlackScaleGate)
    for n, step in enumerate(script):
        paper.slt_ms = tuned[n % len(tuned)]
        ours.gate.set_slt(paper.slt_ms)
        assert ours.play(step) == plain.play(step)


@given(scripts, slacks)
def test_property_1_nothing_is_slack_ready_while_all_writers_keep_up(script: list[PlayedStep], slt_ms: float) -> None:
    ours, plain, paper = both(slt_ms)
    flags: list[Flag] = []  # of what comes out while all keep up
    level: list[PlayedStep] = [("write", writer, [1]) for writer in range(WRITERS)]
    for step in [*level, ("read many", 0, None), *script]:
        plain.play(step)
        flags += [one.flag for one in ours.play(step) if paper.spread_ms <= slt_ms]
    assert flags and not any(flag & Flag.SLACK_READY for flag in flags)


@given(scripts, ends)
def test_property_2_nothing_is_late_before_something_was_slack_ready(script: list[PlayedStep], slt_ms: float) -> None:
    player = Player(SlackScaleGate(WRITERS, READERS, slt_ms))
    for step in script:
        player.play(step)
    come_late(player)
    for reader in range(READERS):
        late = [n for n, row in enumerate(player.got[reader]) if row.flag & Flag.LATE]
        slack = [n for n, row in enumerate(player.got[reader]) if row.flag == Flag.SLACK_READY]
        assert min(slack) < min(late)


@given(scripts, ends)
def test_property_3_what_is_late_has_no_slack_left(script: list[PlayedStep], slt_ms: float) -> None:
    player = Player(SlackScaleGate(WRITERS, READERS, slt_ms))
    ages: list[int] = []  # of what is late
    for step in script:
        ages += [max(player.now) - one.timestamp for one in player.play(step) if one.flag & Flag.LATE]
    ages += [max(player.now) - one.timestamp for one in come_late(player) if one.flag & Flag.LATE]
    assert min(ages) > slt_ms


@given(scripts, st.sampled_from([10, 20]), st.integers(0, 2**32))
def test_theorem_after_a_compatible_stretch_it_is_the_deterministic_merge_again(
    script: list[PlayedStep], slt_ms: int, seed: int
) -> None:
    """Whatever happened before: once the late ones are read, the rest comes out as from a gate that never lets go early."""
    player, chance = Player(SlackScaleGate(WRITERS, READERS, slt_ms)), Random(seed)
    for step in script:
        player.play(step)
    start = max(player.now)
    for writer in range(WRITERS):
        player.write(writer, [start - player.now[writer]])
    for reader in range(READERS):
        player.play(("read many", reader, None))  # steady from here on
    before = [list(rows) for rows in player.got]
    streams = dense_streams(chance, WRITERS, 40, gap=3)
    places = [iter(stream) for stream in streams]
    for writer in compatible_order(chance, streams, slt_ms):
        player.write(writer, [start + next(places[writer]) - player.now[writer]])
        player.play(("read many", chance.randrange(READERS), chance.choice([1, 5, None])))
    for reader in range(READERS):
        player.play(("read many", reader, None))
        rest = player.got[reader][len(before[reader]) :]
        player.got[reader] = before[reader]
        assert all(row.flag == Flag.READY for row in rest)
        assert [row[:3] for row in rest] == player.unread(reader, upto=(start + 40, 0))


def test_the_same_streams_in_200_interleavings_give_the_same_output_bit_by_bit() -> None:
    streams, slt_ms = dense_streams(Random(7), 4, 120, gap=4), 15
    outputs = set()
    for seed in range(200):
        chance = Random(seed)
        gate = SlackScaleGate(4, 1, slt_ms)
        rows: list[Row] = []
        places = [enumerate(stream) for stream in streams]
        for writer in compatible_order(chance, streams, slt_ms):
            n, stamp = next(places[writer])
            gate.insert((stamp, f"{writer}-{n}"), writer)
            if chance.random() < 0.4:
                rows += gate.get_many(0, chance.choice([None, 1, 3])).rows()
            elif chance.random() < 0.4 and (one := gate.get(0)) is not None:
                rows.append(one)
        rows += gate.get_many(0).rows()
        outputs.add(repr(rows).encode())
    (output,) = outputs
    expected = sorted((ts, w, n) for w, s in enumerate(streams) for n, ts in enumerate(s))
    expected = [key for key in expected if key[:2] <= (120, 0)]
    assert output == repr([row(key, Flag.READY) for key in expected]).encode()


@given(scripts, slacks)
def test_nothing_is_lost_and_nothing_comes_twice(script: list[PlayedStep], slt_ms: float) -> None:
    player = Player(SlackScaleGate(WRITERS, READERS, slt_ms))
    for step in script:
        player.play(step)
    last = max(player.now) + 1
    for writer in range(WRITERS):
        player.write(writer, [last - player.now[writer]])
    for reader in range(READERS):
        player.play(("read many", reader, None))
        assert player.unread(reader, upto=(last, 0)) == []
        assert len({row[:3] for row in player.got[reader]}) == len(player.got[reader])
        assert all(row.payload == f"{row.writer}-{row.sequence}" for row in player.got[reader])
    assert isinstance(player.gate, SlackScaleGate) and len(player.gate) == WRITERS - 1, (
        "all but the last of the later writers"
    )


@given(scripts)
def test_without_an_end_to_its_slack_it_is_a_scale_gate(script: list[PlayedStep]) -> None:
    endless, scale = Player(SlackScaleGate(WRITERS, READERS, inf)), Player(ScaleGate(WRITERS, READERS))
    script = [*script, *READ_FOR_CERTAIN]
    out = [endless.play(step) for step in script]
    assert any(out) and out == [scale.play(step) for step in script]


def test_of_equal_timestamps_the_earlier_writers_must_have_come_first() -> None:
    """With the paper's `ts <= merge` writer 1 could leave at once, and writer 0 come after it or before it by chance."""
    gate = SlackScaleGate(2, 1, 100)
    gate.insert((5, "b"), 1)
    gate.insert((5, "a"), 0)
    assert [row.payload for row in gate.get_many(0).rows()] == ["a"]
    gate.insert((5, "a too"), 0)
    gate.insert((6, "later"), 0)
    assert [row.payload for row in gate.get_many(0).rows()] == ["a too", "b"]


def test_who_has_not_written_holds_the_merge_but_not_the_slack() -> None:
    gate = SlackScaleGate(2, 1, slt_ms=10)
    gate.insert_many([0, 5, 10], "abc", 0)
    assert gate.get(0) is None
    gate.insert((11, "d"), 0)
    assert gate.get(0) == Row(0, 0, 0, "a", Flag.SLACK_READY) and gate.get(0) is None
    gate.insert((8, "e"), 1)
    assert gate.get(0) == Row(5, 0, 1, "b", Flag.READY)


def test_a_late_tuple_goes_first_and_says_whether_it_is_ready_by_now() -> None:
    gate = SlackScaleGate(3, 2, slt_ms=10)
    gate.insert_many([1, 50, 100], "xyz", 0)
    assert gate.get_many(0).flags.tolist() == [Flag.SLACK_READY] * 2
    gate.insert((40, "late"), 1)
    assert gate.get(0) == Row(40, 1, 0, "late", Flag.LATE | Flag.SLACK_READY)
    gate.insert((45, "too"), 1)
    gate.insert((60, "third"), 2)
    assert gate.get(0) == Row(45, 1, 1, "too", Flag.LATE)
    assert [row.payload for row in gate.get_many(1).rows()] == ["x", "late", "too", "y", "third"], "late for nobody else"


def test_raising_the_slack_does_not_take_back_what_was_read() -> None:
    """The theorem takes the slack for fixed: after it is raised, tuples may be late although all keep up by the new one."""
    gate = SlackScaleGate(2, 1, slt_ms=0)
    gate.insert((0, "a"), 1)
    gate.insert_many([90, 100], "bc", 0)
    assert len(gate.get_many(0)) == 2
    gate.set_slt(1000)
    gate.insert((50, "d"), 1)
    assert gate.get(0) == Row(50, 1, 1, "d", Flag.LATE)


@pytest.mark.parametrize("slt_ms", [-1, 0.5, float("nan"), True, "5 s", None])
def test_a_slack_that_is_none_is_refused(slt_ms: Any) -> None:
    gate = SlackScaleGate(1, 1, 7)
    for call in (lambda: SlackScaleGate(1, 1, slt_ms), lambda: gate.set_slt(slt_ms)):
        with pytest.raises(SettingError, match=r"slt_ms = .*: expected whole milliseconds"):
            call()
    assert gate.slt_ms == 7


def test_far_timestamps_do_not_overflow() -> None:
    least, greatest = -(2**63), 2**63 - 1
    gate = SlackScaleGate(2, 1, slt_ms=10)
    gate.insert_many(np.array([least, greatest]), ["first", "last"], 0)
    assert [row.payload for row in gate.get_many(0).rows()] == ["first"]
    gate.insert((greatest, "end"), 1)
    assert [row.payload for row in gate.get_many(0).rows()] == ["last"]
