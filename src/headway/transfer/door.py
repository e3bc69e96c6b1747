"""The door of a site agent: one HTTP request, from its token to its answer. What is refused is refused with one line."""

import hmac
import json
import os
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from headway.transfer.content import content, packed, remaining
from headway.transfer.site import SiteFolder
from headway.transfer.wire import MOST_PROBED, PullOrder, TransferRefused, listing_text

MOST_BODY = 1 << 20
MOST_DIGITS = 18  # of a number in a question
IDLE_S = 60.0  # a kept connection that is not used


class SiteRequest(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    protocol_version = "HTTP/1.1"  # keeps connections
    disable_nagle_algorithm = True  # or each small file waits for the acknowledgement of its head
    timeout = IDLE_S

    def __init__(self, site: SiteFolder, say: Callable[[str], None], *connection: Any) -> None:
        self._site, self._say = site, say
        self._answered = False
        super().__init__(*connection)

    def do_GET(self) -> None:
        self._admit({"/v1/list": self._list, "/v1/file": self._file, "/v1/probe": self._probe})

    def do_POST(self) -> None:
        self._admit({"/v1/pull": self._pull})

    def _admit(self, doors: dict[str, Callable[[], None]]) -> None:
        self._answered = False
        authorization = self.headers.get("Authorization", "").encode("utf-8", "replace")
        try:
            if not hmac.compare_digest(authorization, f"Bearer {self._site.token}".encode()):
                raise TransferRefused(401, "Authorization: expected the token of this site")
            path = urlsplit(self.path).path
            if path not in doors:
                raise TransferRefused(404, f"{path[:80]}: there is no such address here")
            doors[path]()
        except TransferRefused as error:
            self._refuse(error.status, str(error))
        except (ConnectionError, TimeoutError):  # the caller is not there any more
            self.close_connection = True
        except (OSError, ValueError) as error:  # a file that cannot be read, an address that is none
            self._refuse(500, " ".join(str(error).split()))

    def _list(self) -> None:
        text = listing_text(self._site.files(_word(self.path, "folder")))
        if _number(self.path, "compress", 0):
            self._send_packed([text])
        else:
            self._send(text)

    def _file(self) -> None:
        with self._site.open(_word(self.path, "folder"), _word(self.path, "name")) as file:
            until = _number(self.path, "until", -1)
            size = remaining(file, _number(self.path, "offset", 0), None if until < 0 else until)
            if _number(self.path, "compress", 0):
                self._send_packed(content(file, size))
            else:
                self._head("application/octet-stream", {"Content-Length": str(size)})
                for chunk in content(file, size):
                    self.wfile.write(chunk)

    def _probe(self) -> None:
        size = _number(self.path, "bytes", 0)
        if not 1 <= size <= MOST_PROBED:
            raise TransferRefused(400, f"bytes = {size}: expected 1 to {MOST_PROBED:,}")
        self._send(os.urandom(size), "application/octet-stream")

    def _pull(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or len(length) > MOST_DIGITS or int(length) > MOST_BODY:
            raise TransferRefused(400, f"expected a body, its length, and no more than {MOST_BODY:,} bytes")
        report = self._site.pull(PullOrder.read(self.rfile.read(int(length))))
        self._send(report.text.encode())

    def _head(self, kind: str, more: dict[str, str], status: int = 200) -> None:
        self._answered = True
        self.send_response(status)
        for key, value in {"Content-Type": kind, **more}.items():
            self.send_header(key, value)
        self.end_headers()

    def _send(self, body: bytes, kind: str = "application/json") -> None:
        self._head(kind, {"Content-Length": str(len(body))})
        self.wfile.write(body)

    def _send_packed(self, chunks: Iterable[bytes]) -> None:
        """Its length is known at the end only, so it goes in chunks, whose last one says that nothing was cut off."""
        self._head("application/octet-stream", {"Transfer-Encoding": "chunked"})
        for part in packed(chunks):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.write(b"0\r\n\r\n")

    def _refuse(self, status: int, line: str) -> None:
        self._say(f"a request of {self.client_address[0]} is refused: {line}")
        self.close_connection = True  # its body may still be on the way
        if not self._answered:
            body = json.dumps({"error": line}).encode()
            self._head("application/json", {"Content-Length": str(len(body)), "Connection": "close"}, status)
            self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What is no request that we know: Python's own answer is a page."""
        self._refuse(code, message or "this is no request")

    def log_message(self, format: str, *args: Any) -> None:
        """Not a line per file."""


def _word(address: str, key: str, default: str | None = None) -> str:
    """What the question of an address says of a key."""
    values = parse_qs(urlsplit(address).query, keep_blank_values=True, errors="surrogateescape").get(key)
    if values is None and default is None:
        raise TransferRefused(400, f"{key}: expected one in the address")
    return values[0] if values else str(default)


def _number(address: str, key: str, default: int) -> int:
    word = _word(address, key, str(default))
    if word == str(default):
        return default
    if not word.isdecimal() or len(word) > MOST_DIGITS:
        raise TransferRefused(400, f"{key} = {word[:80]!r}: expected a number")
    return int(word)
