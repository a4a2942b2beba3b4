"""What can be asked of results: metrics with their columns, statistics and bounds."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from headend.engine.description import Measure, describe
from headend.text.quantity import Kind


def compute_jain(values: Sequence[float]) -> float | None:
    """Compute Jain's index; None of fewer than two values, and where all are 0.

    Examples
    --------
    >>> compute_jain([3.0, 3.0, 3.0]), compute_jain([6.0, 0.0]), compute_jain([1.0])
    (1.0, 0.5, None)
    """
    squares = len(values) * sum(value * value for value in values)
    return sum(values) ** 2 / squares if len(values) > 1 and squares else None


_DELAY_STATISTICS = ("mean", "min", "p50", "p90", "p95", "p99", "p999", "max")
_SAMPLE_STATISTICS = ("mean", "min", "p5", "p25", "p50", "p75", "p90", "p95", "p99", "max", "count")


#: Between which values anything measured lies, and a share, in base units.
ANY, _SHARE = (0.0, math.inf), (0.0, 1.0)


@dataclass(frozen=True)
class Metric:
    """Where a metric is found: its column, what it measures, which statistics it has."""

    column: str
    kind: Kind
    statistics: tuple[str, ...] = ()
    adds_up: bool = False
    #: What becomes of the values of a flow's members, if neither sum nor worst.
    of_members: Callable[[Sequence[float]], float | None] | None = None
    #: Of what is measured in each direction, the value of the worse of two.
    worse: Callable[[float, float], float] | None = None
    #: The least and the largest value there can be, if not those of its kind.
    range: tuple[float, float] | None = None
    #: Whether more of it is better; None where that depends on what is asked.
    higher_is_better: bool | None = None
    #: The table that only some runs have it in; a run without that table counted none. Empty for a
    #: metric of its subject's table.
    table: str = ""

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest value there can be."""
        return self.range or (_SHARE if self.kind == "ratio" else ANY)


#: What can hold a TCP sender back: by the column with the share of time, its name.
SEND_LIMITS = {
    "cwnd_limited_ratio": "congestion window",
    "rwnd_limited_ratio": "receive window",
    "sndbuf_limited_ratio": "send buffer",
    "app_limited_ratio": "application",
    "recovery_limited_ratio": "loss recovery",
    "pacing_limited_ratio": "pacing",
}

#: Counts of queue protection, of a flow and of a low-latency queue.
_PROTECTION_METRICS = {
    "sanctioned": Metric("sanctioned", "number", adds_up=True, table="queue_protection"),
    "reordered": Metric(
        "reordered", "number", adds_up=True, higher_is_better=False, table="queue_protection"
    ),
}

FLOW_METRICS: dict[str, Metric] = {
    "goodput": Metric("goodput_bps", "rate", adds_up=True, higher_is_better=True),
    "mean_goodput": Metric("goodput_bps", "rate", of_members=fmean, higher_is_better=True),
    "jain_index": Metric(
        "goodput_bps", "number", of_members=compute_jain, range=_SHARE, higher_is_better=True
    ),
    "throughput": Metric("throughput_bps", "rate", adds_up=True, higher_is_better=True),
    "loss": Metric("loss_ratio", "ratio", higher_is_better=False),
    "jitter": Metric("jitter_ns", "time", higher_is_better=False),
    "delay": Metric("delay_{}_ns", "time", _DELAY_STATISTICS, higher_is_better=False),
    "sent": Metric("packets_sent", "number", adds_up=True),
    "delivered": Metric("packets_delivered", "number", adds_up=True, higher_is_better=True),
    "discarded": Metric("discarded", "number", adds_up=True, higher_is_better=False),
    "marked": Metric("marked", "number", adds_up=True),
    "retransmitted": Metric("retransmitted", "number", adds_up=True, higher_is_better=False),
    **{column.removesuffix("_ratio"): Metric(column, "ratio") for column in SEND_LIMITS},
    **_PROTECTION_METRICS,
}

#: The profiles by which round trips are scored; ``analysis/scores.py`` has their numbers.
QOO_PROFILES = (
    "web_browsing",
    "video_streaming",
    "video_conferencing",
    "real_time_gaming",
    "gaming",
)

#: Scores of a flow that measures round trips.
SCORE_METRICS: dict[str, Metric] = {
    "qoo": Metric("qoo", "number", QOO_PROFILES, range=(0.0, 100.0), higher_is_better=True),
    "bloat": Metric("bloat", "time", higher_is_better=False),
}


@functools.cache
def list_measures() -> dict[str, Metric]:
    """List what applications report.

    What has a ``worse`` is measured in each direction, and has two names in tables.
    """
    return {kind.name: _make_metric(kind) for kind in describe().measures.values()}


def _make_metric(kind: Measure) -> Metric:
    worse = (min if kind.higher_is_better else max) if kind.has_directions else None
    return Metric(
        "{}",
        kind.quantity,
        _SAMPLE_STATISTICS,
        worse=worse,
        range=kind.range,
        higher_is_better=kind.higher_is_better,
    )


def list_measure_names() -> frozenset[str]:
    """List all names that tables have for measures."""
    return frozenset(name for kind in describe().measures.values() for name in kind.names)


QUEUE_METRICS: dict[str, Metric] = {
    "delay": Metric("delay_{}_ns", "time", _DELAY_STATISTICS, higher_is_better=False),
    "backlog": Metric("backlog_{}_bytes", "size", ("mean", "max"), higher_is_better=False),
    "utilisation": Metric("utilisation", "ratio", higher_is_better=True),
    "air": Metric("air_ratio", "ratio"),
    "station_air": Metric("air_ratio", "ratio", table="air_time"),
    "discarded": Metric("discarded", "number", adds_up=True, higher_is_better=False),
    "marked": Metric("marked", "number", adds_up=True),
    **{
        name: Metric(name, "number", adds_up=True)
        for name in (
            "requests_contention",
            "requests_piggyback",
            "collisions",
            "request_retries",
            "requests_exceeded",
            "grants",
            "maps",
        )
    },
    "granted": Metric("granted_bytes", "size", adds_up=True),
    "granted_maps_ratio": Metric("granted_maps_ratio", "ratio"),
    "unused_grants": Metric("unused_grant_bytes", "size", adds_up=True, higher_is_better=False),
    **_PROTECTION_METRICS,
}

CHANNEL_METRICS: dict[str, Metric] = {
    "utilisation": Metric("utilisation", "ratio"),
    "full": Metric("full_ratio", "ratio", higher_is_better=False),
    "capacity": Metric("capacity_bps", "rate", higher_is_better=True),
    "used": Metric("used_bps", "rate"),
    "neighbours": Metric("neighbours_bps", "rate"),
    "granted_maps_ratio": Metric("granted_maps_ratio", "ratio"),
    "collisions": Metric("collision_ratio", "ratio", higher_is_better=False),
    "broken": Metric("broken_ratio", "ratio", higher_is_better=False),
    "idle": Metric("idle_ratio", "ratio", higher_is_better=True),
}

RUN_METRICS: dict[str, Metric] = {
    "jain_index": Metric("jain_index", "number", range=_SHARE, higher_is_better=True)
}


def find_metric(text: str) -> Metric | None:
    """Give the metric that a figure is of, such as ``mos`` of ``mos.p5``; None if not known.

    Examples
    --------
    >>> find_metric("up.loss").kind, find_metric("mos.p5").limits, find_metric("mos.count")
    ('ratio', (1.0, 4.5), None)
    """
    words = text.split(".")
    known = FLOW_METRICS | list_measures() | QUEUE_METRICS | SCORE_METRICS
    return None if "count" in words else next((known[w] for w in words if w in known), None)
