"""A connection to one node, kept, on which its status is asked for again and again.

It speaks as much of HTTP/1.1 as that takes, and no more: a request that is always the same but for a number, and an answer
with a length. A general client takes several times as long for one of these as the rest of an orchestrator does.
"""

import asyncio
import re
import ssl
from urllib.parse import urlsplit

MOST_BYTES = 16 << 20  # of a status
LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,12})\r\n", re.IGNORECASE)
CLOSES = re.compile(rb"\r\nconnection:[ \t]*close\r\n", re.IGNORECASE)


class StatusLink:
    """One request at a time. The caller limits the time; what was cut off is begun anew with the next."""

    def __init__(self, address: str, token: str, tls: ssl.SSLContext | None) -> None:
        parts = urlsplit(address)
        secure = parts.scheme == "https"
        self.address = address
        self._host, self._port = parts.hostname or "", parts.port or (443 if secure else 80)
        self._tls = tls if secure else None
        self._rest = f" HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, since: int | None = None) -> tuple[int, bytes]:
        """The code of the answer, and its body if that is a status. Raises OSError or EOFError where none comes."""
        kept = self._streams is not None
        try:
            return await self._asked(since)
        except (OSError, EOFError):
            if not kept:
                raise
        return await self._asked(since)  # the node has closed a connection that was not used for long

    async def _asked(self, since: int | None) -> tuple[int, bytes]:
        try:
            if self._streams is None:
                self._streams = await asyncio.open_connection(self._host, self._port, ssl=self._tls)
            reader, writer = self._streams
            writer.write(b"GET /v1/status%b%b" % (b"" if since is None else b"?since=%d" % since, self._rest))
            return await self._answer(reader)
        except BaseException:
            self.close()
            raise

    async def _answer(self, reader: asyncio.StreamReader) -> tuple[int, bytes]:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            raise ConnectionError("no end of the answer's head") from None
        length = LENGTH.search(head)
        if not head.startswith(b"HTTP/1.") or not head[9:12].isdigit() or (length and int(length[1]) > MOST_BYTES):
            raise ConnectionError("this is no answer of a node")
        if length is None:  # a refusal, which may have any form
            self.close()
            return int(head[9:12]), b""
        body = await reader.readexactly(int(length[1]))
        if CLOSES.search(head):
            self.close()
        return int(head[9:12]), body

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None
