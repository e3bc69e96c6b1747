"""The period of a series that repeats, if it does."""

import numpy as np

from headway.model.arrays import Floats


def period_of(values: Floats, least: int = 8, sure: float = 0.6) -> int | None:
    """After how many steps the series is most like itself again; None unless it was seen twice and is much alike.

    The correlation of the overlapping parts, for every lag up to half of the series. Of lags that are nearly as good the
    shortest is taken, since two periods repeat as well as one does.
    """
    n = len(values)
    if n < 2 * least or np.ptp(values) == 0:
        return None
    lags = np.arange(least, n // 2 + 1)
    like = np.array([_likeness(values[:-lag], values[lag:]) for lag in lags])
    # A slow series is like itself a moment later; a period shows only after it has been unlike itself.
    unlike = np.flatnonzero(like < sure / 2)
    if not len(unlike):
        return None
    like[: unlike[0]] = -1.0
    best = float(like.max())
    if best < sure:
        return None
    near = int(np.flatnonzero(like >= best - 0.05)[0])
    # The shortest good lag lies on the flank of a peak: up to its top.
    while near + 1 < len(like) and like[near + 1] > like[near]:
        near += 1
    return int(lags[near])


def _likeness(one: Floats, other: Floats) -> float:
    a, b = one - one.mean(), other - other.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > 0 else 0.0
