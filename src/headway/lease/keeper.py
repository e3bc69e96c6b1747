"""Keeps a lease: a thread renews it for as long as it is wanted, and says when it is gone."""

import threading
from collections.abc import Callable

from headway.errors import aloud
from headway.lease.port import Lease


class Keeper:
    """A lease and the thread that renews it; none where it need not be renewed."""

    def __init__(self, lease: Lease, query: str, on_lost: Callable[[str], None], say: Callable[[str], None] = aloud) -> None:
        """`on_lost` is called once, on the keeper's thread, with the name of the new holder."""
        self.lease, self._query, self._on_lost, self._say = lease, query, on_lost, say
        self._over = threading.Event()
        if lease.renew_every_s is not None:
            threading.Thread(target=self._run, args=(lease.renew_every_s,), name="headway-lease", daemon=True).start()

    def release(self) -> None:
        self._over.set()
        try:
            self.lease.release()
        except Exception as error:  # the file system is gone, or this process ends: then the lease expires
            self._say(f"query {self._query!r}: its lease could not be given back and expires: {_first_line(error)}")

    def _run(self, every_s: float) -> None:
        told = False
        while not self._over.wait(every_s):
            try:
                self.lease.renew()
            except Exception as error:
                if not told and not self._over.is_set():
                    self._say(f"query {self._query!r}: its lease cannot be renewed: {_first_line(error)}")
                told = True
                continue
            told = False
            if self.lease.lost is not None:
                if not self._over.is_set():
                    self._on_lost(self.lease.lost)
                return


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if line.startswith(": ")), lines[0] if lines else repr(error)).removeprefix(": ")
