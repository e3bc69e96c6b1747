"""A lease on a file system that others reach, too: by files of which only one process can create each."""

import secrets
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from headway.errors import SettingError
from headway.lease import tenancy
from headway.lease.tenancy import Create, Delete, Held, Note, Numbers, Pause, Read, StoreStep, Taken, Write

EXPIRY_S = 20.0
PATIENCE_S = 5.0  # for a renewal under way, when the lease is released: what cannot be told expires
T = TypeVar("T")


class LeaseFiles(Protocol):
    """The numbered lease files of one checkpoint."""

    def numbers(self) -> list[int]: ...

    def read(self, number: int) -> str | None: ...

    def create(self, number: int, text: str) -> bool:
        """False if it is there already: of all processes that try, one makes it."""
        ...

    def write(self, number: int, text: str) -> None: ...

    def delete(self, number: int) -> None: ...


def since_boot() -> float:
    """Seconds by a clock that cannot be set. Where there is one that goes on while the machine sleeps, that one."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


def run(steps: Generator[StoreStep, Any, T], files: LeaseFiles, pause: Callable[[float], None] = time.sleep) -> T:
    """Do what the rules ask for, step by step."""
    answer: Any = None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration as end:
            value: T = end.value
            return value
        answer = None
        match step:
            case Numbers():
                answer = files.numbers()
            case Read(number):
                answer = files.read(number)
            case Create(number, text):
                answer = files.create(number, text)
            case Write(number, text):
                files.write(number, text)
            case Delete(number):
                files.delete(number)
            case Pause(seconds):
                pause(seconds)


class CreatedLease:
    """Held by signs of life: a process that gives none for the expiry is replaced, and is told so when it wakes up."""

    def __init__(
        self,
        files: LeaseFiles,
        checkpoint: str,
        holder: str,
        expiry_s: float = EXPIRY_S,
        clock: Callable[[], float] = since_boot,
    ) -> None:
        self._files, self._clock = files, clock
        self._lock, self._over = threading.Lock(), False
        self.lost: str | None = None
        got = run(tenancy.acquire(Note(holder, secrets.token_hex(8), expiry_s), clock), files)
        if isinstance(got, Taken):
            raise SettingError("checkpoint", checkpoint, f"one that no running query uses; {got.holder} uses it")
        self._held: Held | None = got
        self.token: int | None = got.number
        self.renew_every_s: float | None = expiry_s * tenancy.RENEW

    def sure(self) -> bool:
        held = self._held
        return held is not None and self._clock() < held.until

    def renew(self) -> None:
        with self._lock:
            if self._held is None:
                return
            try:
                got = run(tenancy.renew(self._held, self._clock), self._files)
            except Exception:
                # Whether the sign was written or not, the next one must differ from it.
                self._held = replace(self._held, mine=replace(self._held.mine, beat=self._held.mine.beat + 1))
                raise
            if isinstance(got, Taken):
                self._held, self.lost = None, got.holder
            elif not self._over:
                self._held = got

    def release(self) -> None:
        self._over = True
        free = self._lock.acquire(timeout=PATIENCE_S)
        held, self._held = self._held, None  # we stop believing it before another process may
        if free:
            try:
                if held is not None:
                    run(tenancy.release(held), self._files)
            finally:
                self._lock.release()
