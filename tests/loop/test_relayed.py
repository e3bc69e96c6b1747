"""A query whose input other stages write: their word alone moves its watermark, and it costs one batch a window."""

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headway.loop import codec
from headway.loop.guards import STANDARD
from headway.loop.relayed import Relays, heard_by
from headway.loop.stage_lag import StageLag
from headway.loop.tracker import QueryTracker
from headway.model.deadline import Deadlines, Grid
from headway.model.decision import Decision, Grant, Hold
from headway.model.message import BatchSeen, Heard, InputSeen, InputSpec, QuerySpec, Relaying
from headway.model.offset import ControlOffset
from headway.model.punctuation import Punctuation, UpstreamFlow
from headway.model.time import EventMs, WallMs
from headway.model.view import DelayView, InputView, Snapshot
from headway.policy.order import FirstCome, Klink, RoundRobin

T = 1_000_000_000_000 // 3_000 * 3_000
TOPIC = "broker/minutes"
GRIDS = Deadlines((Grid(3_000),))


def spec(**more: Any) -> QuerySpec:
    return QuerySpec("q", (InputSpec("rows", 0, **{"idle_after_ms": None, "relayed": TOPIC} | more),), GRIDS, ahead=True)


def said(complete: int | None, batch: int, stage: str = "minutes", lag: DelayView | None = None) -> Punctuation:
    moment = None if complete is None else EventMs(complete)
    return Punctuation(stage, "one", 1, batch, "plan", 1, WallMs(0), moment, flow=UpstreamFlow(lag, (Grid(1_000),)))


class Play:
    """One query, its upstream, and a policy, step by step."""

    def __init__(self, policy: Any = None, **more: Any) -> None:
        self.policy = policy or Klink()
        self.relays = Relays()
        self.track = QueryTracker(spec(**more), relays=self.relays)
        self.now, self.batches, self.news = WallMs(T), 0, list[str]()
        self.sweeps: list[tuple[int, int]] = []  # when, and what
        self.track.asked(self.now, ControlOffset())

    def hear(self, *what: Punctuation) -> None:
        known = self.relays.heard(Heard(TOPIC, self.now, tuple((0, one) for one in what)), self.now)
        changed, news = heard_by(self.track.inputs.values(), TOPIC, known, self.now)
        if changed:
            self.track.told()
        if news:
            self.news.append(news)

    def decide(self) -> Decision:
        seen = Snapshot(self.now, (self.track.view(),))
        decided: Decision = self.policy.decide(seen)
        for guard in STANDARD:
            decided = guard(decided, seen)
        return decided

    def step(self, ms: int) -> Decision:
        """Time goes on, and the query runs if it may."""
        self.now = WallMs(self.now + ms)
        decided = self.decide()
        if isinstance(decided, Grant):
            sweeping = self.track.announced
            if sweeping > self.track.swept:
                self.sweeps.append((self.now, sweeping))
            offset = self.track.granted(self.now, decided.announce)
            seen = InputSeen("rows", 10, EventMs(self.now - 100), EventMs(self.now - 500), ((200.0, 10.0),))
            batch = BatchSeen(
                "q", self.batches, self.now, WallMs(self.now + 20), 20, 10, sweeping or None, (seen,), state_rows=5
            )
            self.track.saw(batch)
            self.batches += 1
            self.now = WallMs(self.now + 20)
            self.track.asked(self.now, offset)
        return decided

    @property
    def seen(self) -> InputView:
        return self.track.view().inputs[0]


def test_no_window_closes_before_its_upstream_has_said_that_it_is_complete() -> None:
    play = Play()
    play.hear(said(T - 1_000, 1))
    for _ in range(400):
        play.step(50)  # 20 s: by the clock six windows would be over
    assert [end for _, end in play.sweeps] == [T - 3_000]
    assert "when its upstream says so" in play.decide().because
    play.hear(said(T, 2))
    assert isinstance(play.step(1), Grant)
    assert play.sweeps[-1] == (play.now - 20, T)


def test_in_steady_state_there_is_one_batch_a_window() -> None:
    play = Play()
    for n in range(1, 40):
        for _ in range(40):
            play.step(25)
        play.hear(said(T + 1_000 * n, n))
    ends = [end for _, end in play.sweeps]
    assert ends == sorted(set(ends)) and len(ends) >= 12
    assert play.batches <= len(ends) + 4


def test_nothing_is_swept_before_all_stages_that_are_waited_for_have_spoken() -> None:
    play = Play(stages=("minutes", "others"))
    play.hear(said(T + 9_000, 1))
    for _ in range(200):
        play.step(50)
    assert play.sweeps == [] and play.seen.upstream is not None and play.seen.upstream.waits_for == "others"
    play.hear(said(T + 3_000, 1, "others"))
    for _ in range(20):
        play.step(50)
    assert [end for _, end in play.sweeps] == [T + 3_000]


def test_a_dead_stage_is_spoken_of_and_passed_only_where_that_was_asked_for() -> None:
    waiting, passing = Play(), Play(idle_after_ms=30_000, stages=("minutes", "others"))
    for play in (waiting, passing):
        play.hear(said(T, 1), said(T + 9_000, 1, "others"))
        for n in range(80):
            play.step(500)
            play.hear(said(T + 9_000 + n, 2 + n, "others"))
    assert any("waits for stage minutes, which has said nothing" in news for news in waiting.news)
    assert max(end for _, end in waiting.sweeps) == T
    assert any("goes on without stage minutes" in news for news in passing.news)
    assert max(end for _, end in passing.sweeps) == T + 9_000
    assert passing.seen.upstream is not None and (passing.seen.upstream.passed, passing.seen.upstream.passes) == (
        "minutes",
        1,
    )
    passing.hear(said(T + 12_000, 2))
    assert any("stage minutes speaks again" in news for news in passing.news)


def test_what_goes_by_the_time_itself_goes_by_one_millisecond_less() -> None:
    play = Play(strict=True)
    play.hear(said(T, 1))
    assert play.seen.upstream is not None and play.seen.upstream.complete == T - 1


def test_a_restarted_query_sweeps_what_was_announced_ahead_when_its_upstream_says_so() -> None:
    play = Play()
    play.track = QueryTracker(spec(), relays=play.relays)
    play.track.asked(play.now, ControlOffset(7, EventMs(T + 3_000), live=True))
    for _ in range(400):
        assert isinstance(play.step(50), Hold)
    play.hear(said(T + 2_999, 1))
    assert isinstance(play.step(50), Hold)
    play.hear(said(T + 3_000, 2))
    assert isinstance(play.step(50), Grant)


def test_a_tracker_that_begins_anew_knows_what_was_heard_before() -> None:
    play = Play()
    play.hear(said(T + 3_000, 1))
    anew = QueryTracker(spec(), relays=play.relays)
    upstream = anew.view().inputs[0].upstream
    assert upstream is not None and upstream.complete == T + 3_000


def test_what_the_upstream_tells_of_its_delays_says_when_its_next_word_may_come() -> None:
    play = Play()
    lag = DelayView(9, 700.0, 5.0, 60.0, 600.0, 850.0)
    play.hear(said(T, 1, lag=lag), said(T + 1_000, 2, lag=lag))
    play.hear(said(T + 2_000, 3, lag=lag))
    assert play.seen.delay == lag and play.seen.patience_ms == 700 and play.seen.source_sends
    assert play.seen.upstream is not None and play.seen.upstream.told_at is not None


def test_what_has_been_said_is_not_expected_any_more() -> None:
    """A word that comes sooner than expected: the query is due since then, and not when it would have been expected."""
    lag = DelayView(9, 5_000.0, 5.0, 60.0, 4_900.0, 5_100.0)
    play = Play()
    play.hear(said(T, 1, lag=lag))
    for _ in range(3):
        play.step(10)
    deadline = play.track.view().deadline
    expected = Klink().urgency([play.track.view()], play.now)[0]
    play.hear(said(deadline, 2, lag=lag))
    view = play.track.view()
    assert view.due == play.now
    assert Klink().urgency([view], play.now)[0] == -view.cost_ms(play.now) < expected


def test_what_stages_behind_it_cost_makes_a_query_more_urgent() -> None:
    alone, pressed = Play(), Play()
    for play in (alone, pressed):
        play.hear(said(T, 1))
        play.step(10)
    pressed.track.told(below=Relaying("q", "broker/hours", 400.0, pressed.now))
    slack = [float(Klink().urgency([p.track.view()], p.now)[0]) for p in (alone, pressed)]
    assert slack[0] - slack[1] == 400.0
    assert pressed.track.view().writes == "broker/hours"


def test_a_view_of_it_comes_back_from_a_journal() -> None:
    play = Play()
    play.hear(said(T, 1))
    play.step(10)
    view = play.track.view()
    assert codec.query_view(codec.dumps(view)) == view


@given(
    chance=st.integers(0, 2**32).map(random.Random),
    policy=st.sampled_from([Klink(), Klink(split=0.0), FirstCome(), RoundRobin()]),
)
def test_whatever_is_heard_when_no_batch_sweeps_more_than_was_said(chance: random.Random, policy: Any) -> None:
    play = Play(policy)
    complete, number, limits = T - chance.randrange(10_000), 0, [0]
    for _ in range(120):
        if chance.random() < 0.3:
            complete, number = complete + chance.randrange(2_500), number + 1
            play.hear(said(complete, number))
            limits.append(complete)
        before = len(play.sweeps)
        play.step(chance.randrange(1, 700))
        assert all(end <= limits[-1] for _, end in play.sweeps[before:])
    for _ in range(10):
        play.step(1_100)
    assert not number or play.track.swept == GRIDS.upto(complete)


def test_a_stage_tells_how_late_its_word_comes() -> None:
    lag = StageLag()
    assert lag.flow(None).lag is None
    for n in range(1, 6):
        lag.writes(EventMs(T + 1_000 * n), WallMs(T + 1_000 * n + 400))
        lag.writes(EventMs(T + 1_000 * n), WallMs(T + 1_000 * n + 900))  # nothing new is said by that
    found = lag.flow(None).lag
    assert found is not None and (found.epochs, found.mean_ms, found.high_ms) == (5, 400.0, 400.0)
