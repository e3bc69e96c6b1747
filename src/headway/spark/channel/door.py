"""A loopback server: a caller that knows the secret is let in, and listened to on a thread of its own."""

import contextlib
import json
import secrets
import socket
import threading
from abc import ABC, abstractmethod
from typing import Any

from headway.spark.channel.lines import Connection, Greeting, Line, greeting_in

GREETING_S = 10  # no caller may hold a thread for longer without knowing the secret


class Door(ABC):
    """Takes calls. What callers are told is up to its subclass."""

    def __init__(self) -> None:
        self.secret = secrets.token_hex(16)
        self.port = 0  # any that is free
        self.open()

    def open(self) -> None:
        """Listen, after `shut` on the same port again: lines then come back by themselves."""
        self._server = socket.create_server(("127.0.0.1", self.port), backlog=256)
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._server,), name="headway-gate", daemon=True).start()

    def shut(self) -> None:
        """No new callers; those that are in stay."""
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    @abstractmethod
    def _welcome(self, greeting: Greeting, connection: Connection) -> tuple[Line | None, dict[str, Any]]:
        """Whose line this is, and what it is told."""

    @abstractmethod
    def _take(self, line: Line, connection: Connection, text: bytes) -> None:
        """Something was said on this line."""

    @abstractmethod
    def _end(self, line: Line, connection: Connection) -> None:
        """A connection is gone: with its query, or without it."""

    def _accept(self, server: socket.socket) -> None:
        while True:
            try:
                link, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(link,), name="headway-line", daemon=True).start()

    def _serve(self, link: socket.socket) -> None:
        line, connection = None, None
        with contextlib.suppress(OSError, ValueError), link, link.makefile("rwb") as wire:
            connection = Connection(link, wire)
            link.settimeout(GREETING_S)
            said = json.loads(wire.readline(65_536))
            if not isinstance(said, dict) or not secrets.compare_digest(str(said.get("secret", "")), self.secret):
                return
            line, answer = self._welcome(greeting_in(said), connection)
            connection.answer(answer)
            if line is None:
                return
            link.settimeout(None)
            for text in wire:
                self._take(line, connection, text)
        if line is not None and connection is not None:
            self._end(line, connection)
