"""A link between two sites for tests: it lets so many bytes through, and cuts connections where it is told to."""

import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit


class ThinLink:
    """Forwards to an agent. Connection number n is cut after `cuts[n]` bytes of answers; those beyond are whole.

    With an allowance, no more bytes of answers than that go through, over all connections, until `open_up`.
    """

    def __init__(self, target: str, cuts: Sequence[int] = (), allowance: int | None = None) -> None:
        parts = urlsplit(target)
        self._target = (str(parts.hostname), int(parts.port or 0))
        self._cuts, self._allowance = cuts, allowance
        self._changed = threading.Condition()
        self._open: list[socket.socket] = []
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.open_up()
        _cut(self._listener, *self._open)

    def open_up(self) -> None:
        with self._changed:
            self._allowance = None
            self._changed.notify_all()

    def _accept(self) -> None:
        with suppress(OSError):  # closed by the test
            while True:
                near, _ = self._listener.accept()
                cut = self._cuts[self.connections] if self.connections < len(self._cuts) else None
                self.connections += 1
                far = socket.create_connection(self._target)
                self._open += [near, far]
                threading.Thread(target=self._questions, args=(near, far), daemon=True).start()
                threading.Thread(target=self._answers, args=(far, near, cut), daemon=True).start()

    def _questions(self, near: socket.socket, far: socket.socket) -> None:
        with suppress(OSError):
            while said := near.recv(65536):
                far.sendall(said)
        _cut(near, far)

    def _answers(self, far: socket.socket, near: socket.socket, cut: int | None) -> None:
        left = cut
        with suppress(OSError):
            while left != 0 and (said := far.recv(4096 if left is None else min(4096, left))):
                left = None if left is None else left - len(said)
                while said:
                    some = self._granted(len(said))
                    near.sendall(said[:some])
                    said = said[some:]
        _cut(near, far)

    def _granted(self, wanted: int) -> int:
        with self._changed:
            self._changed.wait_for(lambda: self._allowance != 0)
            if self._allowance is None:
                return wanted
            some = min(wanted, self._allowance)
            self._allowance -= some
            return some


def _cut(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
