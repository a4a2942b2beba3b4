"""Percentiles of several runs put together as if all had been one, and shares of cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

#: Where a distribution is cut for pooling: a hundred parts of equal weight, each at its middle.
MIDDLES = (np.arange(100) + 0.5) / 100


def spread_out(percentiles: Mapping[float, float | None]) -> Values | None:
    """Give a hundred equally likely values of a distribution of which some percentiles are known.

    Parameters
    ----------
    percentiles
        The value at each percentile, 0 to 100, in any unit. Between two it is even.

    Returns
    -------
    numpy.ndarray or None
        The values in rising order; None where nothing was measured.

    Examples
    --------
    >>> spread_out({0: 0.0, 100: 200.0})[[0, 99]]
    array([  1., 199.])
    """
    if any(value is None or not np.isfinite(value) for value in percentiles.values()):
        return None
    places, values = zip(*sorted(percentiles.items()), strict=True)
    found: Values = np.interp(MIDDLES * 100, places, np.asarray(values, dtype=float))
    return found


def pool(parts: Sequence[Values], weights: Sequence[float]) -> tuple[Values, Values]:
    """Put the values of several runs together.

    Parameters
    ----------
    parts
        Of each run, equally likely values.
    weights
        What each run counts, such as its number of packets.

    Returns
    -------
    tuple
        All values in rising order, and the share of the whole that is no larger than each.
    """
    values = np.concatenate(list(parts))
    each = np.concatenate(
        [
            np.full(len(part), weight / len(part))
            for part, weight in zip(parts, weights, strict=True)
        ]
    )
    order = np.argsort(values, kind="stable")
    shares = np.cumsum(each[order])
    return values[order], shares / shares[-1]


def find_percentile(values: Values, shares: Values, percentile: float) -> float:
    """Give the smallest value that at least so many per cent of the whole do not exceed."""
    place = int(np.searchsorted(shares, percentile / 100 - 1e-12))
    return float(values[min(place, len(values) - 1)])
