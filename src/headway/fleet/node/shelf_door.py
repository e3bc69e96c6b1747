"""What a node's door answers about checkpoints: what it has, what is in them, and to whom they were promised.

`/v1/list` and `/v1/file` speak as a site agent does, so that the same pull goes on after a cut, and sends what has changed.
"""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from headway.errors import HeadwayError
from headway.fleet.node.checkpoints import CheckpointPromise, CheckpointShelf
from headway.fleet.node.text import Malformed, read, written
from headway.transfer.content import content, packed, remaining
from headway.transfer.wire import TransferRefused, listing_text

if TYPE_CHECKING:
    from fastapi import FastAPI, Request, Response

MOST_DIGITS = 18
OCTETS = "application/octet-stream"
Refuse = Callable[["Request", str, int], "Response"]
Body = Callable[["Request"], Awaitable[bytes]]
Answered = Callable[
    ["Request", Callable[[bytes], Any]], Awaitable[Any]
]  # by some work on its body, or by why it cannot be done


@dataclass(frozen=True, slots=True)
class ListingAsked:
    """The body of `/v1/list`."""

    folder: str
    have: tuple[str, ...] = ()


def shelf_routes(app: "FastAPI", shelf: CheckpointShelf, refused: Refuse, body: Body) -> None:
    """Adds what is answered about checkpoints."""
    from fastapi.concurrency import run_in_threadpool

    async def answered(request: "Request", work: Callable[[bytes], Any]) -> Any:
        try:
            return await run_in_threadpool(work, await body(request))
        except TransferRefused as error:
            return refused(request, str(error), error.status)
        except Malformed as error:
            return refused(request, str(error), 400)
        except HeadwayError as error:
            return refused(request, str(error), 409)
        except TimeoutError:
            return refused(request, "the body did not come in time", 408)
        except OverflowError as error:
            return refused(request, str(error), 413)
        except OSError as error:  # a file that cannot be read
            return refused(request, str(error), 500)

    _routes_of_folders(app, shelf, answered)
    _routes_of_files(app, shelf, answered)


def _routes_of_folders(app: "FastAPI", shelf: CheckpointShelf, answered: Answered) -> None:
    from fastapi import Request, Response

    def answer(text: str) -> Response:
        return Response(text, media_type="application/json")

    @app.get("/v1/checkpoint")
    async def checkpoint(request: Request) -> Any:
        return await answered(request, lambda _: answer(written(shelf.told(_word(request, "place")))))

    @app.post("/v1/promise")
    async def promise(request: Request) -> Any:
        def kept(text: bytes) -> Response:
            shelf.promise(read(CheckpointPromise, text))
            return answer("{}")

        return await answered(request, kept)


def _routes_of_files(app: "FastAPI", shelf: CheckpointShelf, answered: Answered) -> None:
    from fastapi import Request, Response
    from fastapi.responses import StreamingResponse

    @app.post("/v1/list")
    async def listing(request: Request) -> Any:
        def listed(text: bytes) -> Response:
            asked = read(ListingAsked, text)
            files = listing_text(dict(shelf.listing(asked.folder, asked.have)))
            return Response(b"".join(packed([files])), media_type=OCTETS)

        return await answered(request, listed)

    @app.get("/v1/file")
    async def file(request: Request) -> Any:
        def opened(_: bytes) -> Response:
            offset, until, pack = (_number(request, key) for key in ("offset", "until", "compress"))
            found = shelf.open(_word(request, "folder"), _word(request, "name"))
            try:
                size = remaining(found, offset, until)
            except BaseException:
                found.close()
                raise
            parts = _closing(found, packed(content(found, size)) if pack else content(found, size))
            return StreamingResponse(parts, media_type=OCTETS, headers={} if pack else {"Content-Length": str(size)})

        return await answered(request, opened)


def _closing(file: BinaryIO, parts: Iterator[bytes]) -> Iterator[bytes]:
    with file:
        yield from parts


def _word(request: "Request", key: str) -> str:
    if (word := request.query_params.get(key)) is None:
        raise Malformed(f"{key}: expected one in the address")
    return word


def _number(request: "Request", key: str) -> int:
    word = _word(request, key)
    if not word.isdecimal() or len(word) > MOST_DIGITS:
        raise Malformed(f"{key} = {word[:80]!r}: expected a number")
    return int(word)
