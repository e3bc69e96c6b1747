"""How large the pages are in which Spark's tasks keep their rows.

Every aggregate of every task takes at least one page, and Spark makes them as large as 64 MB where there is memory for it.
The collector calls such a page a humongous object, and begins to mark the whole heap when one is asked for: at two heavy
queries it marked without a pause, and took half of all processor time. Small pages hold the same rows.
"""

import re
from collections.abc import Mapping

PAGE = "spark.buffer.pageSize"
LEAST_MB = 1  # Spark keeps pages from this size on for the next task
MOST = 8192  # pages that one task may have: Spark fails a task that needs more
_MEMORIES = ("spark.driver.memory", "spark.executor.memory", "spark.memory.offHeap.size")
_USUAL_MB = 1024
_UNITS = {"k": 1 / 1024, "m": 1, "g": 1024, "t": 1024 * 1024, "p": 1024**3}


def page_size(settings: Mapping[str, str]) -> str:
    """The least power of two at which one task could still use all memory that these settings give."""
    most_mb = max(_megabytes(settings.get(key, "")) for key in _MEMORIES) + _megabytes(settings.get(_MEMORIES[-1], "0"))
    page_mb = LEAST_MB
    while page_mb * MOST < most_mb:
        page_mb *= 2
    return f"{page_mb}m"


def _megabytes(text: str) -> float:
    """Of a size as Spark reads it: a number alone is megabytes, at least of a heap. What it cannot read, it will refuse."""
    found = re.fullmatch(r"\s*(\d+)\s*([kmgtp]?)b?\s*", text.lower())
    return _USUAL_MB if found is None else int(found[1]) * _UNITS[found[2] or "m"]
