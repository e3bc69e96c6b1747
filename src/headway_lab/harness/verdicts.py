"""Verdicts: what the ledger says of a claim.

The newest commit counts at which everything was measured that the claim names. Good news takes three seeds; bad news counts
as soon as there is any. A guarantee is judged by the worst seed or by all of them together, anything else by the median.
Where nothing is random, environments take the place of seeds.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Any, Literal

from headway_lab.harness import checkout
from headway_lab.harness.checkout import Checkout, CommitAge
from headway_lab.harness.claims import Claim, Unit
from headway_lab.harness.ledger import Record, kind_of
from headway_lab.harness.metrics import METRICS, MetricValue, lacking

SEEDS = 3  # fewer say what was seen, not that it holds
TOLD = 3  # of things that are missing; the rest is counted
UNITS: dict[Unit, str] = {
    "ratio": "{:.2f}",
    "share": "{:.2%}",
    "count": "{:,.0f}",
    "ms": "{:,.0f} ms",
    "MB": "{:.2f} MB",
    "s": "{:,.1f} s",
    "us": "{:,.0f} us",
    "ns": "{:,.0f} ns",
}
Kind = Literal["live", "no-spark", "sim"]
KINDS: dict[Kind, str] = {"live": "live", "no-spark": "without Spark", "sim": "simulated"}
Verdict = Literal["reproduced", "measured once", "incomplete", "not reproduced", "not measured"]


@dataclass(frozen=True, slots=True)
class Figure:
    """The value that a claim is judged by, the least and the greatest seed, and the commit that was measured."""

    value: float
    low: float
    high: float
    n: int
    commit: str
    within: bool  # the claim's bounds
    detail: str = ""
    width: float | None = None  # of the interval whose coverage it is, on average
    age: CommitAge = CommitAge()
    fitted: str = ""

    def as_json(self) -> dict[str, Any]:
        figures = {name: getattr(self, name) for name in ("value", "low", "high", "n", "commit", "within", "width")}
        return figures | {"commits_since": self.age.commits, "stale": self.age.stale}


@dataclass(frozen=True, slots=True)
class MissingFigure:
    """What a claim names and was not measured at one commit together with the rest."""

    missing: tuple[str, ...]
    nothing: bool  # not even a part of it

    def __str__(self) -> str:
        more = f" and {len(self.missing) - TOLD} more" if len(self.missing) > TOLD else ""
        return "; ".join(self.missing[:TOLD]) + more

    def as_json(self) -> dict[str, Any]:
        return {"missing": list(self.missing)}


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim and what was found, of each kind in which it is claimed."""

    claim: Claim
    parts: tuple[tuple[Kind, Figure | MissingFigure], ...]

    def part(self, kind: Kind) -> Figure | MissingFigure | None:
        return dict(self.parts).get(kind)

    @property
    def figures(self) -> list[Figure]:
        """What counts: not what the simulator was fitted to."""
        return [part for _, part in self.parts if isinstance(part, Figure) and not part.fitted]

    @property
    def gaps(self) -> list[tuple[Kind, MissingFigure]]:
        return [(kind, part) for kind, part in self.parts if isinstance(part, MissingFigure)]

    @property
    def verdict(self) -> Verdict:
        if not all(figure.within for figure in self.figures):
            return "not reproduced"
        if not self.figures and all(gap.nothing for _, gap in self.gaps):
            return "not measured"
        if self.gaps:
            return "incomplete"
        return "reproduced" if min(figure.n for figure in self.figures) >= SEEDS else "measured once"

    @property
    def stale(self) -> bool | None:
        """Whether the code of one of its figures has changed since; None if that is not known of all of them."""
        known = [figure.age.stale for figure in self.figures]
        return True if True in known else None if None in known or not known else False

    @property
    def because(self) -> str:
        """What is missing, or our reading of it."""
        match self.verdict:
            case "reproduced":
                return ""
            case "measured once":
                fewest = min(figure.n for figure in self.figures)
                return f"within its bounds at {fewest} {self.claim.over}{'s' if fewest > 1 else ''}, {SEEDS} are needed"
            case "incomplete":
                return "missing " + "; ".join(f"{KINDS[kind]}: {gap}" for kind, gap in self.gaps)
            case _:
                return self.claim.reason

    def words(self) -> list[str]:
        """Its figures as people read them, one line each."""
        return [f"{KINDS[kind]}: {self._describe(part, kind)}" for kind, part in self.parts if isinstance(part, Figure)]

    def _describe(self, figure: Figure, kind: Kind) -> str:
        claim = _of_kind(self.claim, kind)
        show = UNITS[claim.unit].format
        how = {"median": "", "worst": " at worst", "pooled": " in all"}[claim.judged]
        spread = f"{show(figure.low)}..{show(figure.high)}, " if figure.low != figure.high else ""
        value = f"{show(figure.value)}{how} ({spread}{figure.n} {claim.over}{'s' if figure.n > 1 else ''})"
        width = _wide(claim, figure.width) if claim.width else ""
        fitted = f"not counted: the simulator was fitted to {figure.fitted}" if figure.fitted else ""
        return ", ".join(filter(None, [value, figure.detail, width, fitted])) + f"; {figure.commit}, {figure.age}"

    def as_json(self) -> dict[str, Any]:
        parts = {kind: part.as_json() for kind, part in self.parts}
        return {
            "id": self.claim.id,
            "says": self.claim.says,
            "paper": self.claim.paper,
            "setting": self.claim.setting,
            **{kind.replace("-", "_"): parts.get(kind) for kind in KINDS},
            "verdict": self.verdict,
            "stale": self.stale,
            "because": self.because,
        }


def _wide(claim: Claim, width: float | None) -> str:
    if width is None:
        return "how wide the interval was is not written down"
    return f"interval {width:,.0f} ms wide" if claim.width.endswith("_ms") else f"interval {width:.1%} of the answer wide"


def tally(findings: Iterable[Finding]) -> str:
    """How many there are of each verdict."""
    findings = list(findings)
    counts = Counter(finding.verdict for finding in findings)
    stale = sum(finding.stale is True for finding in findings)
    return ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common()) + (f"; {stale} stale" if stale else "")


def judge(claims: Iterable[Claim], records: Sequence[Record], tree: Checkout | None = None) -> list[Finding]:
    """A finding for each claim; the work tree says how old its figures are."""
    tree = tree or checkout.own()
    return [Finding(c, tuple((kind, look_up(c, records, kind, tree)) for kind in kinds(c))) for c in claims]


def kinds(claim: Claim) -> list[Kind]:
    """The kinds of measurement that a claim speaks of."""
    own: Kind = "live" if claim.spark else "no-spark"
    named: list[Kind] = [own, "sim"] if claim.sim is not None else [own]
    return [kind for kind in named if _of_kind(claim, kind).metric in METRICS]


def _of_kind(claim: Claim, kind: Kind) -> Claim:
    return replace(claim, **claim.sim or {}) if kind == "sim" else claim


def look_up(claim: Claim, records: Sequence[Record], kind: Kind, tree: Checkout) -> Figure | MissingFigure:
    """The claim's figure by the newest commit that has all it takes; a guarantee that is broken needs no more than that."""
    claim = _of_kind(claim, kind)
    fitting = [r for r in records if r["experiment"] == claim.experiment and kind_of(r) == kind]
    gap = MissingFigure(tuple(lacking(claim, [])), nothing=True)
    for commit in dict.fromkeys(r["commit"] for r in reversed(fitting)):
        whole: list[MetricValue] = []
        part: list[MetricValue] = []
        for together in _trials(claim, [r for r in fitting if r["commit"] == commit]):
            missing = tuple(lacking(claim, together))
            (part if missing else whole).extend(_samples(claim, together))
            if missing != gap.missing and (gap.nothing or len(missing) < len(gap.missing)):
                gap = MissingFigure(missing, nothing=False)
        if claim.guarantee and part and not (broken := _figure(claim, [*whole, *part], commit, tree)).within:
            return broken
        if whole:
            return _figure(claim, whole, commit, tree)
    return gap


def _trials(claim: Claim, records: Sequence[Record]) -> list[list[Record]]:
    """Records that must have all that a claim names: those of each seed, or, where seeds are not what is repeated, all."""
    if claim.over != "seed":
        return [list(records)]
    return [[r for r in records if r["seed"] == seed] for seed in sorted({r["seed"] for r in records})]


def _samples(claim: Claim, records: list[Record]) -> list[MetricValue]:
    """One value of a seed; of a claim over environments one for each of them, the newest if it was measured again."""
    each = (
        [records]
        if claim.over == "seed"
        else [[r] for r in {str(r["setting"].get(claim.over)): r for r in records}.values()]
    )
    return [sample for some in each if (sample := METRICS[claim.metric](claim, some)) is not None]


def _figure(claim: Claim, samples: Sequence[MetricValue], commit: str, tree: Checkout) -> Figure:
    values = [sample.value for sample in samples]
    value, within = _judged(claim, samples)
    nearest = min(samples, key=lambda sample: abs(sample.value - value))
    widths = [sample.width for sample in samples if sample.width is not None]
    return Figure(
        value, min(values), max(values), len(values), commit, within, nearest.detail,
        fmean(widths) if widths else None, tree.age(commit, claim.globs), claim.fitted,
    )  # fmt: skip


def _judged(claim: Claim, samples: Sequence[MetricValue]) -> tuple[float, bool]:
    """The value that counts, and whether it keeps to the bounds."""
    low, high = claim.bounds
    values = [sample.value for sample in samples]
    if claim.judged == "worst":
        outside = [value for value in values if not low <= value <= high]
        return max(outside or values), not outside
    if claim.judged == "median":
        value = median(values)
    elif claim.unit == "share":
        value = sum(s.value * s.weight for s in samples) / sum(s.weight for s in samples)
    else:
        value = sum(values)
    return value, low <= value <= high
