"""A lease on this machine's own disk: a lock of the kernel's, let go when its process ends, however it ends."""

import contextlib
import fcntl
import os
import threading
from pathlib import Path
from typing import IO

from headway.errors import SettingError

FILE = ".headway.lock"  # Spark ignores files that begin with a dot


class LockedLease:
    """Held by an open file, so a kill -9 gives it back. It cannot be taken over."""

    token: int | None = None
    renew_every_s: float | None = None
    lost: str | None = None

    def __init__(self, folder: Path, checkpoint: str, holder: str) -> None:
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        file = open(folder / FILE, "a+")  # noqa: SIM115 - held open for as long as the query lives
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            named = _name(file)
            file.close()
            raise SettingError("checkpoint", checkpoint, f"one that no running query uses; {named} uses it") from None
        # The holder's name is for others to read: a disk that is full does not take the checkpoint away. Not through the
        # buffer of the file, which would fail again when it is closed.
        with contextlib.suppress(OSError):
            os.ftruncate(file.fileno(), 0)
            os.write(file.fileno(), holder.encode())
        self._file: IO[str] | None = file

    def sure(self) -> bool:
        return self._file is not None

    def renew(self) -> None:
        """Nothing to do: the kernel knows that this process lives."""

    def release(self) -> None:
        # By stop() and by the query's end, at about the same time: the second call finds nothing to do.
        with self._lock:
            file, self._file = self._file, None
        if file is not None:
            file.close()


def holder(folder: Path) -> str | None:
    """The holder of the lock now; None if it is free. Nothing is written."""
    try:
        with open(folder / FILE) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return _name(file)
    except OSError:
        pass
    return None


def _name(file: IO[str]) -> str:
    file.seek(0)
    return file.read(200).strip("\0\n ") or "another process"  # a name, whatever else is in there
