"""What a doctor says of one thing."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at: whether it will do, and a line on it."""

    name: str
    ok: bool
    says: str
