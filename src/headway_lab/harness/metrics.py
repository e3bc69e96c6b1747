"""Metrics: how a claim's value comes out of the ledger, and what the ledger lacks for it.

Each metric looks at the records of one commit and one seed, so that only runs which took turns on the same machine are
ever compared.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from headway.sim import delays
from headway_lab.harness.claims import Claim
from headway_lab.harness.ledger import Record


@dataclass(frozen=True, slots=True)
class MetricValue:
    """A value with a word on it."""

    value: float
    detail: str = ""
    weight: float = 1.0  # the trials behind a share
    width: float | None = None  # of the interval whose coverage it is


def lacking(claim: Claim, records: list[Record]) -> list[str]:
    """What a claim names and the records do not have, in words: policies, and the setting that they are missing at."""
    out = []
    for at in claim.at or ({},):
        if absent := min((_needed(claim) - group.keys() for group in _groups(claim, at, records)), key=len):
            out.append(f"{', '.join(sorted(absent))}{' at ' if at else ''}{_setting_words(at)}")
    return out


def _needed(claim: Claim) -> set[str]:
    return {claim.candidate, *claim.baselines}


def _setting_words(at: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in at.items())


def _groups(claim: Claim, at: Mapping[str, Any], records: list[Record]) -> Iterable[dict[str, Record]]:
    """Records at a setting by policy. Those that differ in a setting which the claim does not name are not compared."""
    groups: dict[str, dict[str, Record]] = {"": {}}
    for record in records:
        if _fits(record, at):
            same = json.dumps(record["setting"], sort_keys=True) if claim.metric == "ratio" else ""
            groups.setdefault(same, {})[record["policy"]] = record
    return groups.values()


def _fits(record: Record, at: Mapping[str, Any]) -> bool:
    return all(record["setting"].get(name) == value for name, value in at.items())


def _greatest(samples: Iterable[MetricValue]) -> MetricValue | None:
    return max(samples, key=lambda sample: sample.value, default=None)


# ---- each metric: the greatest value of the settings that were measured, or None if none was


def _ratio(claim: Claim, records: list[Record]) -> MetricValue | None:
    """The candidate's figure over that of the best baseline."""
    return _greatest([s for at in claim.at if (s := _compared(claim, at, records)) is not None])


def _compared(claim: Claim, at: Mapping[str, Any], records: list[Record]) -> MetricValue | None:
    """The newest runs with the same settings in which all of them were measured."""
    for group in reversed(list(_groups(claim, at, records))):
        if _needed(claim) <= group.keys():
            mine = group[claim.candidate]
            best = min((group[b] for b in claim.baselines), key=lambda r: float(r[claim.field]))
            return MetricValue(mine[claim.field] / max(best[claim.field], 1e-9), _against(mine, best, claim.field))
    return None


def _against(mine: Record, best: Record, field: str) -> str:
    unit = " ms" if field.endswith("_ms") else ""
    ours, theirs = (f"{r[field]:,.0f}" if abs(r[field]) >= 10 else f"{r[field]:.3g}" for r in (mine, best))
    return f"{ours}{unit} against {theirs}{unit} of {best['policy']}"


def _decide_share(claim: Claim, records: list[Record]) -> MetricValue | None:
    """Time spent in decisions over all processor time there was."""
    return _greatest(
        MetricValue(ms / (r["host"]["cpus"] * r["setting"]["seconds"] * 1000), f"{ms:.0f} ms of decisions")
        for r in _own(claim, records)
        for ms in [r["decide_ms"]]
    )


def _trouble(claim: Claim, records: list[Record]) -> MetricValue | None:
    """Late rows and wrong counts of all policies together, wherever patience covers the delay."""
    covered = [r for r in records if r["setting"]["patience_ms"] >= _longest(r["setting"]["delay"])]
    if not covered:
        return None
    late, wrong = (sum(r[name] for r in covered) for name in ("late_rows", "wrong"))
    return MetricValue(float(late + wrong), f"{late} late rows, {wrong} wrong counts in {len(covered)} runs of a seed")


@cache
def _longest(delay: str) -> int:
    return delays.parse(delay).max_ms


def _plain(claim: Claim, records: list[Record]) -> MetricValue | None:
    """A figure as it stands in the ledger."""
    return _greatest(
        MetricValue(float(r[claim.field]), weight=float(r.get(claim.weight, 1.0)), width=r.get(claim.width))
        for r in _own(claim, records)
    )


def _own(claim: Claim, records: list[Record]) -> list[Record]:
    return [r for at in claim.at or ({},) for r in records if r["policy"] == claim.candidate and _fits(r, at)]


METRICS: dict[str, Callable[[Claim, list[Record]], MetricValue | None]] = {
    "ratio": _ratio,
    "decide-share": _decide_share,
    "trouble": _trouble,
    "plain": _plain,
}
