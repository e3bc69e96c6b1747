"""How often the next sweeping watermark falls into the interval that was predicted for it (claim K7), on made-up delays.

Three predictors see the same epochs: the paper's interval (Eq. 6 as printed, the spread of a mean), the predictive one
(the quantiles of single delays), and a line fitted through the epochs' means, as in the paper's comparison.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from headway.errors import SettingError
from headway.estimate.delays import Epochs, normal_half_width
from headway.model.arrays import Floats
from headway.sim import delays

EXPERIMENT = "coverage"
DELAYS = ("uniform:0:500", "zipf:0.99:500", "gamma:4:60", "exponential:240")
CONFIDENCES = (0.95, 0.90)
PREDICTORS = ("predictive", "paper", "regression")
WARM_UP = 20  # epochs that are only learnt from
BINS = 32  # as many as the live histogram has


@dataclass(frozen=True, slots=True)
class Coverage:
    """The share of next delays that fell into one predictor's interval, and how wide that interval was."""

    predictor: str
    delay: str
    confidence: float
    seed: int
    hit: float
    width_ms: float
    epochs: int


def cover(delay: str, seed: int, epochs: int = 400, rows: int = 600) -> Iterator[Coverage]:
    """Every predictor at every confidence on one stream of `epochs` epochs with `rows` rows each."""
    if epochs <= WARM_UP:
        raise SettingError("epochs", epochs, f"more than the {WARM_UP} that are only learnt from")
    table = delays.parse(delay).table()
    chance = np.random.default_rng(seed)
    past = Epochs()
    seen: dict[tuple[str, float], list[tuple[bool, float]]] = {}
    for epoch in range(epochs):
        if epoch >= WARM_UP:
            sweeping = float(chance.choice(table))
            for confidence in CONFIDENCES:
                for predictor, (low, high) in _intervals(past, confidence).items():
                    seen.setdefault((predictor, confidence), []).append((low <= sweeping <= high, high - low))
        drawn = chance.choice(table, rows).astype(float)
        past = past.add(float(drawn.mean()), float((drawn**2).mean()), _histogram(drawn))
    for (predictor, confidence), results in seen.items():
        hits, widths = zip(*results, strict=True)
        yield Coverage(predictor, delay, confidence, seed, float(np.mean(hits)), float(np.mean(widths)), len(hits))


def _intervals(past: Epochs, confidence: float) -> dict[str, tuple[float, float]]:
    view = past.view(confidence)
    assert view is not None, "there are epochs"
    z = normal_half_width(confidence)
    expected, spread = line(past.means)
    return {
        "predictive": (view.low_ms, view.high_ms),
        "paper": (view.mean_ms - z * view.mean_sd_ms, view.mean_ms + z * view.mean_sd_ms),
        "regression": (expected - z * spread, expected + z * spread),
    }


def line(means: Floats) -> tuple[float, float]:
    """The next mean by the least-squares line through the past ones, and how far these lie from that line."""
    x = np.arange(len(means))
    slope, start = np.polyfit(x, means, 1)
    return float(start + slope * len(means)), float(np.std(means - (start + slope * x)))


def _histogram(drawn: Floats) -> tuple[tuple[float, float], ...]:
    """(delay, rows) per bin, at the mean delay of the bin's rows, as Spark's `histogram_numeric` reports it."""
    counts, edges = np.histogram(drawn, BINS)
    sums, _ = np.histogram(drawn, edges, weights=drawn)
    return tuple((float(s / c), float(c)) for s, c in zip(sums, counts, strict=True) if c)
