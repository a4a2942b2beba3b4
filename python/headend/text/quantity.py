"""Numbers with units: how headend reads them in expectations and prints them for people."""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass
from typing import Literal, SupportsIndex

Kind = Literal["time", "rate", "size", "ratio", "number"]

#: Units by what they measure; the value is what one unit is in ns, bit/s, bytes or as a plain number.
UNITS: dict[Kind, dict[str, float]] = {
    "time": {"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9},
    "rate": {"bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9},
    "size": {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30},
    "ratio": {"%": 0.01, "": 1},
    "number": {"": 1},
}

#: An example of each kind, for error messages.
EXAMPLES: dict[Kind, str] = {
    "time": '"100 ms"',
    "rate": '"8 Mbit/s"',
    "size": '"64 KiB"',
    "ratio": '"1 %"',
    "number": '"4.0"',
}

_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([^\d\s.]\S*)?")


@dataclass(frozen=True)
class Quantity:
    """A value in the base unit of its kind: ns, bit/s, bytes, or a plain number."""

    value: float
    kind: Kind


def parse_quantity(text: str, kind: Kind) -> Quantity:
    """Read ``"100 ms"``, ``"8 Mbit/s"``, ``"1 %"`` or ``"4.0"`` as a quantity of the given kind.

    Parameters
    ----------
    text
        Number and unit.
    kind
        What it should measure.

    Returns
    -------
    Quantity
        In ns, bit/s, bytes, or plain.

    Raises
    ------
    ValueError
        When the text is no number, or its unit measures something else.

    Examples
    --------
    >>> parse_quantity("100 ms", "time")
    Quantity(value=100000000.0, kind='time')
    >>> parse_quantity("1 %", "ratio")
    Quantity(value=0.01, kind='ratio')
    """
    match = _QUANTITY.fullmatch(text.strip())
    units = UNITS[kind]
    if match is None or (match[2] or "") not in units:
        known = ", ".join(unit for unit in units if unit)
        units_text = f" ({known})" if known else ""
        raise ValueError(f'expected a {kind} such as {EXAMPLES[kind]}{units_text}, found "{text}"')
    return Quantity(float(match[1]) * units[match[2] or ""], kind)


def read_integer(value: object) -> int | None:
    """Give a whole number, NumPy's too, as Python's own; None for anything else, a truth value included.

    Examples
    --------
    >>> read_integer(3), read_integer(3.0), read_integer(True)
    (3, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        return None
    try:
        return operator.index(value)
    except TypeError:  # an array has the method, and is a number only if it holds one
        return None


def format_quantity(value: float | None, kind: Kind) -> str:
    """Print a value of the given kind, in base units, with three significant digits.

    Examples
    --------
    >>> format_quantity(1_234_000_000, "time"), format_quantity(0.0123, "ratio")
    ('1.23 s', '1.23 %')
    >>> format_quantity(9_876_000, "rate"), format_quantity(65536, "size")
    ('9.88 Mbit/s', '64 KiB')
    >>> format_quantity(float("nan"), "number")
    '–'
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if kind == "ratio":
        return f"{_digits(value * 100)} %"
    if kind == "number":
        return _digits(value)
    steps: dict[Kind, tuple[tuple[float, str], ...]] = {
        "time": ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns")),
        "rate": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1, "bit/s")),
        "size": ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B")),
    }
    if value == 0:
        return {"time": "0 ms", "rate": "0 bit/s", "size": "0 B"}[kind]
    for unit, name in steps[kind]:
        # 999.96 of a unit would print as 1000: the next larger one reads better.
        if abs(value) >= unit * 0.9995:
            return f"{_digits(value / unit)} {name}"
    unit, name = steps[kind][-1]
    return f"{_digits(value / unit)} {name}"


def shorten_value(text: str) -> str:
    """Write a TOML value as a label: without the braces and quotes around it.

    Examples
    --------
    >>> shorten_value('{buffer_control = {target = "32 KiB"}}')
    'buffer_control target 32 KiB'
    """
    return re.sub(r"\s+", " ", re.sub(r"[{}\"'=]", " ", text)).strip()


def _digits(value: float) -> str:
    if value == 0:
        return "0"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{min(decimals, 6)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
