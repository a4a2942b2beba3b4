"""Measures over the settings of an experiment: what each is of, and its values by seed."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headend.analysis.criteria import Term
from headend.analysis.estimate import BOUNDS, FEWEST, Bounds, Estimate, estimate_mean
from headend.analysis.grading import ORDER, Grade, grade_measure
from headend.analysis.sums import BASE_UNITS
from headend.analysis.ties import find_tie, is_tie
from headend.engine.metrics import (
    CHANNEL_METRICS,
    FLOW_METRICS,
    QUEUE_METRICS,
    RUN_METRICS,
    SCORE_METRICS,
    Metric,
    list_measures,
)
from headend.text.quantity import Kind

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class MeasureInfo:
    """What is known of a measure.

    Parameters
    ----------
    name
        Its name in the table of results.
    kind
        What it measures.
    higher_is_better
        Whether a larger value is better; None where that depends on the question.
    metric
        The name of the metric without its statistic, such as ``mos``; empty for a sum.
    range
        The least and the largest value; None for the bounds of its kind.
    """

    name: str
    kind: Kind
    higher_is_better: bool | None = None
    metric: str = ""
    range: Bounds | None = None


@dataclass(frozen=True)
class MeasureValues:
    """A measure, or the ratio of two, in all settings.

    Parameters
    ----------
    info
        What is known of it.
    values
        The values by setting and seed, in base units.
    fewest
        Of fewer seeds no interval is given, and the means alone tell settings apart.
    """

    info: MeasureInfo
    values: Mapping[int, Mapping[int, float]]
    fewest: int = FEWEST

    @functools.cached_property
    def estimates(self) -> dict[int, Estimate]:
        """The mean of each setting that has a value, with its interval."""
        bounds = self.info.range or BOUNDS.get(self.info.kind)
        return {
            setting: estimate_mean(list(by_seed.values()), bounds, self.fewest)
            for setting, by_seed in self.values.items()
        }

    @functools.cached_property
    def largest(self) -> float:
        """The largest of all means, whatever its sign; 1 where all are 0."""
        return max((abs(estimate.mean) for estimate in self.estimates.values()), default=0.0) or 1.0

    def as_gain(self, value: float, higher_is_better: bool | None = None) -> float:
        """Give a value with its sign such that a larger one is better."""
        if higher_is_better is None:
            higher_is_better = self.info.higher_is_better
        return -value if higher_is_better is False else value

    def is_tie(self, setting: int, best: int) -> bool:
        """Say whether a setting ties with a better one by `headend.analysis.ties.is_tie`."""
        if min(len(self.values[own]) for own in (setting, best)) < self.fewest:
            return self.is_close(setting, best)
        return is_tie(self.values[setting], self.values[best], self.info.kind, self.info.range)

    def is_close(self, setting: int, best: int) -> bool:
        """Say whether a setting's mean is as good as the best one's, whatever the intervals."""
        mean, best_mean = self.estimates[setting].mean, self.estimates[best].mean
        return abs(mean - best_mean) <= find_tie(mean, best_mean, self.info.kind, self.info.range)


def find_worst_grade(measured: MeasureValues) -> Grade:
    """Find the worst grade of the settings' means; ``NONE`` of a measure without grades."""
    grades = (grade_measure(measured.info.metric, own.mean) for own in measured.estimates.values())
    return max(grades, key=ORDER.index, default=Grade.NONE)


def list_figures(table: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """Give what a table says of each of its measures, by name: subject, metric and unit."""
    if table.is_empty():
        return {}
    columns = ["measure", "subject", "metric", "unit"]
    rows = table.drop_nulls("measure").select(columns).unique(maintain_order=True)
    return {row["measure"]: row for row in rows.iter_rows(named=True)}


def measure_terms(table: pl.DataFrame, terms: Iterable[Term]) -> dict[str, MeasureValues]:
    """Give the values of terms in each setting, by their text; points that failed are left out."""
    listed = list(terms)
    values = _gather(table, {name for term in listed for name in term.measures})
    infos = {
        name: describe_measure(row) for name, row in list_figures(table).items() if name in values
    }
    return {term.text: _measure(term, values, infos) for term in listed}


def describe_measure(row: Mapping[str, Any]) -> MeasureInfo:
    """Say what a measure is of and whether more of it is better, by its metric and unit.

    Examples
    --------
    >>> describe_measure({"measure": "call", "metric": "mos.p5", "unit": "1"}).range
    (1.0, 4.5)
    """
    is_sum = "+" in row["metric"]
    parts = row["metric"].partition("+")[0].strip().split(".")
    metrics = {
        **CHANNEL_METRICS,
        **RUN_METRICS,
        **QUEUE_METRICS,
        **FLOW_METRICS,
        **SCORE_METRICS,
        **list_measures(),
    }
    # A word of a quantity may have the ending ``_down``.
    names = (name for part in parts for name in (part, part.removesuffix("_down")))
    name = next((candidate for candidate in names if candidate in metrics), "")
    metric = metrics.get(name)
    if metric is None or "count" in parts:
        return MeasureInfo(row["measure"], _find_kind(row["unit"], None))
    kind, rising = _find_kind(row["unit"], metric), metric.higher_is_better
    if is_sum:
        return MeasureInfo(row["measure"], kind, rising)
    return MeasureInfo(row["measure"], kind, rising, name, metric.range)


def _find_kind(unit: str, metric: Metric | None) -> Kind:
    """Give the kind of a unit; the metric tells ratios from plain numbers, both of unit 1."""
    if unit == "1":
        return "ratio" if metric and metric.kind == "ratio" else "number"
    kinds: dict[str, Kind] = {base_unit: kind for kind, base_unit in BASE_UNITS.items()}
    return kinds[unit]


def _gather(table: pl.DataFrame, names: set[str]) -> dict[str, dict[int, dict[int, float]]]:
    """Give the values that points have, by measure, setting and seed."""
    import polars as pl

    values: dict[str, dict[int, dict[int, float]]] = {}
    if table.is_empty():
        return values
    rows = table.filter(pl.col("measure").is_in(list(names)) & pl.col("error").is_null())
    columns = rows.drop_nulls("value").select("measure", "setting", "seed", "value")
    for measure, setting, seed, value in columns.iter_rows():
        if math.isfinite(value):
            values.setdefault(measure, {}).setdefault(setting, {})[seed] = value
    return values


def _measure(
    term: Term,
    values: Mapping[str, Mapping[int, Mapping[int, float]]],
    infos: Mapping[str, MeasureInfo],
) -> MeasureValues:
    """Give a term's values in each setting; a ratio is computed for each seed."""
    first = infos.get(term.measures[0]) or MeasureInfo(term.text, "number")
    numerators = values.get(term.measures[0], {})
    if len(term.measures) == 1:
        return MeasureValues(first, numerators)
    denominators = values.get(term.measures[1], {})
    ratios = {
        setting: {
            seed: value / denominators[setting][seed]
            for seed, value in by_seed.items()
            if denominators.get(setting, {}).get(seed)
        }
        for setting, by_seed in numerators.items()
    }
    measured = {setting: by_seed for setting, by_seed in ratios.items() if by_seed}
    return MeasureValues(MeasureInfo(term.text, "number", first.higher_is_better), measured)
