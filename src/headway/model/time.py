"""Two clocks and the durations between them: wall time is when we act, event time is when it happened."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NewType, Protocol

from headway.errors import SettingError

WallMs = NewType("WallMs", int)  # when we act: milliseconds on the controller's clock
EventMs = NewType("EventMs", int)  # when it happened: milliseconds inside the data
# No watermark goes beyond 9989: a control row stands ten years after it, and calendars end with 9999.
LATEST = EventMs(253_055_232_000_000)


class Clock(Protocol):
    """Time that passes evenly. Other programs read the wall clock, which people set."""

    def now(self) -> WallMs: ...

    def skew_ms(self) -> int:
        """By how much the wall clock has been set since this clock was: wall time - now."""
        ...

    def follow_wall(self) -> None:
        """Take the wall clock's word from now on."""
        ...


STEP_MS = 1_000  # a wall clock that is off by less was corrected, not set: it is followed


class SystemClock:
    """The wall clock as it was at first, carried on by the monotonic clock: no deadline moves when the clock is set."""

    def __init__(self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic) -> None:
        self._wall, self._steady = wall, steady
        self._ahead = wall() - steady()  # of the monotonic clock, in seconds
        self._last = 0

    def now(self) -> WallMs:
        self._last = max(self._last, int((self._steady() + self._ahead) * 1000))
        return WallMs(self._last)

    def skew_ms(self) -> int:
        ahead = self._wall() - self._steady()
        off = round((ahead - self._ahead) * 1000)
        if abs(off) < STEP_MS:
            self._ahead = ahead
            return 0
        return off

    def follow_wall(self) -> None:
        self._ahead = self._wall() - self._steady()
        self._last = 0


@dataclass
class VirtualClock:
    """A clock that moves only when it is told to; `skew` is by how much the wall clock was set meanwhile."""

    at: int = 0
    skew: int = 0

    def now(self) -> WallMs:
        return WallMs(self.at)

    def advance(self, ms: int) -> None:
        self.at += ms

    def skew_ms(self) -> int:
        return self.skew

    def follow_wall(self) -> None:
        self.at, self.skew = self.at + self.skew, 0


_UNITS = {"ms": 1, "millisecond": 1, "s": 1_000, "sec": 1_000, "second": 1_000, "m": 60_000, "min": 60_000,
          "minute": 60_000, "h": 3_600_000, "hour": 3_600_000, "day": 86_400_000}  # fmt: skip
_WANT = "a duration of zero or more such as '500 ms', '3 seconds' or a number of milliseconds"


def duration_or_never_ms(key: str, value: object) -> int | None:
    """The same, but `"never"` (or None) is an answer too."""
    if value is None or (isinstance(value, str) and value.strip().lower() == "never"):
        return None
    return duration_ms(key, value)


def duration_ms(key: str, value: object) -> int:
    """The milliseconds of a duration as people write it; `key` names the setting in the error."""
    if isinstance(value, bool):
        raise SettingError(key, value, _WANT)
    if isinstance(value, int | float):
        if value < 0 or value != value or value == float("inf"):
            raise SettingError(key, value, _WANT)
        return int(value)
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", value) if isinstance(value, str) else None
    unit = _UNITS.get(match[2].lower()) or _UNITS.get(match[2].lower().removesuffix("s")) if match else None
    if match is None or unit is None:
        raise SettingError(key, value, _WANT)
    return round(float(match[1]) * unit)
