"""The checkpoints that this node reads by itself, for those nodes that cannot."""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from py4j.protocol import Py4JJavaError

from headway.errors import HeadwayError
from headway.fleet.incarnation import MARK, least
from headway.fleet.node.checkpoints import PROMISED, CheckpointPromise, CheckpointTold
from headway.loop.trouble import says
from headway.spark.checkpoint.folder import Folder, HadoopFolder, LocalFolder
from headway.spark.fleet.incarnation import QUERY_ID, can_be_taken, shared_files
from headway.spark.lease import default_fs, local_path
from headway.transfer.digests import DigestCache, below
from headway.transfer.wire import FileDigest, TransferRefused


class NodeShelf:
    """`headway.fleet.node.checkpoints.CheckpointShelf`."""

    def __init__(self, spark: Any, made_here: Callable[[str], bool]) -> None:
        """`made_here` says of a folder whether this process has made it."""
        self._spark, self._made_here = spark, made_here
        self._default_fs = default_fs(spark)  # asked once: a move waits for what is looked up here
        self._digests = DigestCache()
        self._lock = threading.Lock()

    def told(self, place: str, held: bool = True) -> CheckpointTold:
        """`held`: whether somebody has a lease on it is asked, too."""
        try:
            folder = self._folder(place)
            names = folder.names()
            if not names:
                return CheckpointTold(place)
            mark = folder.read(MARK)
            promised = folder.read(PROMISED) if PROMISED in names else None
            holder = folder.holder() if held else None
        except Py4JJavaError as error:
            raise HeadwayError(f"checkpoint = {place!r}: it cannot be read: {says(error)}") from None
        return CheckpointTold(place, True, can_be_taken(mark, names), mark, self._made_here(place), holder, promised)

    def listing(self, place: str, have: Sequence[str]) -> Mapping[str, FileDigest]:
        root = self._local(place)
        folder = LocalFolder(root)
        plan = least(folder.sizes(), partial(shared_files, folder), frozenset(have))
        found = {}
        for name in (*sorted(plan.files), MARK):
            with suppress(FileNotFoundError):  # Spark tidies up in a folder that is in use
                found[name] = self._digests.of(root / name)
        return found

    def open(self, place: str, name: str) -> BinaryIO:
        root = self._local(place)
        try:
            return below(root, name).open("rb")
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            raise TransferRefused(404, f"{name[:80]!r}: there is no such file in {place[:80]!r}") from None

    def promise(self, asked: CheckpointPromise) -> None:
        with self._lock:
            folder = self._folder(asked.place)
            if not can_be_taken(folder.read(MARK), folder.names()):
                raise HeadwayError(f"checkpoint = {asked.place!r}: expected one that is here, and complete")
            before = folder.read(PROMISED)
            if before is None and folder.put(PROMISED, asked.to, new=True):
                return
            before = folder.read(PROMISED)
            if before not in (asked.to, asked.instead):
                raise HeadwayError(
                    f"checkpoint = {asked.place!r}: expected one that no other copy goes on from; {before!r} goes on from it"
                )
            folder.put(PROMISED, asked.to, new=False)

    def _folder(self, place: str) -> Folder:
        path = local_path(place, self._default_fs)
        return HadoopFolder(self._spark, place) if path is None else LocalFolder(path)

    def _local(self, place: str) -> Path:
        path = local_path(place, self._default_fs)
        if path is None:
            raise TransferRefused(
                400, f"{place[:80]!r}: expected a folder on a disk: nothing else is copied from node to node"
            )
        if not {MARK, QUERY_ID} & set(LocalFolder(path).names()):
            raise TransferRefused(404, f"{place[:80]!r}: expected a checkpoint that is here")
        return path
