"""Follows the punctuations of the topics that inputs read, and tells the controller."""

import threading
import time
from collections.abc import Callable

from headway.errors import ToldOnce
from headway.kafka.marks import MarkFollower
from headway.loop.punctuation_text import MARK, UnreadablePunctuation, punctuation_in
from headway.model.message import Heard, Message
from headway.model.punctuation import Punctuation
from headway.model.time import WallMs

WAIT_S = 0.2
TELL_S = 1.0  # that nothing has come is news as well: time goes on
AGAIN_S = 1.0  # after a trouble
CLOSE_S = 5.0


class Tails:
    """The topics that are followed, each by a thread of its own: a broker that hangs holds up no other."""

    def __init__(self, post: Callable[[Message], None]) -> None:
        self._post = post
        self._followed: dict[str, _Tail] = {}
        self._adding = threading.Lock()

    def follow(self, place: str, servers: str, topic: str, client: dict[str, str]) -> None:
        """From now on, and once however many inputs read it. Raises a HeadwayError if there is no such topic."""
        with self._adding:
            if place not in self._followed:
                self._followed[place] = tail = _Tail(
                    place, lambda: MarkFollower(servers, topic, MARK.encode(), client), self._post
                )
                tail.start()

    def close(self) -> None:
        for tail in self._followed.values():
            tail.over.set()
        for tail in self._followed.values():
            tail.join(CLOSE_S)


class _Tail(threading.Thread):
    def __init__(self, place: str, opened: Callable[[], MarkFollower], post: Callable[[Message], None]) -> None:
        super().__init__(name=f"headway-relay-{place}", daemon=True)
        self.over = threading.Event()
        self._place, self._open, self._post = place, opened, post
        self._told_once = ToldOnce()
        self._marks: MarkFollower | None = opened()  # what is wrong with it is said to the caller

    def run(self) -> None:
        told_at = 0.0
        while not self.over.is_set():
            try:
                if self._marks is None:
                    self._marks = self._open()
                said = tuple(self._read(self._marks.read(WAIT_S)))
            except Exception as error:  # punctuations that do not come hold windows back: nothing is lost by trying again
                self._told_once(f"{self._place} cannot be followed ({error}); it is tried again")
                said = ()
                self._close()
                self.over.wait(AGAIN_S)
            if said or time.monotonic() - told_at >= TELL_S:
                told_at = time.monotonic()
                self._post(Heard(self._place, WallMs(time.time_ns() // 1_000_000), said))
        self._close()

    def _read(self, marks: list[tuple[int, bytes]]) -> list[tuple[int, Punctuation]]:
        found = []
        for partition, value in marks:
            try:
                said = punctuation_in(value)
            except UnreadablePunctuation as error:
                self._told_once(f"{self._place}, partition {partition}: {error}")
                continue
            if said is not None:
                found.append((partition, said))
        return found

    def _close(self) -> None:
        marks, self._marks = self._marks, None
        if marks is not None:
            marks.close()
