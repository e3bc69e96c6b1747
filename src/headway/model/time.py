"""Two clocks and the durations between them: wall time is when we act, event time is when it happened."""

import re
import time
from dataclasses import dataclass
from typing import NewType, Protocol

from headway.errors import SettingError

WallMs = NewType("WallMs", int)  # when we act: milliseconds on the controller's clock
EventMs = NewType("EventMs", int)  # when it happened: milliseconds inside the data


class Clock(Protocol):
    def now(self) -> WallMs: ...


class SystemClock:
    """The machine's wall clock. Event times are compared with it, so a monotonic clock would not do."""

    def now(self) -> WallMs:
        return WallMs(int(time.time() * 1000))


@dataclass
class VirtualClock:
    """A clock that moves only when it is told to."""

    at: int = 0

    def now(self) -> WallMs:
        return WallMs(self.at)

    def advance(self, ms: int) -> None:
        self.at += ms


_UNITS = {"ms": 1, "millisecond": 1, "s": 1_000, "sec": 1_000, "second": 1_000, "m": 60_000, "min": 60_000,
          "minute": 60_000, "h": 3_600_000, "hour": 3_600_000, "day": 86_400_000}  # fmt: skip
_WANT = "a duration of zero or more such as '500 ms', '3 seconds' or a number of milliseconds"


def duration_ms(key: str, given: object) -> int:
    """The milliseconds of a duration as people write it; `key` names the setting in the error."""
    if isinstance(given, bool):
        raise SettingError(key, given, _WANT)
    if isinstance(given, int | float):
        if given < 0 or given != given or given == float("inf"):
            raise SettingError(key, given, _WANT)
        return int(given)
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", given) if isinstance(given, str) else None
    unit = _UNITS.get(match[2].lower()) or _UNITS.get(match[2].lower().removesuffix("s")) if match else None
    if match is None or unit is None:
        raise SettingError(key, given, _WANT)
    return round(float(match[1]) * unit)
