"""Numbers with units: how headend reads them in expectations and prints them for people."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, SupportsIndex

from headend.text.wording import shorten

Kind = Literal["time", "rate", "size", "ratio", "number"]

#: Units by what they measure; the value is one unit in ns, bit/s, bytes or 1.
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

#: How kinds are called in error messages where that is not their own word.
NAMES: dict[Kind, str] = {"ratio": "share"}

#: The sign of a negative number in texts for people; JSON and CSV have the hyphen of computers.
MINUS = "−"

_QUANTITY = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*([^\d\s.]\S*)?")

_DIGITS = re.compile(r"[+-]?([0-9]+)")

#: Characters of a text that an error shows.
MOST_SHOWN = 60


@dataclass(frozen=True)
class Quantity:
    """A value in the base unit of its kind: ns, bit/s, bytes, or a plain number."""

    value: float
    kind: Kind


def parse_quantity(text: str, kind: Kind) -> Quantity:
    """Read ``"100 ms"``, ``"8 Mbit/s"``, ``"1 %"`` or ``"4.0"`` as a quantity of the given kind.

    A ValueError is raised when the text is no number, its unit measures something else, or it is
    too large.

    Examples
    --------
    >>> parse_quantity("100 ms", "time")
    Quantity(value=100000000.0, kind='time')
    >>> parse_quantity("1 %", "ratio")
    Quantity(value=0.01, kind='ratio')
    """
    match = _QUANTITY.fullmatch(text.strip())
    units = UNITS[kind]
    expected = f"expected a {NAMES.get(kind, kind)} such as {EXAMPLES[kind]}"
    found = f'found "{shorten(text, MOST_SHOWN)}"'
    if match is None or (match[2] or "") not in units:
        known = ", ".join(filter(None, units))
        raise ValueError(f"{expected}{f' ({known})' if known else ''}, {found}")
    value = float(match[1]) * units[match[2] or ""]
    if not math.isfinite(value):
        raise ValueError(f"{expected}, {found}, which is too large")
    return Quantity(value, kind)


def read_digits(text: str, most: int) -> int:
    """Read a whole number as a person writes it: the digits 0 to 9, and a sign before them perhaps.

    Python's own ``int`` also takes digits of other scripts, and ``1_000``. With more than ``most``
    digits a ValueError is raised; of more than 4300 Python makes no number.

    Examples
    --------
    >>> read_digits("12", 3), read_digits("-1", 3)
    (12, -1)
    >>> read_digits("1_000", 9)
    Traceback (most recent call last):
    ...
    ValueError: expected a whole number, found "1_000"
    >>> read_digits("1000", 3)
    Traceback (most recent call last):
    ...
    ValueError: expected a whole number of at most 3 digits, found more
    """
    match = _DIGITS.fullmatch(text.strip())
    if match is None:
        raise ValueError(f'expected a whole number, found "{shorten(text, MOST_SHOWN)}"')
    if len(match[1]) > most:
        raise ValueError(f"expected a whole number of at most {most} digits, found more")
    return int(match[0])


def read_integer(value: object) -> int | None:
    """Give a whole number, NumPy's too, as Python's own; None for all else, booleans too.

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


@dataclass(frozen=True)
class Unit:
    """A unit that numbers are written in, and what one of it is in the base unit of its kind."""

    name: str
    size: float


#: The unit of shares.
PER_CENT = Unit("%", 0.01)

#: The units that numbers are written in, the largest first.
STEPS: dict[Kind, tuple[Unit, ...]] = {
    "time": (Unit("s", 1e9), Unit("ms", 1e6), Unit("µs", 1e3), Unit("ns", 1)),
    "rate": (Unit("Gbit/s", 1e9), Unit("Mbit/s", 1e6), Unit("kbit/s", 1e3), Unit("bit/s", 1)),
    "size": (Unit("GiB", 2**30), Unit("MiB", 2**20), Unit("KiB", 2**10), Unit("B", 1)),
    "ratio": (PER_CENT,),
    "number": (Unit("", 1),),
}

#: The units of what is zero throughout.
_OF_NOTHING: dict[Kind, str] = {"time": "ms", "rate": "bit/s", "size": "B"}

#: The unit of a difference between shares: 3 % and 2 % are one percentage point apart.
POINTS = Unit("pp", 0.01)

#: A column leaves the unit of its largest value where its smallest would be below this in it, and
#: so begin with two zeros,
SMALLEST_WRITTEN = 0.1
#: and no value would then have more than four digits before the point.
LARGEST_WRITTEN = 10_000


def choose_unit(values: Iterable[float | None], kind: Kind) -> Unit:
    """Choose the one unit in which a column or row of values is best read.

    That is the unit in which the largest of them reads as 1 to 999. Where the smallest would be
    below 0.1 in it, it is the next smaller unit, unless a value would then reach 10,000: 63.5 ms
    and 1.05 s are written as 63.5 ms and 1,050 ms, and 80 µs and 251 ms as 0.08 ms and 251 ms.
    Values are in the base unit of their kind; what is missing, infinite or zero does not count.
    The unit of plain numbers has no name.

    Examples
    --------
    >>> choose_unit([80e3, 251e6], "time").name, choose_unit([63.5e6, 1.05e9], "time").name
    ('ms', 'ms')
    >>> choose_unit([138e3, 9.31e6], "rate").name, choose_unit([0.01], "ratio").name
    ('Mbit/s', '%')
    """
    steps = STEPS[kind]
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    if not sizes:
        wanted = _OF_NOTHING.get(kind, steps[0].name)
        return next(unit for unit in steps if unit.name == wanted)
    largest, smallest = max(sizes), min(sizes)
    # 999.96 of a unit would be written as 1000: the next larger one reads better.
    fitting = [unit for unit in steps if largest >= unit.size * 0.9995] or [steps[-1]]
    unit, *smaller = fitting
    if smaller and smallest < SMALLEST_WRITTEN * unit.size:
        return smaller[0] if largest < LARGEST_WRITTEN * smaller[0].size else unit
    return unit


def format_quantity(value: float | None, kind: Kind, unit: Unit | None = None) -> str:
    """Write a value for people, with its unit and three significant digits.

    The value is in the base unit of its kind; None and NaN are written as a dash. By default it is
    written in the unit that suits it.

    Examples
    --------
    >>> format_quantity(1_234_000_000, "time"), format_quantity(0.0123, "ratio")
    ('1.23 s', '1.23 %')
    >>> format_quantity(9_876_000, "rate"), format_quantity(65536, "size")
    ('9.88 Mbit/s', '64 KiB')
    >>> format_quantity(float("nan"), "number"), format_quantity(-12345, "number")
    ('–', '−12,345')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    unit = unit or choose_unit([value], kind)
    return f"{format_number(value, unit)} {unit.name}".rstrip()


def format_number(value: float | None, unit: Unit, decimals: int | None = None) -> str:
    """Write a value in a unit for people, without the unit: for a column that names it.

    The value is in the base unit of its kind; None and NaN are written as a dash. Decimals are
    written with zeros; a negative number of them rounds to tens, hundreds and so on. By default
    there are as many as three significant digits have, at most six, without zeros at the end.

    Examples
    --------
    >>> ms = Unit("ms", 1e6)
    >>> format_number(9_860_000, ms), format_number(2.5e9, ms), format_number(-9.3e6, ms, 2)
    ('9.86', '2,500', '−9.30')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    number = value / unit.size
    if decimals is not None:
        text = f"{round(number, decimals):,.{max(decimals, 0)}f}"
    elif number == 0:
        text = "0"
    else:
        text = f"{number:,.{min(max(0, 2 - find_place(number)), 6)}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    return mark_minus(text)


def format_change(share: float) -> str:
    """Write by which share something changed, with its sign: of a rate, not of a share.

    Examples
    --------
    >>> format_change(-0.0213), format_change(0.5), format_change(0.0)
    ('−2.13 %', '+50 %', '0 %')
    """
    return f"{'+' if share > 0 else ''}{format_quantity(share, 'ratio')}"


def find_place(number: float) -> int:
    """Give the power of ten of the first digit of a number other than zero.

    Examples
    --------
    >>> find_place(250), find_place(-0.02)
    (2, -2)
    """
    return int(f"{number:e}".partition("e")[2])


def mark_minus(text: str) -> str:
    """Write the sign of a number as people do: a minus sign, and none before zero.

    Examples
    --------
    >>> mark_minus("-1.1"), mark_minus("-0.00")
    ('−1.1', '0.00')
    """
    if not text.startswith("-"):
        return text
    return text.replace("-", MINUS if text.strip("-0.,") else "", 1)


def name_column(name: str, unit: Unit) -> str:
    """Name a column or row with the unit that all its numbers are in.

    Examples
    --------
    >>> name_column("delay p50", Unit("ms", 1e6)), name_column("MOS p5", Unit("", 1))
    ('delay p50 (ms)', 'MOS p5')
    """
    return f"{name} ({unit.name})" if unit.name else name


def shorten_value(text: str) -> str:
    """Write a TOML value as a label: without the braces and quotes around it.

    Examples
    --------
    >>> shorten_value('{buffer_control = {target = "32 KiB"}}')
    'buffer_control target 32 KiB'
    >>> shorten_value('{custom = "my_law.py:MyLaw", target = "15 ms"}')
    'my_law.py:MyLaw, target 15 ms'
    """
    words = re.sub(r"\s+", " ", re.sub(r"[{}\"'=]", " ", text)).strip().replace(" ,", ",")
    # The code's name says whose it is.
    return re.sub(r"^custom (code )?", "", words)
