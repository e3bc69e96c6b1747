"""The gate's side of the control channel: a loopback server that parks each query until it is let through.

A query's control source calls it: that is the query's line. A line says which query it belongs to, and which run of it, so
queries may start side by side, and a line that was cut is taken back. The Python source cannot know its query: there the
next line that calls belongs to the query being started, and it gets a word by which it is known when it calls again.
"""

import contextlib
import json
import secrets
import socket
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from headway.errors import aloud
from headway.model.message import Asked, Gone, Message, QuerySpec, Started

GREETING_S = 10  # nobody may hold a thread for longer without knowing the secret
CLAIM_S = 50  # within which the start of a query returns; its source waits a little longer than that
PLAIN = "a query was started without rt.start(...): it runs ungated, by its rows"
NEEDS_START = "this query was started without Headway: start it with rt.start(...)"
REPLACED = "another run of this query has taken its place at the gate"


@dataclass(eq=False)
class _Line:
    """The connection of one control source."""

    link: socket.socket
    wire: Any
    asked: dict[str, int] | None = None  # a question that has no answer yet
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
class _Query:
    """A query that was started through the gate, and may be on the line or not."""

    spec: QuerySpec
    nameless: bool  # its source cannot say whose it is
    id: str | None = None
    run: str | None = None
    past: tuple[str, ...] = ()  # runs that this one has replaced
    word: str = field(default_factory=lambda: secrets.token_hex(8))  # by which a nameless line is known again
    line: _Line | None = None
    aside: str | None = None  # why it goes on ungated
    gone: bool = False  # the controller was told that it has left
    called: threading.Event = field(default_factory=threading.Event)


class Gate:
    """Accepts control sources, turns what they ask into messages, and writes the answers."""

    def __init__(
        self,
        inbox: Callable[[Message], None],
        on_ask: Callable[[str], None] = lambda query: None,
        ended: Callable[[str], bool] = lambda query: True,
        now: Callable[[], int] | None = None,
    ) -> None:
        """`on_ask` is called before a question is passed on; `ended` when a line is gone, and says whether its query is.
        `now` is the clock by which watermarks are announced: sources must not take their own, which somebody may set."""
        self.secret = secrets.token_hex(16)
        self._inbox, self._on_ask, self._ended, self._now = inbox, on_ask, ended, now
        self._queries: dict[str, _Query] = {}
        self._starting: set[str] = set()
        self._changed = threading.Condition()
        self._said: set[tuple[str, str]] = set()
        self.port = 0  # any that is free
        self.open()

    def open(self) -> None:
        """Listen, after `close` on the same port again: lines then come back by themselves."""
        self._server = socket.create_server(("127.0.0.1", self.port), backlog=256)
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._server,), name="headway-gate", daemon=True).start()

    # ---- for who starts queries

    def expect(self, spec: QuerySpec, nameless: bool = False) -> threading.Event:
        """The start of a query begins; the event tells when its line is there. Then `tie` it, or `give_up`."""
        with self._changed:
            before = self._queries.get(spec.name)
            self._forget(before)
            past = () if before is None or before.run is None else (*before.past, before.run)[-100:]
            self._queries[spec.name] = query = _Query(spec, nameless, past=past)
            self._starting.add(spec.name)
            self._inbox(Started(spec))
        return query.called

    def tie(self, query: str, id: str, run: str) -> None:
        """The start has returned: this is the query's id, and this the id of its run."""
        with self._changed:
            self._starting.discard(query)
            if (known := self._queries.get(query)) is not None:
                known.id, known.run = id, run
            self._changed.notify_all()

    def give_up(self, query: str) -> None:
        """The start has failed."""
        with self._changed:
            self._starting.discard(query)
            self._forget(self._queries.get(query))
            self._inbox(Gone(query))
            self._changed.notify_all()

    # ---- for the controller, and who supervises it

    def release(self, query: str, offset: dict[str, int]) -> bool:
        """Answer a query that waits at the gate. False if it is gone."""
        with self._changed:
            line = self._waiting(query)
        if line is not None and line.answer(offset if self._now is None else {**offset, "now": self._now()}):
            return True
        self._unheard(query)
        return False

    def asked_again(self) -> None:
        """Post what every query on the line has asked and was not answered, for a controller that has begun anew."""
        with self._changed:
            for name, query in self._queries.items():
                if query.line is None or query.aside is not None:
                    continue
                if query.line.asked is not None:
                    self._inbox(Asked(name, query.line.asked))

    def put_aside(self, query: str, why: str) -> None:
        """From now on this query goes on ungated, by its rows; until it is started anew."""
        with self._changed:
            known = self._queries.get(query)
            if known is None or known.aside is not None:
                return
            known.aside = why
            self._leave(known)
            line = self._waiting(query)
        aloud(f"query {query!r} goes on ungated: {why}")
        if line is not None:
            line.answer({"ungated": why})

    def close(self) -> None:
        """Hang up on everybody: the sources then go on ungated, which is what failing open means."""
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        with self._changed:
            lines = [query.line for query in self._queries.values() if query.line is not None]
        for line in lines:
            line.cut()

    # ---- how it is done

    def _waiting(self, query: str) -> _Line | None:
        """The line of a query that has asked, which is answered now."""
        known = self._queries.get(query)
        if known is None or known.line is None or known.line.asked is None:
            return None
        known.line.asked = None
        return known.line

    def _forget(self, query: _Query | None) -> None:
        """A line of it that is there still is nobody's from now on."""
        if query is not None and self._queries.get(query.spec.name) is query:
            del self._queries[query.spec.name]
            line, query.line = query.line, None
            if line is not None:
                line.cut()

    def _unheard(self, query: str) -> None:
        """An answer has found nobody, and the controller takes the query for gone; its line may have been laid anew, and may
        even have asked: then it is told of once more."""
        with self._changed:
            known = self._queries.get(query)
            if known is None or known.aside is not None:
                return
            known.gone = True
            if known.line is not None and known.line.asked is not None:
                self._back(known)
                self._inbox(Asked(query, known.line.asked))

    def _back(self, query: _Query) -> None:
        if query.gone and query.aside is None:
            query.gone = False
            self._inbox(Started(query.spec))

    def _leave(self, query: _Query) -> None:
        if not query.gone:
            query.gone = True
            self._inbox(Gone(query.spec.name))

    def _accept(self, server: socket.socket) -> None:
        while True:
            try:
                link, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(link,), name="headway-line", daemon=True).start()

    def _serve(self, link: socket.socket) -> None:
        query, line = None, None
        with contextlib.suppress(OSError, ValueError), link, link.makefile("rwb") as wire:
            line = _Line(link, wire)
            link.settimeout(GREETING_S)
            greeting = json.loads(wire.readline(65_536))
            if not isinstance(greeting, dict) or not secrets.compare_digest(str(greeting.get("secret", "")), self.secret):
                return
            query, said = self._welcome(greeting, line)
            line.answer(said)
            if query is None:
                return
            query.called.set()
            link.settimeout(None)
            for text in wire:
                self._take(query, line, text)
        if query is not None and line is not None:
            self._end(query, line)

    def _end(self, query: _Query, line: _Line) -> None:
        """A line is gone: with its query, or without it."""
        with self._changed:
            if query.line is not line:  # it was laid anew, or the query was started again: nobody speaks for it here
                return
            query.line = None
            self._leave(query)
        if self._ended(query.spec.name):
            with self._changed:
                if query.line is None and query.spec.name not in self._starting:
                    self._forget(query)

    def _welcome(self, greeting: dict[str, Any], line: _Line) -> tuple[_Query | None, dict[str, Any]]:
        """Whose line this is, and what it is told."""
        id, run = greeting.get("query"), greeting.get("run")
        with self._changed:
            if id is not None:
                # The source may call before the start of its query has returned: then nobody knows its id yet.
                self._changed.wait_for(lambda: self._of_run(id, run) is not None or not self._starting, CLAIM_S)
                query = self._of_run(id, run)
                if query is None:
                    stale = any(run in known.past for known in self._queries.values())
                    return None, {"refused": REPLACED} if stale else {"ungated": PLAIN}
            else:
                word = greeting.get("line")
                query = next((q for q in self._queries.values() if q.nameless and self._is_for(q, word)), None)
                if query is None:
                    return None, {"refused": NEEDS_START}
            old, query.line = query.line, line
            if old is not None:
                old.cut()
            if query.called.is_set() and query.aside is None:
                # Whether the end of the old line was noticed or not: an answer may have been lost with it, and what the
                # controller believes of the query would be wrong. It begins anew, from the offset that Spark has.
                query.gone = False
                self._inbox(Started(query.spec))
            patience_ms = max((_most_ms(i) for i in query.spec.inputs), default=0)
            return query, {"line": query.word, "patience_ms": patience_ms}

    def _of_run(self, id: str, run: str | None) -> _Query | None:
        return next((q for q in self._queries.values() if q.id == id and q.run == run), None)

    @staticmethod
    def _is_for(query: _Query, word: Any) -> bool:
        return not query.called.is_set() if word is None else query.word == word

    def _take(self, query: _Query, line: _Line, text: bytes) -> None:
        name = query.spec.name
        try:
            asked = question(text)
        except ValueError as error:
            self.put_aside(name, f"its control source asks {error!s}")
            line.answer({"ungated": str(query.aside)})
            return
        try:
            if query.aside is None:
                self._on_ask(name)
        except Exception as error:  # a report that cannot be read is no reason to let a query wait for ever
            self._say_once(name, f"the report of query {name!r} cannot be read ({error!r}): the query goes on without it")
        with self._changed:
            if query.line is line and query.aside is None:
                line.asked = asked
                self._back(query)
                self._inbox(Asked(name, asked))
                return
        line.answer({"ungated": query.aside or REPLACED})

    def _say_once(self, query: str, text: str) -> None:
        if (query, text) not in self._said:
            self._said.add((query, text))
            traceback.print_exc()
            aloud(text)


def question(text: bytes) -> dict[str, int]:
    """The offset that a source asks with; raises ValueError, saying what is wrong with it."""
    try:
        asked = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"what is no JSON: {text[:80]!r}") from None
    if not isinstance(asked, dict):
        raise ValueError(f"with what is no offset: {text[:80]!r}")
    for key in ("seq", "wm", "live", *asked):
        if type(asked.get(key)) is not int:
            raise ValueError(f"with {key} = {asked.get(key)!r}, which is no whole number")
    return asked


def _most_ms(given: Any) -> int:
    policy = given.policy or given.sampling
    return int(given.patience_ms if policy is None else policy.most_ms)
