"""What the engine says of its queues, applications, their measures, and reasons for discards."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar

from headend.text.quantity import Kind

Direction = Literal["up", "down"]


@dataclass(frozen=True)
class Chart:
    """How the samples of a measure are drawn over time.

    Parameters
    ----------
    name
        Of the figure.
    title
        Of the figure.
    axis
        What the vertical axis shows, with its unit.
    factor
        From the measure's unit to that of the axis.
    explanation
        What to look at, and what good looks like.
    is_points
        Whether samples are points; otherwise a line joins them.
    is_after_queues
        Whether the figure stands behind those of queues and rates.
    place
        Among the figures of measures; the smallest is first.
    """

    name: str
    title: str
    axis: str
    factor: float
    explanation: str
    is_points: bool
    is_after_queues: bool
    place: int


@dataclass(frozen=True)
class Measure:
    """A kind of measure.

    Parameters
    ----------
    name
        Its name in tables, where ``_down`` follows it for what is measured downstream.
    what
        What it is, in a sentence; nothing where that of another measure explains it.
    unit
        Its unit in tables.
    quantity
        What it is a quantity of.
    scale
        What plain numbers of it are called.
    has_directions
        Whether it is measured in each direction.
    higher_is_better
        Whether more is better.
    range
        The least and the largest value, where they are not those of every such quantity.
    is_periodic
        Whether it has one value for each scoring period.
    is_beside_delay
        Whether the delay and the loss of a flow that reports it still say something of it.
    felt
        How a person is affected: ``at_once`` (as by a call), ``as_waiting`` (as by a page), or
        ``later``.
    place
        Of its figures in comparisons; the smallest is first.
    compared_by
        The figures by which runs are compared: a title and a statistic each.
    chart
        How its samples are drawn, if they are.
    figure
        The figure that shows what a person felt, if one does.
    demand
        What people demand of it: a statistic, and the worst grade that they are content with.
    """

    name: str
    what: str
    unit: str
    quantity: Kind
    scale: str
    has_directions: bool
    higher_is_better: bool
    range: tuple[float, float] | None
    is_periodic: bool
    is_beside_delay: bool
    felt: str
    place: int
    compared_by: tuple[tuple[str, str], ...]
    chart: Chart | None
    figure: str | None
    demand: tuple[str, str] | None

    @property
    def names(self) -> tuple[str, ...]:
        """The names that tables have for it: two, if it is measured in each direction."""
        if not self.has_directions:
            return (self.name,)
        return (name_measure(self.name, "up"), name_measure(self.name, "down"))


@dataclass(frozen=True)
class Application:
    """What an application is, whatever its parameters.

    Parameters
    ----------
    direction
        The direction in which it sends where a scenario gives none: ``up``, ``down`` or ``both``.
    properties
        What sets it apart: ``adaptive``, ``bulk``, ``distant``, ``game``, ``greedy``, ``probe``,
        ``transfer``. The engine's ``Property`` says what each means.
    measures
        What it can report, the most telling first: a kind, and the direction where it has one.
    """

    name: str
    direction: str
    properties: frozenset[str]
    measures: tuple[tuple[Measure, Direction | None], ...]

    @property
    def measure_names(self) -> tuple[str, ...]:
        """What it can report, as tables call it."""
        return tuple(name_measure(kind.name, way or "up") for kind, way in self.measures)

    @property
    def is_scored(self) -> bool:
        """Whether it has a score for each scoring period, and none before the first is over."""
        return any(kind.is_periodic for kind, _ in self.measures)


@dataclass(frozen=True)
class Queue:
    """What a queue discipline is, whatever its parameters.

    Parameters
    ----------
    governor
        What keeps its delay short: ``law``, ``chosen_law`` (a law that is chosen for the queues in
        it), ``bound`` (there is no law, only so much room) or ``nothing``.
    bound
        What that room is called.
    law_key
        The key that chooses the law, where it is one.
    lets_pass
        Which packets pass others that wait, as the end of a sentence that begins with its name.
        None where packets leave in the order in which they came.
    """

    name: str
    governor: str
    bound: str | None
    law_key: str | None
    lets_pass: str | None


@dataclass(frozen=True)
class Reason:
    """Why packets are discarded.

    Parameters
    ----------
    by
        Who does it: ``room``, ``share`` or ``law`` of a queue; ``thinning``, ``path`` or ``bar``.
        The engine's ``DroppedBy`` says what each means.
    label
        For the legend of a figure.
    what
        As a clause.
    look
        Where a queue loses many for it: what that means, or what to look at.
    look_of_tcp
        The same where they are TCP's, which slows down for it; empty where it does not.
    barred
        Why a flow's packets do not arrive, where no queue lost them; else empty.
    """

    name: str
    by: str
    label: str
    what: str
    look: str
    look_of_tcp: str
    barred: str

    @property
    def column(self) -> str:
        """The column that counts them in tables."""
        return f"discarded_{self.name}"


@dataclass(frozen=True)
class Description:
    """All that the engine says, by name."""

    queues: Mapping[str, Queue]
    applications: Mapping[str, Application]
    measures: Mapping[str, Measure]
    reasons: Mapping[str, Reason]


@functools.cache
def describe() -> Description:
    """Read what the engine says, once."""
    from headend import _engine

    content = json.loads(_engine.describe())
    measures = {item["name"]: _read_measure(item) for item in content["measures"]}
    applications = [
        Application(
            item["name"],
            item["direction"],
            frozenset(item["properties"]),
            tuple((measures[name], way) for name, way in item["measures"]),
        )
        for item in content["applications"]
    ]
    queues = [_read(Queue, item) for item in content["queues"]]
    return Description(
        {queue.name: queue for queue in queues},
        {application.name: application for application in applications},
        measures,
        {item["name"]: _read(Reason, item) for item in content["discards"]},
    )


#: The application whose packets are those of real programs.
REAL = "real"


def find_application(name: str) -> Application:
    """Give an application by its name.

    Results of another engine may name one that this engine does not know: it reports nothing.
    """
    return describe().applications.get(name) or Application(name, "both", frozenset(), ())


def find_queue(name: str) -> Queue:
    """Give a queue discipline by its name.

    Results of another engine may name one that this engine does not know: it is taken for a law.
    """
    return describe().queues.get(name) or Queue(name, "law", None, None, None)


def list_applications(trait: str) -> list[str]:
    """List the applications with a property, such as ``game``."""
    return [app.name for app in describe().applications.values() if trait in app.properties]


def list_discards(*by: str) -> list[str]:
    """List the columns that count discards, in the order of figures: all, or those by some only.

    Examples
    --------
    >>> list_discards("room", "share")
    ['discarded_overlimit', 'discarded_flow_limit']
    """
    reasons = describe().reasons.values()
    return [reason.column for reason in reasons if not by or reason.by in by]


def name_measure(metric: str, direction: str) -> str:
    """Give the name that tables have for what is measured in one direction.

    Examples
    --------
    >>> name_measure("mos", "up"), name_measure("mos", "down")
    ('mos', 'mos_down')
    """
    return metric if direction == "up" else f"{metric}_down"


def _read_measure(item: Mapping[str, Any]) -> Measure:
    return _read(
        Measure,
        {
            **item,
            "range": item["range"] and tuple(item["range"]),
            "compared_by": tuple(map(tuple, item["compared_by"])),
            "demand": item["demand"] and tuple(item["demand"]),
            "chart": item["chart"] and _read(Chart, item["chart"]),
        },
    )


_Read = TypeVar("_Read", Chart, Measure, Queue, Reason)


def _read(kind: type[_Read], item: Mapping[str, Any]) -> _Read:
    """Read what this package knows of; an engine that says more is newer."""
    return kind(**{field.name: item[field.name] for field in fields(kind)})
