"""Partitions as a broker sees them, on a clock of our own: who is behind holds windows, but not for ever."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from headway.loop.partitions import AWAY_MS, POLL_MS, Partitions, Standing
from headway.model.message import PartEnd, Reached
from headway.model.time import WallMs

PATIENCE, IDLE = 500, 10_000


@dataclass
class Log:
    """A log whose partitions get a row every 10 ms unless they are stopped; what they owe comes when they go on."""

    parts: int = 2
    now: int = 1_000_000
    seen: Partitions = field(default_factory=Partitions)
    rows: dict[int, int] = field(default_factory=dict)
    newest: dict[int, int] = field(default_factory=dict)

    def run(self, ms: int, stopped: tuple[int, ...] = (), owing: tuple[int, ...] = ()) -> list[Standing]:
        """Poll for so long. Partitions that are `owing` deliver, but rows that are older than they should be by 5 s."""
        said = []
        for _ in range(ms // POLL_MS):
            self.now += POLL_MS
            for p in range(self.parts):
                if p not in stopped:
                    self.rows[p] = self.rows.get(p, 0) + POLL_MS // 10
                    self.newest[p] = self.now - (5_000 if p in owing else 10)
            said.append(self.poll())
        return said

    def poll(self, answers: bool = True) -> Standing:
        ends = {("t", p): PartEnd(n, WallMs(self.newest[p])) for p, n in self.rows.items()}
        self.seen.reached(Reached("log", WallMs(self.now), ends if answers else None))
        return self.seen.standing(PATIENCE, IDLE)


def test_partitions_that_deliver_hold_nobody() -> None:
    assert all(s == Standing() for s in Log().run(20_000))


def test_one_that_falls_silent_is_waited_for_until_it_is_idle() -> None:
    log = Log()
    log.run(5_000)
    silent_since = log.now
    said = log.run(15_000, stopped=(1,))
    held = [s.held_until for s in said if s.held_until is not None]
    assert held and max(held) <= silent_since + IDLE + 1_000
    assert said[-1] == Standing(), "after that it is idle"


def test_one_that_goes_on_is_waited_for_until_it_has_caught_up() -> None:
    log = Log()
    log.run(5_000)
    log.run(4_000, stopped=(1,))
    assert log.run(1_000, owing=(1,))[-1].held_until is not None, "its offsets move, but its rows are old"
    assert log.run(4_000)[-1] == Standing()


def test_one_that_is_behind_for_good_does_not_freeze_the_others() -> None:
    log = Log()
    log.run(5_000)
    said = log.run(3 * IDLE, owing=(1,))
    assert said[-1].held_until is None and said[-1].lagging
    assert not log.run(5_000)[-1].lagging


def test_a_broker_that_is_away_holds_everything_and_its_return_begins_a_new_count() -> None:
    log = Log()
    log.run(5_000)
    for _ in range(100):
        log.now += POLL_MS
        assert log.poll(answers=False).held_until == log.now + AWAY_MS
    log.now += POLL_MS
    assert log.poll().held_until is not None, "nobody has spoken yet: what they owe may be on its way"
    assert log.run(4_000)[-1] == Standing()


def test_that_we_did_not_look_for_a_while_says_nothing_about_the_partitions() -> None:
    log = Log()
    log.run(5_000)
    for p in range(log.parts):
        log.rows[p] += 300
        log.newest[p] = log.now + 2_990
    log.now += 3_000
    assert log.poll() == Standing()


def test_a_sparse_partition_is_not_taken_for_a_silent_one() -> None:
    """One row every three seconds: two seconds without any say nothing."""
    seen, now, rows = Partitions(), 1_000_000, 0
    for step in range(600):
        now += POLL_MS
        rows += step % 15 == 0
        stamp = WallMs(1_000_000 + POLL_MS * (step // 15 * 15 + 1))
        seen.reached(Reached("log", WallMs(now), {("t", 0): PartEnd(rows, stamp)}))
        assert seen.standing(PATIENCE, IDLE).held_until is None


def test_rows_without_timestamps_are_judged_by_when_they_were_seen() -> None:
    log = Log()
    for _ in range(50):
        log.now += POLL_MS
        log.rows[0] = log.rows.get(0, 0) + 20
        log.seen.reached(Reached("log", WallMs(log.now), {("t", 0): PartEnd(log.rows[0], None)}))
        assert log.seen.standing(PATIENCE, IDLE) == Standing()


def test_a_new_partition_counts_from_when_it_is_seen() -> None:
    log = Log(parts=1)
    log.run(3_000)
    log.parts = 3
    assert all(s == Standing() for s in log.run(3_000))
    assert log.seen.total == sum(log.rows.values())


@given(st.lists(st.tuples(st.integers(1, 40), st.sets(st.integers(0, 2)), st.sets(st.integers(0, 2))), max_size=12))
def test_no_window_waits_longer_than_idle_after_for_one_silence(parts: list[tuple[int, set[int], set[int]]]) -> None:
    """However partitions come and go, who is held is held until some moment, and then it is over unless there is news."""
    log = Log(parts=3)
    log.run(2_000)
    for polls, stopped, owing in parts:
        for _ in range(polls):
            (said,) = log.run(POLL_MS, tuple(stopped), tuple(owing))
            assert said.held_until is None or log.now < said.held_until <= log.now + IDLE
    last = log.run(2 * IDLE, stopped=(0, 1, 2))[-1]
    assert last.held_until is None
