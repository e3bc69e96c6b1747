"""What is advised: items with their evidence, and how they are put into words."""

from dataclasses import dataclass
from typing import Literal

Weight = Literal["high", "medium", "low"]
WEIGHTS: tuple[Weight, ...] = ("high", "medium", "low")


@dataclass(frozen=True, slots=True)
class AdviceItem:
    """One thing that is worth changing, or knowing."""

    check: str  # its name, as in `CHECKS`
    query: str
    weight: Weight
    says: str  # one sentence with the number that tipped it
    evidence: tuple[str, ...]
    do: str  # what to change


def span(ms: float) -> str:
    """A duration as people say it."""
    if ms < 1_000:
        return f"{ms:.0f} ms"
    if ms < 120_000:
        return f"{ms / 1_000:.1f} s"
    return f"{ms / 60_000:.0f} min" if ms < 7_200_000 else f"{ms / 3_600_000:.1f} h"


def size(count: float) -> str:
    """Bytes as people say them."""
    for unit in ("B", "kB", "MB"):
        if count < 1_000:
            return f"{count:.0f} {unit}"
        count /= 1_000
    return f"{count:.1f} GB"


def share(part: float) -> str:
    return f"{part:.0%}" if part >= 0.01 else f"{part:.2%}"
