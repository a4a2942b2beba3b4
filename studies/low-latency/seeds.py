"""Values of single seeds, taken from a study's points and held against bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import polars as pl

from headend.study import ClaimResult, ClaimVerdict, decide_over_seeds, join_decisions

#: Both directions of a line, and what figures call them.
WAYS = {"up": "upstream", "down": "downstream"}


def take(rows: pl.DataFrame, column: str, **where: str | int) -> list[float]:
    """Give a column of the chosen runs, a value for each seed; nothing if not run."""
    return rows.filter(**where).sort("seed")[column].cast(pl.Float64).to_list()


def average(values: Sequence[float]) -> float:
    """Give the mean of the seeds."""
    return sum(values) / len(values)


def compare(one: Sequence[float], other: Sequence[float]) -> list[float]:
    """Give one value over another, seed by seed; nothing where either was not run."""
    return [mine / its for mine, its in zip(one, other, strict=True)] if one and other else []


def hold(
    found: Mapping[str, Sequence[float]],
    low: float = -math.inf,
    high: float = math.inf,
    *,
    digits: int = 2,
    unit: str = "",
    why: str = "",
) -> ClaimResult:
    """Hold several numbers against the same bounds.

    Parameters
    ----------
    found
        A value for each seed, by what a finding calls the number. Numbers without values are left
        out.
    low, high
        The bounds of what is accepted, in the unit of the values.
    digits
        Digits after the point, of the means as they are told.
    unit
        What stands behind each mean.
    why
        What is to be known where not all of them agree.
    """
    kept = {name: values for name, values in found.items() if values}
    if not kept:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    told = ", ".join(
        f"{average(values):.{digits}f}{unit} ({name})" for name, values in kept.items()
    )
    decisions = [decide_over_seeds(values, low, high) for values in kept.values()]
    return join_decisions(decisions, told, why)
