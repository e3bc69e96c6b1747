"""The bytes of a file as they are sent: from one place in it to another, compressed or not."""

import os
import zlib
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from headway.transfer.wire import CHUNK, TransferRefused


def remaining(file: BinaryIO, offset: int, until: int | None) -> int:
    """How many bytes are wanted of an open file, which stands at the first of them afterwards."""
    size = os.fstat(file.fileno()).st_size
    if offset > size:
        raise TransferRefused(416, f"offset = {offset}: the file has {size} bytes")
    file.seek(offset)
    return max(min(size, size if until is None else until) - offset, 0)


def content(file: BinaryIO, size: int) -> Iterator[bytes]:
    """So many bytes. A file that became shorter meanwhile is a cut: the other side must not take it for whole."""
    while size:
        chunk = file.read(min(CHUNK, size))
        if not chunk:
            raise ConnectionAbortedError("the file became shorter")
        size -= len(chunk)
        yield chunk


def packed(chunks: Iterable[bytes]) -> Iterator[bytes]:
    pack = zlib.compressobj()
    for chunk in chunks:
        if part := pack.compress(chunk):
            yield part
    yield pack.flush()
