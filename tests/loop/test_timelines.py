"""The controller at work, in virtual time: what happens when, and why."""

import itertools
from typing import ClassVar

import pytest

from headway.loop.capacity import Capacity
from headway.loop.controller import Controller
from headway.loop.replay import replay
from headway.model.deadline import Deadlines, every, window
from headway.model.decision import Decision, Grant, Hold, OrderPolicy
from headway.model.message import Asked, Gone, Started
from headway.model.offset import ControlOffset
from headway.model.time import EventMs, VirtualClock, WallMs
from headway.model.view import Snapshot
from headway.policy.order import FirstCome, HighestRate, Klink, RoundRobin, StreamBox
from headway.testing import Notebook, VirtualInput, VirtualQuery, VirtualWorld

every_order_policy = pytest.mark.parametrize(
    "policy", [Klink(), Klink(interval="paper"), FirstCome(), RoundRobin(), HighestRate(), StreamBox()], ids=repr
)


def grants(world: VirtualWorld, query: str | None = None) -> list[tuple[WallMs, Grant]]:
    found = [(e.at, e.decided) for e in world.notebook.entries if isinstance(e.decided, Grant)]
    return [(at, g) for at, g in found if query in (None, g.query)]


def ends(world: VirtualWorld, query: str) -> list[EventMs]:
    return [w.end for w in world.windows if w.query == query]


def twelve(policy: OrderPolicy, slots: int = 2, fixed_ms: float = 200) -> VirtualWorld:
    world = VirtualWorld(policy, slots=slots)
    for n in range(12):
        rows = VirtualInput(rows_per_s=500, patience_ms=200)
        world.add(VirtualQuery(f"q{n:02}", window("3 s"), rows, fixed_ms=fixed_ms, starts_ms=137 * n))
    return world


def test_in_steady_state_there_is_one_batch_per_window() -> None:
    world = VirtualWorld(Klink())
    world.add(VirtualQuery("orders", window("3 s"), VirtualInput(rows_per_s=100), fixed_ms=100, per_row_ms=0.01))
    world.run(until_ms=60_500)
    steady = [b for b in world.batches if b.began > 6_000]
    assert [b.began for b in steady] == list(range(6_200, 60_500, 3_000))
    assert [b.watermark for b in steady] == list(range(6_000, 60_500, 3_000))
    assert {w.latency_ms for w in world.windows if w.end > 6_000} == {103}  # what the batch takes, and not more
    assert not world.early


def test_where_cores_lie_idle_the_rows_of_a_window_are_read_by_a_batch_before_it_is_due() -> None:
    world = VirtualWorld(Klink())
    world.add(VirtualQuery("orders", window("3 s"), fixed_ms=100, per_row_ms=0.02))
    world.run(until_ms=60_500)
    latencies = [w.latency_ms for w in world.windows if w.end > 12_000]
    assert max(latencies) <= 106  # a batch of all its rows would take 160
    assert len([b for b in world.batches if b.began > 12_200]) == 2 * len(latencies)
    assert not world.early


def test_where_all_are_busy_each_window_has_one_batch() -> None:
    world = VirtualWorld(Klink(), slots=1)
    for n in range(12):
        world.add(VirtualQuery(f"q{n:02}", window("3 s"), fixed_ms=160, per_row_ms=0.02, starts_ms=137 * n))
    world.run(until_ms=60_500)
    windows = [w for w in world.windows if 12_000 < w.end <= 57_000]
    assert len([b for b in world.batches if 12_000 < (b.watermark or 0) <= 57_000]) <= 1.1 * len(windows)


def test_the_window_due_soonest_is_served_before_the_longest_queue() -> None:
    world = VirtualWorld(Klink(split=100))
    long = VirtualInput("long", patience_ms=300, rows_per_s=30_000)
    short = VirtualInput("short", patience_ms=200, rows_per_s=10)
    # By the time the alerts are ripe (…200) the orders' queue of 90,000 rows is not (…300); it must not start first.
    world.add(VirtualQuery("orders", window("3 s"), long, fixed_ms=100, per_row_ms=0.01))
    world.add(VirtualQuery("alerts", window("3 s"), short, fixed_ms=50))
    world.run(until_ms=30_000)
    order = [g.query for at, g in grants(world) if at > 9_000]
    assert order == ["alerts", "orders"] * (len(order) // 2)
    # 50 ms and 30 rows: what is done within a millisecond is seen at its end
    assert max(w.latency_ms for w in world.windows if w.query == "alerts" and w.end > 6_000) == 51


def test_with_one_slot_the_window_overdue_longest_is_next() -> None:
    world = VirtualWorld(Klink())
    for name, patience in (("a", 400), ("b", 300), ("c", 200)):
        world.add(VirtualQuery(name, window("3 s"), VirtualInput(patience_ms=patience), fixed_ms=500))
    world.run(until_ms=30_000)
    assert [g.query for at, g in grants(world) if 12_000 <= at < 15_000] == ["c", "b", "a"]
    assert not world.early


@every_order_policy
def test_twelve_queries_on_two_slots_emit_every_window_once_and_none_early(policy: OrderPolicy) -> None:
    world = twelve(policy)
    world.run(until_ms=60_000)
    assert not world.early
    for n in range(12):
        seen = ends(world, f"q{n:02}")
        assert seen == list(range(3_000, 3_000 * (len(seen) + 1), 3_000)) and seen[-1] >= 54_000
    assert all(w.latency_ms > 0 for w in world.windows)


@every_order_policy
def test_never_do_more_batches_run_than_there_are_slots(policy: OrderPolicy) -> None:
    world = twelve(policy, slots=3)
    world.run(until_ms=20_000)
    turns = sorted([(b.began, 1) for b in world.batches] + [(b.ended, -1) for b in world.batches], key=lambda t: t)
    running = most = 0
    for _, change in turns:
        running += change
        most = max(most, running)
    assert most == 3


def test_least_slack_serves_twelve_queries_sooner_than_every_baseline() -> None:
    def mean(policy: OrderPolicy) -> float:
        world = twelve(policy, slots=1, fixed_ms=150)
        world.run(until_ms=60_000)
        seen = [w.latency_ms for w in world.windows if w.end > 15_000]
        return sum(seen) / len(seen)

    klink = mean(Klink())
    for baseline in (FirstCome(), RoundRobin(), HighestRate(), StreamBox()):
        assert klink < 0.8 * mean(baseline)


def test_a_heavy_query_works_its_rows_off_before_the_deadline_and_sweeps_with_a_short_batch() -> None:
    world = VirtualWorld(Klink(before=1, spare=0.0))
    rows = VirtualInput(rows_per_s=10_000, patience_ms=200)
    world.add(VirtualQuery("heavy", window("6 s"), rows, fixed_ms=100, per_row_ms=0.05))  # 3 s of rows in a window of 6
    world.run(until_ms=66_000)
    assert not world.early
    steady = [(g.announce, at) for at, g in grants(world) if 30_000 < at < 60_000]
    assert [said for said, _ in steady] == [None, 36_000, None, 42_000, None, 48_000, None, 54_000, None, 60_000]
    assert all(200 <= at % 6_000 < 220 for said, at in steady if said is None)  # the rows are done just in time
    # One batch for everything would take 3100 ms after patience is over.
    assert max(w.latency_ms for w in world.windows if w.end > 30_000) < 1_300


def test_with_more_batches_before_it_the_last_is_shorter_still() -> None:
    world = VirtualWorld(Klink())
    rows = VirtualInput(rows_per_s=10_000, patience_ms=200)
    world.add(VirtualQuery("heavy", window("6 s"), rows, fixed_ms=100, per_row_ms=0.05))
    world.run(until_ms=66_000)
    assert not world.early
    steady = [g.announce for at, g in grants(world) if 30_000 < at < 60_000]
    assert [said for said in steady if said is not None] == [36_000, 42_000, 48_000, 54_000, 60_000], (
        "each once, by the last"
    )
    # Half of all time goes by with rows: ever smaller batches approach 100 / (1 - 0.5) ms.
    assert max(w.latency_ms for w in world.windows if w.end > 30_000) < 400


def test_a_sliding_window_comes_out_every_slide() -> None:
    world = VirtualWorld(Klink())
    world.add(VirtualQuery("slides", window("5 s", "1 s"), fixed_ms=50))
    world.run(until_ms=20_500)
    assert ends(world, "slides") == list(range(1_000, 20_500, 1_000)) and not world.early


def test_two_windows_in_one_query_come_out_at_the_ends_of_both() -> None:
    world = VirtualWorld(Klink())
    world.add(VirtualQuery("both", Deadlines((window("3 s"), window("5 s")))))
    world.run(until_ms=20_500)
    assert ends(world, "both") == [3_000, 5_000, 6_000, 9_000, 10_000, 12_000, 15_000, 18_000, 20_000]


def test_a_join_waits_for_its_most_patient_input() -> None:
    world = VirtualWorld(Klink(split=100))
    inputs = (VirtualInput("clicks", patience_ms=100), VirtualInput("views", patience_ms=900, delays_ms=(50, 800)))
    world.add(VirtualQuery("joined", window("3 s"), inputs))
    world.run(until_ms=30_000)
    assert not world.early and len(ends(world, "joined")) >= 9
    assert all((b.began - 900) % 3_000 == 0 for b in world.batches if b.began > 6_000)


def test_a_query_whose_sources_are_asked_before_the_gate_takes_a_second_batch() -> None:
    world = VirtualWorld(Klink())
    world.add(VirtualQuery("plain", window("3 s"), ahead=False))
    world.run(until_ms=30_500)
    assert not world.early and ends(world, "plain") == list(range(3_000, 30_500, 3_000))
    assert len([b for b in world.batches if 12_000 < b.began < 24_000]) == 8


def test_a_replay_of_old_rows_runs_at_full_speed_and_emits_by_its_own_frontier() -> None:
    world = VirtualWorld(Klink())
    world.clock.at = 50_000_000
    old = VirtualInput(delays_ms=(40_000_000,), patience_ms=200)
    world.add(VirtualQuery("replayed", window("3 s"), old, starts_ms=50_000_000))
    world.run(until_ms=50_030_000)
    assert len(world.windows) >= 9 and world.windows[-1].end > 10_027_000 - 3_000
    assert len(world.batches) > 200  # no waiting for the clock


@every_order_policy
def test_a_stream_that_falls_silent_starves_nobody(policy: OrderPolicy) -> None:
    # It has nothing to announce, so its next window stays open; it once was due for ever and polled in a tight loop.
    world = VirtualWorld(policy)
    world.add(VirtualQuery("silent", window("3 s"), VirtualInput(until_ms=10_000)))
    world.add(VirtualQuery("steady", window("3 s")))
    world.run(until_ms=30_000)
    assert ends(world, "steady") == list(range(3_000, 30_000, 3_000)) and ends(world, "silent")[-1] >= 9_000
    if isinstance(policy, Klink):
        assert world.polls < 30


def test_a_query_that_leaves_frees_its_slot() -> None:
    world = VirtualWorld(Klink())
    world.add(VirtualQuery("endless", window("3 s"), fixed_ms=1_000_000))
    world.add(VirtualQuery("waiting", window("3 s"), starts_ms=5))
    world.at(20_000, lambda: world.stop("endless"))
    world.run(until_ms=19_999)
    assert not ends(world, "waiting")
    world.run(until_ms=40_000)
    assert ends(world, "waiting")[-1] == 39_000
    assert world.notebook.notes == [(20_000, "endless", "left: stopped or failed")]


def test_a_query_that_is_gone_when_it_is_let_through_is_forgotten() -> None:
    class Nobody:
        def release(self, query: str, offset: ControlOffset) -> bool:
            return False

    world, log = VirtualWorld(Klink()), Notebook()
    controller = Controller(VirtualClock(), Klink(), Nobody(), log, Capacity(world))
    controller.take(Started(VirtualQuery("a", window("3 s")).spec))
    controller.take(Asked("a", ControlOffset()))
    controller.turn()
    assert log.entries[0].receipt == "refused: the query is gone" and not controller.queries
    controller.take(Gone("a"))
    assert controller.snapshot(WallMs(0)).queries == ()


def test_what_comes_from_strangers_is_ignored() -> None:
    world = VirtualWorld(Klink())
    world.controller.take(Asked("nobody", ControlOffset()))
    world.controller.take(Gone("nobody"))
    assert not world.controller.queries and not world.notebook.notes


def test_memory_pressure_switches_the_policy_and_back() -> None:
    world = twelve(Klink(memory=True), slots=1)
    world.at(20_000, lambda: setattr(world, "memory", 0.9))
    world.at(22_500, lambda: setattr(world, "memory", 0.4))
    world.run(until_ms=40_000)
    relief = [at for at, g in grants(world) if g.because.startswith("memory 90% in use: frees most")]
    assert relief and min(relief) >= 20_000 and max(relief) <= 23_600  # the gauge is read once a second
    assert all(g.because.startswith("least slack") for at, g in grants(world) if at > 23_600)
    assert not world.early


def test_relief_ends_after_three_seconds_even_if_nothing_was_freed() -> None:
    world = twelve(Klink(memory=True), slots=1)
    world.at(20_000, lambda: setattr(world, "memory", 0.9))
    world.run(until_ms=40_000)
    pressed = [e.at for e in world.notebook.entries if e.seen.memory.pressed]
    first = [at for at in pressed if at < 26_000]
    assert max(first) - min(first) <= 4_100
    assert any(at > 26_000 for at in pressed)  # and it starts again after as long a rest


def test_slots_are_found_by_measuring() -> None:
    world = VirtualWorld(Klink())
    world.controller = Controller(world.clock, Klink(split=100), world, world.notebook, Capacity(world))
    for n in range(4):
        world.add(VirtualQuery(f"q{n}", window("3 s"), VirtualInput(patience_ms=100 + 400 * n), fixed_ms=100))
    world.run(until_ms=60_000)
    assert world.controller.capacity.slots.best == 2  # a batch that computes all the time fills one of two cores
    assert world.controller.capacity.slots.alone_ms == pytest.approx(130, abs=10)


def test_grants_that_find_nothing_do_not_count_as_batches_that_ran_alone() -> None:
    world = VirtualWorld(FirstCome(), poll_ms=5)
    world.add(VirtualQuery("sparse", every("1 s"), VirtualInput(rows_per_s=1), fixed_ms=300))
    world.run(until_ms=30_000)
    assert world.polls > 100 and world.controller.capacity.slots.alone_ms == pytest.approx(300, abs=1)


@every_order_policy
def test_every_decision_is_in_the_journal_with_a_reason(policy: OrderPolicy) -> None:
    world = twelve(policy)
    world.run(until_ms=20_000)
    assert len(grants(world)) == len(world.batches) + world.polls + len(
        [q for q in world.controller.queries.values() if q.waiting_since is None]
    )
    assert all(e.decided.because and e.receipt in ("granted", "held") for e in world.notebook.entries)
    assert [e.at for e in world.notebook.entries] == sorted(e.at for e in world.notebook.entries)
    assert len(world.notebook.batches) == len(world.batches)


def test_a_hold_is_written_down_only_when_it_says_something_new() -> None:
    world = VirtualWorld(Klink())
    world.add(VirtualQuery("slow", window("1 h"), VirtualInput(patience_ms=0, delays_ms=(0,))))
    world.run(until_ms=1_000_000)
    holds = [e.decided for e in world.notebook.entries if isinstance(e.decided, Hold)]
    assert len(holds) <= len(grants(world)) + 1  # one after each batch, however often we looked


def test_a_window_of_an_hour_is_read_while_it_lasts_and_announced_only_shortly_before_its_end() -> None:
    world = VirtualWorld(Klink())
    world.add(VirtualQuery("slow", window("1 h"), VirtualInput(patience_ms=500, rows_per_s=10)))
    world.run(until_ms=3_700_000)
    began = [b.began for b in world.batches]
    assert max(b - a for a, b in itertools.pairwise(began)) <= 10_000 + 600
    said = [(at, g.announce) for at, g in grants(world) if g.announce is not None]
    assert [w for _, w in said] == [3_600_000] and said[0][0] > 3_600_000 - 10_000
    assert [w.latency_ms < 300 for w in world.windows] == [True] and not world.early


def test_in_update_mode_rows_are_read_several_times_a_second_while_slots_are_free() -> None:
    world = VirtualWorld(Klink(), slots=1)
    world.add(VirtualQuery("totals", window("10 min"), VirtualInput(patience_ms=500, rows_per_s=100), fresh_ms=300))
    world.add(VirtualQuery("windows", window("3 s"), VirtualInput(patience_ms=500, rows_per_s=100)))
    world.run(until_ms=60_000)
    assert len([b for b in world.batches if b.query == "totals"]) > 100
    assert all(w.latency_ms < 350 for w in world.windows if w.end > 6_000)


def test_a_trigger_of_the_users_own_is_kept_and_takes_no_slot_between_its_ticks() -> None:
    world = VirtualWorld(Klink(), slots=1)
    for n in range(4):
        world.add(VirtualQuery(f"slow-{n}", window("10 s"), VirtualInput(patience_ms=500), trigger_ms=30_000))
    world.add(VirtualQuery("fast", window("3 s"), VirtualInput(patience_ms=500)))
    world.run(until_ms=120_000)
    assert ends(world, "fast") == list(range(3_000, 117_001, 3_000))
    ticks = [b.began for b in world.batches if b.query == "slow-0" and b.began > 1_000]
    assert ends(world, "slow-0")[-1] >= 80_000 and all(at % 30_000 < 3_000 for at in ticks)


def test_the_same_world_runs_the_same_way_twice() -> None:
    def play() -> tuple[object, ...]:
        world = twelve(Klink())
        world.run(until_ms=30_000)
        return world.windows, world.batches, world.notebook.entries

    assert play() == play()


@every_order_policy
def test_a_replay_with_the_same_policy_finds_no_difference_and_with_another_it_does(policy: OrderPolicy) -> None:
    world = twelve(policy)
    world.run(until_ms=20_000)
    assert list(replay(world.notebook.entries, policy)) == []
    other = RoundRobin() if policy != RoundRobin() else Klink()
    assert list(replay(world.notebook.entries, other))


def test_policies_can_be_exchanged_on_the_way_without_an_early_sweep() -> None:
    world = twelve(Klink())
    for at, policy in ((20_000, FirstCome()), (30_000, Klink()), (40_000, StreamBox())):
        world.at(at, lambda policy=policy: setattr(world.controller, "policy", policy))  # type: ignore[misc]
    world.run(until_ms=60_000)
    assert not world.early
    for n in range(12):
        seen = ends(world, f"q{n:02}")
        assert seen == list(range(3_000, 3_000 * (len(seen) + 1), 3_000)) and seen[-1] >= 54_000


def test_the_guards_stop_a_reckless_policy() -> None:
    class Reckless:
        """Lets everybody through at once and announces the future."""

        gated: ClassVar[bool] = True

        def decide(self, snap: Snapshot) -> Decision:
            ready = snap.waiting
            if not ready:
                return Hold(WallMs(snap.now + 10), "nobody")
            return Grant(ready[0].name, ready[0].deadlines.after(max(snap.now, ready[0].announced)), "why not")

    world = VirtualWorld(Reckless())
    world.add(VirtualQuery("ahead", window("3 s")))
    world.add(VirtualQuery("plain", window("3 s"), ahead=False))
    world.run(until_ms=30_000)
    assert not world.early
    bare = VirtualWorld(Reckless(), guards=())
    bare.add(VirtualQuery("ahead", window("3 s")))
    bare.run(until_ms=30_000)
    assert bare.early  # so the world does notice
