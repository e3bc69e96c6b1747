"""Times, durations and reasons as people read them."""

import re
from datetime import UTC, datetime

_EPOCH = re.compile(r"\b(1\d{12})\b")  # 2001 to 2033, in milliseconds
_WINDOW = re.compile(r"\b(window end|watermark|sweep) (\d+)\b")
_MILLIS = re.compile(r"(?<![\d.,])(-?\d{4,})(?:\.\d+)? ms\b")
_DAY_MS = 86_400_000


def clock(at: int, date: bool = False) -> str:
    """A moment as the clock on the wall shows it; before 1971 a clock of some simulation, which has no zone."""
    zone = UTC if abs(at) < 365 * _DAY_MS else None
    moment = datetime.fromtimestamp(at / 1000, zone).replace(tzinfo=None)
    return moment.isoformat(" " if date else "T", "milliseconds")[0 if date else 11 :]


def hour(at: int) -> str:
    """Without milliseconds where there are none: windows end at full seconds."""
    text = clock(at)
    return text.removesuffix(".000")


def lasting(ms: float) -> str:
    """A duration: 40 ms, 1.4 s, 12 min, 3 h."""
    size = abs(ms)
    if size < 1_000:
        return f"{ms:.0f} ms"
    if size < 60_000:
        return f"{ms / 1000:.{2 if size < 10_000 else 1}f} s"
    if size < 7_200_000:
        return f"{ms / 60_000:.1f} min"
    if size < 2 * _DAY_MS:
        return f"{ms / 3_600_000:.1f} h"
    return f"{ms / _DAY_MS:,.0f} days"


def readable(because: str) -> str:
    """A reason whose moments are on the clock. Policies count in milliseconds and know no time zone."""
    text = _WINDOW.sub(lambda found: f"{found[1]} {hour(int(found[2]))}", because)
    text = _EPOCH.sub(lambda found: hour(int(found[1])), text)
    return _MILLIS.sub(lambda found: lasting(int(found[1])), text)


def some(names: list[str], most: int = 5) -> str:
    """`a, b and 3 more`."""
    shown, more = names[:most], len(names) - most
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
