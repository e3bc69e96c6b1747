"""One query per checkpoint: a lock file beside Spark's own files, let go when its process ends, however it ends."""

import contextlib
import fcntl
import os
import threading
from collections.abc import Container
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote, urlparse

from headway.errors import SettingError

LOCAL = "file:///"


class Lease:
    """The right to use a checkpoint. Held by an open file, so a kill -9 gives it back."""

    def __init__(self, checkpoint: str, query: str, default_fs: str = LOCAL) -> None:
        self._lock = threading.Lock()
        self._file: IO[str] | None = None
        folder = local_path(checkpoint, default_fs)
        if folder is None:  # a remote checkpoint: Spark's own check within one session is all there is
            return
        folder.mkdir(parents=True, exist_ok=True)
        # Spark ignores files that begin with a dot.
        file = open(folder / ".headway.lock", "a+")  # noqa: SIM115 - held open for as long as the query lives
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            holder = file.read(200).strip("\0\n ") or "another process"  # a name, whatever else is in there
            file.close()
            raise SettingError("checkpoint", checkpoint, f"one that no running query uses; {holder} uses it") from None
        # Who holds it is a word for others: a disk that is full does not take the checkpoint away. Not through the file's
        # buffer, which would fail again when it is closed.
        with contextlib.suppress(OSError):
            os.ftruncate(file.fileno(), 0)
            os.write(file.fileno(), f"query {query!r} of process {os.getpid()}".encode())
        self._file = file

    def release(self) -> None:
        # By stop() and by the query's end, at about the same time: whoever comes second finds nothing to do.
        with self._lock:
            file, self._file = self._file, None
        if file is not None:
            file.close()


class Leases:
    """The leases of a runtime's queries, by query."""

    def __init__(self, default_fs: str = LOCAL) -> None:
        self._default_fs = default_fs
        self._lock = threading.Lock()
        self._held: dict[str, tuple[Lease, Any]] = {}

    def acquire(self, checkpoint: str, query: str) -> Lease:
        """A query that has ended needs its checkpoint no more, even if nobody has noticed yet."""
        self.release_ended()
        return Lease(checkpoint, query, self._default_fs)

    def hold(self, name: str, lease: Lease, query: Any) -> None:
        """Until the query, as Spark knows it, has ended."""
        with self._lock:
            before = self._held.get(name)
            self._held[name] = (lease, query)
        if before is not None:
            before[0].release()

    def release_ended(self) -> None:
        with self._lock:
            held = list(self._held.items())
        for name, (lease, query) in held:
            if not query.isActive:
                lease.release()
                with self._lock:
                    if self._held.get(name) == (lease, query):
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


def local_path(checkpoint: str, default_fs: str = LOCAL) -> Path | None:
    """The folder of a checkpoint on this machine; None if it lies elsewhere, which the cluster's own default may say."""
    url = urlparse(checkpoint)
    if url.scheme == "":
        return Path(checkpoint) if urlparse(default_fs).scheme in ("", "file") else None
    return Path(unquote(url.path)) if url.scheme == "file" else None


def default_fs(spark: Any) -> str:
    """The file system of paths without a scheme."""
    return str(spark._jsc.hadoopConfiguration().get("fs.defaultFS") or LOCAL)


def option_of(writer: Any, name: str) -> str | None:
    """An option that was set on a DataStreamWriter, if any."""
    options = writer_field(writer, "extraOptions")
    found = None if options is None else options.get(name)
    return str(found.get()) if found is not None and found.isDefined() else None


def output_mode(writer: Any) -> str | None:
    """Append, Update or Complete, if it is known."""
    mode = writer_field(writer, "outputMode")
    return None if mode is None else str(mode.toString())


def set_writer_field(writer: Any, name: str, value: Any) -> None:
    """Of a writer that has it."""
    _field(writer, name).set(writer._jwrite, value)


def _field(writer: Any, name: str) -> Any:
    field = writer._jwrite.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field


def writer_field(writer: Any, name: str) -> Any:
    """Spark has no public way to ask for these."""
    try:
        return _field(writer, name).get(writer._jwrite)
    except Exception:  # another Spark keeps it elsewhere: then it counts as not set, and only Spark's own checks are left
        return None
