"""One pull of a folder: what is there already stays, what is not is fetched, what the source has no more goes.

A file is received beside its place, as `.NAME.part`, and moved there when its digest is right. So a pull that is killed
leaves whole files and at most one half, with which the next pull goes on.
"""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from http.client import HTTPResponse
from pathlib import Path, PurePosixPath

from headway.errors import HeadwayError
from headway.transfer import wire
from headway.transfer.digests import DigestCache, below, names_in
from headway.transfer.link import LinkCut, RetryCount, SiteLink
from headway.transfer.wire import CHUNK, FileDigest, TransferRefused, TransferReport

LISTING_S = 900.0  # the other side digests all files, before it says a word


class FolderPull:
    """Runs once."""

    def __init__(
        self, link: SiteLink, folder: str, into: Path, only: Sequence[str] | None, digests: DigestCache | None = None,
        have: Callable[[], Sequence[str]] | None = None,
    ) -> None:  # fmt: skip
        """With `have` the other side lists what is needed besides that, and not all that is there."""
        self._link, self._folder, self._into, self._only = link, folder, into, only
        self._digests = digests or DigestCache()
        self._have = have
        self._files = self._spared_files = 0
        self._raw_bytes = self._sent_bytes = self._spared_bytes = 0
        self._resumed = 0

    def run(self) -> TransferReport:
        began = time.monotonic()
        wanted = self._listing()
        try:
            self._into.mkdir(parents=True, exist_ok=True)
            gone = [name for name, seen in wanted.items() if not self._settled(name, seen)]
            if gone:  # one by one, or all together with their folder: that would be no reason to delete anything
                self._listing()
            if self._only is None:
                self._sweep(wanted.keys() - set(gone))
        except OSError as error:
            raise HeadwayError(f"{error.filename or self._into}: {error.strerror or error}") from error
        return TransferReport(
            self._files, self._spared_files, self._raw_bytes, self._sent_bytes, self._spared_bytes,
            time.monotonic() - began, self._resumed,
        )  # fmt: skip

    def _listing(self) -> dict[str, FileDigest]:
        retries = RetryCount(self._link, f"the files of {self._folder!r}")
        while True:
            try:
                answer = self._asked()
                text = b"".join(raw for _, raw in self._link.unpacked(answer))
            except LinkCut as cut:
                retries.after(cut)
            else:
                return dict(sorted(wire.chosen(wire.listing_in(text), self._only).items()))

    def _asked(self) -> HTTPResponse:
        if self._have is None:
            return self._link.get("/v1/list", LISTING_S, folder=self._folder, compress=1)
        text = json.dumps({"folder": self._folder, "have": list(self._have())})
        return self._link.ask("POST", "/v1/list", text, silence_s=LISTING_S)

    def _settled(self, name: str, want: FileDigest) -> bool:
        """True once the file is in its place; False if the source has it no more."""
        below(self._into, name.rpartition("/")[0])  # a link here may lead elsewhere
        path = self._into / name
        whole = path.is_file() and not path.is_symlink() and path.stat().st_size == want.size
        if whole and self._digests.of(path) == want:
            self._spared_files += 1
            self._spared_bytes += want.size
            return True
        try:
            self._bring(name, want)
        except TransferRefused as error:
            if error.status != 404:
                raise
            (self._into / wire.part_of(name)).unlink(missing_ok=True)
            return False
        return True

    def _bring(self, name: str, want: FileDigest) -> None:
        self._make_room(name)
        part = self._into / wire.part_of(name)
        had = part.stat().st_size if part.exists() else 0
        if self._received(name, part, want):
            self._spared_bytes += had if had <= want.size else 0
        else:
            part.unlink(missing_ok=True)
            if not self._received(name, part, want):
                part.unlink(missing_ok=True)
                raise HeadwayError(f"{self._link.url}: {name}: its content is not the one that was listed, in two attempts")
        path = self._into / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        os.replace(part, path)
        self._files += 1

    def _received(self, name: str, part: Path, want: FileDigest) -> bool:
        """Goes on with the half file, as often as it takes; answers whether it became the right one."""
        if part.exists() and part.stat().st_size > want.size:
            part.unlink()
        retries, digest = RetryCount(self._link, name), hashlib.sha256()
        with part.open("a+b") as out:
            out.seek(0)
            while chunk := out.read(CHUNK):
                digest.update(chunk)
            while (have := out.tell()) < want.size:
                try:
                    for raw in self._content(name, have, want.size):
                        out.write(raw)
                        out.flush()  # a pull that is killed has it
                        digest.update(raw)
                except LinkCut as cut:
                    retries.after(cut, gained=out.tell() > have)
                else:
                    break
        return digest.hexdigest() == want.sha256

    def _content(self, name: str, have: int, size: int) -> Iterator[bytes]:
        """From one byte on; ends where it was listed to end, though the file may have grown."""
        pack = int(PurePosixPath(name).suffix not in wire.PACKED)
        try:
            answer = self._link.get("/v1/file", folder=self._folder, name=name, offset=have, until=size, compress=pack)
        except TransferRefused as error:
            if error.status == 416:  # the file has become shorter
                return
            raise
        self._resumed += have > 0
        body = self._link.unpacked(answer) if pack else ((len(raw), raw) for raw in self._link.chunks(answer))
        for sent, raw in body:
            self._sent_bytes += sent
            self._raw_bytes += len(raw)
            yield raw

    def _make_room(self, name: str) -> None:
        """Folders above the file, where there may have been a file."""
        for above in reversed(PurePosixPath(name).parents):
            if (self._into / above).is_file():
                (self._into / above).unlink()
        (self._into / name).parent.mkdir(parents=True, exist_ok=True)

    def _sweep(self, kept: set[str]) -> None:
        for name in sorted(set(names_in(self._into)) - kept):
            (self._into / name).unlink(missing_ok=True)
            with suppress(OSError):  # not empty
                for above in list(PurePosixPath(name).parents)[:-1]:
                    (self._into / above).rmdir()
