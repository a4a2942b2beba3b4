"""The language of ``[expect]``: what a scenario asks of its own results.

::

    expectation = quantity [ "/" quantity ] operator bound
    quantity = subject "." metric [ "." statistic ]
    subject = FLOW | FLOW ".up" | FLOW ".down" | QUEUE
            | LINK ".up.channel" | LINK ".down.channel" | "run"
    operator = ">=" | ">" | "<=" | "<"
    bound = a number with a unit of what the metric measures: "100 ms", "8 Mbit/s", "1 %", "4.0"

Metrics of a flow: ``goodput``, ``throughput``, ``loss``, ``jitter``, ``delay`` (with a statistic),
``sent``, ``delivered``, ``discarded``, ``marked``, ``retransmitted``; of TCP the shares of time in
which something held the sender back (``cwnd_limited``, ``rwnd_limited``, ``sndbuf_limited``,
``app_limited``, ``recovery_limited``, ``pacing_limited``); and the counts of queue protection
``sanctioned`` and ``reordered``, which are 0 where there is none; and the measures its application
reports, each with a statistic, such as ``mos.p5``: the engine declares them beside the application.
Of one that measures round trips also ``qoo`` by a profile, and ``bloat`` (``analysis/scores.py``).
Of a flow with a ``count`` also ``mean_goodput``, of a member, and ``jain_index``, over its members.
Metrics of a queue: ``delay`` and ``backlog`` (with a statistic), ``utilisation``, ``discarded``,
``marked``, of a cell ``air``, and the MAC counters of a cable upstream: ``requests_contention``,
``requests_piggyback``, ``collisions``, ``request_retries``, ``requests_exceeded``, ``grants``,
``granted``, ``unused_grants``, ``maps``, ``granted_maps_ratio``; of a low-latency queue
``sanctioned`` and ``reordered``. Metrics of a channel that queues share: ``utilisation``, ``full``,
``capacity``, ``used``, ``neighbours``, of a cable upstream ``granted_maps_ratio``, of a cell
``collisions``, ``broken`` and ``idle``. Metric of the run: ``jain_index``.

A flow without a direction means the directions that carry its data. Where there are several, by
direction or because the flow has a ``count`` (its members are called ``NAME.1``, ``NAME.2``, …),
the worst counts; rates and numbers of the members add up. What an application measures in each
direction is that of the worse one too (the lower score, the longer delay), a direction in which
nothing succeeded being the worst; ``FLOW.up.mos`` and ``FLOW.down.mos`` name one, and
``FLOW.mos_down`` is another name of the latter. Of two quantities of one kind the ratio is taken.
The queues of modems with a ``count`` are ``LINK.MODEM.*.up`` together. What was not measured (the
delay of nothing) misses every expectation.

A percentile of few values is their largest or smallest, and meets too easily what is asked of it:
one short round trip says nothing of the slowest in a hundred. The largest of ``n`` independent
values is at the quantile n / (n + 1) in the mean, whatever their distribution (David and Nagaraja,
Order Statistics, §2.2). So what the p-th percentile is to stay below counts only from p / (100 − p)
values on (`count_needed`), as does what one is to stay above, counted from below. Values of scoring
periods need no number: periods follow each other without gaps, so that theirs are of the whole
measured time and not of samples of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from headend.analysis.round_trips import ROUND_TRIPS, explain_round_trips, list_real
from headend.analysis.scores import read_scores
from headend.engine.columns import OPTIONAL_TABLES, Lists, Tables
from headend.engine.description import describe, find_application, name_measure
from headend.engine.metrics import (
    ANY,
    CHANNEL_METRICS,
    FLOW_METRICS,
    QUEUE_METRICS,
    RUN_METRICS,
    SCORE_METRICS,
    Metric,
    list_measures,
)
from headend.errors import InputError, suggest
from headend.results.outcome import NOTHING_MEASURED, Outcome
from headend.scenario.subjects import Vocabulary, call_channel
from headend.text.quantity import Kind, format_quantity, parse_quantity


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
    #: The least and the largest value there can be.
    limits: tuple[float, float] = ANY
    #: The column of the table that names the subject.
    key: str = "flow"

    def read(self, tables: Tables) -> list[float]:
        """Give the values in base units: one, or one per direction and member; none if unknown."""
        if self.table == "air_time":
            return self._add_air(tables)
        if self.table in OPTIONAL_TABLES:
            table = tables.get(self.table)
            return [0.0 if table is None else self._count(Lists.of(tables, self.table))]
        if self.table == _SCORES:
            return read_scores(tables, self.members, self.statistic)
        rows = Lists.of(tables, self.table)
        if self.table == "summary":
            return _finite(rows.list_numbers(self.metric))
        if self.table == "queues":
            of_queues = _finite(self._take(rows, queue=self.members))
            adds_up = QUEUE_METRICS[self.metric].adds_up and len(of_queues) > 1
            return [sum(of_queues)] if adds_up else of_queues
        if self.table == "channels":
            return _finite(self._take(rows, channel=self.members))
        if self.table == "measures":
            return self._read_measures(rows, tables)
        texts = {"flow": self.members}
        if not self.direction:
            texts["carries"] = ("data",)
        directions = [self.direction] if self.direction else ["up", "down"]
        by_direction = [
            _finite(self._take(rows, **texts, direction=[direction])) for direction in directions
        ]
        metric = FLOW_METRICS[self.metric]
        if metric.adds_up:
            return [sum(values) for values in by_direction if values]
        if metric.of_members:
            return _finite(metric.of_members(values) for values in by_direction if values)
        return [value for values in by_direction for value in values]

    def count_values(self, tables: Tables) -> float | None:
        """Give of how many values a percentile is, of members together, of directions the fewest.

        None of scoring periods, and of what is no percentile of values that are counted.
        """
        if self.table == "measures" and not describe().measures[self.metric].is_periodic:
            directions = (self.direction,) if self.direction else ("up", "down")
            is_worse_way = list_measures()[self.metric].worse is not None
            names = [name_measure(self.metric, way) for way in directions if is_worse_way]
            groups = [{"flow": self.members, "measure": [name]} for name in names or [self.metric]]
            column = "count"
        elif self.table == "flows" and self.metric == "delay":
            data = {} if self.direction else {"carries": ["data"]}
            directions = (self.direction,) if self.direction else ("up", "down")
            groups = [{"flow": self.members, "direction": [way], **data} for way in directions]
            column = "packets_delivered"
        elif self.table == "queues" and self.metric == "delay":
            groups, column = [{"queue": self.members}], "packets_dequeued"
        else:
            return None
        rows = Lists.of(tables, self.table)
        numbers = rows.list_numbers(column)
        counts = [sum(numbers[index] for index in rows.find_rows(**texts)) for texts in groups]
        return min((count for count in counts if count), default=None)

    def _count(self, rows: Lists) -> float:
        """Add up what a table counted that only some runs have."""
        texts: dict[str, Collection[str]] = {self.key: self.members}
        if self.direction:
            texts["direction"] = (self.direction,)
        return sum(self._take(rows, **texts))

    def _add_air(self, tables: Tables) -> list[float]:
        """Add up the time on the air of stations, whose queues are the members."""
        if tables.get(self.table) is None:
            return []
        rows = Lists.of(tables, self.table)
        queues = [
            f"{link}.{station}.up"
            for link, station in zip(rows["link"], rows["station"], strict=True)
        ]
        shares = zip(queues, rows.list_numbers("air_ratio"), strict=True)
        found = [share for queue, share in shares if queue in self.members]
        return [sum(found)] if found else []

    def _has_unmeasured(self, flows: Lists, rows: Lists, names: Collection[str]) -> bool:
        """Say whether a member sent data in both directions, and one of them was not measured."""
        sent: dict[str, int] = dict.fromkeys(self.members, 0)
        for index in flows.find_rows(flow=self.members, carries=("data",)):
            reports = find_application(flows["application"][index]).measure_names
            is_sending = flows["packets_sent"][index] > 0
            sent[flows["flow"][index]] += is_sending and set(names) <= set(reports)
        found: dict[str, int] = dict.fromkeys(self.members, 0)
        for index in rows.find_rows(flow=self.members, measure=names):
            found[rows["flow"][index]] += 1
        return any(found[flow] < sent[flow] == len(names) for flow in self.members)

    def _read_measures(self, rows: Lists, tables: Tables) -> list[float]:
        """Give a value for each member; of both directions the worse, none if one had no result."""
        worse = list_measures()[self.metric].worse
        if worse is None:
            return _finite(self._take(rows, flow=self.members, measure=[self.metric]))
        directions = (self.direction,) if self.direction else ("up", "down")
        names = [name_measure(self.metric, direction) for direction in directions]
        indices = rows.find_rows(flow=self.members, measure=names)
        if len(names) > 1 and self._has_unmeasured(Lists.of(tables, "flows"), rows, names):
            return []
        if self.statistic == "count":
            worse = min
        flows, column = rows["flow"], self._column(rows)
        by_flow: dict[str, float] = {}
        for index in indices:
            flow, value = flows[index], column[index]
            by_flow[flow] = _take_worse(worse, by_flow.get(flow, value), value)
        return _finite(by_flow.values())

    def _take(self, rows: Lists, **texts: Collection[str]) -> list[float]:
        """Give the values of the rows that hold one of the wanted texts in each of the columns."""
        column = self._column(rows)
        return [column[index] for index in rows.find_rows(**texts)]

    def _column(self, rows: Lists) -> list[float]:
        metrics = list_measures() if self.table == "measures" else _METRICS[self.table]
        return rows.list_numbers(metrics[self.metric].column.format(self.statistic))


#: Stands for a table where a quantity is computed of several.
_SCORES = "scores"

_METRICS: dict[str, dict[str, Metric]] = {
    "queues": QUEUE_METRICS,
    "channels": CHANNEL_METRICS,
    "flows": FLOW_METRICS,
    "queue_protection": FLOW_METRICS,
}


def _take_worse(worse: Callable[[float, float], float], first: float, second: float) -> float:
    return math.nan if math.isnan(first) or math.isnan(second) else worse(first, second)


@dataclass(frozen=True)
class Expectation:
    """One line of ``[expect]``, understood."""

    name: str
    text: str
    quantity: Quantity
    operator: str
    bound: float
    divisor: Quantity | None = None

    def check(self, tables: Tables, *, is_open_loop: bool = False) -> Outcome:
        """Compare with what was measured; where that is nothing, say why if it is known.

        Parameters
        ----------
        tables
            Those of the run.
        is_open_loop
            Whether it was a replay under other settings, without round trips of real programs.
        """
        values = self.quantity.read(tables)
        if self.divisor:
            divisors = self.divisor.read(tables)
            values = [value / divisor for value in values for divisor in divisors if divisor]
        if not values:
            reason = self._explain_missing(tables, is_open_loop=is_open_loop)
            measured_text = f"{NOTHING_MEASURED}: {reason}" if reason else NOTHING_MEASURED
            return Outcome(self.name, self.text, None, measured_text, met=False)
        measured = min(values) if self.operator.startswith(">") else max(values)
        met = {
            ">=": measured >= self.bound,
            ">": measured > self.bound,
            "<=": measured <= self.bound,
            "<": measured < self.bound,
        }[self.operator]
        kind: Kind = "number" if self.divisor else self.quantity.kind
        text = format_quantity(measured, kind)
        if met and (lack := self._find_lack(tables)):
            return Outcome(self.name, self.text, measured, f"{text}, {lack}", met=False)
        return Outcome(self.name, self.text, measured, text, met=met)

    def _find_lack(self, tables: Tables) -> str:
        """Say that a percentile is of too few values to meet what is asked; empty where it is not.

        A ratio is small where its divisor is large.
        """
        is_at_least = self.operator.startswith(">")
        for quantity, is_low in ((self.quantity, is_at_least), (self.divisor, not is_at_least)):
            if quantity is None:
                continue
            needed = count_needed(quantity.statistic, is_low=is_low)
            count = quantity.count_values(tables) if needed > 1 else None
            if count is not None and count < needed:
                values = "1 value" if count == 1 else f"{count:.0f} values"
                return f"of {values}: too few to judge {quantity.statistic}, which needs {needed}"
        return ""

    def _explain_missing(self, tables: Tables, *, is_open_loop: bool) -> str:
        """Say why the round trips of a real program were not measured; empty of all else."""
        for quantity in filter(None, (self.quantity, self.divisor)):
            is_trip = quantity.metric == ROUND_TRIPS or quantity.table == _SCORES
            if is_trip and not quantity.read(tables):
                for flow in list_real(tables, quantity.members):
                    return explain_round_trips(flow, tables, is_open_loop=is_open_loop)
        return ""


def count_needed(statistic: str | None, *, is_low: bool) -> int:
    """Give from how many values on a percentile is more than their largest, or than their smallest.

    Parameters
    ----------
    statistic
        Such as ``p95``, ``p999`` or ``mean``; of what is no percentile one value is enough.
    is_low
        Whether it is to stay above a bound, so that their smallest is what few values have.

    Examples
    --------
    >>> [count_needed(name, is_low=False) for name in ("p50", "p95", "p99", "p999", "p5", "max")]
    [1, 19, 99, 999, 1, 1]
    >>> count_needed("p5", is_low=True)
    19
    """
    digits = re.fullmatch(r"p(\d+)", statistic or "")
    if digits is None:
        return 1
    # p999 is of 1000.
    whole = int(10 ** max(len(digits[1]), 2))
    part = whole - int(digits[1]) if is_low else int(digits[1])
    return max(-(-part // (whole - part)), 1)


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
    try:
        expression, operator, limit = split_expectation(text)
        left, slash, right = expression.partition("/")
        quantity = parse_quantity_name(left.strip(), vocabulary)
        divisor = parse_quantity_name(right.strip(), vocabulary) if slash else None
        if divisor and divisor.kind != quantity.kind:
            raise InputError(
                f'"{expression}": expected two quantities of one kind, found a {quantity.kind}'
                f" and a {divisor.kind}"
            )
        bound = parse_quantity(limit, "ratio" if divisor else quantity.kind).value
        if not divisor:
            check_bound(quantity, operator, bound, limit)
    except ValueError as error:
        raise InputError(f"expect.{name}: {error}") from error
    return Expectation(name, text, quantity, operator, bound, divisor)


def split_expectation(text: str, example: str = "call.mos.p5 >= 4.0") -> tuple[str, str, str]:
    """Give the quantity, the operator and the bound of an expectation, as they are written.

    Raises
    ------
    InputError
        When the text is no expectation; the example is shown.

    Examples
    --------
    >>> split_expectation("call.mos.p5 >= 4.0")
    ('call.mos.p5', '>=', '4.0')
    """
    parts = [part.strip() for part in _OPERATOR.split(text)]
    if len(parts) != 3 or parts[1] in ("==", "!=", "=") or not all(parts):
        raise InputError(
            f'expected QUANTITY, one of >= > <= <, and a bound, such as "{example}", found "{text}"'
        )
    return parts[0], parts[1], parts[2]


def check_bound(quantity: Quantity, operator: str, bound: float, text: str) -> None:
    """Refuse a share in whole numbers meant as percent, and a bound that all or no values meet."""
    if quantity.kind == "ratio" and bound >= 1 and not text.endswith("%"):
        raise InputError(
            f'expected a share below 1 or one with %, such as "{text} %", found "{text}"'
        )
    low, high = quantity.limits
    if quantity.metric == "utilisation" and operator == "<=" and bound == high:
        return  # every correct run meets it; it is useful as a check of headend
    is_at_least = operator.startswith(">")
    if bound < low or (bound == low and operator in ("<", ">=")):
        met_by = "every" if is_at_least else "no"
    elif bound > high or (bound == high and operator in (">", "<=")):
        met_by = "no" if is_at_least else "every"
    else:
        return
    least = format_quantity(low, quantity.kind)
    span = (
        f"{least} or more"
        if math.isinf(high)
        else f"from {least} to {format_quantity(high, quantity.kind)}"
    )
    name = f"a {quantity.statistic}" if quantity.statistic == "count" else quantity.metric
    raise InputError(f'{met_by} value meets "{operator} {text}": {name} is {span}')


def parse_quantity_name(text: str, vocabulary: Vocabulary) -> Quantity:
    """Understand what to measure, such as ``call.mos.p5`` or ``cable.up.delay.p99``."""
    subject, rest = _split_subject(text, vocabulary)
    if subject is None:
        raise _refuse_subject(text.partition(".")[0], vocabulary)
    direction = None
    members = tuple(vocabulary.members.get(subject, (subject,)))
    if subject in vocabulary.queues:
        table, metrics = "queues", QUEUE_METRICS
    elif subject in vocabulary.flows:
        if rest and rest[0] in ("up", "down"):
            direction, rest = rest[0], rest[1:]
        table = "flows"
        metrics = FLOW_METRICS | _list_measures(vocabulary.flows[subject], direction)
    elif subject == "run":
        table, metrics = "summary", RUN_METRICS
    else:
        table, metrics = "channels", CHANNEL_METRICS
        members = (subject.removesuffix(".channel"),)
    metric = rest[0] if rest else ""
    if metric not in metrics:
        raise _refuse_metric(
            text, subject, metric, metrics, has_channel=subject in vocabulary.channels
        )
    definition = metrics[metric]
    if metric in SCORE_METRICS:
        table = _SCORES
    elif table == "flows" and metric not in FLOW_METRICS:
        table = "measures"
        if metric not in list_measures():
            metric, direction = metric.removesuffix("_down"), "down"
    key = "queue" if table == "queues" else "flow"
    table = definition.table or table
    statistic = rest[1] if len(rest) > 1 else None
    _check_statistic(text, f"{subject}.{metric}", definition.statistics, rest[1:])
    is_count = statistic == "count"
    kind: Kind = "number" if is_count else definition.kind
    limits = ANY if is_count else definition.limits
    if definition.of_members and len(members) < 2:
        raise InputError(
            f'"{text}": {metric} is of the members of a flow with a count, and {subject} has no'
            " members"
        )
    return Quantity(text, table, subject, members, direction, metric, statistic, kind, limits, key)


def _refuse_subject(name: str, vocabulary: Vocabulary) -> InputError:
    """Give the error for a name that is no subject."""
    if name == "queue" and vocabulary.bottleneck:  # as --set and --vary have it
        return InputError(
            f'no flow or queue is called "queue"; the bottleneck is {vocabulary.bottleneck}'
        )
    return InputError(f'no flow or queue is called "{name}"{suggest(name, vocabulary.subjects)}')


def _refuse_metric(
    text: str, subject: str, metric: str, metrics: Collection[str], *, has_channel: bool
) -> InputError:
    """Give the error for a metric that a subject does not have; the metric may be missing."""
    from headend.scenario.lookup import suggest_name

    if not metric:
        return InputError(f'"{text}": expected a metric of {subject} ({", ".join(metrics)})')
    candidates = [*metrics, *(["channel"] if has_channel else [])]
    if "limit" not in metric:
        # With all that can limit a sender the list would be too long.
        candidates = [name for name in candidates if not name.endswith("_limited")]
    hint = suggest_name(metric, "measure", candidates)
    return InputError(f'"{text}": {subject} has no metric "{metric}"{hint}')


def _check_statistic(
    text: str, measured: str, statistics: Sequence[str], given: Sequence[str]
) -> None:
    """Refuse what follows a metric (``SUBJECT.METRIC``) where it is not one statistic of it."""
    metric = measured.rpartition(".")[2]
    if statistics and (not given or given[0] not in statistics):
        hint = f'found "{given[0]}"{suggest(given[0], statistics)}' if given and given[0] else ""
        raise InputError(
            f'"{text}": expected a statistic of {metric} ({", ".join(statistics)}),'
            f" {hint or f'such as {measured}.p50'}"
        )
    if surplus := given[1 if statistics else 0 :]:
        raise InputError(f'"{text}": {metric} has no statistic called "{".".join(surplus)}"')


def list_quantities(vocabulary: Vocabulary) -> list[str]:
    """List all that can be asked: of flows, of each direction, of queues, of channels, of the run.

    Members of groups are left out.

    Examples
    --------
    >>> names = list_quantities(Vocabulary({"call": "voice"}, ["cable.up"]))
    >>> {"call.mos.p5", "call.up.delay.p99", "cable.up.utilisation", "run.jain_index"} <= set(names)
    True
    """
    members = {name for names in vocabulary.members.values() for name in names}
    quantities: list[str] = []
    for flow, application in vocabulary.flows.items():
        if flow in members:
            continue
        is_group = len(vocabulary.members.get(flow, ())) > 1
        for direction in (None, "up", "down"):
            metrics = FLOW_METRICS | _list_measures(application, direction)
            applicable = {
                name: metric
                for name, metric in metrics.items()
                if not metric.of_members or is_group
            }
            quantities += _write_names(f"{flow}.{direction}" if direction else flow, applicable)
    for queue in vocabulary.queues:
        if queue not in members:
            quantities += _write_names(queue, QUEUE_METRICS)
    for channel in vocabulary.channels:
        quantities += _write_names(call_channel(channel), CHANNEL_METRICS)
    return [*quantities, *_write_names("run", RUN_METRICS)]


def _write_names(subject: str, metrics: Mapping[str, Metric]) -> list[str]:
    """Write the names of metrics of a subject, with each of their statistics."""
    return [
        ".".join(filter(None, (subject, name, statistic)))
        for name, metric in metrics.items()
        for statistic in metric.statistics or ("",)
    ]


def _list_measures(application: str, direction: str | None) -> dict[str, Metric]:
    """Give what an application measures in a direction; without one, all of it."""
    about = describe().applications.get(application)
    measures = list_measures()
    if about is None:
        # What another engine's application reports is not known: anything.
        reported = [
            (name, reported_direction) for name in measures for reported_direction in ("up", "down")
        ]
    else:
        reported = [
            (kind.name, reported_direction or "up") for kind, reported_direction in about.measures
        ]
    metrics = {}
    for name in dict.fromkeys(name for name, _ in reported):
        metric = measures[name]
        if metric.worse is None:
            if direction is None:
                metrics[name] = metric
            continue
        directions = {
            reported_direction
            for reported_name, reported_direction in reported
            if reported_name == name
        }
        if direction is None or direction in directions:
            metrics[name] = metric
        if direction is None and "down" in directions:
            metrics[name_measure(name, "down")] = metric
    return metrics | SCORE_METRICS if ROUND_TRIPS in metrics else metrics


def _split_subject(text: str, vocabulary: Vocabulary) -> tuple[str | None, list[str]]:
    """Find the longest known name that the text begins with; queue names hold dots themselves."""
    parts = text.split(".")
    subjects = set(vocabulary.subjects)
    for length in range(len(parts), 0, -1):
        subject = ".".join(parts[:length])
        if subject in subjects:
            return subject, parts[length:]
    return None, parts


def _finite(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None and not math.isnan(value)]
