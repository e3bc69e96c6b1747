"""The gate's side of the control channel: a loopback server that parks each query until it is let through.

A query's control source calls it: that is the query's line. Whose it is, `lines.py` knows.
"""

import threading
import traceback
from collections.abc import Callable
from typing import Any

from headway.errors import aloud
from headway.model.line import LineId
from headway.model.message import Asked, Gone, Message, QuerySpec, Started
from headway.model.offset import ControlOffset
from headway.spark.channel.door import Door
from headway.spark.channel.lines import REPLACED, Connection, Greeting, Line, Lines, Turned
from headway.spark.channel.offset_text import fields_of, offset_in

CLAIM_S = 50  # within which the start of a query returns; its source waits a little longer than that


class Gate(Door):
    """Accepts control sources, turns what they ask into messages, and writes the answers."""

    def __init__(
        self,
        inbox: Callable[[Message], None],
        on_ask: Callable[[str], None] = lambda query: None,
        ended: Callable[[str], bool] = lambda query: True,
        now: Callable[[], int] | None = None,
    ) -> None:
        """`on_ask` is called before a question is passed on; `ended` when a line is gone, and says whether its query is.
        `now` is the clock by which watermarks are announced: sources must not take their own, which may be set."""
        self._inbox, self._on_ask, self._ended, self._now = inbox, on_ask, ended, now
        self._lines = Lines()
        self._changed = threading.Condition()
        self._said: set[tuple[str, str]] = set()
        super().__init__()  # and so opens: from here on a source may call

    # ---- for the start of queries

    def expect(self, spec: QuerySpec, nameless: bool = False) -> threading.Event:
        """The start of a query begins; the event tells when its line is there. Then `tie` it, or `give_up`."""
        with self._changed:
            line = self._lines.expect(spec, nameless)
            self._inbox(Started(spec))
        return line.called

    def tie(self, query: str, id: LineId) -> None:
        """The start has returned: this is whose line the query's is."""
        with self._changed:
            self._lines.tie(query, id)
            self._changed.notify_all()

    def give_up(self, query: str) -> None:
        """The start has failed."""
        with self._changed:
            self._lines.give_up(query)
            self._inbox(Gone(query))
            self._changed.notify_all()

    def id_of(self, query: str) -> LineId | None:
        """Whose line a query's is; None if it has none, or its start has not returned yet."""
        with self._changed:
            line = self._lines.of(query)
            return None if line is None else line.id

    # ---- for the controller and its supervision

    def release(self, query: str, offset: ControlOffset) -> bool:
        """Answer a query that waits at the gate. False if it is gone."""
        with self._changed:
            connection = self._lines.waiting(query)
        said: dict[str, Any] = {"offset": fields_of(offset)}
        if self._now is not None:
            said["now"] = self._now()
        if connection is not None and connection.answer(said):
            return True
        self._unheard(query)
        return False

    def asked_again(self) -> None:
        """Post what every query on the line has asked and was not answered, for a controller that has begun anew."""
        with self._changed:
            for line in self._lines:
                if line.connection is None or line.aside is not None:
                    continue
                if line.connection.asked is not None:
                    self._inbox(Asked(line.spec.name, line.connection.asked))

    def put_aside(self, query: str, why: str) -> None:
        """From now on this query goes on ungated, by its rows; until it is started anew."""
        with self._changed:
            line = self._lines.of(query)
            if line is None or line.aside is not None:
                return
            line.aside = why
            self._leave(line)
            connection = self._lines.waiting(query)
        aloud(f"query {query!r} goes on ungated: {why}")
        if connection is not None:
            connection.answer({"ungated": why})

    def close(self) -> None:
        """Hang up on all: the sources then go on ungated, which is what failing open means."""
        self.shut()
        with self._changed:
            connections = [line.connection for line in self._lines if line.connection is not None]
        for connection in connections:
            connection.cut()

    # ---- how it is done

    def _unheard(self, query: str) -> None:
        """An answer has found no line, and the controller takes the query for gone; its line may have been laid anew, and
        may even have asked: then it is told of once more."""
        with self._changed:
            line = self._lines.of(query)
            if line is None or line.aside is not None:
                return
            line.gone = True
            if line.connection is not None and line.connection.asked is not None:
                if line.back():
                    self._inbox(Started(line.spec))
                self._inbox(Asked(query, line.connection.asked))

    def _leave(self, line: Line) -> None:
        if not line.gone:
            line.gone = True
            self._inbox(Gone(line.spec.name))

    def _end(self, line: Line, connection: Connection) -> None:
        """A connection is gone: with its query, or without it."""
        with self._changed:
            if line.connection is not connection:  # it was laid anew, or the query was started again: it speaks for no query
                return
            line.connection = None
            self._leave(line)
        if self._ended(line.spec.name):
            with self._changed:
                self._lines.forget_ended(line)

    def _welcome(self, greeting: Greeting, connection: Connection) -> tuple[Line | None, dict[str, Any]]:
        """Whose line this is, and what it is told."""
        with self._changed:
            self._changed.wait_for(lambda: self._lines.known(greeting), CLAIM_S)
            line = self._lines.whose(greeting)
            if isinstance(line, Turned):
                return None, {line.how: line.why}
            line.connect(connection, greeting)
            if line.called.is_set() and line.aside is None:
                # Whether the end of the old line was noticed or not: an answer may have been lost with it, and what the
                # controller believes of the query would be wrong. It begins anew, from the offset that Spark has.
                line.gone = False
                self._inbox(Started(line.spec))
            line.called.set()  # before another source is welcomed: a place without a name is taken once
            patience_ms = max((_most_ms(i) for i in line.spec.inputs), default=0)
            return line, {"line": line.word, "patience_ms": patience_ms}

    def _take(self, line: Line, connection: Connection, text: bytes) -> None:
        name = line.spec.name
        try:
            asked = offset_in(text)
        except ValueError as error:
            self.put_aside(name, f"its control source asks {error!s}")
            connection.answer({"ungated": str(line.aside)})
            return
        try:
            if line.aside is None:
                self._on_ask(name)
        except Exception as error:  # a report that cannot be read is no reason to let a query wait for ever
            self._say_once(name, f"the report of query {name!r} cannot be read ({error!r}): the query goes on without it")
        with self._changed:
            if line.connection is connection and line.aside is None:
                connection.asked = asked
                if line.back():
                    self._inbox(Started(line.spec))
                self._inbox(Asked(name, asked))
                return
        connection.answer({"ungated": line.aside or REPLACED})

    def _say_once(self, query: str, text: str) -> None:
        if (query, text) not in self._said:
            self._said.add((query, text))
            traceback.print_exc()
            aloud(text)


def _most_ms(source: Any) -> int:
    policy = source.policy or source.sampling
    return int(source.patience_ms if policy is None else policy.most_ms)
