"""Other ways to forecast a series, each from what it has seen of it: two that every one must beat, and a library's."""

import warnings
from collections.abc import Callable

import numpy as np

from headway.model.arrays import Floats

Forecasts = Callable[[Floats, int | None, int], Floats]  # what was seen, its season, how many steps -> those steps
AVERAGED = 30  # steps, as many as our own moving average takes
LONGEST_ETS = 24  # a season that ETS models itself; of a longer one it takes the series apart first
LEAST_FITTED, FITTED_SEASONS = 200, 4


def moving_average(seen: Floats, season: int | None, steps: int) -> Floats:
    return np.full(steps, float(seen[-AVERAGED:].mean()))


def naive_seasonal(seen: Floats, season: int | None, steps: int) -> Floats:
    """What was one season ago, again and again; without a season the last step."""
    return np.asarray(np.resize(seen[-(season or 1) :], steps))


def auto_ets(seen: Floats, season: int | None, steps: int) -> Floats:
    """statsforecast's AutoETS: it chooses among the models of exponential smoothing by itself."""
    from statsforecast.models import MSTL, AutoETS

    length = season or 1
    fitted = seen[-max(LEAST_FITTED, FITTED_SEASONS * length) :]
    model = AutoETS(season_length=length) if length <= LONGEST_ETS else MSTL(length, trend_forecaster=AutoETS(model="ZZN"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a series that hardly varies, say: what comes out is judged, not how
        said = model.forecast(y=fitted.astype(np.float64), h=steps)["mean"]
    # It is a rate, as ours is; and where the library has no answer, the last step is one.
    return np.asarray(np.maximum(0.0, np.where(np.isfinite(said), said, seen[-1])))


RIVALS: dict[str, Forecasts] = {
    "moving-average": moving_average,
    "naive-seasonal": naive_seasonal,
    "auto-ets": auto_ets,
}
