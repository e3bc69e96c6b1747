"""The dashboard as it is served: over HTTP, on loopback, on a thread of the test."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dashboard.worlds import BEGAN
from headway.dashboard.app import Watcher, application
from headway.dashboard.glance import Glance
from headway.fleet.node.app import Listening, NodeServer

TOKEN = "a-token-for-tests-of-24"


@contextmanager
def served(journal: Path, token: str | None = None, now: int = BEGAN + 60_000) -> Iterator[tuple[str, Glance]]:
    """Where it is, and what it knows."""
    glance = Glance(journal, now=lambda: now)
    glance.look()
    server, watcher = NodeServer(application(glance, token), Listening(token)), Watcher(glance)
    server.start()
    watcher.start()
    try:
        yield server.address, glance
    finally:
        watcher.stop()
        server.stop()
