"""What is kept of each run of a case: named quantities, and means over parts of the time."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from headend.analysis.sums import check_measures
from headend.evaluation.case import Span
from headend.running.measuring import Named, make_frame
from headend.scenario.groups import name_group
from headend.scenario.subjects import Vocabulary

if TYPE_CHECKING:
    import polars as pl

    from headend.results.record import Record


@dataclass(frozen=True)
class Kept:
    """The quantities of a case, as a run gives them.

    Parameters
    ----------
    quantities
        As expectations name them, by what they are called.
    spans
        Means over a part of the time, by what they are called.
    """

    quantities: Mapping[str, str]
    spans: Mapping[str, Span] = field(default_factory=dict)

    def describe(self) -> str:
        """Give a text that is the same for equal selections."""
        spans = {name: asdict(span) for name, span in self.spans.items()}
        return json.dumps([dict(self.quantities), spans])

    def check(self, vocabulary: Vocabulary) -> None:
        """Refuse what a scenario has not got."""
        check_measures(self.quantities, vocabulary)

    def take(self, record: Record, vocabulary: Vocabulary) -> pl.DataFrame:
        """Take a row for each."""
        import polars as pl

        named = Named(self.quantities).take(record, vocabulary)
        rows = [
            {
                "measure": name,
                "subject": span.subject,
                "metric": span.column,
                "value": average(record, span),
                "unit": "ns" if span.column.endswith("_ns") else "bit/s",
            }
            for name, span in self.spans.items()
        ]
        return pl.concat([named, make_frame(rows)]) if rows else named


def average(record: Record, span: Span) -> float | None:
    """Give the mean of a value over a part of the time; None where it was not measured then."""
    key = "queue" if span.table == "queue_series" else "flow"
    start, end = span.start * 1e9, span.end * 1e9
    by_name: dict[str, list[float]] = {}
    for row in record.rows(span.table):
        if span.subject not in (row[key], name_group(row[key])):
            continue
        if span.direction and row["direction"] != span.direction:
            continue
        value = row[span.column]
        if start <= row["time_ns"] < end and value is not None and not math.isnan(value):
            by_name.setdefault(row[key] + row.get("direction", ""), []).append(value)
    means = [sum(values) / len(values) for values in by_name.values()]
    return sum(means) if means else None
