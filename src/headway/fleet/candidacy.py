"""A candidate that comes back: where its session is over, it opens another, and stands again."""

import contextlib
import queue
from collections.abc import Callable

from headway.errors import HeadwayError
from headway.fleet.election import Away, Office, TreeElection
from headway.fleet.session import Session, SessionMessage, SessionState, Tell
from headway.fleet.store import TreeStore

MESSAGES = 1_000  # so many unread ones say no more than one


class Candidacy:
    """One orchestrator's part in the fleet, over as many sessions as it takes. One thread turns it."""

    def __init__(self, open_session: Callable[[Tell], Session], root: str, label: str) -> None:
        """The first session is opened at once: a caller that named a server that does not answer is told so."""
        self._open, self._root, self._label = open_session, root, label
        self._told: queue.Queue[SessionMessage] = queue.Queue(MESSAGES)
        self._begin()

    def turn(self) -> Office:
        """Do what is next, and say where we stand. Without a session, nothing else is done than to try to open one."""
        if self.session.state is SessionState.OVER:
            try:
                self._begin()
            except HeadwayError as error:
                return Away(f"no session: {error}")
        return self._election.turn()

    def sure(self) -> bool:
        """We lead at this moment. May be asked from any thread."""
        return self._election.sure()

    def wait(self, seconds: float) -> None:
        """Until something is told of our session or of the line, or for so long."""
        with contextlib.suppress(queue.Empty):
            self._told.get(timeout=seconds)
            while True:
                self._told.get_nowait()

    def close(self) -> None:
        """Leave, so that the next in line need not wait for our session to be given up."""
        self.session.close()

    def _begin(self) -> None:
        self.session = self._open(self._tell)
        self.store = TreeStore(self.session, self._root)
        self._election = TreeElection(self.session, self._root, self._label)

    def _tell(self, message: SessionMessage) -> None:
        with contextlib.suppress(queue.Full):
            self._told.put_nowait(message)
