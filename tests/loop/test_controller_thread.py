"""The controller on its own thread: started, stopped, drained, failed."""

import threading

from headway.loop.controller import Controller
from headway.model.deadline import window
from headway.model.decision import Decision, Hold
from headway.model.message import Asked, Started
from headway.model.time import SystemClock, WallMs
from headway.model.view import Snapshot
from headway.policy.order import Klink
from headway.testing import Notebook, VirtualQuery, VirtualWorld

FRESH = {"seq": 0, "wm": 0, "live": 0}
SPEC = VirtualQuery("a", window("3 s")).spec


class Door:
    def __init__(self) -> None:
        self.opened = threading.Event()

    def release(self, query: str, offset: dict[str, int]) -> bool:
        self.opened.set()
        return True


def controller(policy: object = None) -> tuple[Controller, Door]:
    door = Door()
    return Controller(SystemClock(), policy or Klink(), door, Notebook(), VirtualWorld(Klink())), door  # type: ignore[arg-type]


def test_a_query_that_asks_is_let_through_and_the_thread_ends_when_told() -> None:
    loop, door = controller()
    thread = loop.thread(lambda error: None)
    loop.post(Started(SPEC))
    loop.post(Asked("a", FRESH))
    assert door.opened.wait(10)
    loop.stop()
    thread.join(10)
    assert not thread.is_alive()


def test_once_drained_nobody_else_is_let_through() -> None:
    loop, door = controller()
    thread = loop.thread(lambda error: None)
    assert loop.drain(timeout_s=10)
    loop.post(Started(SPEC))
    loop.post(Asked("a", FRESH))
    loop.stop()
    thread.join(10)
    assert not door.opened.is_set()


def test_a_decision_that_raises_is_reported_and_not_swallowed() -> None:
    class Broken:
        gated = True

        def decide(self, snap: Snapshot) -> Decision:
            raise ZeroDivisionError("nobody is perfect")

    said: list[BaseException] = []
    loop, _ = controller(Broken())
    thread = loop.thread(said.append)
    loop.post(Started(SPEC))
    loop.post(Asked("a", FRESH))
    thread.join(10)
    assert not thread.is_alive() and isinstance(said[0], ZeroDivisionError)


def test_the_watch_counts_what_decisions_cost() -> None:
    loop, _ = controller()
    loop.take(Started(SPEC))
    assert loop.turn() > WallMs(0) and loop.watch.count == 1 and loop.watch.total_ms >= 0
    assert isinstance(loop.tick(), Hold)
