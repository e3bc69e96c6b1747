"""What a site agent does for others: it lists, opens and pulls, all below one folder."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from headway.errors import HeadwayError
from headway.transfer.digests import DigestCache, below, listed
from headway.transfer.folder_pull import FolderPull
from headway.transfer.link import SiteLink
from headway.transfer.wire import FileDigest, PullOrder, TransferRefused, TransferReport


@dataclass(slots=True)
class SiteFolder:
    """The folder that an agent serves. Several requests may be in it at once, but only one pull into each place."""

    root: Path
    token: str  # of all agents
    stopped: threading.Event = field(default_factory=threading.Event)
    digests: DigestCache = field(default_factory=DigestCache)
    _pulls: dict[Path, SiteLink] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def files(self, folder: str) -> dict[str, FileDigest]:
        path = below(self.root, folder)
        if not path.is_dir():
            raise TransferRefused(404, f"{folder[:80]!r}: there is no such folder here")
        return listed(path, self.digests)

    def open(self, folder: str, name: str) -> BinaryIO:
        path = below(self.root, f"{folder}/{name}" if folder else name)
        try:
            if not path.is_file():  # or a pipe, which would not open before another process writes to it
                raise FileNotFoundError
            return path.open("rb")
        except (FileNotFoundError, NotADirectoryError):
            raise TransferRefused(404, f"{name[:80]!r}: there is no such file in {folder[:80]!r}") from None

    def pull(self, order: PullOrder) -> TransferReport:
        into = below(self.root, order.into)
        link = SiteLink(order.url, self.token, stopped=self.stopped)
        try:
            with self._alone_in(into.resolve(), link, order.into), link:
                return FolderPull(link, order.folder, into, order.only, self.digests).run()
        except TransferRefused as error:
            if error.status == 409:
                raise
            raise TransferRefused(502, str(error)) from error
        except HeadwayError as error:
            raise TransferRefused(502, str(error)) from error

    def stop(self) -> None:
        """Pulls that run end with an error, and leave what they have for the next one."""
        self.stopped.set()
        with self._lock:
            for link in self._pulls.values():
                link.interrupt()

    @contextmanager
    def _alone_in(self, into: Path, link: SiteLink, name: str) -> Iterator[None]:
        """One pull deletes what it does not know: so no other one may be in its folder, nor above or below it."""
        with self._lock:
            if any(into.is_relative_to(other) or other.is_relative_to(into) for other in self._pulls):
                raise TransferRefused(409, f"{name[:80]!r}: another pull into this folder is under way")
            self._pulls[into] = link
        try:
            yield
        finally:
            with self._lock:
                del self._pulls[into]
