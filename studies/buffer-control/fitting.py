"""Fitting what studies claim: a slope with the intercept held, and its interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

#: Resamples of the bootstrap; enough for two digits of an interval's ends.
RESAMPLES = 2000


@dataclass(frozen=True)
class Slope:
    """A least-squares slope and its 95 % interval."""

    value: float
    low: float
    high: float


def fit_slope(
    x: npt.ArrayLike, y: npt.ArrayLike, *, intercept: float = 0.0, seed: int = 1
) -> Slope:
    """Fit ``y = intercept + slope · x`` with the intercept held.

    Parameters
    ----------
    x, y
        The points.
    intercept
        Where the line meets the axis, in the unit of ``y``.
    seed
        Of the resampling that gives the interval (bootstrap over points, percentiles 2.5 and 97.5).

    Examples
    --------
    >>> fit_slope([1.0, 2.0, 3.0], [18.0, 19.0, 20.0], intercept=17.0).value
    1.0
    """
    xs, rises = np.asarray(x, dtype=float), np.asarray(y, dtype=float) - intercept
    picks = np.random.default_rng(seed).integers(0, len(xs), (RESAMPLES, len(xs)))
    slopes = (xs[picks] * rises[picks]).sum(axis=1) / (xs[picks] ** 2).sum(axis=1)
    low, high = np.percentile(slopes, [2.5, 97.5])
    return Slope(float((xs * rises).sum() / (xs**2).sum()), float(low), float(high))
