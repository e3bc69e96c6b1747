"""The lines: the queries that were started through the gate, and the connection that speaks for each.

A line has an identity (`model/line.py`): the source says which query it belongs to and which run of it, and `rt.start` says
the same when Spark's own start has returned. By that a line that was cut is taken back, and a run that another has replaced
is refused. The Python source cannot know its query: there the next line that calls belongs to the query being started, and
it gets a word by which it is known when it calls again.
"""

import contextlib
import json
import secrets
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from headway.model.line import Incarnation, LineId
from headway.model.message import QuerySpec
from headway.model.offset import ControlOffset

SAID = ("query", "run", "checkpoint", "line")  # in a greeting, besides the secret
LIVES = 100  # that are remembered of a query
PLAIN = "a query was started without rt.start(...): it runs ungated, by its rows"
NEEDS_START = "this query was started without Headway: start it with rt.start(...)"
REPLACED = "another run of this query has taken its place at the gate"


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a control source says first."""

    caller: LineId | None  # None: it cannot know
    word: str | None = None  # that it was given when it called before


@dataclass(frozen=True, slots=True)
class Turned:
    """The answer to a caller that gets no line: `refused` ends the query, `ungated` lets it go on by itself."""

    how: str
    why: str


@dataclass(eq=False)
class Connection:
    """The socket of one control source."""

    link: socket.socket
    wire: Any
    asked: ControlOffset | None = None  # a question that has no answer yet
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, said: dict[str, Any]) -> bool:
        """False if the other side is gone."""
        try:
            with self.lock:
                self.wire.write(json.dumps(said).encode() + b"\n")
                self.wire.flush()
        except (OSError, ValueError):
            return False
        return True

    def cut(self) -> None:
        # Not wire.close(): it would wait for the thread that reads from it, which waits for the query.
        with contextlib.suppress(OSError):
            self.link.shutdown(socket.SHUT_RDWR)


@dataclass(eq=False)
class Line:
    """The line of a query that was started through the gate; it may be connected or not."""

    spec: QuerySpec
    nameless: bool  # its source cannot say whose it is
    id: LineId | None = None  # None until the start has returned
    past: tuple[LineId, ...] = ()  # lives that this one has replaced
    word: str = field(default_factory=lambda: secrets.token_hex(8))  # by which a nameless source is known again
    connection: Connection | None = None
    aside: str | None = None  # why it goes on ungated
    gone: bool = False  # the controller was told that it has left
    called: threading.Event = field(default_factory=threading.Event)

    def is_of(self, greeting: Greeting) -> bool:
        if greeting.caller is not None:
            return self.id is not None and self.id.comes_back_as(greeting.caller)
        return self.nameless and (not self.called.is_set() if greeting.word is None else self.word == greeting.word)

    def connect(self, connection: Connection, greeting: Greeting) -> None:
        """From now on this connection speaks for it, and none before it."""
        before, self.connection = self.connection, connection
        if before is not None:
            before.cut()
        if self.id is not None and greeting.caller is not None:
            self.id = self.id.found_at(greeting.caller.checkpoint)

    def back(self) -> bool:
        """The line is in use again. True if the controller believes that the query has left, and has to be told."""
        told = self.gone and self.aside is None
        self.gone = self.gone and not told
        return told


class Lines:
    """The lines of a runtime, by the name of their query. Their user holds a lock."""

    def __init__(self) -> None:
        self._lines: dict[str, Line] = {}
        self._starting: set[str] = set()

    def __iter__(self) -> Iterator[Line]:
        return iter(list(self._lines.values()))

    def __len__(self) -> int:
        return len(self._lines)

    def of(self, query: str) -> Line | None:
        return self._lines.get(query)

    def waiting(self, query: str) -> Connection | None:
        """The connection of a query that has asked, which is answered now."""
        line = self._lines.get(query)
        if line is None or line.connection is None or line.connection.asked is None:
            return None
        line.connection.asked = None
        return line.connection

    def expect(self, spec: QuerySpec, nameless: bool) -> Line:
        """The start of a query begins: another life of it, if there was one before."""
        before = self._lines.get(spec.name)
        past = () if before is None or before.id is None else (*before.past, before.id)[-LIVES:]
        if before is not None:
            self.forget(before)
        self._lines[spec.name] = line = Line(spec, nameless, past=past)
        self._starting.add(spec.name)
        return line

    def tie(self, query: str, id: LineId) -> None:
        """The start has returned: this is the source that calls, or has called."""
        self._starting.discard(query)
        if (line := self._lines.get(query)) is not None:
            line.id = id

    def give_up(self, query: str) -> None:
        """The start has failed."""
        self._starting.discard(query)
        if (line := self._lines.get(query)) is not None:
            self.forget(line)

    def forget(self, line: Line) -> None:
        """Remove it. A connection that it still has belongs to no query from now on."""
        if self._lines.get(line.spec.name) is line:
            del self._lines[line.spec.name]
            connection, line.connection = line.connection, None
            if connection is not None:
                connection.cut()

    def forget_ended(self, line: Line) -> None:
        """Its query has ended; unless it calls again, or is being started again."""
        if line.connection is None and line.spec.name not in self._starting:
            self.forget(line)

    def known(self, greeting: Greeting) -> bool:
        """Whether it can be said whose line this is. A source may call before the start of its query has returned."""
        return greeting.caller is None or not self._starting or self._of(greeting) is not None

    def whose(self, greeting: Greeting) -> Line | Turned:
        """The line of the source that greets so."""
        line = self._of(greeting)
        if line is not None:
            return line
        if greeting.caller is None:
            return Turned("refused", NEEDS_START)
        for other in self._lines.values():
            if any(life.comes_back_as(greeting.caller) for life in other.past):
                return Turned("refused", REPLACED if other.id is None else f"{REPLACED}: {other.id.incarnation}")
        return Turned("ungated", PLAIN)

    def _of(self, greeting: Greeting) -> Line | None:
        return next((line for line in self._lines.values() if line.is_of(greeting)), None)


def greeting_in(said: dict[str, Any]) -> Greeting:
    query, run, checkpoint, word = (None if (x := said.get(n)) is None else str(x) for n in SAID)
    caller = None if query is None else LineId(query, checkpoint, Incarnation(run or ""))
    return Greeting(caller, word)
