"""The figures by which runs are compared: what each kind of flow is about, the queue, and fairness.

Of a group of flows each figure is taken twice: of the member in the middle and of the worst.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from headend.analysis.bottleneck import find_shared_bottleneck
from headend.analysis.estimate import BOUNDS, Bounds
from headend.analysis.fairness import measure_evenness, measure_fairness
from headend.analysis.queues import weigh_queues
from headend.analysis.ties import average, is_tie
from headend.engine.description import REAL, describe, list_applications
from headend.scenario.groups import Group, find_groups, label_member
from headend.text.quantity import Kind

if TYPE_CHECKING:
    import polars as pl

    from headend.results.record import Record


@dataclass(frozen=True)
class ScoredMetric:
    """What is measured of a flow, a group, a queue or a run.

    Parameters
    ----------
    subject
        Of whom.
    rising
        Whether more is better.
    range
        The least and the largest value, where they are not those of every such quantity.
    """

    subject: str
    name: str
    kind: Kind
    rising: bool = False
    range: Bounds | None = field(default=None, compare=False)

    @property
    def bounds(self) -> Bounds | None:
        """The least and the largest value there can be; None where nothing is known of them."""
        return self.range or BOUNDS.get(self.kind)


#: What shares and Jain's indices reach from and to.
SHARE = BOUNDS["ratio"]

#: Metrics of the queue that runs are compared by: name, column, kind, whether more is better.
_OF_QUEUE: tuple[tuple[str, str, Kind, bool], ...] = (
    ("delay p50", "delay_p50_ns", "time", False),
    ("delay p99", "delay_p99_ns", "time", False),
    ("delay p99.9", "delay_p999_ns", "time", False),
    ("dropped", "lost_ratio", "ratio", False),
    ("line used", "utilisation", "ratio", True),
)


def score_runs(results: Sequence[Record]) -> list[dict[ScoredMetric, float]]:
    """Give the figures of each run; unmeasured ones are NaN, others are not there."""
    groups = find_groups(*(result.flows["flow"].unique(maintain_order=True) for result in results))
    queue = find_shared_bottleneck(results)
    return [dict(_score(result, groups, queue)) for result in results]


def _score(
    result: Record, groups: Mapping[str, Group], queue: str | None
) -> Iterator[tuple[ScoredMetric, float]]:
    import polars as pl

    flows = result.flows["flow"].unique(maintain_order=True)
    order = {name: number for number, name in enumerate(flows)}
    places = pl.col("flow").replace_strict(order, return_dtype=pl.Int64)
    measures = sorted(describe().measures.values(), key=lambda own: (own.place, own.name))
    for measure in measures:
        for title, statistic in measure.compared_by:
            worst = pl.col(statistic).fill_nan(None)
            rows = (
                result.measures.filter(pl.col("measure").is_in(measure.names))
                .group_by("flow")
                .agg(value=worst.min() if measure.higher_is_better else worst.max())
                .sort(places)
            )
            shape = ScoredMetric(
                "", title, measure.quantity, measure.higher_is_better, measure.range
            )
            yield from _score_flows(rows, groups, shape)
    data = result.flows.filter((pl.col("carries") == "data") & (pl.col("packets_sent") > 0))
    bulk = (
        data.filter(pl.col("application").is_in([*list_applications("transfer"), REAL]))
        .group_by("flow")
        .agg(value=pl.col("goodput_bps").sum())
    )
    yield from _score_flows(
        bulk.sort(places), groups, ScoredMetric("", "goodput", "rate", rising=True)
    )
    # Beside these, a flow's delay and loss still say something of it.
    beside_delay = [own for measure in measures if measure.is_beside_delay for own in measure.names]
    scores = result.measures.filter(~pl.col("measure").is_in(beside_delay))
    reporting = scores["flow"].unique(maintain_order=True).to_list()
    silent = data.filter((pl.col("transport") == "udp") & ~pl.col("flow").is_in(reporting))
    for name, column, kind in (
        ("delay p50", "delay_p50_ns", "time"),
        ("delay p99", "delay_p99_ns", "time"),
        ("lost", "loss_ratio", "ratio"),
    ):
        rows = silent.group_by("flow").agg(value=pl.col(column).fill_nan(None).max())
        shape = ScoredMetric("", name, kind)  # type: ignore[arg-type]
        yield from _score_flows(rows.sort(places), groups, shape)
    yield from _score_queue(result, queue)
    shares = measure_fairness(result)
    for share in shares:
        # Of the only group of its direction that is the direction's index.
        beside = sum(other.direction == share.direction for other in shares) > 1
        if share.members > 1 and beside:
            label = f"{share.group} ×{share.members}"
            index = math.nan if share.jain_index is None else share.jain_index
            yield (
                ScoredMetric(label, "Jain's index within", "number", rising=True, range=SHARE),
                index,
            )
    for direction, index in measure_evenness(result).items():
        if not math.isnan(index):
            name = f"Jain's fairness index, {direction}"
            yield ScoredMetric("run", name, "number", rising=True, range=SHARE), index


def _score_flows(
    rows: pl.DataFrame, groups: Mapping[str, Group], shape: ScoredMetric
) -> Iterator[tuple[ScoredMetric, float]]:
    """Give a figure of the given shape for each flow and group."""
    missing = -math.inf if shape.rising else math.inf
    gathered: dict[str, list[float]] = {}
    for flow, value in rows.iter_rows():
        number = missing if value is None else float(value)
        gathered.setdefault(label_member(flow, groups), []).append(number)
    for label, values in gathered.items():
        ordered = sorted(values, reverse=not shape.rising)
        own = replace(shape, subject=label)
        if len(values) == 1:
            yield own, _known(ordered[0])
        else:
            middle = ordered[(len(ordered) - 1) // 2]
            yield replace(own, name=f"{shape.name}, in the middle"), _known(middle)
            yield replace(own, name=f"{shape.name}, worst"), _known(ordered[0])


def _known(value: float) -> float:
    return value if math.isfinite(value) else math.nan


def _score_queue(result: Record, queue: str | None) -> Iterator[tuple[ScoredMetric, float]]:
    for row in weigh_queues(result):
        if row["queue"] != queue:
            continue
        for name, column, kind, rising in _OF_QUEUE:
            yield ScoredMetric(f"queue {queue}", name, kind, rising), float(row[column])


Mark = Literal["best", "worst", ""]


def mark_values(values: Sequence[Mapping[int, float]], metric: ScoredMetric) -> list[Mark]:
    """Mark the best variants and, of three or more, the worst.

    The best one and all that tie with it are best. The worst one, and those that tie with it but
    not with the best, are worst. Nothing is marked where all tie, or there is only one. What is
    missing is worst.

    Parameters
    ----------
    values
        Of each variant, by seed; none where it has not got the metric.

    Examples
    --------
    >>> delay = ScoredMetric("queue", "delay p50", "time")
    >>> mark_values([{1: 90e6}, {1: 12.1e6}, {1: 12e6}], delay)
    ['worst', 'best', 'best']
    >>> mark_values([{1: 90e6}, {1: 91e6}, {1: 90e6}], delay)
    ['', '', '']
    """
    means = [average(own) for own in values]
    known = [mean for mean in means if not math.isnan(mean)]
    if len(known) < 2:
        return [""] * len(values)
    pick, opposite = (max, min) if metric.rising else (min, max)
    best = values[means.index(pick(known))]
    is_best = [is_tie(own, best, metric.kind, metric.range) for own in values]
    if all(is_best):
        return [""] * len(values)
    missing = next((own for own, mean in zip(values, means, strict=True) if math.isnan(mean)), None)
    worst = values[means.index(opposite(known))] if missing is None else missing
    is_as_bad = [is_tie(own, worst, metric.kind, metric.range) for own in values]
    return [
        "best" if good else "worst" if len(values) > 2 and bad else ""
        for good, bad in zip(is_best, is_as_bad, strict=True)
    ]
