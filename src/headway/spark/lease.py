"""The leases of a runtime's queries: on a local disk by a lock, elsewhere by files that only one can create."""

import os
import socket
import threading
from collections.abc import Callable, Container
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from py4j.protocol import Py4JError

from headway.errors import HeadwayError, SettingError
from headway.lease.created import EXPIRY_S, CreatedLease
from headway.lease.keeper import Keeper
from headway.lease.local import LockedLease
from headway.lease.port import Lease, Leasing
from headway.model.time import duration_ms
from headway.spark.hadoop_files import HadoopFiles

LOCAL = "file:///"
EXPIRY = "spark.headway.lease.expiry"
LEAST_MS = 1_000  # shorter than that, every pause of a garbage collector would be a death


class SessionLeasing:
    """Leases as a Spark session can have them."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark
        self.expiry_s = _expiry_s(spark)

    def acquire(self, checkpoint: str, holder: str) -> Lease:
        folder = local_path(checkpoint, default_fs(self._spark))
        if folder is not None:
            return LockedLease(folder, checkpoint, holder)
        try:
            files = hadoop_files(self._spark, checkpoint)
            return CreatedLease(files, checkpoint, f"{holder} on {socket.gethostname()}", self.expiry_s)
        except Py4JError as error:
            want = f"a folder in which a lease can be created; {_java_says(error)}"
            raise SettingError("checkpoint", checkpoint, want) from error


class Leases:
    """The leases of a runtime's queries, by query."""

    def __init__(self, leasing: Leasing, on_lost: Callable[[str, str], None] = lambda query, why: None) -> None:
        """`on_lost` gets the name of a query whose lease is gone, and why, on a thread that may take its time."""
        self._leasing, self._on_lost = leasing, on_lost
        self._lock = threading.Lock()
        self._held: dict[str, tuple[Keeper, Any]] = {}

    def acquire(self, checkpoint: str, query: str) -> Keeper:
        """A query that has ended needs its checkpoint no more, even if that was not noticed yet."""
        self.release_ended()
        lease = self._leasing.acquire(checkpoint, f"query {query!r} of process {os.getpid()}")

        def lost(holder: str) -> None:
            self._on_lost(query, f"it was silent for so long that {holder} has taken over its checkpoint {checkpoint}")

        return Keeper(lease, query, lost)

    def hold(self, name: str, kept: Keeper, query: Any) -> None:
        """Until the query, as Spark knows it, has ended."""
        with self._lock:
            before = self._held.get(name)
            self._held[name] = (kept, query)
        if before is not None:
            before[0].release()
        if kept.lease.lost is not None:  # before it was known which query is to be stopped
            raise HeadwayError(f"query {name!r}: {kept.lease.lost} has taken over its checkpoint")

    def of(self, name: str) -> Lease | None:
        """None if the query has no checkpoint, or has given it back."""
        with self._lock:
            held = self._held.get(name)
        return None if held is None else held[0].lease

    def release_ended(self) -> None:
        with self._lock:
            held = list(self._held.items())
        for name, (kept, query) in held:
            if not query.isActive:
                kept.release()
                with self._lock:
                    if self._held.get(name) == (kept, query):
                        del self._held[name]

    def release(self, name: str) -> None:
        with self._lock:
            held = self._held.pop(name, None)
        if held is not None:
            held[0].release()

    def release_all(self, but: Container[str] = ()) -> None:
        """Of all queries but those that could not be stopped."""
        for name in [name for name in list(self._held) if name not in but]:
            self.release(name)


def hadoop_files(spark: Any, checkpoint: str) -> HadoopFiles:
    return HadoopFiles(spark._jvm, spark._jsparkSession.sessionState().newHadoopConf(), checkpoint)


def _expiry_s(spark: Any) -> float:
    text = spark.conf.get(EXPIRY, None)
    if text is None:
        return EXPIRY_S
    ms = duration_ms(EXPIRY, text)
    if ms < LEAST_MS:
        raise SettingError(EXPIRY, text, "1 second or more")
    return ms / 1000


def _java_says(error: Exception) -> str:
    java = getattr(error, "java_exception", None)
    return str(error if java is None else java.toString()).partition("\n")[0]


def local_path(checkpoint: str, default_fs: str = LOCAL) -> Path | None:
    """The folder of a checkpoint on this machine; None if it lies elsewhere, which the cluster's own default may say."""
    url = urlparse(checkpoint)
    if url.scheme == "":
        return Path(checkpoint) if urlparse(default_fs).scheme in ("", "file") else None
    return Path(unquote(url.path)) if url.scheme == "file" else None


def default_fs(spark: Any) -> str:
    """The file system of paths without a scheme."""
    return str(spark._jsc.hadoopConfiguration().get("fs.defaultFS") or LOCAL)
