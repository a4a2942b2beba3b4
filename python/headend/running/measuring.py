"""What a sweep keeps of each run: every figure of every flow and queue, or those that are named."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headend.analysis.sums import BASE_UNITS, add_worst, check_measures, parse_sum
from headend.engine.metrics import FLOW_METRICS, QUEUE_METRICS, Metric, find_metric, list_measures
from headend.scenario.groups import name_group
from headend.scenario.subjects import Vocabulary

if TYPE_CHECKING:
    import polars as pl

    from headend.results.record import Record

#: Counts over a run, which add up over the members of a group; of all else the worst counts.
_ADD_UP = {
    *(name for name, metric in FLOW_METRICS.items() if metric.adds_up),
    *(name for name, metric in QUEUE_METRICS.items() if metric.adds_up),
}


@dataclass(frozen=True)
class Named:
    """The quantities that a sweep names, in the words of expectations.

    Parameters
    ----------
    quantities
        What to measure, by what to call it.
    """

    quantities: Mapping[str, str]

    def describe(self) -> str:
        """Give a text that is the same for equal selections."""
        return json.dumps(dict(self.quantities))

    def check(self, vocabulary: Vocabulary) -> None:
        """Refuse what a scenario has not got."""
        check_measures(self.quantities, vocabulary)

    def take(self, record: Record, vocabulary: Vocabulary) -> pl.DataFrame:
        """Take a row for each."""
        rows = []
        for name, text in self.quantities.items():
            parts = parse_sum(text, vocabulary)
            first = parts[0]
            rows.append(
                {
                    "measure": name,
                    "subject": first.subject if len(parts) == 1 else None,
                    "direction": first.direction if len(parts) == 1 else None,
                    "metric": text.removeprefix(f"{first.subject}.") if len(parts) == 1 else text,
                    "value": add_worst(parts, record.tables),
                    "unit": BASE_UNITS[first.kind],
                }
            )
        return make_frame(rows)


@dataclass(frozen=True)
class Everything:
    """Every figure of every flow, its directions with data, and every queue; groups as one too.

    Parameters
    ----------
    besides
        Quantities that are measured by name as well, such as those that a wish names.
    """

    besides: Mapping[str, str] = field(default_factory=dict)

    def describe(self) -> str:
        """Give a text that is the same for equal selections."""
        return f"everything{f', named {json.dumps(dict(self.besides))}' if self.besides else ''}"

    def check(self, vocabulary: Vocabulary) -> None:
        """Refuse what is named and a scenario has not got; of all else it takes what there is."""
        check_measures(self.besides, vocabulary)

    def take(self, record: Record, vocabulary: Vocabulary) -> pl.DataFrame:
        """Take a row for each figure that was measured."""
        import polars as pl
        import polars.selectors as cs

        dropped = cs.starts_with("discarded_")
        flows = record.flows.filter(pl.col("carries") == "data")
        flows = flows.with_columns(discarded=pl.sum_horizontal(dropped))
        queues = record.queues.with_columns(discarded=pl.sum_horizontal(dropped))
        parts = [
            _unpivot(flows, ["flow", "direction"], FLOW_METRICS),
            *_unpivot_measures(record.measures),
            _unpivot(queues.drop("direction"), ["queue"], QUEUE_METRICS),
        ]
        rows = pl.concat([part for part in parts if part.height], how="diagonal_relaxed")
        rows = pl.concat([rows, _gather(rows, vocabulary)], how="diagonal_relaxed")
        measure = pl.concat_str("subject", "direction", "metric", separator=".", ignore_nulls=True)
        rows = rows.with_columns(measure=measure).pipe(_order)
        if not self.besides:
            return rows
        # A condition's call.mos.p5 is that of the worse direction; that row is upstream's.
        rows = rows.filter(~pl.col("measure").is_in(list(self.besides)))
        return pl.concat([rows, Named(self.besides).take(record, vocabulary)])


def _unpivot(
    table: pl.DataFrame, index: Sequence[str], metrics: Mapping[str, Metric]
) -> pl.DataFrame:
    import polars as pl

    columns = {name: column for name, column in _list_columns(metrics) if column in table.columns}
    chosen = table.select(
        pl.col(index[0]).alias("subject"),
        *(pl.col(name) for name in index[1:]),
        *(pl.col(column).cast(pl.Float64).alias(name) for name, column in columns.items()),
    )
    keys = ["subject", *index[1:]]
    units = {name: BASE_UNITS[metrics[name.split(".")[0]].kind] for name in columns}
    long = chosen.unpivot(index=keys, variable_name="metric", value_name="value")
    return (
        long.with_columns(unit=pl.col("metric").replace_strict(units, return_dtype=pl.String))
        .drop_nulls("value")
        .filter(pl.col("value").is_not_nan())
    )


def _unpivot_measures(measures: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Give a row for each statistic of what applications report."""
    import polars as pl

    known = list_measures()
    for name in measures["measure"].unique(maintain_order=True):
        own = measures.filter(pl.col("measure") == name)
        if name in known:
            yield _unpivot(own, ["flow"], {name: known[name]})


def _list_columns(metrics: Mapping[str, Metric]) -> Iterator[tuple[str, str]]:
    """Give what each figure is called, and its column, leaving out members' statistics."""
    for name, metric in metrics.items():
        if metric.of_members:
            continue
        if not metric.statistics:
            yield name, metric.column
        for statistic in metric.statistics:
            yield f"{name}.{statistic}", metric.column.format(statistic)


def _gather(rows: pl.DataFrame, vocabulary: Vocabulary) -> pl.DataFrame:
    """Give a row for each figure of each group: what adds up is the sum, of all else the worst."""
    import polars as pl

    stems = {
        name: stem
        for name in rows["subject"].unique()
        if (stem := name_group(name)) in vocabulary.members
    }
    members = rows.filter(pl.col("subject").is_in(list(stems)))
    members = members.with_columns(
        subject=pl.col("subject").replace_strict(stems, return_dtype=pl.String)
    )
    value = (
        pl.when(pl.col("metric").first().is_in(list(_ADD_UP)))
        .then(pl.col("value").sum())
        .when(pl.col("metric").first().is_in(_list_rising(rows, higher_is_better=True)))
        .then(pl.col("value").min())
        .when(pl.col("metric").first().is_in(_list_rising(rows, higher_is_better=False)))
        .then(pl.col("value").max())
        .otherwise(pl.col("value").mean())
    )
    keys = ["subject", "direction", "metric", "unit"]
    return members.group_by(keys, maintain_order=True).agg(value.alias("value"))


def _list_rising(rows: pl.DataFrame, *, higher_is_better: bool) -> list[str]:
    """List the metrics of which more, or less, is better, with their statistics."""
    return [
        name
        for name in rows["metric"].unique()
        if (metric := find_metric(name)) and metric.higher_is_better is higher_is_better
    ]


def make_frame(rows: Sequence[Mapping[str, object]]) -> pl.DataFrame:
    """Make a selection's frame of rows; what a row has not got is null."""
    import polars as pl

    return pl.DataFrame(rows, schema=dict(_schema()), strict=False)


def _order(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select([frame[name].cast(kind) for name, kind in _schema()])


def _schema() -> list[tuple[str, type[pl.DataType]]]:
    import polars as pl

    texts = ["measure", "subject", "direction", "metric"]
    return [*((name, pl.String) for name in texts), ("value", pl.Float64), ("unit", pl.String)]
