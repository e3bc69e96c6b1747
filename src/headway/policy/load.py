"""Settings become policies: `klink` or `klink:confidence=0.9,interval=paper`. Others may add entry points."""

from dataclasses import fields
from importlib.metadata import entry_points
from typing import Any

from headway.errors import SettingError
from headway.model.decision import OrderPolicy
from headway.policy import order

KINDS: dict[str, type[Any]] = {
    "klink": order.Klink,
    "response-ratio": order.ResponseRatio,
    "stock": order.Stock,
    "fair": order.FairPools,
    "fixed-trigger": order.FixedTrigger,
    "first-come": order.FirstCome,
    "round-robin": order.RoundRobin,
    "highest-rate": order.HighestRate,
    "streambox": order.StreamBox,
}


def order_policy(text: str) -> OrderPolicy:
    """The order policy that `text` names, with its settings."""
    kind, _, settings = text.partition(":")
    known = KINDS | {e.name: e for e in entry_points(group="headway.order")}
    made = known.get(kind)
    if made is None:
        raise SettingError("order", text, f"one of {', '.join(sorted(known))}")
    cls = made if isinstance(made, type) else made.load()
    try:
        policy: OrderPolicy = cls(**dict(_setting(cls, part) for part in settings.split(",") if part))
    except TypeError as error:
        raise SettingError("order", text, f"settings that {cls.__name__} takes ({error})") from None
    return policy


def _setting(cls: type[Any], part: str) -> tuple[str, Any]:
    name, _, text = part.partition("=")
    declared = {f.name: f for f in fields(cls)}
    if name not in declared:
        names = ", ".join(declared) or "none: it has no settings"
        raise SettingError(f"order.{name}", text, f"a setting of {cls.__name__}, one of {names}")
    default: Any = declared[name].default
    try:
        if isinstance(default, bool):
            return name, {"true": True, "false": False}[text.lower()]
        return name, type(default)(text)
    except (ValueError, KeyError):
        raise SettingError(f"order.{name}", text, f"a value like {default!r}") from None
