"""Partitions as a broker sees them, on a clock of our own: who is behind holds windows, but not for ever."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from headway.loop.partitions import BROKER, LOOK, NEVER, OVERDUE_MS, POLL_MS, Partitions, PartitionStanding
from headway.model.message import Part, PartEnd, Reached
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
    since: dict[Part, WallMs] = field(default_factory=dict)
    idle_after: int | None = IDLE
    patience: int = PATIENCE

    def run(
        self, ms: int, stopped: tuple[int, ...] = (), owing: tuple[int, ...] = (), mute: tuple[int, ...] = ()
    ) -> list[PartitionStanding]:
        """Poll for so long. Partitions that are `owing` deliver, but rows that are older than they should be by 5 s; those
        that are `mute` get rows, but cannot be asked."""
        said = []
        for _ in range(ms // POLL_MS):
            self.now += POLL_MS
            for p in range(self.parts):
                if p not in stopped:
                    self.rows[p] = self.rows.get(p, 0) + POLL_MS // 10
                    self.newest[p] = self.now - (5_000 if p in owing else 10)
            said.append(self.poll(mute=mute))
        return said

    def away(self, ms: int) -> list[PartitionStanding]:
        said = []
        for _ in range(ms // POLL_MS):
            self.now += POLL_MS
            said.append(self.poll(answers=False))
        return said

    def poll(self, answers: bool = True, mute: tuple[int, ...] = ()) -> PartitionStanding:
        ends = {("t", p): None if p in mute else PartEnd(n, WallMs(self.newest[p])) for p, n in self.rows.items()}
        self.seen.reached(Reached("log", WallMs(self.now), ends if answers else None))
        return self.seen.standing(self.patience, self.idle_after, self.since)


def test_partitions_that_deliver_hold_nobody() -> None:
    assert set(Log().run(20_000)) == {PartitionStanding()}


def test_one_that_falls_silent_is_waited_for_until_it_is_idle() -> None:
    log = Log()
    log.run(5_000)
    silent_since = log.now
    said = log.run(15_000, stopped=(1,))
    held = [s.held_until for s in said if s.held_until is not None]
    assert held and max(held) <= silent_since + IDLE + 1_000
    assert said[-1] == PartitionStanding(), "after that it is idle"


def test_one_that_goes_on_is_waited_for_until_it_has_caught_up() -> None:
    log = Log()
    log.run(5_000)
    log.run(4_000, stopped=(1,))
    assert log.run(1_000, owing=(1,))[-1].held_until is not None, "its offsets move, but its rows are old"
    assert log.run(4_000)[-1] == PartitionStanding()


def test_one_that_is_behind_for_good_does_not_freeze_the_others() -> None:
    log = Log()
    log.run(5_000)
    said = log.run(3 * IDLE, owing=(1,))
    assert said[-1].held_until is None and said[-1].lagging
    assert not log.run(5_000)[-1].lagging


def test_a_broker_that_is_away_holds_everything_for_idle_after_and_its_return_begins_a_new_count() -> None:
    log = Log()
    log.run(5_000)
    left_at = log.now + POLL_MS
    said = log.away(3 * IDLE)
    held = [s for s in said if s.held_until is not None]
    assert {s.held_until for s in held} == {left_at + IDLE} and len(held) == IDLE // POLL_MS
    assert all(s == PartitionStanding(let_go=(BROKER,)) for s in said[len(held) :])
    log.now += POLL_MS
    assert log.poll().held_until is not None, "nobody has spoken yet: what they owe may be on its way"
    assert log.run(4_000)[-1] == PartitionStanding()


def test_that_we_did_not_look_for_a_while_says_nothing_about_the_partitions() -> None:
    log = Log()
    log.run(5_000)
    for p in range(log.parts):
        log.rows[p] += 300
        log.newest[p] = log.now + 2_990
    log.now += 3_000
    assert log.poll() == PartitionStanding()


def test_a_window_that_is_due_waits_for_a_look_that_is_overdue() -> None:
    """The thread that looks stood still while a partition fell silent: the window that is due then may lack its rows."""
    log = Log()
    log.run(2_000)
    assert not log.seen.overdue(WallMs(log.now + OVERDUE_MS))
    assert log.seen.overdue(WallMs(log.now + OVERDUE_MS + 1)), "the look before says nothing of now"
    told = log.seen.standing(log.patience, log.idle_after, log.since)
    assert told == PartitionStanding(WallMs(log.now + IDLE), behind=(LOOK,))
    assert not log.seen.overdue(WallMs(log.now + OVERDUE_MS + 2)), "said once"
    assert log.run(POLL_MS)[-1] == PartitionStanding(), "it has come, and all partitions deliver"


def test_a_sparse_partition_is_not_taken_for_a_silent_one() -> None:
    """One row every three seconds: two seconds without any say nothing."""
    seen, now, rows = Partitions(), 1_000_000, 0
    since: dict[Part, WallMs] = {}
    for step in range(600):
        now += POLL_MS
        rows += step % 15 == 0
        stamp = WallMs(1_000_000 + POLL_MS * (step // 15 * 15 + 1))
        seen.reached(Reached("log", WallMs(now), {("t", 0): PartEnd(rows, stamp)}))
        assert seen.standing(PATIENCE, IDLE, since).held_until is None


def test_rows_without_timestamps_are_judged_by_when_they_were_seen() -> None:
    log = Log()
    for _ in range(50):
        log.now += POLL_MS
        log.rows[0] = log.rows.get(0, 0) + 20
        log.seen.reached(Reached("log", WallMs(log.now), {("t", 0): PartEnd(log.rows[0], None)}))
        assert log.seen.standing(PATIENCE, IDLE, log.since) == PartitionStanding()


def test_a_new_partition_counts_from_when_it_is_seen() -> None:
    log = Log(parts=1)
    log.run(3_000)
    log.parts = 3
    assert set(log.run(3_000)) == {PartitionStanding()}
    assert log.seen.total == sum(log.rows.values())


def test_for_who_never_lets_go_a_window_waits_for_ever() -> None:
    log = Log(idle_after=None)
    log.run(5_000)
    assert log.run(100 * IDLE, stopped=(1,))[-1] == PartitionStanding(NEVER, behind=("t-1",))
    assert log.away(100 * IDLE)[-1] == PartitionStanding(NEVER, behind=(BROKER,))
    log.run(1_000)
    assert log.run(4_000)[-1] == PartitionStanding()


def test_one_that_is_behind_when_the_broker_goes_away_is_waited_for_anew_when_it_is_back() -> None:
    log = Log()
    log.run(5_000)
    assert log.run(8_000, stopped=(1,))[-1].behind == ("t-1",)
    log.away(5_000)
    back_at = log.now + POLL_MS
    said = log.run(2 * IDLE, stopped=(1,))
    assert max(s.held_until or 0 for s in said) == back_at + IDLE
    assert said[-1] == PartitionStanding()


def test_one_that_was_idle_before_the_broker_went_away_is_idle_when_it_is_back() -> None:
    log = Log()
    log.run(5_000)
    log.run(2 * IDLE, stopped=(1,))
    log.away(5_000)
    said = log.run(5_000, stopped=(1,))
    assert said and not any("t-1" in s.behind for s in said)


def test_what_came_while_the_broker_was_away_says_nothing_of_how_often_rows_come() -> None:
    """One row in three seconds. While nobody could look it got one: that was not a thousand a second."""
    seen, now, rows = Partitions(), 1_000_000, 0
    since: dict[Part, WallMs] = {}
    for step in range(600):
        now += POLL_MS
        rows += step % 15 == 0
        stamp = WallMs(1_000_000 + POLL_MS * (step // 15 * 15 + 1))
        away = step in range(298, 301)
        seen.reached(Reached("log", WallMs(now), None if away else {("t", 0): PartEnd(rows, stamp)}))
        assert away or seen.standing(PATIENCE, IDLE, since) == PartitionStanding(), step


def test_one_that_cannot_be_asked_is_waited_for_until_idle_after_and_the_others_go_on_as_ever() -> None:
    log = Log()
    log.run(5_000)
    mute_at = log.now + POLL_MS
    said = log.run(2 * IDLE, mute=(1,))
    held = [s for s in said if s.held_until is not None]
    assert set(held) == {PartitionStanding(WallMs(mute_at + IDLE), behind=("t-1",))} and len(held) == IDLE // POLL_MS
    assert said[-1] == PartitionStanding(let_go=("t-1",))
    assert log.run(4_000)[-1] == PartitionStanding()


def test_one_that_has_not_spoken_yet_is_not_waited_for_if_it_cannot_be_asked() -> None:
    log = Log()
    log.run(5_000)
    log.rows[2], log.newest[2] = 7, log.now - 60_000
    assert set(log.run(2_000)) == {PartitionStanding()}
    assert set(log.run(2_000, mute=(2,))) == {PartitionStanding()}
    log.rows[3], log.newest[3] = 7, log.now
    assert set(log.run(2_000, mute=(3,))) == {PartitionStanding()}, "nothing was ever heard of it"


def test_one_that_was_idle_is_not_waited_for_if_it_cannot_be_asked() -> None:
    log = Log()
    log.run(5_000)
    log.run(2 * IDLE, stopped=(1,))
    assert set(log.run(IDLE, stopped=(1,), mute=(1,))) == {PartitionStanding()}


def test_a_topic_that_is_gone_is_forgotten_and_said_once() -> None:
    log = Log()
    log.run(5_000)
    log.rows.clear()
    log.parts = 0
    log.run(POLL_MS)
    assert log.seen.gone == ("t",) and log.seen.total == 0
    assert set(log.run(2 * IDLE)) == {PartitionStanding()} and not log.seen.gone


def test_a_topic_that_is_made_again_begins_anew() -> None:
    log = Log()
    log.run(5_000)
    log.rows = dict.fromkeys(log.rows, 3)
    log.newest = dict.fromkeys(log.newest, log.now - 100_000)
    assert log.run(5_000, stopped=(0, 1))[-1] == PartitionStanding(), "they have not spoken yet"
    assert log.seen.total == 6
    assert log.run(5_000)[-1] == PartitionStanding()
    assert log.run(3_000, stopped=(1,))[-1].behind == ("t-1",), "its rate is known again"


def test_the_time_of_a_row_that_came_between_two_questions_is_known_a_look_later() -> None:
    """The newest timestamp is asked for first, so a row may be counted whose time is not known yet."""
    log = Log()
    log.run(5_000)
    log.run(2_000, stopped=(1,))
    log.rows[1] += 200
    log.now += POLL_MS
    log.newest[0] = log.now
    assert "t-1" in log.poll().behind
    log.newest = dict.fromkeys(log.newest, log.now)
    log.run(1_000, stopped=(0, 1))
    assert log.seen.standing(2_500, IDLE, {}) == PartitionStanding()


def test_patience_that_adapts_does_not_begin_the_wait_anew() -> None:
    """Behind for good, it was waited for again and again, because each new patience counted from its own beginning."""
    log = Log()
    log.run(5_000)
    for step in range(3 * IDLE // POLL_MS):
        log.patience = PATIENCE + step
        (said,) = log.run(POLL_MS, owing=(1,))
    assert said.held_until is None and said.lagging and said.let_go == ("t-1",)


WHICH = st.sets(st.integers(0, 2))


@given(st.lists(st.tuples(st.integers(1, 40), WHICH, WHICH, WHICH, st.booleans()), max_size=12))
def test_no_window_waits_longer_than_idle_after_for_one_silence(
    parts: list[tuple[int, set[int], set[int], set[int], bool]],
) -> None:
    """However partitions come and go, who is held is held until some moment, and then it is over unless there is news."""
    log = Log(parts=3)
    log.run(2_000)
    for polls, stopped, owing, mute, away in parts:
        for _ in range(polls):
            (said,) = log.away(POLL_MS) if away else log.run(POLL_MS, tuple(stopped), tuple(owing), tuple(mute))
            assert said.held_until is None or log.now < said.held_until <= log.now + IDLE
    last = log.run(2 * IDLE, stopped=(0, 1, 2))[-1]
    assert last == PartitionStanding()
    assert log.away(2 * IDLE)[-1].held_until is None


def test_one_whose_patience_ends_before_the_next_look_is_waited_for_now() -> None:
    """A window that ends just after a partition has fallen silent is due between two looks, when the last of them has found
    it silent for not quite as long as patience. A run on real Kafka has lost six rows, by our reading in this way."""
    log = Log(patience=4_000)
    log.run(5_000)
    silent_from = log.newest[1]
    said = log.run(6_000, stopped=(1,))
    sure_until = silent_from + log.patience  # rows of windows that end later may be missing from then on
    looks = [silent_from + 10 + POLL_MS * n for n in range(1, len(said) + 1)]
    calm = [at for at, standing in zip(looks, said, strict=True) if standing.held_until is None]
    assert calm and max(calm) + POLL_MS <= sure_until
