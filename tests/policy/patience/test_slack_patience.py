"""The slack gate as a watermark: laws of max(min frontier, max frontier - SLT), and what sources may do to it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import SettingError
from headway.estimate.ripe import ripe_at_gate, ripe_of
from headway.loop.inputs import InputTracker
from headway.model.deadline import window
from headway.model.message import InputSeen, InputSpec, PartSeen
from headway.model.time import EventMs, WallMs
from headway.model.view import InputView
from headway.policy.order import Klink
from headway.policy.patience import SlackGate
from headway.sim.microbatch import VirtualQuery, VirtualWorld
from headway.sim.streams import VirtualInput

SLT = 2_000
frontiers = st.lists(st.integers(0, 100_000), min_size=1, max_size=5)


def gates(*reached: int | None, slt: int = SLT) -> list[InputView]:
    return [
        InputView(
            f"s{n}", slt, frontier=None if f is None else EventMs(f), slowest=None if f is None else EventMs(f), slt_ms=slt
        )
        for n, f in enumerate(reached)
    ]


@given(reached=frontiers)
def test_within_the_slack_it_is_the_deterministic_merge(reached: list[int]) -> None:
    ripe = ripe_at_gate(gates(*reached))
    assert ripe == max(min(reached), max(reached) - SLT)
    if max(reached) - min(reached) <= SLT:
        assert ripe == min(reached)


@given(reached=frontiers, steps=st.lists(st.integers(0, 5_000), min_size=1, max_size=5))
def test_it_never_moves_back(reached: list[int], steps: list[int]) -> None:
    later = [f + step for f, step in zip(reached, steps, strict=False)] + reached[len(steps) :]
    before, after = ripe_at_gate(gates(*reached)), ripe_at_gate(gates(*later))
    assert before is not None and after is not None and after >= before


@given(reached=frontiers)
def test_a_source_that_has_not_spoken_holds_the_merge_but_not_the_slack(reached: list[int]) -> None:
    assert ripe_at_gate(gates(*reached, None)) == max(reached) - SLT
    assert ripe_at_gate(gates(None, None)) is None


def test_a_negative_slack_is_refused() -> None:
    with pytest.raises(SettingError) as error:
        SlackGate(-1)
    assert str(error.value).startswith("patience.slt = -1")


def stream(name: str, delay_ms: int = 50, until_ms: int = 1 << 60, rows_per_s: float = 100) -> VirtualInput:
    return VirtualInput(name, SLT, rows_per_s, (delay_ms, delay_ms + 30), until_ms, policy=SlackGate(SLT))


def run(*streams: VirtualInput, until_ms: int = 40_000) -> VirtualWorld:
    world = VirtualWorld(Klink(), slots=1, seed=1)
    world.add(VirtualQuery("q", window("3 s"), streams, fixed_ms=20))
    world.run(until_ms)
    return world


def ends(world: VirtualWorld) -> list[int]:
    return [w.end for w in world.windows]


def waits(world: VirtualWorld) -> list[int]:
    """How long after its end each window came out, without the start."""
    return [w.at - w.end for w in world.windows if w.end > 6_000]


def test_every_window_comes_out_once_soon_after_the_slowest_source_has_passed_it() -> None:
    world = run(stream("bus", 700), stream("road", 50))
    assert ends(world) == sorted(set(ends(world))) and {*range(6_000, 36_001, 3_000)} <= set(ends(world))
    assert all(700 < wait < 700 + 500 for wait in waits(world))


def test_a_source_further_behind_than_the_slack_is_waited_for_as_long_as_that() -> None:
    world = run(stream("bus", 9_000), stream("road", 50))
    assert {*range(6_000, 33_001, 3_000)} <= set(ends(world))
    assert all(SLT < wait < SLT + 50 + 500 for wait in waits(world))


def test_a_source_that_never_starts_freezes_nobody() -> None:
    world = run(stream("bus", rows_per_s=0), stream("road"))
    assert {*range(6_000, 33_001, 3_000)} <= set(ends(world))


def test_a_source_that_stops_freezes_nobody() -> None:
    world = run(stream("bus", until_ms=15_000), stream("road"))
    assert {*range(6_000, 33_001, 3_000)} <= set(ends(world))


def test_all_sources_stopped_leave_the_last_windows_open_until_one_goes_on() -> None:
    """No row says that time has passed: what has not come to its end stays in the state, and is not lost."""
    world = run(stream("bus", until_ms=16_000), stream("road", until_ms=16_000))
    assert max(ends(world)) == 15_000


@pytest.mark.parametrize("skew_ms", [-3_600_000, -315_360_000_000], ids=["an hour ahead", "ten years ahead"])
def test_rows_from_the_future_do_not_make_the_present_late(skew_ms: int) -> None:
    world = run(stream("bus", skew_ms), stream("road", 50))
    assert {*range(6_000, 33_001, 3_000)} <= set(ends(world))
    assert all(50 <= wait < 550 for wait in waits(world))


def test_a_clock_an_hour_behind_is_waited_for_no_longer_than_the_slack() -> None:
    found = waits(run(stream("bus", 3_600_000), stream("road", 50)))
    assert SLT < min(found) <= max(found) < SLT + 600


def test_a_partition_that_was_never_heard_holds_the_merge_until_it_is_idle() -> None:
    spec = InputSpec("rows", SLT, idle_after_ms=10_000, policy=SlackGate(SLT), slt_ms=SLT, parts=2)
    both, one = InputTracker(spec), InputTracker(spec)

    def heard(tracker: InputTracker, part: int, newest: int, at: int) -> int | None:
        seen = InputSeen(
            "rows", 1, EventMs(newest), EventMs(newest), ((50.0, 1.0),), parts=(PartSeen(part, EventMs(newest), 50.0),)
        )
        tracker.saw(seen, WallMs(at), EventMs(0))
        return ripe_at_gate([tracker.view])

    for tracker in (both, one):
        assert heard(tracker, 0, 100_000, 100_100) == 100_000 - SLT
        assert heard(tracker, 0, 101_000, 101_100) == 101_000 - SLT
    assert heard(both, 1, 100_500, 102_000) == 100_500, "both have spoken: the slower one decides"
    assert heard(one, 0, 111_000, 111_100) == 111_000, "who is not heard of for ten seconds holds nobody back"


def test_time_that_goes_by_without_rows_closes_nothing() -> None:
    assert ripe_at_gate(gates(5_000, 9_000)) == ripe_of(InputView("x", 0, frontier=EventMs(7_000)), WallMs(0))
