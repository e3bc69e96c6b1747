"""The door of a node: its HTTP application, and the server that runs it on a thread aside.

A caller that does not know the token learns nothing, not even which addresses there are. Everything that is refused is
refused with one line, which is also said aloud here.
"""

import asyncio
import ipaddress
import json
import secrets
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import SettingError, aloud
from headway.fleet.node.checkpoints import CheckpointShelf
from headway.fleet.node.desk import CommandDesk, RequestReused
from headway.fleet.node.host import NotHosted
from headway.fleet.node.machine import agent_seconds
from headway.fleet.node.reporter import StatusReporter, ToldStatus
from headway.fleet.node.shelf_door import Refuse, shelf_routes
from headway.fleet.node.text import Malformed, written
from headway.fleet.node.wire import ACTIONS, SCHEMA, OtherSchema, command_in

if TYPE_CHECKING:
    from fastapi import FastAPI, Request

MOST_BYTES = 1 << 20  # of a body: a query's experience is some ten thousand
BODY_S = 10.0  # for it to come
LEAST_LETTERS = 16  # of a token
MOST_DIGITS = 18  # of the number of a status
KEPT_S = 60  # a connection that is not used: in a large fleet an orchestrator asks every ten seconds
LOOPBACK = "127.0.0.1"
CODES: dict[type[Exception], int] = {
    Malformed: 400, OtherSchema: 409, RequestReused: 409, NotHosted: 404, TimeoutError: 408, OverflowError: 413,
}  # fmt: skip

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGI = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class TokenGuard:
    """Lets through callers that know the token; compared in constant time."""

    app: ASGI
    token: str
    say: Callable[[str], None]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        authorization = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "http" and secrets.compare_digest(authorization, f"Bearer {self.token}".encode()):
            await self.app(scope, receive, send)
            return
        caller, path = (scope.get("client") or ("an unknown address",))[0], _short(scope.get("path", ""))
        self.say(f"a request of {caller} for {path} is refused: {'wrong' if authorization else 'no'} token")
        if scope["type"] == "http":
            head = [(b"content-type", b"application/json"), (b"connection", b"close"), (b"www-authenticate", b"Bearer")]
            await send({"type": "http.response.start", "status": 401, "headers": head})
            await send({"type": "http.response.body", "body": b'{"error":"Authorization: expected the token of this node"}'})


def application(
    desk: CommandDesk,
    reporter: StatusReporter,
    token: str,
    say: Callable[[str], None] = aloud,
    shelf: CheckpointShelf | None = None,
) -> ASGI:
    """The node's HTTP application. Without a shelf, it is not asked about checkpoints."""
    return TokenGuard(_routes(desk, reporter, say, shelf), token, say)


def _routes(
    desk: CommandDesk, reporter: StatusReporter, say: Callable[[str], None], shelf: CheckpointShelf | None
) -> "FastAPI":
    from fastapi import FastAPI, Request, Response
    from fastapi.concurrency import run_in_threadpool

    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)

    def answer(body: str | bytes, status: int = 200) -> Response:
        return Response(body, status, media_type="application/json")

    def refused(request: Request, line: str, status: int) -> Response:
        line = " ".join(line.split())
        say(f"a request of {request.client.host if request.client else 'an unknown address'} is refused: {line}")
        return answer(json.dumps({"error": line}), status)

    @app.get("/v1/status")
    async def status(request: Request) -> Response:
        try:
            return answer(_status(reporter.told, request.query_params.get("since")))
        except Malformed as error:
            return refused(request, str(error), 400)

    @app.get("/v1/health")
    async def health() -> Response:
        told = reporter.status
        return answer(
            json.dumps(
                {"node": told.node, "run": told.run, "schema": SCHEMA, "version": told.version, "agent_s": agent_seconds()}
            )
        )

    @app.post("/v1/queries/{name:path}/{action}")
    async def obey(name: str, action: str, request: Request) -> Response:
        try:
            if action not in ACTIONS:
                raise NotHosted(f"action = {_short(action)!r}: expected one of {', '.join(ACTIONS)}")
            command = command_in(await body_of(request))
            if (command.query, command.action) != (name, action):
                what = f"{command.action} of {_short(command.query)!r}"
                raise Malformed(f"NodeCommand is {what}: the address says otherwise")
            receipt = await run_in_threadpool(desk.take, command)
        except tuple(CODES) as error:
            return refused(request, str(error) or "the body did not come in time", CODES[type(error)])
        return answer(written(receipt))

    _further_routes(app, shelf, refused)
    return app


def _further_routes(app: "FastAPI", shelf: CheckpointShelf | None, refused: Refuse) -> None:
    from fastapi import Request, Response

    if shelf is not None:
        shelf_routes(app, shelf, refused, body_of)

    @app.api_route("/{path:path}", methods=["GET", "POST", "PUT", "PATCH", "DELETE"])
    async def elsewhere(path: str, request: Request) -> Response:
        return refused(request, f"/{_short(path)}: there is no such address here", 404)


def _status(told: ToldStatus, since: str | None) -> bytes:
    """What a reader wants that has heard the status of this number last."""
    if since is None:
        return told.whole
    if not since.isdecimal() or len(since) > MOST_DIGITS:
        raise Malformed(f"since = {_short(since)!r}: expected the number of a status")
    return told.since(int(since))


async def body_of(request: "Request") -> bytes:
    """Raises a TimeoutError or an OverflowError: nobody keeps a server waiting, or fills its memory."""
    body = bytearray()
    async with asyncio.timeout(BODY_S):
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                raise OverflowError(f"the body has more than {MOST_BYTES} bytes")
    return bytes(body)


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:80]}..."


@dataclass(frozen=True, slots=True)
class Listening:
    """Where a node listens, and what it takes to talk to it."""

    token: str | None = None  # None: one is made up, on loopback only
    host: str = LOOPBACK
    port: int = 0  # 0: any that is free
    cert: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        if self.token is None and not self.local:
            raise SettingError("token", None, f"a token, since {self.host} is not loopback: --token-file FILE")
        if self.token is not None and (len(self.token) < LEAST_LETTERS or not self.token.isascii()):
            raise SettingError("token", f"{len(self.token)} letters", f"{LEAST_LETTERS} or more letters, ASCII, no blanks")
        if (self.cert is None) != (self.key is None):
            raise SettingError("cert", str(self.cert), "a certificate and its key: --cert FILE --key FILE")

    @property
    def local(self) -> bool:
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:  # a name
            return False

    @property
    def scheme(self) -> str:
        return "http" if self.cert is None else "https"


class NodeServer:
    """Serves an application on a thread of its own."""

    def __init__(self, app: ASGI, listening: Listening) -> None:
        import uvicorn

        config = uvicorn.Config(
            app, log_config=None, access_log=False, lifespan="off", loop="asyncio", ws="none", server_header=False,
            timeout_graceful_shutdown=5, timeout_keep_alive=KEPT_S, ssl_certfile=listening.cert, ssl_keyfile=listening.key,
        )  # fmt: skip
        try:
            config.load()
        except (OSError, ssl.SSLError) as error:
            raise SettingError("cert", str(listening.cert), f"a certificate and its key as PEM files: {error}") from None
        try:
            family = socket.AF_INET6 if ":" in listening.host else socket.AF_INET
            made = socket.create_server((listening.host, listening.port), family=family, backlog=128)
            # asyncio turns off Nagle's wait for sockets that say that they are TCP, and those of `create_server` do not: the
            # second half of an answer would wait 40 ms for an acknowledgement of the first.
            self._socket = socket.socket(made.family, made.type, socket.IPPROTO_TCP, made.detach())
        except (OSError, OverflowError) as error:
            raise SettingError("port", f"{listening.host}:{listening.port}", f"an address that is free: {error}") from None
        named = f"[{listening.host}]" if ":" in listening.host else listening.host
        self.address = f"{listening.scheme}://{named}:{self._socket.getsockname()[1]}"
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="headway-node-door", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """No new callers; those that are being answered get their answers."""
        self._server.should_exit = True
        if self._thread.ident is not None:
            self._thread.join(10)
        self._socket.close()

    @property
    def serving(self) -> bool:
        return self._thread.is_alive()

    def _run(self) -> None:
        self._server.run(sockets=[self._socket])
