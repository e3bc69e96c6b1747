"""How many rows of a window are enough for an answer within a wanted error (Aion, Eqs. 4.3-4.6)."""

import numpy as np

from headway.estimate.delays import normal_half_width
from headway.model.arrays import Floats

OF = ("mean", "sum", "count", "quantile")
LEAST = 30  # rows: with fewer the normal curve is not to be trusted even of a well-behaved value


def z_of(confidence: float) -> float:
    """How many standard errors an answer may be off."""
    return normal_half_width(confidence)


def needed(rows: float, mean: float, sd: float, error: float, confidence: float, of: str, quantile: float = 0.5) -> float:
    """The sample that a window of so many rows needs; all of them where nothing is known of the value."""
    window = (np.array([number], float) for number in (rows, mean, sd))
    return float(needed_each(*window, error=error, z=z_of(confidence), of=of, quantile=quantile)[0])


def needed_each(
    rows: Floats, mean: Floats, sd: Floats, *, error: float, z: float | Floats, of: str, quantile: float = 0.5
) -> Floats:
    """The same of many windows or groups, whose answers may be off by `z` standard errors.

    `error` is relative to the answer, except of a quantile, where it is one of rank: within 0.05 of the median is what lies
    between the quantiles 0.45 and 0.55.
    """
    with np.errstate(all="ignore"):  # a mean of 0 has no relative error: it asks for all rows
        size = of_finite((z / error) ** 2 * spread(mean, sd, of, quantile), rows)
    return np.maximum(1.0, np.minimum(np.where(np.isfinite(size), size, rows), rows))


def of_finite(size: Floats, rows: Floats) -> Floats:
    """The sample of a window with so many rows, where an endless stream would need `size`: n0 / (1 + n0 / N).

    It is Eq. 4.4, and what it says is that only rows which are left out can be wrong.
    """
    return size / (1 + size / rows)


def spread(mean: Floats, sd: Floats, of: str, quantile: float) -> Floats:
    """The squared relative error of an answer from a single row of an endless stream."""
    match of:
        case "mean":  # Eq. 4.4
            return (sd / mean) ** 2
        case "sum":  # a total by Horvitz and Thompson does not know how many rows there are, and pays for that
            return 1 + (sd / mean) ** 2
        case "count":  # the sum of ones
            return np.ones_like(mean)
        case "quantile":
            return np.full_like(mean, quantile * (1 - quantile))
    raise ValueError(f"no sample size of {of!r}: one of {', '.join(OF)}")


def sound_rows(skew: float) -> float:
    """The least sample of a skewed value whose mean is nearly normal: Cochran's rule, 25 G1^2."""
    return max(LEAST, 25 * skew**2)
