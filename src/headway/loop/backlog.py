"""What waits for the journal's thread. It has room for so many items; a newer one pushes out the oldest, which is counted.

A thread that puts something in never waits for the disk, nor speaks of it: the thread that takes things out does.
"""

import threading
from collections import deque
from collections.abc import Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class Backlog(Generic[T]):
    """A queue that forgets rather than grows."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._items: deque[T] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._lost = 0

    def __len__(self) -> int:
        return len(self._items)

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def lost(self) -> int:
        """How many items were dropped and not yet reported."""
        return self._lost

    def put(self, item: T) -> None:
        with self._changed:
            if self._closed:
                return
            if len(self._items) >= self._most:
                self._items.popleft()
                self._lost += 1
            self._items.append(item)
            self._changed.notify()

    def take(self, most: int) -> list[T]:
        """The oldest items, as soon as there is one; none if no more will come."""
        with self._changed:
            self._changed.wait_for(lambda: self._items or self._closed)
            return [self._items.popleft() for _ in range(min(most, len(self._items)))]

    def give_back(self, items: Sequence[T]) -> None:
        """Items that could not be written after all: in front again, as far as there is room."""
        with self._changed:
            room = max(0, self._most - len(self._items))
            self._items.extendleft(reversed(items[max(0, len(items) - room) :]))
            self._lost += max(0, len(items) - room)

    def drop(self, items: int) -> None:
        """Count items that were taken out and are lost."""
        with self._changed:
            self._lost += items

    def told(self, items: int) -> None:
        """So many of the lost ones have been reported."""
        with self._changed:
            self._lost -= items

    def close(self) -> None:
        """Take no new items; those that are in it may still be taken out."""
        with self._changed:
            self._closed = True
            self._changed.notify()
