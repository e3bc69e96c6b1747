"""Whose line it is: by the identity that a source says, without a gate around it."""

import socket
from collections.abc import Iterator

import pytest

from headway.model.deadline import Deadlines, Grid
from headway.model.line import Incarnation, LineId
from headway.model.message import InputSpec, QuerySpec
from headway.spark.channel.lines import Connection, Greeting, Line, Lines, Turned, greeting_in


def spec(name: str) -> QuerySpec:
    return QuerySpec(name, (InputSpec("a", 500),), Deadlines((Grid(1000),)), ahead=False)


def of(run: str, query: str = "q1", token: int | None = None, checkpoint: str | None = None) -> LineId:
    return LineId(query, checkpoint, Incarnation(run, token))


@pytest.fixture
def connections() -> Iterator[list[Connection]]:
    pairs = [socket.socketpair() for _ in range(2)]
    yield [Connection(ours, ours.makefile("rwb")) for ours, _ in pairs]
    for pair in pairs:
        for link in pair:
            link.close()


def test_a_greeting_says_query_run_and_checkpoint_or_the_word_that_was_given() -> None:
    said = {"secret": "s", "query": "q1", "run": "r1", "checkpoint": "file:/cp"}
    assert greeting_in(said) == Greeting(of("r1", checkpoint="file:/cp"))
    assert greeting_in({"secret": "s"}) == Greeting(None)
    assert greeting_in({"secret": "s", "line": "abc"}) == Greeting(None, "abc")


def test_a_line_that_comes_back_is_the_same_and_its_old_connection_speaks_for_nobody(connections: list[Connection]) -> None:
    lines = Lines()
    line = lines.expect(spec("one"), nameless=False)
    greeting = Greeting(of("r1", checkpoint="file:/checkpoints/q"))
    assert not lines.known(greeting)  # its start has not returned: nobody can say yet whose it is
    lines.tie("one", of("r1", token=3, checkpoint="cp"))
    assert lines.known(greeting) and lines.whose(greeting) is line
    line.connect(connections[0], greeting)
    assert line.id == of("r1", token=3, checkpoint="file:/checkpoints/q")  # as Spark names it
    line.connect(connections[1], greeting)
    assert line.connection is connections[1]
    assert connections[0].link.recv(1) == b""  # cut


def test_an_earlier_life_is_refused_and_told_which_has_replaced_it() -> None:
    lines = Lines()
    for run, token in (("r1", 3), ("r2", 4), ("r3", 5)):
        lines.expect(spec("one"), nameless=False)
        lines.tie("one", of(run, token=token))
    for run in ("r1", "r2"):
        told = lines.whose(Greeting(of(run)))
        assert isinstance(told, Turned) and told.how == "refused"
        assert told.why == "another run of this query has taken its place at the gate: run r3 with lease 5"
    assert isinstance(lines.whose(Greeting(of("r3"))), Line)


def test_the_same_run_of_another_query_is_another_line() -> None:
    lines = Lines()
    lines.expect(spec("one"), nameless=False)
    lines.tie("one", of("r1"))
    assert lines.whose(Greeting(of("r1", query="q2"))) == Turned(
        "ungated", "a query was started without rt.start(...): it runs ungated, by its rows"
    )


def test_a_source_without_a_name_is_known_by_its_word_whatever_life_was_tied_since() -> None:
    lines = Lines()
    line = lines.expect(spec("one"), nameless=True)
    assert lines.whose(Greeting(None)) is line
    line.called.set()
    lines.tie("one", of("r1"))
    assert lines.whose(Greeting(None, line.word)) is line
    assert isinstance(lines.whose(Greeting(None)), Turned)
    assert isinstance(lines.whose(Greeting(None, "guessed")), Turned)


def test_who_has_ended_is_forgotten_unless_it_is_being_started_again() -> None:
    lines = Lines()
    old = lines.expect(spec("one"), nameless=False)
    lines.tie("one", of("r1"))
    new = lines.expect(spec("one"), nameless=False)
    lines.forget_ended(old)
    lines.forget_ended(new)
    assert lines.of("one") is new and new.past == (of("r1"),)
    lines.tie("one", of("r2"))
    lines.forget_ended(new)
    assert lines.of("one") is None
