"""Where lines come from: a file, packed or not, or the folder of an event log that rolls."""

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from headway.errors import HeadwayError

_PACKED = {".zstd": "zstd", ".zst": "zstd", ".gz": "gzip", ".lz4": "lz4", ".bz2": "bz2"}
_PART = re.compile(r"events_(\d+)_")


def files_of(path: Path) -> list[Path]:
    """The files of an event log in the order in which they were written."""
    if path.is_dir():
        parts = sorted((int(m[1]), file) for file in path.iterdir() if (m := _PART.match(file.name)))
        inner = [file for _, file in parts] or sorted(file for file in path.iterdir() if file.is_file())
        if not inner:
            raise HeadwayError(f"{path} has no file in it: name an event log, or its folder")
        return inner
    if not path.is_file():
        raise HeadwayError(f"{path} is not there: name an event log, its folder, or a file of progress reports")
    return [path]


def lines_of(path: Path) -> Iterator[str]:
    packed = _PACKED.get(Path(path.name.removesuffix(".inprogress")).suffix)
    try:
        with pa.input_stream(str(path), compression=packed) as stream:
            rest = b""
            while block := stream.read(1 << 20):
                *whole, rest = (rest + block).split(b"\n")
                yield from (line.decode("utf-8", "replace") for line in whole)
            yield rest.decode("utf-8", "replace")
    except OSError as error:
        raise HeadwayError(f"{path} cannot be read: {error}") from None
