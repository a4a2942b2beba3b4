"""A criterion: a number of a run, the bound that it is held against, and whose bound that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from headend.text.quantity import Kind, format_quantity

#: What was measured of a run, by name, in base units. What was not measured is not there.
Values = Mapping[str, float]

#: Reads a number of a run; None where it was not measured.
Read = Callable[[Values], float | None]


class BoundSource(StrEnum):
    """Who says what the bound is."""

    RFC = "the RFC's"
    #: The RFC names the number to compare with, and headend how far it may be off.
    MARGIN = "the RFC's comparison, our margin"
    OURS = "ours"


@dataclass(frozen=True)
class Bound:
    """What a number is held against: a value, or a multiple of the baseline's number.

    Parameters
    ----------
    source
        Who says so.
    value
        In the base unit; with a factor, what the bound is at least, where it is an upper one.
    factor
        Of the number that the baseline has under the same conditions and with the same seed; None
        where the bound is the value alone.
    section
        Where the RFC has what it is compared with, if that is another section than the
        criterion's.
    """

    source: BoundSource
    value: float = 0.0
    factor: float | None = None
    section: str = ""

    def find(self, baseline: float | None, *, at_most: bool) -> float | None:
        """Give the bound in the base unit; None where it needs a baseline that was not measured.

        Examples
        --------
        >>> Bound(BoundSource.OURS, 0.01, 2.0).find(0.002, at_most=True)
        0.01
        >>> Bound(BoundSource.OURS, factor=0.9).find(10.0, at_most=False)
        9.0
        """
        if self.factor is None:
            return self.value
        if baseline is None:
            return None
        limit = self.factor * baseline
        return max(limit, self.value) if at_most else limit


@dataclass(frozen=True)
class Criterion:
    """What must hold of a case.

    Parameters
    ----------
    id
        A short name that stays, within its case.
    statement
        What must hold, in a clause.
    what
        What the number is.
    kind
        What it measures.
    read
        Reads the number of a run.
    at_most
        Whether the bound is an upper one.
    bound
        What it is held against.
    section
        Where the RFC has it; by default that of the case.
    needs
        A value that a run must have more than nothing of, such as marks; empty for none.
    absent
        Why there may be no number, in a sentence.
    """

    id: str
    statement: str
    what: str
    kind: Kind
    read: Read
    at_most: bool
    bound: Bound
    section: str = ""
    needs: str = ""
    absent: str = "It was not measured."

    def applies(self, values: Values) -> bool:
        """Say whether a run is judged by it."""
        return not self.needs or values.get(self.needs, 0.0) > 0

    def write_bound(self, baseline: str) -> str:
        """Write the bound, where ``baseline`` is whose number it may be a multiple of."""
        sign = "≤" if self.at_most else "≥"
        bound = self.bound
        if bound.factor is None:
            return f"{sign} {format_quantity(bound.value, self.kind)}"
        share = "" if bound.factor == 1 else f"{format_quantity(bound.factor, 'ratio')} of "
        least = f", or {format_quantity(bound.value, self.kind)}" if bound.value else ""
        return f"{sign} {share}{baseline}'s{least}"


def take(name: str) -> Read:
    """Read one value.

    Examples
    --------
    >>> take("delay")({"delay": 5.0}), take("delay")({})
    (5.0, None)
    """
    return lambda values: values.get(name)


def divide(above: str, *below: str) -> Read:
    """Read one value over the sum of others; None where one is missing or that sum is nothing.

    Examples
    --------
    >>> divide("lost", "sent")({"lost": 1.0, "sent": 50.0})
    0.02
    """

    def read(values: Values) -> float | None:
        if above not in values or any(name not in values for name in below):
            return None
        total = sum(values[name] for name in below)
        return values[above] / total if total else None

    return read


def min_max_ratio(first: str, second: str) -> Read:
    """Read the smaller of two values over the larger: 1 where they are equal, 0 where one is 0.

    None where one is missing, or both are 0.

    Examples
    --------
    >>> min_max_ratio("a", "b")({"a": 2.0, "b": 8.0}), min_max_ratio("a", "b")({"a": 1.0, "b": 0.0})
    (0.25, 0.0)
    """

    def read(values: Values) -> float | None:
        if first not in values or second not in values:
            return None
        low, high = sorted((values[first], values[second]))
        return low / high if high > 0 else None

    return read
