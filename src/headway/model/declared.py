"""What a policy declares of itself beside its mind. It is read here, once, where a policy comes in.

A policy of a user's own needs no base class: what it must have is checked by `checked`, and what it does not declare is as
the fields below say.
"""

from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import TypeVar

from headway.errors import SettingError

Declared = TypeVar("Declared", "OrderDeclares", "PatienceDeclares")


@dataclass(frozen=True, slots=True)
class OrderDeclares:
    """What an order policy may declare, as an attribute of this name."""

    gated: bool = True  # queries wait at a gate for it; else Spark decides
    pools: bool = False  # without a gate: every query has a pool of its own in Spark's scheduler
    every_ms: int = 0  # without a gate: the trigger of every query; 0 is Spark's own
    confidence: float | None = None  # it looks at delays, at intervals that hold with this probability; None: it does not
    memory: bool = False  # it minds how much of the memory is in use


@dataclass(frozen=True, slots=True)
class PatienceDeclares:
    """What a patience policy may declare."""

    slt_ms: int | None = None  # a slack gate: rows, not the clock, tell how far the stream has come


ORDER = ("decide",)
PATIENCE = ("decide", "delay_ms", "least_ms", "most_ms", "memory_rows")
SAMPLING = ("decide", "error", "confidence", "most_ms")


def declared(policy: object, kind: type[Declared]) -> Declared:
    """What this policy declares; what it does not is as it comes."""
    return kind(**{f.name: getattr(policy, f.name) for f in fields(kind) if hasattr(policy, f.name)})


def order_declares(policy: object) -> OrderDeclares:
    return declared(policy, OrderDeclares)


def patience_declares(policy: object) -> PatienceDeclares:
    return declared(policy, PatienceDeclares)


def checked(key: str, policy: object, needs: Collection[str], want: str) -> None:
    """Refuse what is no policy, and say what it lacks if it is nearly one."""
    lacks = [name for name in needs if not hasattr(policy, name)]
    if isinstance(policy, type) or "decide" in lacks:
        raise SettingError(key, policy, want)
    if lacks:
        raise SettingError(key, policy, f"{want}; this one has no {' and no '.join(lacks)}")
