"""How a lease is taken, kept and lost by files alone: the rules, without a clock or a file system of their own.

Each holder creates a file with the next number, which only one of all that try can do; the highest number holds. While it
lives it writes something new into its file. A process that wants the lease watches that file: if it stays the same for as
long as the holder has promised, by the watcher's own clock, the holder is dead. No two machines' clocks are compared.

Why no two are ever sure at the same time, as long as clocks run at the same pace within a tenth:

- A holder is sure for HOLD of its expiry, from *before* it wrote; a watcher waits for all of it, from *after* it has read.
- A holder writes first and then looks for higher numbers. A taker creates its number first and then reads its predecessor's
  file once more. So either the holder sees the taker and is lost, or the taker sees that the holder has just written; then
  it waits until that, too, has expired.

The rules are generators of steps: their runner does the reading and writing; a test mixes the steps of many.
"""

import json
from collections.abc import Callable, Generator
from dataclasses import asdict, dataclass, replace
from typing import Any

HOLD = 0.8  # of the expiry, for which a holder is sure after a sign of life: the rest is for clocks that differ in pace
RENEW = 0.25  # of it, after which the next sign of life is due
LOOK = 0.1  # of it, between two looks at the file of another holder


@dataclass(frozen=True, slots=True)
class Note:
    """What a holder writes into its file."""

    holder: str
    id: str  # of this one acquisition: creating a file is not atomic everywhere
    expiry_s: float  # a watcher goes by the holder's, not by its own
    beat: int = 0
    released: bool = False

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))


def note(text: str | None) -> Note | None:
    """None if nothing is written there, or not all of it yet."""
    try:
        said = json.loads(text or "")
        return Note(said["holder"], said["id"], float(said["expiry_s"]), int(said["beat"]), bool(said["released"]))
    except (ValueError, KeyError, TypeError):
        return None


# ---- steps, and what their runner answers


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of the lease files that exist."""


@dataclass(frozen=True, slots=True)
class Read:
    """The text of a file; None if it is not there."""

    number: int


@dataclass(frozen=True, slots=True)
class Create:
    """A file that is not there yet, with this text: whether we have made it."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Write:
    """This text into a file, there or not."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Delete:
    """A file that may be gone already."""

    number: int


@dataclass(frozen=True, slots=True)
class Pause:
    """For so many seconds."""

    seconds: float


StoreStep = Numbers | Read | Create | Write | Delete | Pause
Clock = Callable[[], float]


# ---- how it ends


@dataclass(frozen=True, slots=True)
class Held:
    """We have it, and are sure of that until this moment of our clock."""

    number: int
    mine: Note
    until: float


@dataclass(frozen=True, slots=True)
class Taken:
    """Another holder has it."""

    holder: str


NOBODY_KNOWN = "another process"


def acquire(mine: Note, clock: Clock) -> Generator[StoreStep, Any, Held | Taken]:
    """Take a lease that is free, or whose holder is dead; that takes the holder's expiry."""
    watched: tuple[int, str | None, float] | None = None
    while True:
        newest = max((yield Numbers()), default=0)
        text = (yield Read(newest)) if newest else None
        now, theirs = clock(), note(text)
        free = newest == 0 or (theirs is not None and theirs.released)
        expiry_s = mine.expiry_s if theirs is None else theirs.expiry_s
        if not free:
            if watched is None:
                watched = (newest, text, now)
            if watched[:2] != (newest, text):  # it has come, or has written, since we look
                return Taken(NOBODY_KNOWN if theirs is None else theirs.holder)
            if now - watched[2] < expiry_s:
                yield Pause(LOOK * expiry_s)
                continue
        if not (yield Create(newest + 1, mine.text)):
            watched = watched or (newest, text, now)  # another was faster: the next look finds it
            yield Pause(LOOK * expiry_s)
            continue
        if not free and (yield Read(newest)) != text:
            yield Pause(expiry_s)  # it wrote at the very last moment, and has not seen us: it may be sure for a while yet
        held = yield from renew(Held(newest + 1, mine, 0.0), clock)
        if isinstance(held, Held):
            for old in (yield Numbers()):
                if old < held.number:
                    yield Delete(old)
        return held


def renew(held: Held, clock: Clock) -> Generator[StoreStep, Any, Held | Taken]:
    """Give a sign of life, then look whether another holder has taken over."""
    began = clock()
    found = note((yield Read(held.number)))
    if found is not None and found.id != held.mine.id:
        return Taken(found.holder)
    mine = replace(held.mine, beat=held.mine.beat + 1)
    yield Write(held.number, mine.text)
    newest = max((yield Numbers()), default=held.number)
    if newest > held.number:
        theirs = note((yield Read(newest)))
        return Taken(NOBODY_KNOWN if theirs is None else theirs.holder)
    return Held(held.number, mine, began + HOLD * mine.expiry_s)


def release(held: Held) -> Generator[StoreStep, Any, None]:
    """The file stays: numbers must grow, so that a process which wakes up late still finds a higher one."""
    found = note((yield Read(held.number)))
    if found is None or found.id == held.mine.id:
        yield Write(held.number, replace(held.mine, released=True).text)


def holder() -> Generator[StoreStep, Any, str | None]:
    """Its holder, dead or alive; None if it is free. Nothing is written."""
    newest = max((yield Numbers()), default=0)
    theirs = note((yield Read(newest))) if newest else None
    if newest == 0 or (theirs is not None and theirs.released):
        return None
    return NOBODY_KNOWN if theirs is None else theirs.holder
