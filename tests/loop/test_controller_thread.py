"""The controller on its own thread: started, stopped, drained, looked at, failed and back again."""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

import pytest

from headway.loop import supervision
from headway.loop.capacity import Capacity
from headway.loop.controller import Controller
from headway.loop.supervision import OFTEN, Supervision
from headway.loop.tracker import QueryTracker
from headway.loop.trouble import says
from headway.model.deadline import window
from headway.model.decision import Decision, Grant, Hold, OrderPolicy
from headway.model.message import (
    Asked,
    BatchSeen,
    Drain,
    Gone,
    InputSeen,
    Message,
    Reached,
    Stalled,
    Started,
    Unreadable,
    Use,
)
from headway.model.offset import ControlOffset
from headway.model.status import InputStatus
from headway.model.time import EventMs, SystemClock, VirtualClock, WallMs
from headway.model.view import Snapshot
from headway.policy.order import Klink, RoundRobin
from headway.policy.sampling import Everything
from headway.testing import Notebook, VirtualQuery, VirtualWorld

FRESH = ControlOffset()
SPEC = VirtualQuery("a", window("3 s")).spec
PLAIN = RoundRobin()


class Gate:
    """A gate without sockets: who waits, who was let through, and who was given up."""

    def __init__(self) -> None:
        self.waiting: dict[str, ControlOffset] = {}
        self.granted: list[tuple[str, ControlOffset]] = []
        self.aside: list[str] = []
        self.closed = False
        self.happened = threading.Condition()
        self.post: Callable[[Message], None] = lambda message: None

    def ask(self, query: str, start: ControlOffset = FRESH) -> None:
        with self.happened:
            self.waiting[query] = start
        self.post(Asked(query, start))

    def release(self, query: str, offset: ControlOffset) -> bool:
        with self.happened:
            del self.waiting[query]
            self.granted.append((query, offset))
            self.happened.notify_all()
        return True

    def asked_again(self) -> None:
        for query, start in self.waiting.items():
            self.post(Asked(query, start))

    def put_aside(self, query: str, why: str) -> None:
        with self.happened:
            self.aside.append(query)
            self.happened.notify_all()

    def close(self) -> None:
        with self.happened:
            self.closed = True
            self.happened.notify_all()

    def until(self, true: Callable[[], bool]) -> None:
        with self.happened:
            assert self.happened.wait_for(true, 30)

    def grants(self, query: str) -> int:
        return sum(name == query for name, _ in self.granted)


class Faulty:
    """Grants whoever waits, but raises at the moments that it is told to."""

    gated: ClassVar[bool] = True

    def __init__(self, *moments: int) -> None:
        self.moments, self.asked = moments, 0

    def decide(self, snap: Snapshot) -> Decision:
        if snap.waiting:
            self.asked += 1
            if self.asked in self.moments:
                raise ZeroDivisionError("nobody is perfect")
            return Grant(snap.waiting[0].name, None, "somebody waits")
        return Hold(WallMs(snap.now + 1000), "nobody waits")


def made(policy: OrderPolicy | None = None, slots: int = 4) -> tuple[Supervision, Gate, Notebook]:
    gate, notes = Gate(), Notebook()
    controller = Controller(SystemClock(), policy or Klink(), gate, notes, Capacity(VirtualWorld(Klink()), slots))
    gate.post = controller.post
    loop = Supervision(controller, gate, PLAIN, say=lambda text: None)
    loop.start()
    return loop, gate, notes


def begin(loop: Supervision, gate: Gate, *names: str) -> None:
    for name in names:
        loop.controller.post(Started(replace(SPEC, name=name)))
        gate.ask(name)


def test_a_query_that_asks_is_let_through_and_the_thread_ends_when_told() -> None:
    loop, gate, _ = made()
    begin(loop, gate, "a")
    gate.until(lambda: gate.grants("a") == 1)
    loop.stop()
    assert not loop.thread.is_alive()


def test_once_drained_nobody_else_is_let_through() -> None:
    loop, gate, _ = made()
    assert loop.drain(timeout_s=10)
    begin(loop, gate, "a")
    loop.stop()
    assert not gate.granted


def test_a_drained_query_is_let_through_no_more_and_the_others_are() -> None:
    loop, gate, _ = made(Faulty())
    begin(loop, gate, "a", "b")
    gate.until(lambda: gate.grants("a") == gate.grants("b") == 1)
    assert not loop.drain(0.01, "a")  # its batch runs
    gate.ask("a")
    assert loop.drain(30, "a")
    gate.ask("b")
    gate.until(lambda: gate.grants("b") == 2)
    loop.stop()
    assert gate.grants("a") == 1


def test_a_decision_that_raises_costs_nobody_a_turn_and_is_told() -> None:
    loop, gate, notes = made(Faulty(1, 3))
    begin(loop, gate, "a")
    gate.until(lambda: gate.grants("a") == 1)
    gate.ask("a", ControlOffset(1))
    gate.until(lambda: gate.grants("a") == 2)
    status = loop.status()
    loop.stop()
    assert status.controller_restarts == 2 and status.policy == "Faulty"
    assert status.controller_error == "ZeroDivisionError: nobody is perfect"
    assert sum("begins anew" in text for _, _, text in notes.notes) == 2


def test_after_a_failure_a_query_in_a_batch_keeps_its_slot_until_it_asks() -> None:
    gate, clock = Gate(), VirtualClock(5)
    controller = Controller(clock, PLAIN, gate, Notebook(), Capacity(VirtualWorld(Klink()), 2))
    gate.post = controller.take
    for name in ("a", "b", "c"):
        controller.take(Started(replace(SPEC, name=name)))
        gate.ask(name)
    controller.turn()
    before = {q.name: q.state for q in controller.status().queries}
    assert before == {"a": "in a batch", "b": "in a batch", "c": "at the gate"}
    assert controller.rebuild("the test says so") == []
    gate.asked_again()
    controller.turn()
    assert {q.name: q.state for q in controller.status().queries} == before and gate.grants("c") == 0
    controller.take(Stalled("b", WallMs(5)))  # by its supervisor, which knows no other controller
    controller.turn()
    assert gate.grants("c") == 1
    clock.advance(1)
    gate.ask("a")
    controller.turn()
    assert gate.grants("a") == 2
    gate.ask("b")
    controller.turn()
    assert gate.grants("b") == 1  # c has its place


def test_a_policy_that_keeps_failing_is_replaced_by_a_plain_one() -> None:
    loop, gate, notes = made(Faulty(*range(1, 100)))
    begin(loop, gate, "a")
    gate.until(lambda: gate.grants("a") == 1)
    status = loop.status()
    loop.stop()
    assert status.policy == "RoundRobin" and status.controller_restarts == OFTEN + 1
    assert any("Faulty has failed too often: RoundRobin decides" in text for _, _, text in notes.notes)


def test_when_a_plain_policy_fails_too_the_gate_is_closed() -> None:
    loop, gate, _ = made(Faulty(*range(1, 100)))

    def guard(decision: Decision, seen: Snapshot) -> Decision:
        if seen.queries:
            raise ValueError("a guard that nothing pleases")
        return decision

    loop.controller.post(Use(guards=(guard,)))
    begin(loop, gate, "a")
    gate.until(lambda: gate.closed)
    loop.thread.join(30)
    assert not loop.thread.is_alive() and not gate.granted
    (left,) = loop.status().queries
    assert left.state == "put aside" and "nothing pleases" in (left.error or "")
    assert loop.drain(0.01)  # there is nothing to wait for


def test_a_look_at_a_controller_that_is_busy_tells_what_was_last_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "BUSY_S", 0.05)
    go_on, inside = threading.Event(), threading.Event()

    class Ponders(Faulty):
        def decide(self, snap: Snapshot) -> Decision:
            if snap.waiting:
                inside.set()
                go_on.wait(30)
            return super().decide(snap)

    loop, gate, _ = made(Ponders())
    begin(loop, gate, "a")
    assert inside.wait(30)
    assert loop.status().queries == ()
    go_on.set()
    gate.until(lambda: gate.grants("a") == 1)
    monkeypatch.setattr(supervision, "BUSY_S", 30)
    assert [q.state for q in loop.status().queries] == ["in a batch"]
    loop.stop()


@pytest.mark.parametrize("where", ["asked", "view", "granted", "reached"])
def test_what_goes_wrong_with_one_query_puts_that_one_aside(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = getattr(QueryTracker, where)

    def wrong(self: QueryTracker, *args: object) -> object:
        if self.spec.name == "bad":
            raise KeyError(where)
        return right(self, *args)

    monkeypatch.setattr(QueryTracker, where, wrong)
    loop, gate, notes = made(Faulty())
    begin(loop, gate, "bad", "good")
    loop.controller.post(Reached("log", WallMs(0), None))
    gate.until(lambda: gate.aside == ["bad"] and gate.grants("good") == 1)
    status = loop.status()
    loop.stop()
    bad, good = status.query("bad"), status.query("good")
    assert bad is not None and bad.state == "put aside" and where in (bad.error or "")
    assert good is not None and good.state == "in a batch"
    assert status.controller_restarts == 0
    assert any(q == "bad" and "put aside" in text for _, q, text in notes.notes)


def test_a_query_whose_reports_cannot_be_read_is_put_aside() -> None:
    loop, gate, _ = made(Faulty())
    begin(loop, gate, "a")
    loop.controller.post(Unreadable("a", "no such field"))
    gate.until(lambda: gate.aside == ["a"])
    loop.stop()


def test_a_failure_in_what_is_done_about_a_failure_is_survived() -> None:
    loop, gate, _ = made(Faulty())
    begin(loop, gate, "b")

    def broken(query: str, why: str) -> None:
        with gate.happened:
            gate.aside.append(query)
            gate.happened.notify_all()
        raise OSError("the line is cut")

    gate.put_aside = broken  # type: ignore[method-assign]
    begin(loop, gate, "a")
    loop.controller.post(Unreadable("a", "no such field"))
    gate.until(lambda: gate.aside == ["a"])
    gate.until(lambda: gate.grants("b") >= 1)
    gate.ask("b")
    gate.until(lambda: gate.grants("b") >= 2)
    loop.stop()


def seen(query: str, batch: int, rows: int, timeless: int) -> BatchSeen:
    return BatchSeen(query, batch, WallMs(10), WallMs(60), 50, rows, None, (InputSeen("rows", rows, timeless=timeless),))


def bare() -> Controller:
    return Controller(VirtualClock(5), PLAIN, Gate(), Notebook(), Capacity(VirtualWorld(Klink())))


def test_a_query_goes_on_where_its_offset_says_after_the_controller_was_rebuilt() -> None:
    controller = bare()
    controller.take(Started(SPEC))
    controller.take(Asked("a", ControlOffset(7, 9_000, live=True)))
    controller.rebuild("the test says so")
    controller.take(Asked("a", ControlOffset(7, 9_000, live=True)))
    view = controller.queries["a"].view()
    assert (view.announced, view.swept, view.pending, view.live) == (EventMs(9_000), EventMs(6_000), True, False)


def test_counts_outlive_trackers_and_queries() -> None:
    controller = bare()
    leaving: list[Callable[[], object]] = [
        lambda: controller.take(Gone("a")), lambda: controller.rebuild("so"), lambda: None
    ]  # fmt: skip
    for run, leave in enumerate(leaving, start=1):
        if run != 3:  # the second run is rebuilt, and goes on as the third
            controller.take(Started(SPEC))
        controller.take(Asked("a", FRESH))
        controller.take(seen("a", run, rows=10, timeless=run))
        leave()
    (status,) = controller.status().queries
    assert [(i.name, i.timeless) for i in status.inputs] == [("rows", 1 + 2 + 3)]
    assert status.last is not None and (status.last.number, status.last.rows, status.last.took_ms) == (3, 10, 50)
    controller.take(Gone("a"))
    (status,) = controller.status().queries
    assert status.state == "ended" and [i.timeless for i in status.inputs] == [6]


def test_an_error_is_told_in_one_line_whoever_raised_it() -> None:
    assert says(KeyError("wm")) == "KeyError: 'wm'"
    assert says(ValueError("[PLAN] cannot\n  at line 1\n")) == "ValueError: [PLAN] cannot"
    assert says(ValueError()) == "ValueError"
    python = "Traceback (most recent call last):\n  File x, line 1\n    f()\nTypeError: not today\n\n\tat py4j.Protocol"
    assert says(RuntimeError(f"Return Message: {python}")) == "TypeError: not today"


def test_an_error_that_only_announces_its_cause_is_told_by_the_cause() -> None:
    error = RuntimeError("Exception thrown in awaitResult: \n\nJVM stacktrace:\n  at here")
    assert says(error) == "RuntimeError: Exception thrown in awaitResult:"
    error.__cause__ = RuntimeError("Exception thrown in awaitResult: ")
    error.__cause__.__cause__ = ValueError("[STATE] of batch 2\nis missing")
    assert says(error) == "ValueError: [STATE] of batch 2"


def test_a_stalled_batch_lends_its_slot_until_it_asks_again() -> None:
    gate = Gate()
    controller = Controller(VirtualClock(5), PLAIN, gate, Notebook(), Capacity(VirtualWorld(Klink()), 1))
    gate.post = controller.take
    for name in ("a", "b"):
        controller.take(Started(replace(SPEC, name=name)))
        gate.ask(name)
    controller.turn()
    assert gate.grants("a") == 1 and gate.grants("b") == 0
    controller.take(Stalled("a", WallMs(4)))  # a batch before this one
    controller.turn()
    assert gate.grants("b") == 0
    controller.take(Stalled("a", WallMs(5)))
    controller.turn()
    assert gate.grants("b") == 1
    status = controller.status()
    assert {q.name: q.stalled for q in status.queries} == {"a": True, "b": False}
    done = threading.Event()
    controller.take(Drain(None, done.set))
    gate.ask("b")
    controller.turn()
    assert not done.is_set()  # a stalled batch is a batch still
    gate.ask("a")
    controller.turn()
    assert done.is_set() and not controller.queries["a"].stalled


def test_the_watch_counts_what_decisions_cost() -> None:
    controller = bare()
    controller.take(Started(SPEC))
    assert controller.turn() > WallMs(0) and controller.kernel.watch.count == 1 and controller.kernel.watch.total_ms >= 0
    assert isinstance(controller.tick(), Hold)


def test_another_policy_and_other_slots_come_as_a_message() -> None:
    world = VirtualWorld(Klink(), slots=1)
    other = RoundRobin()
    world.controller.take(Use(other, 3))
    assert world.controller.policy is other and world.controller.capacity.now == 3
    world.controller.take(Use(slots="auto"))
    assert world.controller.policy is other and world.controller.capacity.now == world.controller.capacity.slots.best


# ---- what others may look at


def test_status_has_the_view_that_policies_see_and_none_of_a_query_that_has_left() -> None:
    controller = bare()
    controller.take(Started(SPEC))
    controller.tick()
    status = controller.status()
    (told,) = status.queries
    assert told.view is not None and told.view == controller.queries["a"].view() and "view" not in repr(told)
    assert status.cores == 2 and status.decisions == 1 and status.decided_ms >= 0
    controller.take(Gone("a"))
    (left,) = controller.status().queries
    assert left.view is None and left.state == "ended"


def test_a_look_at_a_query_whose_view_cannot_be_made_finds_none(monkeypatch: pytest.MonkeyPatch) -> None:
    controller = bare()
    controller.take(Started(SPEC))
    monkeypatch.setattr(QueryTracker, "view", lambda self: 1 / 0)
    (told,) = controller.status().queries
    assert told.view is None and told.state == "starting"


def test_status_tells_how_much_of_a_sampled_input_is_taken_and_what_that_costs_us() -> None:
    controller = bare()
    (source,) = SPEC.inputs
    controller.take(Started(replace(SPEC, inputs=(replace(source, sampling=Everything()),))))
    controller.take(Asked("a", FRESH))
    controller.take(seen("a", 0, rows=10, timeless=0))
    (told,) = controller.status().queries[0].inputs
    assert told.sampling is not None and told.sampling.share == 1 and told.sampling_ms > 0
    assert bare_input().sampling is None


def bare_input() -> InputStatus:
    controller = bare()
    controller.take(Started(SPEC))
    return controller.status().queries[0].inputs[0]


def test_guards_are_exchanged_by_a_message() -> None:
    controller = bare()
    before = controller.guards
    controller.take(Use(slots=2))
    assert controller.guards is before
    controller.take(Use(guards=()))
    assert controller.guards == ()
