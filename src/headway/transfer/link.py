"""A kept connection to a site agent, and how long to try when it is cut."""

import json
import socket
import ssl
import threading
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Self
from urllib.parse import urlencode, urlsplit

from headway.errors import HeadwayError, SettingError
from headway.transfer.wire import CHUNK, TransferRefused

SILENCE_S = 30.0  # after which a link that should send is taken for cut
MOST_PAUSE_S = 20.0
MOST_LINE = 64 * 1024  # of a refusal
# A side that is busy says nothing for long; the kernels ask each other whether the other side still is there.
KEEPALIVE = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 4}


class LinkCut(Exception):
    """The connection broke, or never came about. Another attempt may do."""


@dataclass(frozen=True, slots=True)
class RetryLimit:
    """How often in a row a connection may fail without a single byte gained, and what is waited after the first time."""

    attempts: int = 8
    pause: float = 0.5  # seconds, doubled each time

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise SettingError("attempts", self.attempts, "one or more")
        if self.pause < 0:
            raise SettingError("pause", self.pause, "seconds, none or more")

    def pause_after(self, failures: int) -> float:
        return min(self.pause * 2.0 ** min(failures - 1, 30), MOST_PAUSE_S)


@dataclass(slots=True)
class SiteLink:
    """Asks one agent. It connects when it is first used, and anew after a cut."""

    url: str
    token: str
    limit: RetryLimit = RetryLimit()
    stopped: threading.Event = field(default_factory=threading.Event)  # set by the owner that wants this to end
    trusted: ssl.SSLContext | None = None  # what certificates are checked against; None: the system's own
    _connection: HTTPConnection = field(init=False)

    def __post_init__(self) -> None:
        with suppress(ValueError):  # no number as port
            parts = urlsplit(self.url)
            if parts.hostname and parts.path in ("", "/"):
                if parts.scheme == "http":
                    self._connection = HTTPConnection(parts.hostname, parts.port, timeout=SILENCE_S)
                    return
                if parts.scheme == "https":
                    trusted = self.trusted or ssl.create_default_context()
                    self._connection = HTTPSConnection(parts.hostname, parts.port, timeout=SILENCE_S, context=trusted)
                    return
        raise SettingError("url", self.url, "the address of an agent: http://HOST:PORT, or https://HOST:PORT")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def interrupt(self) -> None:
        """By another thread: the thread that reads from it finds it cut."""
        with suppress(OSError, AttributeError):
            self._connection.sock.shutdown(socket.SHUT_RDWR)

    def get(self, path: str, silence_s: float | None = SILENCE_S, **query: str | int) -> HTTPResponse:
        return self.ask("GET", f"{path}?{urlencode(query, errors='surrogateescape')}", silence_s=silence_s)

    def ask(self, verb: str, path: str, body: str | None = None, silence_s: float | None = SILENCE_S) -> HTTPResponse:
        """An answer whose body is still to be read. Raises LinkCut or TransferRefused."""
        self._check_stopped()
        try:
            if self._connection.sock is None:
                self._connect()
            self._connection.sock.settimeout(silence_s)
            self._connection.request(verb, path, body, {"Authorization": f"Bearer {self.token}"})
            answer = self._connection.getresponse()
            if answer.status == 200:
                return answer
            said = answer.read(MOST_LINE)
        except (OSError, HTTPException) as error:
            self.close()
            raise LinkCut(_reason(error)) from error
        self.close()
        raise TransferRefused(answer.status, f"{self.url}: {_line(said) or answer.reason}")

    def chunks(self, answer: HTTPResponse) -> Iterator[bytes]:
        """The body as it comes, to its last byte; raises LinkCut if that does not come."""
        try:
            while chunk := answer.read1(CHUNK):
                yield chunk
                self._check_stopped()
            # Python takes a head that is cut for a whole one: then nothing says how long the body is.
            if answer.length or (answer.length is None and not answer.chunked):
                raise LinkCut("it ended too early")
            answer.read()  # nothing: this frees the connection for the next question
        except (OSError, HTTPException) as error:
            raise LinkCut(_reason(error)) from error

    def unpacked(self, answer: HTTPResponse) -> Iterator[tuple[int, bytes]]:
        """A compressed body: bytes on the wire, and what they hold."""
        stream = zlib.decompressobj()
        try:
            for chunk in self.chunks(answer):
                yield len(chunk), stream.decompress(chunk)
        except zlib.error as error:
            raise LinkCut(f"it was garbled: {error}") from error
        if not stream.eof:
            raise LinkCut("it ended too early")

    def _connect(self) -> None:
        self._connection.connect()
        self._connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in KEEPALIVE.items():
            if hasattr(socket, option):
                self._connection.sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)

    def _check_stopped(self) -> None:
        if self.stopped.is_set():
            raise HeadwayError(f"{self.url}: this side was stopped in mid-transfer")

    def wait_after(self, failures: int) -> None:
        self.stopped.wait(self.limit.pause_after(failures))
        self._check_stopped()


@dataclass(slots=True)
class RetryCount:
    """Counts the cuts of one thing that is fetched; a gain begins to count anew."""

    link: SiteLink
    what: str
    failures: int = 0

    def after(self, cut: LinkCut, gained: bool = False) -> None:
        """Waits, for the next attempt; raises if there have been enough."""
        self.link.close()
        self.failures = 1 if gained else self.failures + 1
        if self.failures >= self.link.limit.attempts:
            tried = "once" if self.failures == 1 else f"{self.failures} times"
            raise HeadwayError(f"{self.link.url}: {self.what}: the connection failed {tried}: {cut}") from cut
        self.link.wait_after(self.failures)


def _line(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        return ""


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
