"""The HTTP application: pages and their files, answers as JSON, a stream of what is new, and metrics."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.dashboard.desk import NoSuchQuery, PageDesk
from headway.dashboard.glance import Glance
from headway.dashboard.guard import PageGuard
from headway.dashboard.metrics_text import exposition
from headway.dashboard.reading import TooMuch
from headway.errors import HeadwayError, aloud
from headway.fleet.node.app import ASGI

if TYPE_CHECKING:
    from fastapi import FastAPI

PAGES = Path(__file__).with_name("pages")
KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
LOOK_S = 0.1  # between two looks at the journal, whose writer commits twice a second
TELL_S = 0.25  # between two messages to one page, at least
STEP_S = 0.05  # between two looks at whether there is something to tell
ALIVE_S = 5.0  # after which a page hears that nothing is new
MOST_STREAMS = 32
CODES: dict[type[HeadwayError], int] = {NoSuchQuery: 404, TooMuch: 429}


class Watcher:
    """Looks for what is new, on a thread of its own."""

    def __init__(self, glance: Glance) -> None:
        self._glance, self._over, self._said = glance, threading.Event(), ""
        self._thread = threading.Thread(target=self._run, name="headway-dashboard", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join(5)

    def _run(self) -> None:
        while not self._over.wait(LOOK_S):
            try:
                self._glance.look()
            except HeadwayError as error:  # the journal is locked, say: it will not be for long
                if str(error) != self._said:
                    self._said = str(error)
                    aloud(self._said)


def application(glance: Glance, token: str | None = None) -> ASGI:
    """Everything behind its guard."""
    files = {
        f"/{file.name}": (file.read_bytes(), KINDS[file.suffix]) for file in sorted(PAGES.iterdir()) if file.suffix in KINDS
    }
    return PageGuard(_routes(glance, files), token, files["/login.html"][0])


def _routes(glance: Glance, files: dict[str, tuple[bytes, str]]) -> "FastAPI":
    from fastapi import FastAPI, Response
    from fastapi.concurrency import run_in_threadpool
    from fastapi.responses import StreamingResponse

    app, desk, streams = FastAPI(openapi_url=None, docs_url=None, redoc_url=None), PageDesk(glance), list[int]()
    _add_answers(app, desk)

    @app.get("/api/stream")
    async def stream() -> Response:
        if len(streams) >= MOST_STREAMS:
            return Response("too many pages are open", 429)
        return StreamingResponse(_news(desk, glance, streams), media_type="text/event-stream")

    @app.get("/spark")
    async def spark(query: str, batch: int) -> Response:
        try:
            place = await run_in_threadpool(desk.in_spark, query, batch)
        except HeadwayError as error:
            return Response(str(error), 404, media_type="text/plain; charset=utf-8")
        return Response("", 302, {"location": place})

    @app.get("/metrics")
    async def metrics() -> Response:
        text = await run_in_threadpool(exposition, glance)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/{path:path}")
    async def page(path: str) -> Response:
        found = files.get("/index.html" if path == "" else f"/{path}")
        if found is None:
            return Response("there is no such page here", 404, media_type="text/plain")
        return Response(found[0], media_type=found[1])

    return app


def _add_answers(app: "FastAPI", desk: PageDesk) -> None:
    """What pages ask for, as JSON."""
    from fastapi import Request, Response
    from fastapi.concurrency import run_in_threadpool

    async def answered(work: Callable[..., Any], *arguments: Any) -> Response:
        try:
            said, status = await run_in_threadpool(work, *arguments), 200
        except HeadwayError as error:
            status = next((code for kind, code in CODES.items() if isinstance(error, kind)), 400)
            said = {"error": " ".join(str(error).split())}
        return Response(json.dumps(said, separators=(",", ":"), allow_nan=False), status, media_type="application/json")

    @app.get("/api/overview")
    async def overview() -> Response:
        return await answered(desk.overview)

    @app.get("/api/timeline")
    async def timeline(since: int | None = None, upto: int | None = None) -> Response:
        return await answered(desk.timeline, since, upto)

    @app.get("/api/query")
    async def query(name: str, since: int | None = None, upto: int | None = None) -> Response:
        return await answered(desk.query, name, since, upto)

    @app.get("/api/story")
    async def story(name: str, window: int | None = None) -> Response:
        return await answered(desk.story, name, window)

    @app.get("/api/decisions")
    async def decisions(request: Request) -> Response:
        return await answered(desk.decisions, dict(request.query_params))

    @app.get("/api/approximate")
    async def approximate() -> Response:
        return await answered(desk.approximate)

    @app.get("/api/fleet")
    async def fleet(before: int | None = None) -> Response:
        return await answered(desk.fleet, before)

    @app.get("/api/area")
    async def area(pipeline: str | None = None, before: int | None = None) -> Response:
        return await answered(desk.area, pipeline, before)


async def _news(desk: PageDesk, glance: Glance, streams: list[int]) -> AsyncIterator[str]:
    """All rows, then those that have changed, as they do."""
    from fastapi.concurrency import run_in_threadpool

    streams.append(0)
    version, quiet_s = -1, 0.0
    try:
        while True:
            if glance.version != version or quiet_s >= ALIVE_S:
                told = await run_in_threadpool(desk.overview, version)
                version, quiet_s = told["version"], 0.0
                yield f"event: rows\ndata: {json.dumps(told, separators=(',', ':'), allow_nan=False)}\n\n"
                await asyncio.sleep(TELL_S - STEP_S)
            await asyncio.sleep(STEP_S)
            quiet_s += STEP_S
    finally:
        streams.pop()
