"""A setting: how much load, for how long, on which session; and the names that policies and sessions have in it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from headway.errors import SettingError
from headway.model.decision import OrderPolicy
from headway.model.declared import order_declares
from headway.policy.load import order_policy

# What a session needs for FairPools, which leaves all other policies as they are.
POOLS = {
    "spark.scheduler.mode": "FAIR",
    "spark.scheduler.allocation.file": (Path(__file__).parent / "pools.xml").as_uri(),
}
START_S = 0.5  # a query, before anything is measured
Say = Callable[[str, float], None]  # what is going on, and for how many more seconds


@dataclass(frozen=True)
class Setting:
    """How much load, and for how long it is measured."""

    queries: int = 10
    rate: int = 200  # events per second and query
    delay: str = "uniform:0:500"
    patience_ms: int = 500
    window_ms: int = 3_000
    seconds: int = 30  # measured
    settle: int = 10  # run before that, not measured
    profile: str = "tuned"  # of the session: see `profile_named`
    unequal: float = 0.0  # how much rates differ from query to query: standard deviation over mean
    workload: str = "ysb"  # within the engine, or streams through Kafka: see `headway_lab.harness.tasks`

    @property
    def label(self) -> str:
        return label(asdict(self))


def label(setting: Mapping[str, Any]) -> str:
    """A load in words."""
    differ = f", rates differ by {setting['unequal']:.0%}" if setting.get("unequal") else ""
    workload = setting.get("workload", "ysb")
    of = "" if workload == "ysb" else f"{workload} through Kafka, "
    return f"{of}{setting['queries']} x {setting['rate']}/s, {setting['delay']}{differ}"


def profile_named(text: str) -> dict[str, str]:
    """Settings of a session: `plain` as Spark comes, `tuned`, `compiled` (tuned, with generated code), and tuned but for
    one setting, `without KEY`."""
    from headway.spark.profile import INTERPRETED, TUNED

    named = {"plain": {}, "tuned": TUNED | INTERPRETED, "compiled": TUNED}
    if text in named:
        return named[text]
    left_out = text.removeprefix("without ")
    if left_out == text or left_out not in named["tuned"]:
        raise SettingError("profile", text, f"one of {', '.join(named)}, or 'without KEY' with a key of the tuned one")
    return {key: value for key, value in named["tuned"].items() if key != left_out}


def policy_named(text: str) -> OrderPolicy:
    """A policy as `headway bench` calls it: `stock-tuned` is stock on a tuned session, `klink@2` Klink on two slots."""
    name, _, _ = text.partition("@")
    return order_policy("stock" if name == "stock-tuned" else name)


def slots_named(text: str) -> int | Literal["auto"]:
    _, fixed, slots = text.partition("@")
    if not fixed:
        return "auto"
    if not re.fullmatch(r"[1-9]\d*", slots) or not order_declares(policy_named(text)).gated:
        raise SettingError("policies", text, "a gated policy and a number of slots, such as klink@2")
    return int(slots)


def policies_named(text: str) -> list[str]:
    """`klink:confidence=0.9,interval=paper,stock` are two policies: a part with '=' goes on with the settings before it."""
    out: list[str] = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        if "=" in part and ":" not in part and out:
            out[-1] += f",{part}"
        else:
            out.append(part)
    if not out or len(set(out)) < len(out):
        raise SettingError("policies", text, "one or more policies, each once")
    for policy in out:
        policy_named(policy)
        slots_named(policy)
    return out
