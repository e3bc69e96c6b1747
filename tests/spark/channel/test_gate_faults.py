"""The gate, spoken to over real sockets as control sources do: whose line it is, and what a bad one cannot do."""

import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from headway.model.deadline import Deadlines, Grid
from headway.model.line import Incarnation, LineId
from headway.model.message import Asked, Gone, InputSpec, Message, QuerySpec, Started
from headway.model.offset import ControlOffset
from headway.spark.channel.gate import Gate
from headway.spark.channel.offset_text import offset_of, text_of
from spark.scripted import wait_until

START = ControlOffset(1)


def line_id(name: str, run: str = "r1") -> LineId:
    return LineId(f"id-{name}", None, Incarnation(run))


def spec(name: str) -> QuerySpec:
    return QuerySpec(name, (InputSpec("a", 500),), Deadlines((Grid(1000),)), ahead=False)


class Caller:
    """A control source."""

    def __init__(self, gate: Gate, **greeting: Any) -> None:
        self.link = socket.create_connection(("127.0.0.1", gate.port), timeout=60)
        self.wire: Any = self.link.makefile("rwb")
        self.say({"secret": gate.secret, **greeting})

    def say(self, text: Any) -> None:
        if isinstance(text, ControlOffset):
            text = text_of(text).encode()
        self.wire.write((text if isinstance(text, bytes) else json.dumps(text).encode()) + b"\n")
        self.wire.flush()

    def hear(self) -> Any:
        line = self.wire.readline()
        return json.loads(line) if line else None

    def let_through(self) -> ControlOffset:
        return offset_of(self.hear()["offset"])

    def hang_up(self) -> None:
        self.wire.close()
        self.link.close()


class Desk:
    """A gate, and what it has passed on."""

    def __init__(self) -> None:
        self.posted: list[Message] = []
        self.failing = False
        self.alive = False  # whether a query outlives its line
        self.gate = Gate(self.posted.append, self.on_ask, lambda query: not self.alive)

    def on_ask(self, query: str) -> None:
        if self.failing:
            raise KeyError("no such report")

    def query(self, name: str, run: str = "r1") -> Caller:
        """Started as `rt.start` does, and on the line."""
        self.gate.expect(spec(name))
        self.gate.tie(name, line_id(name, run))
        caller = Caller(self.gate, query=f"id-{name}", run=run)
        assert "line" in caller.hear()
        return caller

    def await_posted(self, message: Message, times: int = 1) -> None:
        wait_until(lambda: self.posted.count(message) >= times, f"{message} in {self.posted}")


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk()
    yield made
    made.gate.close()


def test_a_line_may_call_before_the_start_of_its_query_has_returned(desk: Desk) -> None:
    called = {name: desk.gate.expect(spec(name)) for name in ("one", "two")}
    callers = {name: Caller(desk.gate, query=f"id-{name}", run="r") for name in ("two", "one")}
    for name in ("one", "two"):
        assert not called[name].is_set()
        desk.gate.tie(name, line_id(name, "r"))
        assert "line" in callers[name].hear()
        callers[name].say(START)
        desk.await_posted(Asked(name, START))
    assert desk.gate.release("two", ControlOffset(2))
    assert callers["two"].let_through() == ControlOffset(2)


def test_a_query_that_nobody_has_started_here_is_told_to_go_on_ungated_once_no_start_is_under_way(desk: Desk) -> None:
    desk.gate.expect(spec("one"))
    plain = Caller(desk.gate, query="id-plain", run="r")
    desk.gate.tie("one", line_id("one", "r"))
    assert "without rt.start" in plain.hear()["ungated"]
    assert plain.hear() is None


def test_a_line_without_a_name_belongs_to_the_query_being_started_and_is_known_when_it_calls_again(desk: Desk) -> None:
    assert "start it with rt.start(...)" in Caller(desk.gate).hear()["refused"]
    desk.gate.expect(spec("one"), nameless=True)
    first = Caller(desk.gate)
    word = first.hear()["line"]
    desk.gate.tie("one", line_id("one", "r"))
    assert "refused" in Caller(desk.gate).hear()  # nobody else is being started
    desk.alive = True
    first.hang_up()
    desk.await_posted(Gone("one"))
    again = Caller(desk.gate, line=word)
    assert again.hear()["patience_ms"] == 500
    again.say(START)
    desk.await_posted(Asked("one", START))


@pytest.mark.parametrize("noticed", [True, False])
def test_a_line_that_was_cut_is_taken_back_and_the_controller_hears_of_the_query_anew(desk: Desk, noticed: bool) -> None:
    desk.alive = True
    cut = desk.query("one")
    cut.say(START)
    desk.await_posted(Asked("one", START))
    if noticed:
        cut.hang_up()
        desk.await_posted(Gone("one"))
        assert not desk.gate.release("one", START)
    again = Caller(desk.gate, query="id-one", run="r1")
    assert "line" in again.hear()
    again.say(START)
    desk.await_posted(Asked("one", START), times=2)
    assert desk.posted.count(Started(spec("one"))) == 2
    assert desk.gate.release("one", START)
    assert again.let_through() == START


def test_a_query_that_was_taken_for_gone_while_its_line_was_laid_anew_is_told_of_again(desk: Desk) -> None:
    """The controller drops a query whose answer finds nobody; the line that asks next must not wait for ever."""
    desk.alive = True
    old = desk.query("one")
    old.say(START)
    desk.await_posted(Asked("one", START))
    again = Caller(desk.gate, query="id-one", run="r1")
    assert "line" in again.hear()
    assert not desk.gate.release("one", START)  # the question that it answers went with the line before
    again.say(START)
    desk.await_posted(Asked("one", START), times=2)
    assert desk.posted[-2:] == [Started(spec("one")), Asked("one", START)]
    assert desk.gate.release("one", START) and again.let_through() == START


def test_a_query_that_has_asked_on_a_new_line_before_the_answer_failed_on_the_old_one_is_told_of_again(desk: Desk) -> None:
    desk.alive = True
    old = desk.query("one")
    old.say(START)
    desk.await_posted(Asked("one", START))
    connection = desk.gate._lines.waiting("one")  # as `release` takes it; then, before it has written to it:
    again = Caller(desk.gate, query="id-one", run="r1")
    assert connection is not None and "line" in again.hear()
    again.say(START)
    desk.await_posted(Asked("one", START), times=2)
    desk.gate._unheard("one")
    assert desk.posted[-2:] == [Started(spec("one")), Asked("one", START)]


def test_a_newer_run_replaces_an_older_one_which_is_refused_from_then_on(desk: Desk) -> None:
    old = desk.query("one", "r1")
    new = desk.query("one", "r2")
    assert old.hear() is None
    assert "another run" in Caller(desk.gate, query="id-one", run="r1").hear()["refused"]
    new.say(START)
    desk.await_posted(Asked("one", START))
    assert Gone("one") not in desk.posted  # what the old line leaves behind does not speak for the query


def test_a_start_that_fails_leaves_nothing(desk: Desk) -> None:
    desk.gate.expect(spec("one"))
    desk.gate.give_up("one")
    assert desk.posted == [Started(spec("one")), Gone("one")]
    assert "ungated" in Caller(desk.gate, query="id-one", run="r1").hear()


@pytest.mark.parametrize(
    "said",
    [
        b"not json", b"[1]", b"{}", b"\xff\xfe", b"[" * 100_000, b'{"seq": 1, "wm": 5}', b'{"seq": 1, "wm": "5", "live": 0}',
        b'{"seq": 1, "wm": 5.5, "live": 0}', b'{"seq": true, "wm": 5, "live": 0}',
        b'{"version": 3, "seq": 1, "wm": 5, "live": 0}',
    ],
    ids=lambda said: str(said[:40]),
)  # fmt: skip
def test_a_question_that_makes_no_sense_puts_its_own_query_aside_and_no_other(
    desk: Desk, said: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, good = desk.query("bad"), desk.query("good")
    bad.say(said)
    assert "its control source asks" in bad.hear()["ungated"]
    desk.await_posted(Gone("bad"))
    for _ in range(2):
        bad.say(START)  # and it stays so
        assert "ungated" in bad.hear()
    good.say(START)
    desk.await_posted(Asked("good", START))
    assert desk.gate.release("good", START)
    assert good.let_through() == START
    assert Asked("bad", START) not in desk.posted
    assert capsys.readouterr().err.count("headway: query 'bad' goes on ungated") == 1


def test_a_greeting_that_makes_no_sense_gets_no_answer(desk: Desk) -> None:
    for said in (b"", b"[]", b"7", b"\xff", b"{"):
        with socket.create_connection(("127.0.0.1", desk.gate.port), timeout=60) as link:
            link.sendall(said + b"\n")
            assert link.recv(10) == b""
    desk.query("one")  # and the gate is there still


def test_a_report_that_cannot_be_read_is_told_once_and_the_query_is_served(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.failing = True
    caller = desk.query("one")
    for n in (1, 2, 3):
        caller.say(ControlOffset(n))
        desk.await_posted(Asked("one", ControlOffset(n)))
        assert desk.gate.release("one", START)
        assert caller.let_through() == START
    assert capsys.readouterr().err.count("the report of query 'one' cannot be read") == 1


def test_a_controller_that_begins_anew_hears_the_questions_without_an_answer(desk: Desk) -> None:
    waiting, running, aside = (desk.query(name) for name in ("waiting", "running", "aside"))
    for caller in (waiting, running, aside):
        caller.say(START)
    for name in ("waiting", "running", "aside"):
        desk.await_posted(Asked(name, START))
    desk.gate.release("running", START)
    desk.gate.put_aside("aside", "a test")
    assert aside.hear() == {"ungated": "a test"}
    desk.posted.clear()
    desk.gate.asked_again()
    assert desk.posted == [Asked("waiting", START)]


def test_lines_that_come_and_go_leave_neither_threads_nor_queries(desk: Desk) -> None:
    for n in range(30):
        caller = desk.query(f"q{n}")
        caller.say(START)
        desk.await_posted(Asked(f"q{n}", START))
        caller.hang_up()
        desk.await_posted(Gone(f"q{n}"))
    wait_until(lambda: not any(t.name == "headway-line" for t in threading.enumerate()), "the end of all threads")
    assert len(desk.gate._lines) == 0


def test_a_gate_that_is_opened_again_is_found_at_the_same_place(desk: Desk) -> None:
    desk.alive = True
    port, caller = desk.gate.port, desk.query("one")
    desk.gate.close()
    assert caller.hear() is None
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=60)
    desk.gate.open()
    assert desk.gate.port == port
    assert "line" in Caller(desk.gate, query="id-one", run="r1").hear()
