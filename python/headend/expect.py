"""The language of ``[expect]``: what a scenario asks of its own results.

::

    expectation = quantity [ "/" quantity ] operator bound
    quantity    = subject "." metric [ "." statistic ]
    subject     = FLOW | FLOW ".up" | FLOW ".down" | QUEUE | "run"
    operator    = ">=" | ">" | "<=" | "<"
    bound       = a number with a unit of what the metric measures: "100 ms", "8 Mbit/s", "1 %", "4.0"

Metrics of a flow: ``goodput``, ``throughput``, ``loss``, ``jitter``, ``delay`` (with a statistic), ``sent``,
``delivered``, ``discarded``, ``marked``, ``retransmitted``; and the measures its application reports, each with a
statistic: ``rtt``, ``page_load_time``, ``mos``, ``mos_down``, ``late``, ``late_down``, ``set_up_time``,
``call_failed``, ``completion_time``, ``speed`` (and ``speed_10s``, …), ``rpm``, ``rpm_down`` and how sure they are, ``ipdv``, ``ipdv_down``; of a streamed video
``startup_delay``, ``stall``, ``stalled``, ``segment_rate``, ``switches``; of a game ``missed``, ``missed_down``; of video
``frame_delay``, ``frames_late``, ``frozen``, ``video_rate`` and the same with ``_down``. Of a flow with a
``count`` also ``mean_goodput``, of a member, and ``jain_index``, over its members.
Metrics of a queue: ``delay`` and ``backlog`` (with a statistic), ``utilisation``, ``discarded``, ``marked``, and the MAC
counters of a cable upstream: ``requests_contention``, ``requests_piggyback``, ``collisions``, ``request_retries``,
``requests_exceeded``, ``grants``, ``granted``, ``unused_grants``, ``maps``.
Metric of the run: ``jain_index``.

A flow without a direction means the directions that carry its data. Where there are several, by direction or because the
flow has a ``count`` (its members are called ``NAME.1``, ``NAME.2``, …), the worst counts; rates and numbers of
the members add up. Of two quantities of one kind the ratio is taken. The queues of modems with a ``count`` are ``LINK.MODEM.*.up`` together. What was not measured (the delay of nothing) misses every expectation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any

from headend.errors import InputError, suggest
from headend.fairness import compute_jain
from headend.groups import name_group
from headend.quantity import Kind, format_quantity, parse_quantity

if TYPE_CHECKING:
    import polars as pl

    from headend._engine import Scenario


_DELAY_STATISTICS = ("mean", "min", "p50", "p90", "p95", "p99", "p999", "max")
_SAMPLE_STATISTICS = ("mean", "min", "p5", "p25", "p50", "p75", "p90", "p95", "p99", "max", "count")


@dataclass(frozen=True)
class Metric:
    """Where a metric is found: its column, what it measures, which statistics it has."""

    column: str
    kind: Kind
    statistics: tuple[str, ...] = ()
    adds_up: bool = False
    #: What becomes of the values of a flow's members, where they neither add up nor the worst counts.
    of_members: Callable[[Sequence[float]], float | None] | None = None


FLOW_METRICS: dict[str, Metric] = {
    "goodput": Metric("goodput_bps", "rate", adds_up=True),
    "mean_goodput": Metric("goodput_bps", "rate", of_members=fmean),
    "jain_index": Metric("goodput_bps", "number", of_members=compute_jain),
    "throughput": Metric("throughput_bps", "rate", adds_up=True),
    "loss": Metric("loss_ratio", "ratio"),
    "jitter": Metric("jitter_ns", "time"),
    "delay": Metric("delay_{}_ns", "time", _DELAY_STATISTICS),
    "sent": Metric("packets_sent", "number", adds_up=True),
    "delivered": Metric("packets_delivered", "number", adds_up=True),
    "discarded": Metric("discarded", "number", adds_up=True),
    "marked": Metric("marked", "number", adds_up=True),
    "retransmitted": Metric("retransmitted", "number", adds_up=True),
}

#: What a speed test shows at its end, and after so many seconds.
SPEEDS = ("speed", *(f"speed_{seconds}s" for seconds in (1, 2, 5, 7, 10, 18, 20, 25, 50, 100)))

MEASURES: dict[str, Metric] = {
    "rtt": Metric("{}", "time", _SAMPLE_STATISTICS),
    "page_load_time": Metric("{}", "time", _SAMPLE_STATISTICS),
    "completion_time": Metric("{}", "time", _SAMPLE_STATISTICS),
    "mos": Metric("{}", "number", _SAMPLE_STATISTICS),
    "mos_down": Metric("{}", "number", _SAMPLE_STATISTICS),
    "late": Metric("{}", "ratio", _SAMPLE_STATISTICS),
    "late_down": Metric("{}", "ratio", _SAMPLE_STATISTICS),
    "ipdv": Metric("{}", "time", _SAMPLE_STATISTICS),
    "ipdv_down": Metric("{}", "time", _SAMPLE_STATISTICS),
    "rpm": Metric("{}", "number", _SAMPLE_STATISTICS),
    "rpm_down": Metric("{}", "number", _SAMPLE_STATISTICS),
    "rpm_confidence": Metric("{}", "number", _SAMPLE_STATISTICS),
    "rpm_confidence_down": Metric("{}", "number", _SAMPLE_STATISTICS),
    **{name: Metric("{}", "rate", _SAMPLE_STATISTICS) for name in SPEEDS},
    "stall": Metric("{}", "time", _SAMPLE_STATISTICS),
    "stalled": Metric("{}", "ratio", _SAMPLE_STATISTICS),
    "startup_delay": Metric("{}", "time", _SAMPLE_STATISTICS),
    "switches": Metric("{}", "number", _SAMPLE_STATISTICS),
    "segment_rate": Metric("{}", "rate", _SAMPLE_STATISTICS),
    "missed": Metric("{}", "ratio", _SAMPLE_STATISTICS),
    "missed_down": Metric("{}", "ratio", _SAMPLE_STATISTICS),
    "frame_delay": Metric("{}", "time", _SAMPLE_STATISTICS),
    "frame_delay_down": Metric("{}", "time", _SAMPLE_STATISTICS),
    "frames_late": Metric("{}", "ratio", _SAMPLE_STATISTICS),
    "frames_late_down": Metric("{}", "ratio", _SAMPLE_STATISTICS),
    "frozen": Metric("{}", "ratio", _SAMPLE_STATISTICS),
    "frozen_down": Metric("{}", "ratio", _SAMPLE_STATISTICS),
    "video_rate": Metric("{}", "rate", _SAMPLE_STATISTICS),
    "video_rate_down": Metric("{}", "rate", _SAMPLE_STATISTICS),
    "set_up_time": Metric("{}", "time", _SAMPLE_STATISTICS),
    "call_failed": Metric("{}", "ratio", _SAMPLE_STATISTICS),
}

QUEUE_METRICS: dict[str, Metric] = {
    "delay": Metric("delay_{}_ns", "time", _DELAY_STATISTICS),
    "backlog": Metric("backlog_{}_bytes", "size", ("mean", "max")),
    "utilisation": Metric("utilisation", "ratio"),
    "discarded": Metric("discarded", "number", adds_up=True),
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
    "unused_grants": Metric("unused_grant_bytes", "size", adds_up=True),
}

RUN_METRICS: dict[str, Metric] = {"jain_index": Metric("jain_index", "number")}

_MISSED = ("missed", "missed_down")
_VIDEO_DOWN = ("frame_delay_down", "frames_late_down", "frozen_down", "video_rate_down")
_VIDEO = ("frame_delay", "frames_late", "frozen", "video_rate", *_VIDEO_DOWN)

#: Which measures an application reports; one that is not named here may report any.
APPLICATION_MEASURES: dict[str, tuple[str, ...]] = {
    "bulk": ("completion_time",),
    "cloud_gaming": (*_VIDEO_DOWN, "missed"),
    "conference": _VIDEO,
    "game": _MISSED,
    "half_life": _MISSED,
    "isochronous": ("rtt", "ipdv", "ipdv_down"),
    "lld_game": _MISSED,
    "ping": ("rtt",),
    "quake3": _MISSED,
    "responsiveness": ("rpm", "rpm_down", "rpm_confidence", "rpm_confidence_down"),
    "speed_test": SPEEDS,
    "streaming": ("startup_delay", "stall", "stalled", "segment_rate", "switches"),
    "torrent": (),
    "video_call": _VIDEO,
    "voice": ("mos", "mos_down", "late", "late_down", "set_up_time", "call_failed"),
    "web": ("page_load_time",),
}


@dataclass(frozen=True)
class Vocabulary:
    """What an expectation may speak of.

    Parameters
    ----------
    flows
        Flows and their members, each with its application.
    queues
        Queues, and groups of them such as ``cable.home.*.up``.
    members
        The members of each flow, and of each group of queues, of which there are several.
    """

    flows: Mapping[str, str]
    queues: Sequence[str]
    members: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def from_scenario(cls, scenario: Scenario) -> Vocabulary:
        """Take the names from a checked scenario; what members have in common stands for all of them."""
        flows: dict[str, str] = {}
        members: dict[str, list[str]] = {}
        for name, application in scenario.flows:
            stem = name_group(name)
            if stem:
                members.setdefault(stem, []).append(name)
                flows[stem] = application
            flows[name] = application
        for name in scenario.queues:
            if stem := name_group(name):
                members.setdefault(stem, []).append(name)
        groups = {name_group(name) for name in scenario.queues} - {""}
        return cls(flows, sorted({*scenario.queues, *groups}), members)


@dataclass(frozen=True)
class Quantity:
    """Something measured that an expression names, such as ``ping.rtt.p95``."""

    text: str
    table: str
    subject: str
    members: tuple[str, ...]
    direction: str | None
    metric: str
    statistic: str | None
    kind: Kind

    def read(self, tables: Mapping[str, pl.DataFrame]) -> list[float]:
        """Give the values in base units: one, or one for each direction and member; none if not measured."""
        import polars as pl

        rows = tables[self.table]
        if self.table == "summary":
            return _finite(rows[self.metric].to_list())
        if self.table == "queues":
            of_queues = _finite(self._column(rows.filter(pl.col("queue").is_in(self.members))))
            adds_up = QUEUE_METRICS[self.metric].adds_up and len(of_queues) > 1
            return [sum(of_queues)] if adds_up else of_queues
        rows = rows.filter(pl.col("flow").is_in(self.members))
        if self.table == "measures":
            return _finite(self._column(rows.filter(pl.col("measure") == self.metric)))
        directions = [self.direction] if self.direction else ["up", "down"]
        if not self.direction:
            rows = rows.filter(pl.col("carries") == "data")
        values = [
            _finite(self._column(rows.filter(pl.col("direction") == direction)))
            for direction in directions
        ]
        metric = FLOW_METRICS[self.metric]
        if metric.adds_up:
            return [sum(own) for own in values if own]
        if metric.of_members:
            return _finite(metric.of_members(own) for own in values if own)
        return [value for own in values for value in own]

    def _column(self, rows: pl.DataFrame) -> list[float]:
        metrics = {"queues": QUEUE_METRICS, "measures": MEASURES, "flows": FLOW_METRICS}[self.table]
        column = metrics[self.metric].column.format(self.statistic)
        if column == "discarded":
            import polars.selectors as cs

            return rows.select(cs.starts_with("discarded_")).sum_horizontal().to_list()
        return rows[column].cast(float).to_list()


@dataclass(frozen=True)
class Expectation:
    """One line of ``[expect]``, understood."""

    name: str
    text: str
    quantity: Quantity
    operator: str
    bound: float
    divisor: Quantity | None = None

    def check(self, tables: Mapping[str, pl.DataFrame]) -> Outcome:
        """Compare with what was measured."""
        values = self.quantity.read(tables)
        if self.divisor:
            others = self.divisor.read(tables)
            values = [value / other for value in values for other in others if other]
        if not values:
            return Outcome(self.name, self.text, None, "nothing measured", met=False)
        measured = min(values) if self.operator.startswith(">") else max(values)
        met = {
            ">=": measured >= self.bound,
            ">": measured > self.bound,
            "<=": measured <= self.bound,
            "<": measured < self.bound,
        }[self.operator]
        kind: Kind = "number" if self.divisor else self.quantity.kind
        return Outcome(self.name, self.text, measured, format_quantity(measured, kind), met=met)


@dataclass(frozen=True)
class Outcome:
    """What an expectation asked and what was found.

    ``measured`` is in base units (ns, bit/s, bytes, ratio), None where nothing was measured.
    """

    name: str
    expected: str
    measured: float | None
    measured_text: str
    met: bool = field(kw_only=True)

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON can hold it."""
        return asdict(self)


_OPERATOR = re.compile(r"(>=|<=|==|!=|=|>|<)")


def parse_expectation(name: str, text: str, vocabulary: Vocabulary) -> Expectation:
    """Understand one expectation.

    Raises
    ------
    InputError
        Naming the expectation, what was found and what is known.

    Examples
    --------
    >>> vocabulary = Vocabulary({"call": "voice"}, ["cable.up"])
    >>> parse_expectation("call", "call.mos.p5 >= 4.0", vocabulary).bound
    4.0
    """
    parts = _OPERATOR.split(text)
    if len(parts) != 3 or parts[1] in ("==", "!=", "="):
        raise InputError(
            f'expect.{name}: expected QUANTITY, one of >= > <= <, and a bound, such as "call.mos.p5 >= 4.0",'
            f' found "{text}"'
        )
    try:
        left, slash, right = parts[0].partition("/")
        quantity = parse_quantity_name(left.strip(), vocabulary)
        divisor = parse_quantity_name(right.strip(), vocabulary) if slash else None
        if divisor and divisor.kind != quantity.kind:
            raise InputError(
                f'"{parts[0].strip()}": a ratio of a {quantity.kind} and a {divisor.kind}'
            )
        bound = parse_quantity(parts[2].strip(), "ratio" if divisor else quantity.kind).value
    except ValueError as error:
        raise InputError(f"expect.{name}: {error}") from error
    return Expectation(name, text, quantity, parts[1], bound, divisor)


def parse_quantity_name(text: str, vocabulary: Vocabulary) -> Quantity:
    """Understand what to measure, such as ``call.mos.p5`` or ``cable.up.delay.p99``."""
    subject, rest = _split_subject(text, vocabulary)
    if subject is None:
        known = [*vocabulary.flows, *vocabulary.queues, "run"]
        found = ".".join(text.split(".")[:1])
        raise InputError(f'no flow or queue is called "{found}"{suggest(found, known)}')
    direction = None
    if subject in vocabulary.queues:
        table, metrics = "queues", QUEUE_METRICS
    elif subject == "run":
        table, metrics = "summary", RUN_METRICS
    else:
        if rest and rest[0] in ("up", "down"):
            direction, rest = rest[0], rest[1:]
        reported = APPLICATION_MEASURES.get(vocabulary.flows[subject], tuple(MEASURES))
        measures = {} if direction else {key: MEASURES[key] for key in reported}
        table, metrics = "flows", FLOW_METRICS | measures
    metric = rest[0] if rest else ""
    if metric not in metrics:
        raise InputError(
            f'"{text}": {subject} has no metric "{metric}"{suggest(metric, metrics)}'
            if metric
            else f'"{text}": expected a metric of {subject} ({", ".join(metrics)})'
        )
    if table == "flows" and metric in MEASURES:
        table = "measures"
    definition = metrics[metric]
    statistic = rest[1] if len(rest) > 1 else None
    if definition.statistics and statistic not in definition.statistics:
        hint = suggest(statistic or "", definition.statistics)
        found_text = (
            f'found "{statistic}"{hint}' if statistic else f"such as {subject}.{metric}.p50"
        )
        raise InputError(
            f'"{text}": expected a statistic of {metric} ({", ".join(definition.statistics)}), {found_text}'
        )
    surplus = rest[2 if definition.statistics else 1 :]
    if surplus:
        raise InputError(f'"{text}": {metric} has nothing called "{".".join(surplus)}"')
    kind: Kind = "number" if statistic == "count" else definition.kind
    members = tuple(vocabulary.members.get(subject, (subject,)))
    if definition.of_members and len(members) < 2:
        raise InputError(f'"{text}": {subject} has no members to take the {metric} of (count = …)')
    return Quantity(text, table, subject, members, direction, metric, statistic, kind)


def parse_expectations(
    pairs: Iterable[tuple[str, str]], vocabulary: Vocabulary
) -> list[Expectation]:
    """Understand all of ``[expect]``."""
    return [parse_expectation(name, text, vocabulary) for name, text in pairs]


def _split_subject(text: str, vocabulary: Vocabulary) -> tuple[str | None, list[str]]:
    """Find the longest known name that the text begins with; queue names hold dots themselves."""
    parts = text.split(".")
    known = {*vocabulary.flows, *vocabulary.queues, "run"}
    for length in range(len(parts), 0, -1):
        subject = ".".join(parts[:length])
        if subject in known:
            return subject, parts[length:]
    return None, parts


def _finite(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None and not math.isnan(value)]
