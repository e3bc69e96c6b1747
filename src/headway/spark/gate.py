"""The gate's side of the control channel: a loopback server that parks each query until it is let through."""

import contextlib
import json
import secrets
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BufferedRWPair

from headway.model.message import Asked, Gone, Message


@dataclass
class _Line:
    """The connection of one query's control source."""

    link: socket.socket
    wire: BufferedRWPair
    lock: threading.Lock = field(default_factory=threading.Lock)
    question: dict[str, int] | None = None  # that nobody has answered yet


class Gate:
    """Accepts control sources, turns what they ask into messages, and writes the answers.

    Queries are started one by one (`admit`), so that the next source that calls belongs to the query being started.
    """

    def __init__(self, inbox: Callable[[Message], None], on_ask: Callable[[str], None] | None = None) -> None:
        self.secret = secrets.token_hex(16)
        self._inbox = inbox
        self._on_ask = on_ask or (lambda query: None)
        self._lines: dict[str, _Line] = {}
        self._starting: tuple[str, threading.Event] | None = None
        self._lock = threading.Lock()
        self._server = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._accept, name="headway-gate", daemon=True).start()

    def admit(self, query: str) -> threading.Event:
        """From now on, the next control source to call is that of `query`; the event tells when it has."""
        called = threading.Event()
        with self._lock:
            self._starting = (query, called)
        return called

    def release(self, query: str, offset: dict[str, int]) -> bool:
        """Answer a query that waits at the gate. False if it is gone."""
        line = self._lines.get(query)
        if line is None:
            return False
        try:
            with line.lock:
                line.question = None
                line.wire.write(json.dumps(offset).encode() + b"\n")
                line.wire.flush()
        except (OSError, ValueError):
            return False
        return True

    def asked_again(self) -> None:
        """Post the question of every query that waits once more, for a controller that has not heard it."""
        for query, line in list(self._lines.items()):
            with line.lock:
                if line.question is not None:
                    self._inbox(Asked(query, line.question))

    def put_aside(self, query: str, why: str) -> None:
        """Hang up on one query, which then goes on ungated."""
        if (line := self._lines.pop(query, None)) is not None:
            with contextlib.suppress(OSError):
                line.link.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Hang up on everybody: the sources then go on ungated, which is what failing open means."""
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for line in list(self._lines.values()):
            # Not wire.close(): it would wait for the thread that reads from it, which waits for the query.
            with contextlib.suppress(OSError):
                line.link.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                link, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(link,), name="headway-line", daemon=True).start()

    def _serve(self, link: socket.socket) -> None:
        query = None
        with contextlib.suppress(OSError, ValueError), link:
            link.settimeout(10)  # only for the greeting: nobody may hold a thread without knowing the secret
            wire = link.makefile("rwb")
            query = self._greet(link, wire)
            if query is None:
                return
            link.settimeout(None)
            for asked in wire:
                self._on_ask(query)
                line, question = self._lines.get(query), json.loads(asked)
                if line is None:  # it was put aside this very moment
                    break
                with line.lock:
                    line.question = question
                    self._inbox(Asked(query, question))
        # A query of the same name may have been started again already: only the line that is current speaks for it.
        if query is not None and query in self._lines and self._lines[query].link is link:
            del self._lines[query]
            self._inbox(Gone(query))

    def _greet(self, link: socket.socket, wire: BufferedRWPair) -> str | None:
        greeting = json.loads(wire.readline(4096) or b"{}")
        if not secrets.compare_digest(str(greeting.get("secret", "")), self.secret):
            return None
        with self._lock:
            starting, self._starting = self._starting, None
        if starting is None:
            text = "a query was started without rt.start(): it runs ungated, by the fallback delay"
            wire.write(json.dumps({"error": text}).encode() + b"\n")
            wire.flush()
            return None
        query, called = starting
        self._lines[query] = _Line(link, wire)
        wire.write(b"{}\n")
        wire.flush()
        called.set()
        return query
