"""How good approximate answers were: near the exact ones, and within their own bounds, as often as promised?"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import hypot, inf, sqrt
from statistics import fmean

from headway.estimate.bounds import Certainty, deviations
from headway.estimate.delays import normal_half_width
from headway.estimate.sample_size import LEAST
from headway_lab.workloads.approximate.question import KeyedPane

HAIR = 1e-9  # the same rows, added up in another order


@dataclass(frozen=True, slots=True)
class WindowResult:
    """One result of a query."""

    end_ms: int
    key: str
    estimate: float
    lower: float
    upper: float
    sample: int  # rows that it rests upon
    seen: float = 1.0  # the share of the window that had come in
    sound: bool = True

    def error(self, exact: float) -> float:
        """Relative to the exact answer."""
        if self.estimate == exact:
            return 0.0
        return abs(self.estimate - exact) / abs(exact) if exact else inf

    @property
    def width(self) -> float | None:
        """Of its own bounds, relative to the estimate; None of nothing."""
        return (self.upper - self.lower) / abs(self.estimate) if self.estimate else None

    def holds(self, exact: float) -> bool:
        hair = HAIR * max(1.0, abs(exact))
        return self.lower - hair <= exact <= self.upper + hair


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many, and between which shares the true one lies (Wilson's interval, of 95 % unless told)."""

    hits: int
    n: int
    low: float
    high: float

    @property
    def share(self) -> float:
        return self.hits / self.n if self.n else 0.0

    def __str__(self) -> str:
        return f"{self.share:.1%} ({self.low:.1%} .. {self.high:.1%})" if self.n else "-"


def wilson(hits: int, n: int, confidence: float = 0.95) -> Share:
    """An interval for a share that is never outside 0 to 1, nor empty where all were hits."""
    if n == 0:
        return Share(0, 0, 0.0, 1.0)
    z, p = normal_half_width(confidence), hits / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    # With no hit, or nothing but hits, one end is exact; rounding must not move it.
    return Share(hits, n, 0.0 if hits == 0 else max(0.0, middle - half), 1.0 if hits == n else min(1.0, middle + half))


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of some answers."""

    within: Share  # the error that was asked for
    covered: Share  # by their own bounds
    errors: tuple[float, ...]
    missing: int  # exact answers to which there was none
    widths: tuple[float, ...] = ()  # of their bounds

    @property
    def width(self) -> float:
        """How wide the bounds were on average: wide enough, they cover everything."""
        return fmean(self.widths) if self.widths else 0.0

    @property
    def error_mean(self) -> float:
        return fmean(self.errors) if self.errors else 0.0

    @property
    def error_max(self) -> float:
        return max(self.errors, default=0.0)


def judge(answers: Iterable[WindowResult], truth: Mapping[KeyedPane, float], error: float) -> Judged:
    """Answers beside the exact ones; an answer about nothing, of which there is no exact one, is wrong."""
    listed = list(answers)
    exact = [truth.get((a.end_ms, a.key), 0.0) for a in listed]
    errors = tuple(a.error(e) for a, e in zip(listed, exact, strict=True))
    return Judged(
        wilson(sum(e <= error + HAIR for e in errors), len(listed)),
        wilson(sum(a.holds(e) for a, e in zip(listed, exact, strict=True)), len(listed)),
        errors,
        len(truth.keys() - {(a.end_ms, a.key) for a in listed}),
        tuple(width for a in listed if (width := a.width) is not None),
    )


def by_key(answers: Iterable[WindowResult]) -> dict[str, list[WindowResult]]:
    out: dict[str, list[WindowResult]] = {}
    for answer in answers:
        out.setdefault(answer.key, []).append(answer)
    return dict(sorted(out.items()))


def added_up(answers: Iterable[WindowResult], confidence: float = 0.95) -> list[WindowResult]:
    """One answer for each window whose keys add up.

    Rows are taken by chance, each for itself, so variances add up. What all keys have in common, that the share of a
    window which had come in is an estimate, counts as if it were not: it is small beside the rest.
    """
    out: dict[int, list[WindowResult]] = {}
    for answer in answers:
        out.setdefault(answer.end_ms, []).append(answer)
    return [_sum(end, of, confidence) for end, of in sorted(out.items())]


def _sum(end_ms: int, of: Sequence[WindowResult], confidence: float) -> WindowResult:
    total, sample, seen = sum(a.estimate for a in of), sum(a.sample for a in of), fmean(a.seen for a in of)
    sure = Certainty.at(confidence)
    sd = hypot(*((a.upper - a.estimate) / deviations(a.sample, a.sound, sure) for a in of))
    # Few rows of each key are many together, and then the normal curve can be trusted.
    sound = sd == 0 or sample >= LEAST
    half = sd * deviations(sample, sound, sure)
    return WindowResult(end_ms, "", total, total - half, total + half, sample, seen, sound)


def totals(truth: Mapping[KeyedPane, float]) -> dict[KeyedPane, float]:
    """The same of exact answers."""
    out: dict[KeyedPane, float] = {}
    for (end, _), exact in truth.items():
        out[end, ""] = out.get((end, ""), 0.0) + exact
    return out
