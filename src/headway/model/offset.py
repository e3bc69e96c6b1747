"""The control offset: what is decided about one micro-batch, as one value.

Spark writes it to its own log before the batch runs, so a batch that is run again after a crash is decided the same. How it
looks as text is said in `spark/channel/offset_text.py`, and for the JVM in `ControlOffset.java`.
"""

from dataclasses import dataclass, replace

VERSION = 2  # of the text that is written; texts of version 1 had no version in them
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Sampled:
    """How much a batch takes of an input that is sampled, and how sure its answers are.

    Shares, and numbers of standard deviations, are whole millionths: a fraction would look different in another language.
    """

    share: int = MILLION  # of rows that are wanted
    seen: int = MILLION  # of the window that goes out: how much of it was there
    unsure: int = 0  # by how much that may be off
    z: int = 1_959_964  # standard deviations between an estimate that is normal and its bounds
    widest: int = 4_472_136  # the same for any estimate
    sub_ms: int = 1  # how long a sub-stream is
    every_ms: int = 1  # from the end of a window to that of the next
    first_ms: int = 0  # when a window ends
    arrived: tuple[int, ...] = ()  # by place: how much of a sub-stream will be there when its window goes
    keys: tuple[tuple[int, int], ...] = ()  # groups, by the hash of their names, of which only this share is wanted

    def whole(self) -> "Sampled":
        """The same where rows decide when a window goes out: then all of it is there."""
        return replace(self, seen=MILLION, unsure=0)


@dataclass(frozen=True, slots=True)
class ControlOffset:
    """Up to where a query has been let through."""

    seq: int = 0  # grows by one with every offset that differs from the one before
    wm: int = 0  # the announced watermark, in ms of event time; 0: none yet
    live: bool = False  # whether the wall clock rules that watermark: it may have been announced ahead of its time
    sampled: Sampled | None = None
    version: int = VERSION  # as which it was read: Spark compares texts, so one that stays as it is must not change its own

    def next(self, wm: int, live: bool, sampled: Sampled | None = None) -> "ControlOffset":
        """The one after it, as a controller decides it. A watermark never goes back."""
        return ControlOffset(self.seq + 1, max(self.wm, wm), live, sampled)

    def by_rows(self, wm: int | None) -> "ControlOffset":
        """The one after it where no gate decides, and rows alone move the watermark."""
        return self.next(self.wm if wm is None else wm, False, None if self.sampled is None else self.sampled.whole())
