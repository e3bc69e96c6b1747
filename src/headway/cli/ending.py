"""How a command that runs until it is asked to end hears of that."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def asked_to_end() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set. A second one ends the process at once, as ever."""
    over, kinds = threading.Event(), (signal.SIGINT, signal.SIGTERM)

    def asked(number: int, frame: object) -> None:
        for kind in kinds:
            signal.signal(kind, signal.SIG_DFL)
        over.set()

    before = {kind: signal.signal(kind, asked) for kind in kinds}
    try:
        yield over
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
