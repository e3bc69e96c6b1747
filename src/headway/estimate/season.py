"""How long a season of a series is: found by its autocorrelation, or none."""

import numpy as np

from headway.model.arrays import Floats

LEAST_ALIKE = 0.3  # correlation of a series with itself one season before
CHANCE = 3.0  # standard errors of such a correlation in a series without any season
SEASONS = 3  # that must have been seen: of two alike stretches one may be chance
SLOW = (15, 61, 241)  # steps: what a mean over so many of them shows is slower than the season that is looked for


def season_of(values: Floats, least: int = 4, most: int | None = None) -> int | None:
    """The lag, in steps, at which the series is most like itself; None where no lag stands out.

    A slow rise or fall is like itself at every short lag. So the line through the series is taken away, and in further looks
    a sliding mean: a week is seen beside the year that it is in. Of what is found, the season counts that explains most.
    """
    found = seasons_of(values, least, most)
    return found[0] if found else None


def seasons_of(values: Floats, least: int = 4, most: int | None = None) -> list[int]:
    """All that is found, the season that explains most of what varies first."""
    n = len(values)
    most = n // SEASONS if most is None else min(most, n // SEASONS)
    if most < least or n < 2 * least:
        return []
    looks = [_without_line(values), *(values - sliding_mean(values, width) for width in SLOW if width <= n // SEASONS)]
    lags = {lag for lag in (_stands_out(look, least, most) for look in looks) if lag is not None}
    return sorted(lags, key=lambda lag: (-round(explained(values, lag), 2), lag))


def _stands_out(values: Floats, least: int, most: int) -> int | None:
    """Only a lag after which the likeness has first fallen below 0 and then risen to a peak is a season.

    Of a season and its multiples, whose likeness is about the same, the shortest is meant.
    """
    alike = autocorrelation(values, most + 1)
    fallen = np.flatnonzero(alike < 0)
    if not len(fallen):
        return None
    lags = np.arange(max(least, int(fallen[0])), most + 1)
    if not len(lags):
        return None
    before, at, after = alike[lags - 1], alike[lags], alike[lags + 1]
    peaks = lags[(at >= before) & (at > after) & (at > max(LEAST_ALIKE, CHANCE / np.sqrt(len(values))))]
    if not len(peaks):
        return None
    best = float(alike[peaks].max())
    return int(peaks[alike[peaks] >= 0.9 * best][0])


def explained(values: Floats, season: int) -> float:
    """The share of what varies faster than a season that the means of its places explain."""
    fast = values - sliding_mean(values, season)
    places = np.arange(len(values)) % season
    means = np.bincount(places, weights=fast) / np.bincount(places)
    varies = float(fast.var())
    if varies <= 0:
        return 0.0
    # A season of many places explains some of any series by chance.
    return 1 - float((fast - means[places]).var()) / varies * len(values) / max(1, len(values) - season)


def sliding_mean(values: Floats, width: int) -> Floats:
    """The mean of the `width` steps around each; of fewer at both ends."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    at = np.arange(len(values))
    low, high = np.maximum(0, at - width // 2), np.minimum(len(values), at - width // 2 + width)
    return np.asarray((sums[high] - sums[low]) / (high - low))


def autocorrelation(values: Floats, lags: int) -> Floats:
    """The autocorrelation at lags 0, 1, ..., `lags`. Each is the mean over the pairs that exist."""
    n = len(values)
    centred = values - values.mean()
    power = float(centred @ centred) / n
    if power <= 1e-12 * max(1.0, float(np.abs(values).max())) ** 2:
        return np.zeros(lags + 1)
    spectrum = np.fft.rfft(centred, 2 * n)
    sums = np.fft.irfft(spectrum * np.conj(spectrum), 2 * n)[: lags + 1]
    return np.asarray(sums / (n - np.arange(lags + 1)) / power)


def _without_line(values: Floats) -> Floats:
    at = np.arange(len(values)) - (len(values) - 1) / 2
    slope = float(at @ values) / float(at @ at)
    return np.asarray(values - slope * at)
