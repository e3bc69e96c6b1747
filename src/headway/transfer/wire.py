"""What two site agents say to each other: reports, refusals and what a listing holds. Read once, at the edge."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from typing import Self

from headway.errors import HeadwayError

CHUNK = 64 * 1024
MOST_PROBED = 4 * 1024 * 1024  # bytes that one probe may cost the link
PACKED = frozenset({".zip", ".sst", ".gz", ".snappy", ".zst"})  # compressed already: once more only costs time


class TransferRefused(HeadwayError):
    """A site agent will not do what it was asked; the status is HTTP's."""

    def __init__(self, status: int, line: str) -> None:
        self.status = status
        super().__init__(" ".join(line.split()))


@dataclass(frozen=True, slots=True)
class FileDigest:
    """What tells one content of a file from another."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class TransferReport:
    """What one pull of a folder has moved, and what it could leave."""

    files: int  # that were sent
    spared_files: int  # that were there
    raw_bytes: int  # of the files that were sent, before compression
    sent_bytes: int  # of the same, as they crossed the link
    spared_bytes: int  # not sent, since they were there: whole files, and halves that an earlier pull left
    seconds: float
    resumed: int  # times that it went on in the middle of a file

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str | bytes) -> Self:
        try:
            said = json.loads(text)
            return cls(
                int(said["files"]), int(said["spared_files"]), int(said["raw_bytes"]), int(said["sent_bytes"]),
                int(said["spared_bytes"]), float(said["seconds"]), int(said["resumed"]),
            )  # fmt: skip
        except (ValueError, KeyError, TypeError):
            raise HeadwayError("a site agent answered with something that is no report of a transfer") from None


@dataclass(frozen=True, slots=True)
class PullOrder:
    """What an agent is asked to fetch: a folder of another agent, and where it goes."""

    url: str
    folder: str
    into: str
    only: tuple[str, ...] | None = None  # beginnings of names

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str | bytes) -> Self:
        try:
            said = json.loads(text)
            url, folder, into, only = said["url"], said["folder"], said["into"], said.get("only")
        except (ValueError, KeyError, TypeError, AttributeError):
            raise TransferRefused(400, "expected JSON with url, folder and into") from None
        listed = only is None or isinstance(only, list)
        if not listed or not all(isinstance(word, str) for word in (url, folder, into, *(only or ()))):
            raise TransferRefused(400, "expected url, folder and into as texts, and only as a list of texts")
        return cls(url, folder, into, None if only is None else tuple(only))


def listing_text(files: Mapping[str, FileDigest]) -> bytes:
    return json.dumps({"files": {name: [seen.size, seen.sha256] for name, seen in files.items()}}).encode()


def listing_in(text: bytes) -> dict[str, FileDigest]:
    """The files of a folder, as another site tells. A name that leads out of the folder is not believed."""
    try:
        files = {str(name): FileDigest(int(size), str(sha256)) for name, (size, sha256) in json.loads(text)["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise HeadwayError("a site agent answered with something that is no listing") from None
    for name in files:
        if name != str(PurePosixPath(name)) or not is_inside(name):
            raise HeadwayError(f"{name!r}: a site agent lists a file that is not inside of its folder")
    return {name: seen for name, seen in files.items() if not is_part(name)}


def is_inside(name: str) -> bool:
    """Whether a relative name goes nowhere but down."""
    return not name.startswith("/") and "\0" not in name and ".." not in PurePosixPath(name).parts


def is_part(name: str) -> bool:
    """Whether it is a half file that a pull has left."""
    last = name.rpartition("/")[2]
    return last.startswith(".") and last.endswith(".part")


def part_of(name: str) -> str:
    """Beside the file that it becomes, so that one rename is enough."""
    folder, slash, last = name.rpartition("/")
    return f"{folder}{slash}.{last}.part"


def chosen(files: Mapping[str, FileDigest], only: Sequence[str] | None) -> dict[str, FileDigest]:
    return {name: seen for name, seen in files.items() if only is None or name.startswith(tuple(only))}
