"""Chooses the figures of a sweep that are shown, and describes each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headend.analysis.estimate import Bounds
from headend.comparison.scores import ScoredMetric
from headend.engine.metrics import (
    CHANNEL_METRICS,
    FLOW_METRICS,
    QUEUE_METRICS,
    RUN_METRICS,
    Metric,
    list_measures,
)
from headend.running.measuring import BASE_UNITS
from headend.scenario.groups import name_group
from headend.sweeps.definition import Sweep
from headend.text.quantity import Kind

if TYPE_CHECKING:
    import polars as pl

#: Figures that a terminal and a report show when the sweep's file names none.
MOST_SHOWN = 8


@dataclass(frozen=True)
class Shown:
    """A figure that is shown.

    Parameters
    ----------
    measure
        The figure's name in the table.
    kind
        What it measures.
    is_rising
        Whether a larger value is better; None where that depends on the question.
    metric
        The name of the metric without its statistic, such as ``mos``; empty for a sum.
    range
        The least and the largest value; None for the bounds of its kind.
    """

    measure: str
    kind: Kind
    is_rising: bool | None = None
    metric: str = ""
    range: Bounds | None = None

    @property
    def figure(self) -> ScoredMetric:
        """The same figure in the form that comparisons of runs use."""
        return ScoredMetric(
            self.measure,
            self.metric,
            self.kind,
            rising=self.is_rising is not False,
            range=self.range,
        )


def choose_shown(sweep: Sweep, table: pl.DataFrame) -> list[Shown]:
    """Choose the figures to show: those that the file names, else the first by application.

    Parameters
    ----------
    sweep
        The sweep of the table.
    table
        Its results, or the summary of them.
    """
    if table.is_empty():
        return []
    chosen = _choose(sweep, table)
    return [describe_figure(row) for row in chosen[:MOST_SHOWN]]


def _choose(sweep: Sweep, table: pl.DataFrame) -> list[dict[str, Any]]:
    found = list_figures(table)
    named = [found[name] for name in sweep.named if name in found]
    if sweep.measures:
        return named
    first = _choose_first(found)
    return [*named, *(row for row in first if row["measure"] not in sweep.named)]


def list_figures(table: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """Give what a table says of each of its figures, by name: subject, metric and unit."""
    columns = ["measure", "subject", "metric", "unit"]
    rows = table.drop_nulls("measure").select(columns).unique(maintain_order=True)
    return {row["measure"]: row for row in rows.iter_rows(named=True)}


def describe_figure(row: Mapping[str, Any]) -> Shown:
    """Say what a figure measures and whether more of it is better, by its metric and unit.

    Examples
    --------
    >>> describe_figure({"measure": "call", "metric": "mos.p5", "unit": "1"})
    Shown(measure='call', kind='number', is_rising=True, metric='mos', range=(1.0, 4.5))
    """
    is_sum = "+" in row["metric"]
    words = row["metric"].partition("+")[0].strip().split(".")
    known = {
        **CHANNEL_METRICS,
        **RUN_METRICS,
        **QUEUE_METRICS,
        **FLOW_METRICS,
        **list_measures(),
    }
    name = next((own for word in words if (own := _find_metric(word, known))), "")
    metric = known.get(name)
    if metric is None or "count" in words:
        return Shown(row["measure"], _find_kind(row["unit"], None))
    kind, rising = _find_kind(row["unit"], metric), metric.is_rising
    if is_sum:
        return Shown(row["measure"], kind, rising)
    return Shown(row["measure"], kind, rising, name, metric.range)


def _find_metric(word: str, known: Mapping[str, Metric]) -> str | None:
    """Find a metric by a word of a quantity, with or without its ending ``_down``."""
    return next((name for name in (word, word.removesuffix("_down")) if name in known), None)


def _find_kind(unit: str, metric: Metric | None) -> Kind:
    """Give the kind of a unit; the metric tells ratios from plain numbers, both of unit 1."""
    if unit == "1":
        return "ratio" if metric and metric.kind == "ratio" else "number"
    kinds: dict[str, Kind] = {own: kind for kind, own in BASE_UNITS.items()}
    return kinds[unit]


def _choose_first(found: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Give the first measure of each flow's application, or its goodput where it reports none."""
    order = {f"{name}.mean": number for number, name in enumerate(list_measures())}
    goodputs: dict[str, dict[str, Any]] = {}
    reports: dict[str, dict[str, Any]] = {}
    for row in found.values():
        subject, metric = row["subject"], row["metric"]
        if subject is None or name_group(subject):
            continue
        if metric == "goodput":
            goodputs.setdefault(subject, row)
        before = reports.get(subject)
        if metric in order and (before is None or order[metric] < order[before["metric"]]):
            reports[subject] = row
    return list((goodputs | reports).values())
