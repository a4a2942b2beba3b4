"""The numbers by which a flow can be graded, each with what it is and how it is written."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headend.text.quantity import Kind, format_quantity

#: Numbers below this are scores such as a MOS: one decimal is enough for them.
FEW_DECIMALS = 10


@dataclass(frozen=True)
class KeyFigure:
    """One number by which a flow can be graded.

    Parameters
    ----------
    about
        The number's meaning, such as ``median page load time``.
    value
        The value in the base unit of its kind; None where it was not measured.
    kind
        What it measures.
    before, after
        Words around the number, such as ``MOS`` before it or ``late`` after it.
    higher_is_better
        Whether a larger value is better.
    told
        The text in place of a missing number, such as ``no answer``.
    parts
        The text in place of a value that is the sum of two that differ.
    is_bad
        Whether the flow is bad by this number alone.
    is_score
        Whether it is a score, of which a half or a double means nothing.
    """

    about: str
    value: float | None = None
    kind: Kind = "time"
    before: str = ""
    after: str = ""
    higher_is_better: bool = False
    told: str = ""
    parts: str = ""
    is_bad: bool = False
    is_score: bool = False

    def surround(self, text: str) -> str:
        """Put the words before and after the number around another text."""
        return " ".join(filter(None, [self.before, text, self.after]))

    def write(self) -> str:
        """Write it with its unit, or say why there is none.

        Examples
        --------
        >>> KeyFigure("frames late", 0.05, "ratio", after="late").write()
        '5 % late'
        """
        if self.value is None or math.isnan(self.value):
            return self.told
        if self.parts:
            return self.parts
        return self.surround(write_value(self.value, self.kind))


def write_value(value: float, kind: Kind) -> str:
    """Write the value of a key figure: a score with one decimal, all else with three digits.

    Examples
    --------
    >>> write_value(4.36, "number"), write_value(0.05, "ratio")
    ('4.4', '5 %')
    """
    if kind == "number" and abs(value) < FEW_DECIMALS:
        return f"{value:.1f}"
    return format_quantity(value, kind)


def read_number(value: Any) -> float | None:
    """Give a number, or None for what does not exist."""
    return None if value is None or math.isnan(value) else float(value)


def read_column(row: Mapping[str, Any], column: str) -> float:
    """Give a number of a table's row, or 0 for what does not exist."""
    return read_number(row.get(column)) or 0.0
