"""What is drawn of the cases: a number over a condition, and goodput over delay."""

from __future__ import annotations

from dataclasses import dataclass

from headend.evaluation.criterion import Read
from headend.text.quantity import Kind


@dataclass(frozen=True)
class Curve:
    """A number of a case over its variants: a panel for each bottleneck, a line for each name.

    Parameters
    ----------
    name
        Of the figure.
    title
        Of the figure.
    text
        What is drawn, and what good looks like.
    case
        The id of the case whose runs are drawn.
    read
        Reads the number of a run.
    kind
        What it measures.
    what
        The title of the vertical axis, without the unit.
    along
        The title of the horizontal axis.
    is_numeric
        Whether the variants begin with numbers, which stand along an axis and are joined by lines.
    bound
        A value to draw across; None for none.
    """

    name: str
    title: str
    text: str
    case: str
    read: Read
    kind: Kind
    what: str
    along: str
    is_numeric: bool = True
    bound: float | None = None


@dataclass(frozen=True)
class Trade:
    """Goodput over queueing delay of a case: a point for each name and condition.

    Parameters
    ----------
    name, title
        Of the figure.
    case
        The id of the case whose runs are drawn.
    delay, goodput
        The names of the values, in ns and bit/s; the goodput is drawn as a share of the rate.
    """

    name: str
    title: str
    case: str
    delay: str = "delay"
    goodput: str = "goodput"
