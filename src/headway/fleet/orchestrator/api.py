"""The door of an orchestrator: what people and programs ask of a fleet over HTTP. Its rules are those of a node's door."""

import hashlib
import json
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from headway.errors import SettingError, aloud
from headway.fleet.moves.contract import contract
from headway.fleet.node.app import ASGI, TokenGuard, body_of
from headway.fleet.node.text import Malformed, written
from headway.fleet.node.wire import OtherSchema, of_schema
from headway.fleet.orchestrator.messages import MoveAsked, QuerySubmitted, StopAsked
from headway.fleet.orchestrator.posted import AskPosted, DrainPosted, LookPosted, NotPrimary, Posted, ProgressPosted
from headway.fleet.orchestrator.wire import (
    SCHEMA,
    AskReceipt,
    DrainWanted,
    FleetStanding,
    MoveProgress,
    MoveWanted,
    StopWanted,
    SubmitWanted,
    UpgradeWanted,
)

if TYPE_CHECKING:
    from fastapi import FastAPI

ANSWER_S = 20.0  # for the store to write down what was asked: then it may be asked for again with the same id
CODES: dict[type[Exception], int] = {
    Malformed: 400, OtherSchema: 409, NotPrimary: 421, TimeoutError: 504, OverflowError: 413, SettingError: 400,
}  # fmt: skip
WANTED: dict[str, type] = {
    "submit": SubmitWanted, "move": MoveWanted, "upgrade": UpgradeWanted, "stop": StopWanted, "drain": DrainWanted,
}  # fmt: skip
T = TypeVar("T")


class PipelineShelf:
    """The folder where the fleet keeps the pipeline files that it was given, each text once: none changes under it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, file: str, text: str) -> str:
        """The path of a copy. Raises a SettingError for what is no Python."""
        try:
            compile(text, file, "exec")
        except (SyntaxError, ValueError) as error:
            line = f"line {error.lineno} is not Python: {error.msg}" if isinstance(error, SyntaxError) else str(error)
            raise SettingError("file", file, f"a pipeline file, but {line}") from None
        name = Path(file).name
        if not name.endswith(".py"):
            raise SettingError("file", file, "a name that ends with .py")
        place = self._folder / hashlib.sha256(text.encode()).hexdigest()[:16] / name
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            half = place.with_suffix(".half")
            half.write_text(text, "utf-8")
            half.replace(place)
        return str(place)


def application(
    post: Callable[[Posted], None], shelf: PipelineShelf, token: str, say: Callable[[str], None] = aloud
) -> ASGI:
    """The HTTP application of an orchestrator; `post` puts into its inbox."""
    return TokenGuard(_routes(FleetDesk(post, shelf), say), token, say)


class FleetDesk:
    """Turns what is wanted into messages, and waits for the answers. Any thread may call it."""

    def __init__(self, post: Callable[[Posted], None], shelf: PipelineShelf) -> None:
        self._post, self._shelf = post, shelf

    def asked(self, wanted: Any) -> AskReceipt:
        """Raises NotPrimary, a SettingError, or TimeoutError."""
        answer: Future[AskReceipt] = Future()
        match wanted:
            case DrainWanted():
                self._post(DrainPosted(wanted, answer))
            case SubmitWanted(id, query, file, text, node):
                self._post(AskPosted(QuerySubmitted(id, query, self._shelf.put(file, text), node), answer))
            case MoveWanted(id, query, node, timeout_ms, on_timeout, partitions):
                agreed = contract(timeout_ms, on_timeout, partitions=partitions)
                self._post(AskPosted(MoveAsked(id, query, node, "a user asked for it", agreed), answer))
            case UpgradeWanted(id, query, file, text, timeout_ms, on_timeout, trial, partitions):
                agreed, path = contract(timeout_ms, on_timeout, trial, partitions), self._shelf.put(file, text)
                self._post(AskPosted(MoveAsked(id, query, "", f"upgrade to {file}", agreed, path), answer))
            case StopWanted(id, query, forget):
                self._post(AskPosted(StopAsked(id, query, forget), answer))
        return _waited(answer)

    def look(self) -> FleetStanding:
        answer: Future[FleetStanding] = Future()
        self._post(LookPosted(answer))
        return _waited(answer)

    def progress(self, query: str, move: str) -> MoveProgress:
        answer: Future[MoveProgress] = Future()
        self._post(ProgressPosted(query, move, answer))
        return _waited(answer)


def _waited(answer: "Future[T]") -> T:
    try:
        return answer.result(ANSWER_S)
    except TimeoutError:
        raise TimeoutError("the store has not answered yet: ask again with the same id") from None


def _routes(desk: FleetDesk, say: Callable[[str], None]) -> "FastAPI":
    from fastapi import FastAPI, Request, Response
    from fastapi.concurrency import run_in_threadpool

    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)

    def refused(request: Request, error: Exception) -> Response:
        line = " ".join(str(error).split()) or "it did not come in time"
        say(f"a request of {request.client.host if request.client else 'an unknown address'} is refused: {line}")
        return Response(json.dumps({"error": line}), CODES[type(error)], media_type="application/json")

    async def answered(request: Request, work: Callable[..., Any], *arguments: Any) -> Response:
        try:
            return Response(written(await run_in_threadpool(work, *arguments)), media_type="application/json")
        except tuple(CODES) as error:
            return refused(request, error)

    @app.get("/v1/status")
    async def status(request: Request) -> Response:
        return await answered(request, desk.look)

    @app.get("/v1/moves/{move}/{query:path}")
    async def progress(move: str, query: str, request: Request) -> Response:
        return await answered(request, desk.progress, query, move)

    @app.post("/v1/{action}")
    async def ask(action: str, request: Request) -> Response:
        try:
            wanted = wanted_in(action, await body_of(request))
        except tuple(CODES) as error:
            return refused(request, error)
        return await answered(request, desk.asked, wanted)

    return app


def wanted_in(action: str, text: bytes) -> Any:
    """What a caller wants. Raises Malformed, or OtherSchema."""
    kind = WANTED.get(action)
    if kind is None:
        raise Malformed(f"action = {action[:40]!r}: expected one of {', '.join(WANTED)}")
    return of_schema(kind, text, SCHEMA, said=False)  # who asks by hand need not know of schemas
