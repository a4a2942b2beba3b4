"""A case: one test of an RFC as a small scenario, where it is run, and what must hold of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from headend.evaluation.criterion import Criterion
from headend.text.quantity import format_quantity

Scenario = dict[str, Any]


@dataclass(frozen=True)
class Bottleneck:
    """A bottleneck: its rate in bit/s, the path's round trip in ns, and its buffer in BDP."""

    rate: float
    rtt: float
    buffer: float

    @property
    def labels(self) -> tuple[str, str, str]:
        """The three as text."""
        return (
            format_quantity(self.rate, "rate"),
            format_quantity(self.rtt, "time"),
            f"{self.buffer:g} BDP",
        )

    @property
    def bdp(self) -> float:
        """The bandwidth-delay product in bytes."""
        return self.rate / 8 * self.rtt / 1e9

    def __str__(self) -> str:
        """Name it."""
        return ", ".join(self.labels)


class Extent(StrEnum):
    """Where a case is run."""

    #: With each rate, round trip and buffer.
    GRID = "grid"
    #: With each rate and round trip, and a buffer of one bandwidth-delay product.
    PATHS = "paths"
    #: With each rate, the longest round trip and that buffer.
    RATES = "rates"
    #: With the first rate, the longest round trip and that buffer.
    ONE = "one"


@dataclass(frozen=True)
class Span:
    """A mean of a value over time, from one time to another.

    Parameters
    ----------
    table
        ``flow_series`` or ``queue_series``.
    subject
        The queue, or the flow; of a flow with a ``count``, the sum over its members.
    column
        What is averaged; intervals in which it was not measured do not count.
    start, end
        In seconds.
    direction
        Of a flow that sends data both ways; by default the sum of both.
    """

    table: Literal["flow_series", "queue_series"]
    subject: str
    column: str
    start: float
    end: float
    direction: str = ""


@dataclass(frozen=True)
class Case:
    """A test.

    Parameters
    ----------
    id
        A short name that stays.
    section
        Of the RFC.
    title
        What is tested.
    about
        What is run, in a sentence or two.
    build
        Gives the scenario of a bottleneck and a variant.
    measures
        What is kept of each run: quantities as expectations name them, by name.
    spans
        Means over a part of the time, by name.
    criteria
        What must hold.
    variants
        What is run besides at each bottleneck.
    extent
        At which bottlenecks.
    paths
        The keys that get the name that is evaluated.
    more
        What is kept besides of some variants, which have flows of their own.
    further
        The keys that get the name besides in some variants.
    """

    id: str
    section: str
    title: str
    about: str
    build: Callable[[Bottleneck, str], Scenario]
    measures: Mapping[str, str]
    criteria: tuple[Criterion, ...]
    spans: Mapping[str, Span] = field(default_factory=dict)
    variants: tuple[str, ...] = ("",)
    extent: Extent = Extent.GRID
    paths: tuple[str, ...] = ("link.line.point_to_point.down.queue",)
    more: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    further: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def list_measures(self, variant: str) -> dict[str, str]:
        """List what is kept of a run of a variant."""
        return {**self.measures, **self.more.get(variant, {})}

    def list_paths(self, variant: str) -> tuple[str, ...]:
        """List the keys that get the name in a variant."""
        return (*self.paths, *self.further.get(variant, ()))


@dataclass(frozen=True)
class Untested:
    """A section of an RFC that is not run, and why."""

    section: str
    title: str
    why: str
