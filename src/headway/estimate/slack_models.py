"""Models that learn a number from features, each with how far it may be off: Gaussian process, linear, isotonic, SVM.

scikit-learn takes a second to load, so it is loaded only where a model is fitted.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headway.errors import SettingError
from headway.model.arrays import Floats


class Fitted(Protocol):
    """A model that has learnt."""

    def predict(self, x: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation for each row."""
        ...


@dataclass(frozen=True, slots=True)
class Scale:
    """Features and values brought to mean 0 and spread 1; features that never differ say nothing and are left out."""

    used: NDArray[np.int64]
    x_mean: Floats
    x_sd: Floats
    y_mean: float
    y_sd: float

    @classmethod
    def of(cls, x: Floats, y: Floats) -> "Scale":
        used = np.flatnonzero(np.ptp(x, axis=0) > 0)
        if not len(used):
            used = np.arange(1)
        kept = x[:, used]
        return cls(used, kept.mean(axis=0), np.maximum(kept.std(axis=0), 1e-9), float(y.mean()), float(y.std()) or 1.0)

    def features(self, x: Floats) -> Floats:
        return np.asarray((x[:, self.used] - self.x_mean) / self.x_sd)

    def values(self, y: Floats) -> Floats:
        return np.asarray((y - self.y_mean) / self.y_sd)

    def back(self, mean: Floats, sd: Floats) -> tuple[Floats, Floats]:
        return np.asarray(mean * self.y_sd + self.y_mean), np.asarray(sd * self.y_sd)


@dataclass(frozen=True, slots=True)
class GaussianProcess:
    """A Gaussian process with a length scale for each feature, a linear trend and noise (Eqs. 7, 8)."""

    scale: Scale
    inner: Any

    @classmethod
    def fit(cls, x: Floats, y: Floats, like: Fitted | None = None) -> "GaussianProcess":
        """`like`: one fitted before, whose length scales are taken over; finding them is most of the work."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.gaussian_process import GaussianProcessRegressor

        known = like if isinstance(like, cls) else None
        scale = known.scale if known is not None else Scale.of(x, y)
        kernel = known.inner.kernel_ if known is not None else _kernel(len(scale.used))
        optimizer = None if known is not None else _climb
        inner = GaussianProcessRegressor(kernel, alpha=1e-8, optimizer=optimizer)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a length scale at its bound: the feature does not matter
            return cls(scale, inner.fit(scale.features(x), scale.values(y)))

    def predict(self, x: Floats) -> tuple[Floats, Floats]:
        mean, sd = self.inner.predict(self.scale.features(x), return_std=True)
        return self.scale.back(mean, sd)


def _kernel(features: int) -> Any:
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel

    smooth = ConstantKernel(1.0, (1e-2, 1e2)) * RBF(np.ones(features), (5e-2, 1e2))
    trend = ConstantKernel(0.1, (1e-4, 1e1)) * DotProduct(1.0, "fixed")
    return smooth + trend + WhiteKernel(1e-2, (1e-5, 1.0))


def _climb(cost: Callable[[Floats], Any], start: Floats, bounds: Floats) -> tuple[Floats, float]:
    """Move towards the likeliest length scales, for some steps: more of them gain too little for their time."""
    from scipy.optimize import minimize

    found = minimize(cost, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": 30})
    return found.x, float(found.fun)


@dataclass(frozen=True, slots=True)
class Plain:
    """A model that does not estimate its own error: its standard deviation is that of its misses in training."""

    scale: Scale
    inner: Any
    column: int | None  # the only feature it looks at; None for all
    sd: float

    def predict(self, x: Floats) -> tuple[Floats, Floats]:
        z = self.scale.features(x)
        mean = np.asarray(self.inner.predict(z if self.column is None else z[:, self.column]), dtype=np.float64)
        return self.scale.back(mean, np.full(len(x), self.sd))


def _linear(x: Floats, y: Floats, like: Fitted | None) -> Fitted:
    from sklearn.linear_model import LinearRegression

    return _plain(LinearRegression(), x, y)


def _svm(x: Floats, y: Floats, like: Fitted | None) -> Fitted:
    from sklearn.svm import SVR

    return _plain(SVR(C=10.0, epsilon=0.05), x, y)


def _isotonic(x: Floats, y: Floats, like: Fitted | None) -> Fitted:
    """Rising or falling in one feature: where it misses least."""
    from sklearn.isotonic import IsotonicRegression

    tried = [
        _plain(IsotonicRegression(increasing=rising, out_of_bounds="clip"), x, y, column)
        for column in range(len(Scale.of(x, y).used))
        for rising in (True, False)
    ]
    return min(tried, key=lambda model: model.sd)


def _plain(inner: Any, x: Floats, y: Floats, column: int | None = None) -> Plain:
    scale = Scale.of(x, y)
    z, wanted = scale.features(x), scale.values(y)
    z = z if column is None else z[:, column]
    inner.fit(z, wanted)
    return Plain(scale, inner, column, float(np.std(inner.predict(z) - wanted)))


MODELS: dict[str, Callable[[Floats, Floats, Fitted | None], Fitted]] = {
    "gp": GaussianProcess.fit,
    "linear": _linear,
    "isotonic": _isotonic,
    "svm": _svm,
}


def known(kind: str) -> str:
    if kind not in MODELS:
        raise SettingError("slack.estimator", kind, f"one of {', '.join(MODELS)}")
    if find_spec("sklearn") is None:
        raise SettingError("slack.estimator", kind, "scikit-learn to fit it with: pip install 'headway[tuner]'")
    return kind


def fit(kind: str, x: Floats, y: Floats, like: Fitted | None = None) -> Fitted:
    """Learn `y` from the rows of `x`."""
    return MODELS[known(kind)](x, y, like)


def nrmse(wanted: Floats, said: Floats) -> float:
    """Root of the mean squared error over the range of what was wanted."""
    return float(np.sqrt(np.mean((wanted - said) ** 2)) / max(np.ptp(wanted), 1e-9))
