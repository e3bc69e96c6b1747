"""Something that is done every second or so, on a thread of its own, until it is stopped."""

import threading
from collections.abc import Callable

ENOUGH_S = 10.0  # for what is being done when it is stopped


class EverySoOften:
    """Calls `work` once per interval. What it raises is its own to catch: nothing is called after an error."""

    def __init__(self, name: str, interval_s: float, work: Callable[[], None]) -> None:
        self._interval_s, self._work, self._over = interval_s, work, threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """When this returns nothing is called any more; nothing happens if it never began."""
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join(ENOUGH_S)

    def _run(self) -> None:
        while not self._over.wait(self._interval_s):
            self._work()
