"""Who may look, and what a browser may do with what it gets.

Every answer says that scripts and styles come from here alone, and that nothing is fetched from elsewhere: a name that looks
like HTML is text, and stays so. Beyond loopback nothing is shown without the token.
"""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from headway.fleet.node.app import ASGI, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()), (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"), (b"x-frame-options", b"DENY"), (b"cache-control", b"no-store"),
    (b"cross-origin-resource-policy", b"same-origin"), (b"cross-origin-opener-policy", b"same-origin"),
)  # fmt: skip
COOKIE = "headway"
OURS = ("localhost", "127.0.0.1", "::1")
MOST_BODY, MOST_QUERY = 4_096, 4_096
OPEN = ("/style.css", "/icon.svg")  # what the page that asks for the token needs


@dataclass(frozen=True, slots=True)
class PageGuard:
    """Lets through who may look. Without a token only who asks for this machine by its own name: no page of another site,
    whose name leads here, can read what is shown."""

    app: ASGI
    token: str | None
    login: bytes  # the page that asks for the token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        answer = _Answer(send)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope.get("headers", ())}
        if len(scope.get("query_string", b"")) > MOST_QUERY:
            await answer.text(414, "this address is too long")
        elif self.token is None:
            if _host(headers.get("host", "")) in OURS:
                await self._read(scope, receive, answer)
            else:
                await answer.text(403, "without a token this answers to localhost alone: start it with --token-file FILE")
        elif scope["path"] == "/login" and scope["method"] == "POST":
            await self._log_in(receive, answer, scope.get("scheme") == "https")
        elif scope["path"] in OPEN or self._knows(headers):
            await self._read(scope, receive, answer)
        elif scope["path"] == "/":
            await answer.page(401, self.login)
        else:
            await answer.text(401, "Authorization: expected the token of this dashboard")

    async def _read(self, scope: Scope, receive: Receive, answer: "_Answer") -> None:
        if scope["method"] not in ("GET", "HEAD"):
            await answer.text(405, "nothing can be changed here")
        else:
            await self.app(scope, receive, answer)

    def _knows(self, headers: Mapping[str, str]) -> bool:
        assert self.token is not None
        if secrets.compare_digest(headers.get("authorization", "").encode(), f"Bearer {self.token}".encode()):
            return True
        try:
            jar = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        return COOKIE in jar and secrets.compare_digest(jar[COOKIE].value.encode(), sign(self.token).encode())

    async def _log_in(self, receive: Receive, answer: "_Answer", tls: bool) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > MOST_BODY or message["type"] != "http.request":
                await answer.text(413, "expected a token")
                return
            if not message.get("more_body"):
                break
        told = parse_qs(body.decode("latin-1")).get("token", [""])[0]
        assert self.token is not None
        if not secrets.compare_digest(told.encode(), self.token.encode()):
            await answer.page(401, self.login)
            return
        cookie = f"{COOKIE}={sign(self.token)}; HttpOnly; SameSite=Strict; Path=/{'; Secure' if tls else ''}"
        await answer.text(303, "", ((b"location", b"/"), (b"set-cookie", cookie.encode())))


def sign(token: str) -> str:
    """What a browser keeps instead of the token."""
    return hmac.new(token.encode(), b"headway dashboard", hashlib.sha256).hexdigest()


def _host(header: str) -> str:
    """The name in a Host header, without its port."""
    return header[1:].partition("]")[0] if header.startswith("[") else header.partition(":")[0].lower()


@dataclass(frozen=True, slots=True)
class _Answer:
    """Sends what is answered, with the headers of every answer."""

    send: Send

    async def __call__(self, message: Mapping[str, object]) -> None:
        told = dict(message)
        if told["type"] == "http.response.start":
            kept = [(name, value) for name, value in told.get("headers", ()) if name not in dict(HEADERS)]  # type: ignore[attr-defined]
            told["headers"] = [*kept, *HEADERS]
        await self.send(told)

    async def text(self, status: int, line: str, more: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        await self._whole(status, line.encode(), (b"content-type", b"text/plain; charset=utf-8"), *more)

    async def page(self, status: int, html: bytes) -> None:
        await self._whole(status, html, (b"content-type", b"text/html; charset=utf-8"))

    async def _whole(self, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
        await self({"type": "http.response.start", "status": status, "headers": list(headers)})
        await self({"type": "http.response.body", "body": body})
