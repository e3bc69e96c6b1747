"""Claims: statements written down before they are measured, and what the ledger says of them.

How a claim is computed is named by its `metric`; each metric gives one value per seed, out of the records of one commit,
so that only runs which took turns on the same machine are ever compared.
"""

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.resources import files
from statistics import median
from typing import Any, Literal

from headway.bench.ledger import Record
from headway.workloads import delays

BOOKS = ("klink", "cost", "simulator", "kafka", "patience", "slack", "slack-tuner", "aion", "safety", "anywhere")
UNITS = {
    "ratio": "{:.2f}",
    "share": "{:.2%}",
    "count": "{:,.0f}",
    "ms": "{:,.0f} ms",
    "MB": "{:.2f} MB",
    "s": "{:,.1f} s",
    "us": "{:,.0f} us",
    "ns": "{:,.0f} ns",
}
Verdict = Literal["reproduced", "not reproduced", "not measured"]


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement with the bounds that its value has to keep to."""

    id: str
    says: str
    paper: str
    setting: str
    metric: str
    bounds: tuple[float, float] = (0.0, 0.0)
    experiment: str = "klink"
    candidate: str = "klink"
    baselines: tuple[str, ...] = ()  # the best of them counts
    field: str = "mean_ms"
    at: tuple[Mapping[str, Any], ...] = ()  # settings; the worst of them counts
    unit: Literal["ratio", "share", "count", "ms", "MB", "s", "us", "ns"] = "ratio"
    reason: str = ""  # our reading, should it not be reproduced or not be measured
    sim: Mapping[str, Any] | None = None  # what is different in the simulated column


@dataclass(frozen=True, slots=True)
class Figure:
    """The median over seeds, the least and the greatest, and the commit that was measured."""

    value: float
    low: float
    high: float
    n: int
    commit: str
    detail: str = ""

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "detail"}


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim and what was found, live and simulated."""

    claim: Claim
    live: Figure | None
    sim: Figure | None

    @property
    def verdict(self) -> Verdict:
        figures = [f for f in (self.live, self.sim) if f is not None]
        if not figures:
            return "not measured"
        low, high = self.claim.bounds
        return "reproduced" if all(low <= f.value <= high for f in figures) else "not reproduced"

    def words(self, figure: Figure | None) -> str:
        """A figure as people read it: the median, and from where to where the seeds lie."""
        if figure is None:
            return "-"
        show = UNITS[self.claim.unit].format
        spread = f"{show(figure.low)}..{show(figure.high)}, " if figure.low != figure.high else ""
        seeds = f"({spread}{figure.n} seed{'s' if figure.n > 1 else ''}, {figure.commit})"
        return " ".join(filter(None, [show(figure.value), seeds, figure.detail]))

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.claim.id,
            "says": self.claim.says,
            "paper": self.claim.paper,
            "setting": self.claim.setting,
            "live": self.live and self.live.as_json(),
            "sim": self.sim and self.sim.as_json(),
            "verdict": self.verdict,
        }


def load() -> list[Claim]:
    """The claims that ship with this package."""
    books = [tomllib.loads((files("headway.bench") / f"{name}.toml").read_text("utf-8")) for name in BOOKS]
    return [_claim(item) for book in books for item in book["claim"]]


def _claim(item: dict[str, Any]) -> Claim:
    return Claim(**_tuples(item) | {"sim": _tuples(item.get("sim", {}))})


def _tuples(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in item.items()}


def judge(claims: Iterable[Claim], records: Sequence[Record]) -> list[Finding]:
    return [Finding(c, figure(c, records, "live"), figure(c, records, "sim")) for c in claims]


def figure(claim: Claim, records: Sequence[Record], kind: str) -> Figure | None:
    """The claim's figure by the newest commit that was measured for it."""
    if kind == "sim":
        claim = replace(claim, **claim.sim or {})
    if claim.metric not in METRICS:
        return None
    fitting = [r for r in records if r["experiment"] == claim.experiment and r["kind"] == kind]
    for commit in dict.fromkeys(r["commit"] for r in reversed(fitting)):
        of_commit = [r for r in fitting if r["commit"] == commit]
        samples = []
        for seed in sorted({r["seed"] for r in of_commit}):
            sample = METRICS[claim.metric](claim, [r for r in of_commit if r["seed"] == seed])
            if sample is not None:
                samples.append(sample)
        if samples:
            values = [value for value, _ in samples]
            middle = min(samples, key=lambda s: abs(s[0] - median(values)))
            return Figure(median(values), min(values), max(values), len(values), commit, middle[1])
    return None


# ---- metrics: the records of one commit and one seed -> a value with a word on it, or None if something is missing

Sample = tuple[float, str]


def _ratio(claim: Claim, records: list[Record]) -> Sample | None:
    """The candidate's figure over that of the best baseline."""
    pairs = [_pair(claim, at, records) for at in claim.at]
    if not pairs or None in pairs:
        return None
    return max(
        (mine[claim.field] / max(best[claim.field], 1e-9), _words(mine, best, claim.field))
        for mine, best in (p for p in pairs if p is not None)
    )


def _pair(claim: Claim, at: Mapping[str, Any], records: list[Record]) -> tuple[Record, Record] | None:
    """The candidate and the best baseline at one setting; None unless all of them were measured there."""
    groups: dict[str, dict[str, Record]] = {}
    for record in records:
        if _fits(record, at):
            groups.setdefault(json.dumps(record["setting"], sort_keys=True), {})[record["policy"]] = record
    for group in reversed(groups.values()):
        if {claim.candidate, *claim.baselines} <= group.keys():
            best = min((group[b] for b in claim.baselines), key=lambda r: float(r[claim.field]))
            return group[claim.candidate], best
    return None


def _fits(record: Record, at: Mapping[str, Any]) -> bool:
    return all(record["setting"].get(name) == value for name, value in at.items())


def _words(mine: Record, best: Record, field: str) -> str:
    unit = " ms" if field.endswith("_ms") else ""
    ours, theirs = (f"{r[field]:,.0f}" if abs(r[field]) >= 10 else f"{r[field]:.3g}" for r in (mine, best))
    return f"{ours}{unit} against {theirs}{unit} of {best['policy']}"


def _slowdown(claim: Claim, records: list[Record]) -> Sample | None:
    """Like a ratio, of latency over the time that a batch takes where queries hardly meet: the smallest setting's."""
    pair = _pair(claim, claim.at[0], records)
    alone = [r for r in records if r["policy"] == claim.candidate]
    if pair is None:
        return None
    ideal = min(alone, key=lambda r: (r["setting"]["queries"], r["setting"]["rate"]))["batch_ms"]
    mine, best = (r[claim.field] / max(ideal, 1e-9) for r in pair)
    return mine / max(best, 1e-9), f"{mine:.1f} x the {ideal:.0f} ms of a batch, against {best:.1f} x of {pair[1]['policy']}"


def _decide_share(claim: Claim, records: list[Record]) -> Sample | None:
    """Time spent in decisions over all processor time there was; the worst setting counts, of those named if any are."""
    shares = [
        (r["decide_ms"] / (r["host"]["cpus"] * r["setting"]["seconds"] * 1000), f"{r['decide_ms']:.0f} ms of decisions")
        for r in records
        if r["policy"] == claim.candidate and (not claim.at or any(_fits(r, at) for at in claim.at))
    ]
    return max(shares, default=None)


def _trouble(claim: Claim, records: list[Record]) -> Sample | None:
    """Late rows and wrong counts of all policies together, where patience covers the delay."""
    covered = [r for r in records if r["setting"]["patience_ms"] >= _longest(r["setting"]["delay"])]
    if not covered:
        return None
    late, wrong = (sum(r[name] for r in covered) for name in ("late_rows", "wrong"))
    windows = sum(r["windows"] for r in covered)
    return float(late + wrong), f"{late} late rows, {wrong} wrong counts in {len(covered)} runs, {windows:,} windows"


@cache
def _longest(delay: str) -> int:
    return delays.parse(delay).max_ms


def _plain(claim: Claim, records: list[Record]) -> Sample | None:
    """A figure as it stands in the ledger; the worst setting counts."""
    values = [float(r[claim.field]) for at in claim.at for r in records if r["policy"] == claim.candidate and _fits(r, at)]
    return (max(values), "") if values else None


METRICS: dict[str, Callable[[Claim, list[Record]], Sample | None]] = {
    "ratio": _ratio,
    "slowdown": _slowdown,
    "decide-share": _decide_share,
    "trouble": _trouble,
    "plain": _plain,
}
