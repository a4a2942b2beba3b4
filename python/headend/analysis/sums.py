"""Sums of quantities, as measures and criteria name them: ``a.goodput + b.goodput``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import fmean

from headend.analysis.expect import Quantity, parse_quantity_name
from headend.engine.columns import Tables
from headend.engine.metrics import find_metric
from headend.errors import InputError
from headend.scenario.subjects import Vocabulary
from headend.text.quantity import Kind

#: In what values are given.
BASE_UNITS: dict[Kind, str] = {
    "time": "ns",
    "rate": "bit/s",
    "size": "B",
    "ratio": "1",
    "number": "1",
}


def parse_sum(text: str, vocabulary: Vocabulary) -> list[Quantity]:
    """Understand quantities joined by ``+``, such as ``call.up.loss`` or ``a.goodput + b.goodput``.

    Raises
    ------
    InputError
        For what a scenario has not got, for a sum of different kinds, and for more of an
        expectation than its quantity.
    """
    # A star between dots is every member of a group: cable.home.*.up.requests_contention.
    if surplus := re.search(r"[/<>=]|(?<!\.)\*|\*(?!\.)", text):
        raise InputError(
            f'"{text}": expected a quantity, or several of one kind joined by +, found'
            f' "{surplus[0]}";'
            " for a ratio, keep both measures and divide them in the results"
        )
    first, *others = [parse_quantity_name(part.strip(), vocabulary) for part in text.split("+")]
    for quantity in others:
        if quantity.kind != first.kind:
            raise InputError(
                f'"{text}": {first.text} is a {first.kind} and {quantity.text} a {quantity.kind};'
                " expected quantities of one kind"
            )
    return [first, *others]


def check_measures(measures: Mapping[str, str], vocabulary: Vocabulary) -> None:
    """Refuse named quantities that a scenario lacks; errors begin with ``measures.NAME``."""
    for name, text in measures.items():
        try:
            parse_sum(text, vocabulary)
        except InputError as error:
            raise InputError(f"measures.{name}: {error}") from error


def add_up(parts: Sequence[Quantity], tables: Tables) -> float | None:
    """Add several quantities; of directions take the mean. None if one was not measured."""
    values = [quantity.read(tables) for quantity in parts]
    if not all(values):
        return None
    return sum(sum(value) / len(value) for value in values)


def add_worst(parts: Sequence[Quantity], tables: Tables) -> float | None:
    """Add several quantities, each of its worst direction and member; None if one is missing."""
    values = [take_worst(quantity, tables) for quantity in parts]
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def take_worst(quantity: Quantity, tables: Tables) -> float | None:
    """Read a quantity as ``[expect]`` does: the worst of directions and members.

    It is their mean where neither more nor less is better. None where it was not measured.
    """
    values = quantity.read(tables)
    if not values:
        return None
    metric = find_metric(quantity.metric)
    rising = metric.higher_is_better if metric else None
    return fmean(values) if rising is None else min(values) if rising else max(values)
