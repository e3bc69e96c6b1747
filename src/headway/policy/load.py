"""Settings become policies: `klink` or `klink:confidence=0.9,interval=paper`. Others may add entry points.

Each question has its own: `headway.order`, `headway.patience`, `headway.sampling`, `headway.placement` and
`headway.adaptation` are the groups of entry points.
"""

from dataclasses import MISSING, fields
from importlib.metadata import entry_points
from typing import Any

from headway.errors import SettingError
from headway.model.decision import OrderPolicy
from headway.policy import adaptation, order, patience, placement, sampling

KINDS: dict[str, dict[str, type[Any]]] = {
    "order": {
        "klink": order.Klink,
        "response-ratio": order.ResponseRatio,
        "stock": order.Stock,
        "fair": order.FairPools,
        "fixed-trigger": order.FixedTrigger,
        "first-come": order.FirstCome,
        "round-robin": order.RoundRobin,
        "highest-rate": order.HighestRate,
        "streambox": order.StreamBox,
    },
    "patience": {
        "fixed": patience.Fixed,
        "max-delay": patience.MaxDelay,
        "quantile": patience.Quantile,
        "slack-gate": patience.SlackGate,
        "deadline": patience.Deadline,
    },
    "sampling": {
        "aion": sampling.Aion,
        "aion-minus": sampling.AionMinus,
        "aq-k-slack": sampling.AQKSlack,
        "everything": sampling.Everything,
    },
    "placement": {
        "prediction-rings": placement.PredictionRings,
        "least-loaded": placement.LeastLoaded,
        "round-robin-placement": placement.RoundRobinPlacement,
        "random": placement.RandomPlacement,
        "never-move": placement.NeverMove,
        "near-ideal": placement.NearIdeal,
    },
    "adaptation": {
        "wasp": adaptation.Wasp,
        "no-adapt": adaptation.NoAdapt,
        "degrade-only": adaptation.DegradeOnly,
        "re-assign-only": adaptation.ReassignOnly,
        "scale-only": adaptation.ScaleOnly,
        "re-plan-only": adaptation.ReplanOnly,
    },
}


def order_policy(text: str) -> OrderPolicy:
    """The order policy that `text` names, with its settings."""
    policy: OrderPolicy = policy_of("order", text)
    return policy


def question_of(text: str) -> str:
    """Which question a policy of this name answers."""
    kind = text.partition(":")[0]
    found = [question for question in KINDS if kind in _known(question)]
    if not found:
        raise SettingError("policy", text, f"one of {', '.join(name for q in KINDS for name in sorted(_known(q)))}")
    return found[0]


def policy_of(question: str, text: str) -> Any:
    """The policy for this question that `text` names, with its settings."""
    kind, _, settings = text.partition(":")
    known = _known(question)
    made = known.get(kind)
    if made is None:
        raise SettingError(question, text, f"one of {', '.join(sorted(known))}")
    cls = made if isinstance(made, type) else made.load()
    try:
        return cls(**dict(_setting(question, cls, part) for part in settings.split(",") if part))
    except TypeError as error:
        raise SettingError(question, text, f"settings that {cls.__name__} takes ({error})") from None


def _known(question: str) -> dict[str, Any]:
    return KINDS[question] | {e.name: e for e in entry_points(group=f"headway.{question}")}


def _setting(question: str, cls: type[Any], part: str) -> tuple[str, Any]:
    name, _, text = part.partition("=")
    declared = {f.name: f for f in fields(cls)}
    if name not in declared:
        names = ", ".join(declared) or "none: it has no settings"
        raise SettingError(f"{question}.{name}", text, f"a setting of {cls.__name__}, one of {names}")
    default: Any = declared[name].default
    if default is MISSING or isinstance(default, str):
        return name, text
    try:
        if isinstance(default, bool):
            return name, {"true": True, "false": False}[text.lower()]
        return name, type(default)(text)
    except (ValueError, KeyError):
        raise SettingError(f"{question}.{name}", text, f"a value like {default!r}") from None
