"""What a policy declares of itself beside its mind. It is read here, once, where a policy comes in.

A policy of a user's own needs no base class: what it must have is checked by `checked`, and what it does not declare is as
the fields below say.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from typing import Literal, TypeVar

from headway.errors import SettingError
from headway.model.slack import Learns, SlackPolicy
from headway.model.time import WallMs
from headway.model.view import QueryView

Declared = TypeVar(
    "Declared", "OrderDeclares", "PatienceDeclares", "SlackDeclares", "PlacementDeclares", "AdaptationDeclares"
)
COOL_DOWN_MS = 30_000
NotBefore = Callable[[QueryView, WallMs], float]


@dataclass(frozen=True, slots=True)
class OrderDeclares:
    """What an order policy may declare, as an attribute of this name."""

    gated: bool = True  # queries wait at a gate for it; else Spark decides
    pools: bool = False  # without a gate: every query has a pool of its own in Spark's scheduler
    every_ms: int = 0  # without a gate: the trigger of every query; 0 is Spark's own
    confidence: float | None = None  # it looks at delays, at intervals that hold with this probability; None: it does not
    memory: bool = False  # it minds how much of the memory is in use
    # The moment before which it grants this query no batch, whatever the other queries do; minus infinity where it cannot
    # tell. None: it is asked whenever a query has changed.
    not_before: NotBefore | None = None


@dataclass(frozen=True, slots=True)
class PatienceDeclares:
    """What a patience policy may declare."""

    slt_ms: int | None = None  # a slack gate: rows, not the clock, tell how far the stream has come
    tunes: SlackPolicy | None = None  # sets that threshold anew after each window; None: it stays as it is


@dataclass(frozen=True, slots=True)
class SlackDeclares:
    """What a slack policy may declare."""

    # Makes what learns the curves that it decides by, given a window's period in seconds and how often rows are read, in
    # milliseconds. None: it needs no curves.
    learner: Callable[[float, float], Learns] | None = None


@dataclass(frozen=True, slots=True)
class PlacementDeclares:
    """What a placement policy may declare."""

    cool_down_ms: int = COOL_DOWN_MS  # for a node after a move to it or from it


@dataclass(frozen=True, slots=True)
class AdaptationDeclares:
    """What an adaptation policy may declare: what the places keep to on which a pipeline begins."""

    alpha: float = 0.8  # of a link's bandwidth
    goal: Literal["delay", "dollars"] = "delay"
    budget_usd_h: float = 0.0  # for the whole pipeline; 0: none


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


def slack_declares(policy: object) -> SlackDeclares:
    return declared(policy, SlackDeclares)


def placement_declares(policy: object) -> PlacementDeclares:
    return declared(policy, PlacementDeclares)


def adaptation_declares(policy: object) -> AdaptationDeclares:
    return declared(policy, AdaptationDeclares)


def checked(key: str, policy: object, needs: Collection[str], want: str) -> None:
    """Refuse what is no policy, and say what it lacks if it is nearly one."""
    lacks = [name for name in needs if not hasattr(policy, name)]
    if isinstance(policy, type) or "decide" in lacks:
        raise SettingError(key, policy, want)
    if lacks:
        raise SettingError(key, policy, f"{want}; this one has no {' and no '.join(lacks)}")
