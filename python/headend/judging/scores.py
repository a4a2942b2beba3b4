"""The figures by which runs are compared: what each kind of flow is about, the queue, and fairness.

Of a group of flows each figure is taken twice: of the member in the middle and of the worst.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from headend.engine.description import describe, list_applications
from headend.judging.bottleneck import find_shared_bottleneck
from headend.judging.fairness import measure_evenness, measure_fairness
from headend.judging.queues import weigh_queues
from headend.scenario.groups import Group, find_groups, label_member
from headend.text.quantity import Kind

if TYPE_CHECKING:
    import polars as pl

    from headend.results.record import Record


@dataclass(frozen=True)
class Figure:
    """What is measured: of whom, what it is called, its unit, and whether more is better."""

    subject: str
    name: str
    kind: Kind
    rising: bool = False


#: Figures of the queue that runs are compared by: name, column, unit, whether more is better.
_OF_QUEUE: tuple[tuple[str, str, Kind, bool], ...] = (
    ("delay p50", "delay_p50_ns", "time", False),
    ("delay p99", "delay_p99_ns", "time", False),
    ("delay p99.9", "delay_p999_ns", "time", False),
    ("dropped", "lost_ratio", "ratio", False),
    ("line used", "utilisation", "ratio", True),
)


def score_runs(results: Sequence[Record]) -> list[dict[Figure, float]]:
    """Give the figures of each run; what was not measured is NaN, what was not asked for is not there."""
    groups = find_groups(*(result.flows["flow"].unique() for result in results))
    queue = find_shared_bottleneck(results)
    return [dict(_score(result, groups, queue)) for result in results]


def _score(
    result: Record, groups: Mapping[str, Group], queue: str | None
) -> Iterator[tuple[Figure, float]]:
    import polars as pl

    order = {
        name: place for place, name in enumerate(result.flows["flow"].unique(maintain_order=True))
    }
    places = pl.col("flow").replace_strict(order, return_dtype=pl.Int64)
    measures = sorted(describe().measures.values(), key=lambda own: (own.place, own.name))
    for measure in measures:
        for title, statistic in measure.compared_by:
            worst = pl.col(statistic).fill_nan(None)
            rows = (
                result.measures.filter(pl.col("measure").is_in(measure.names))
                .group_by("flow")
                .agg(value=worst.min() if measure.is_rising else worst.max())
                .sort(places)
            )
            yield from _score_flows(rows, groups, title, measure.quantity, rising=measure.is_rising)
    data = result.flows.filter((pl.col("carries") == "data") & (pl.col("packets_sent") > 0))
    bulk = (
        data.filter(pl.col("application").is_in(list_applications("transfer")))
        .group_by("flow")
        .agg(value=pl.col("goodput_bps").sum())
    )
    yield from _score_flows(bulk.sort(places), groups, "goodput", "rate", rising=True)
    # Beside these, a flow's delay and loss still say something of it.
    beside_delay = [own for measure in measures if measure.is_beside_delay for own in measure.names]
    scores = result.measures.filter(~pl.col("measure").is_in(beside_delay))
    reporting = scores["flow"].unique().to_list()
    silent = data.filter((pl.col("transport") == "udp") & ~pl.col("flow").is_in(reporting))
    for name, column, kind in (
        ("delay p50", "delay_p50_ns", "time"),
        ("delay p99", "delay_p99_ns", "time"),
        ("lost", "loss_ratio", "ratio"),
    ):
        rows = silent.group_by("flow").agg(value=pl.col(column).fill_nan(None).max())
        yield from _score_flows(rows.sort(places), groups, name, kind)  # type: ignore[arg-type]
    yield from _score_queue(result, queue)
    shares = measure_fairness(result)
    for share in shares:
        # Of the only group of its direction that is the direction's index.
        beside = sum(other.direction == share.direction for other in shares) > 1
        if share.members > 1 and beside:
            label = f"{share.group} ×{share.members}"
            index = math.nan if share.jain_index is None else share.jain_index
            yield Figure(label, "Jain's index within", "number", rising=True), index
    for direction, index in measure_evenness(result).items():
        if not math.isnan(index):
            name = f"Jain's fairness index, {direction}"
            yield Figure("run", name, "number", rising=True), index


def _score_flows(
    rows: pl.DataFrame, groups: Mapping[str, Group], name: str, kind: Kind, *, rising: bool = False
) -> Iterator[tuple[Figure, float]]:
    gathered: dict[str, list[float]] = {}
    for flow, value in rows.iter_rows():
        missing = -math.inf if rising else math.inf
        number = missing if value is None else float(value)
        gathered.setdefault(label_member(flow, groups), []).append(number)
    for label, values in gathered.items():
        ordered = sorted(values, reverse=not rising)
        if len(values) == 1:
            yield Figure(label, name, kind, rising), _known(ordered[0])
        else:
            yield (
                Figure(label, f"{name}, in the middle", kind, rising),
                _known(ordered[(len(ordered) - 1) // 2]),
            )
            yield Figure(label, f"{name}, worst", kind, rising), _known(ordered[0])


def _known(value: float) -> float:
    return value if math.isfinite(value) else math.nan


def _score_queue(result: Record, queue: str | None) -> Iterator[tuple[Figure, float]]:
    import polars as pl

    rows = weigh_queues(result).filter(pl.col("queue") == pl.lit(queue)).to_dicts()
    for row in rows:
        for name, column, kind, rising in _OF_QUEUE:
            yield Figure(f"queue {queue}", name, kind, rising), float(row[column])


Mark = Literal["best", "worst", ""]

#: Values within this share of the best are as good.
TIE = 0.01


def mark_values(values: Sequence[float], *, rising: bool) -> list[Mark]:
    """Mark the best values and, of three or more, the worst; nothing where all are alike, or there is only one. What is missing is worst.

    Examples
    --------
    >>> mark_values([0.9, 0.012, 0.0121], rising=False)
    ['worst', 'best', 'best']
    >>> mark_values([4.1, 4.1], rising=True)
    ['', '']
    >>> mark_values([4.1, math.nan], rising=True)
    ['', '']
    """
    if sum(not math.isnan(value) for value in values) < 2:
        return [""] * len(values)
    costs = [math.inf if math.isnan(value) else -value if rising else value for value in values]
    least, most = min(costs), max(costs)

    def is_like(cost: float, other: float) -> bool:
        return math.isclose(cost, other, rel_tol=TIE)

    if is_like(least, most):
        return [""] * len(costs)
    marks: list[Mark] = []
    for cost in costs:
        if is_like(cost, least):
            marks.append("best")
        else:
            marks.append("worst" if len(costs) > 2 and is_like(cost, most) else "")
    return marks
