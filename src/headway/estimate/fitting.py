"""How the constants of a model are found: by a library, and among some more by what they would have forecast so far.

It takes tens of milliseconds and is done in the background. statsmodels takes a second to load, so it is loaded only where a
model is fitted.
"""

import warnings
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from headway.errors import SettingError
from headway.estimate import hindcast
from headway.estimate.season import seasons_of
from headway.estimate.smoothing import BEFORE_A_FIT, NO_SEASON, Smoothing, beginning
from headway.model.arrays import Floats

AHEAD = 180  # steps that a ring looks ahead, where a step is as long as its shortest window


@dataclass(frozen=True, slots=True)
class Fit:
    """What was found of one series: the length of its season in steps, and what it is smoothed with."""

    season: int | None
    smoothing: Smoothing


def fit(latest: Floats, season: int | None, longest: int = 0, like: Smoothing = BEFORE_A_FIT, ahead: int = AHEAD) -> Fit:
    """The constants that would have missed the latest of a series by least, over the steps `ahead`.

    Where no season is given, some of up to `longest` steps are tried, and none. A series that does not vary fits any
    constants, and one that is too short fits none: they are those of `like` then.
    """
    found = [season] if season is not None or not longest else [*seasons_of(latest, most=longest), None]
    if np.ptp(latest) <= 1e-9 * max(1.0, float(np.abs(latest).max())):
        return Fit(found[0], like)
    lengths = [NO_SEASON if one is None else one for one in found]
    lengths = [length for length in lengths if len(latest) >= hindcast.begun(length)]
    if not lengths:
        return Fit(season, like)
    tried = [(length, [_by_library(latest, length, like), *hindcast.choices(length)]) for length in lengths]
    chosen = hindcast.best(latest, tried, ahead)
    length, smoothing = chosen if chosen is not None else (tried[0][0], tried[0][1][0])
    return Fit(None if length == NO_SEASON else length, smoothing)


def _by_library(latest: Floats, length: int, like: Smoothing) -> Smoothing:
    """The constants that miss the next step by least; the damping stays that of `like`."""
    constants = _constants(latest, length, like)
    level = _share(constants["smoothing_level"])
    if length == NO_SEASON:
        return replace(like, level=level)
    trend, seasonal = _share(constants["smoothing_trend"]), _share(constants["smoothing_seasonal"])
    return replace(like, level=level, trend=trend, season=seasonal)


def _constants(latest: Floats, length: int, like: Smoothing) -> dict[str, float]:
    """By statsmodels, from where our own model begins: to find the best beginning too would take it far longer."""
    if find_spec("statsmodels") is None:
        raise SettingError("forecast.fit", "statsmodels", "statsmodels to fit it with: pip install 'headway[fleet]'")
    from statsmodels.tools.sm_exceptions import ConvergenceWarning
    from statsmodels.tsa.holtwinters import ExponentialSmoothing

    level, trend, season = (part[0] for part in beginning(latest[None, : hindcast.begun(length)], length))
    settings: dict[str, Any] = {"initialization_method": "known", "initial_level": float(level)}
    damped = length > NO_SEASON and like.damping < 1
    if length > NO_SEASON:
        settings |= {"trend": "add", "damped_trend": damped, "initial_trend": float(trend)}
        settings |= {"seasonal": "add", "seasonal_periods": length, "initial_seasonal": season}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the best that was found is good enough
        model = ExponentialSmoothing(latest, **settings)
        with model.fix_params({"damping_trend": like.damping} if damped else {}):
            return dict(model.fit().params)


def _share(value: Any) -> float:
    return min(1.0, max(0.0, float(value)))
