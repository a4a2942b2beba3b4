"""Reading one factor of a file: a list of values, a range, or a table of values with labels."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from typing import Any

from headend.design.design import MOST_POINTS
from headend.design.factor import NUMBER, Factor, Value
from headend.errors import InputError, suggest
from headend.scenario.source import write_value
from headend.text.quantity import shorten_value

FACTOR_KEYS = {"name", "values", "labels", "from", "to", "step", "count", "scale"}


def refuse_unknown(content: Iterable[str], known: Collection[str], where: str = "") -> None:
    """Refuse a key that a table does not take."""
    for key in content:
        if key not in known:
            raise InputError(f'{where}unknown key "{key}"{suggest(key, known)}')


def read_factor(where: str, path: str, content: Any) -> Factor:
    """Read a list of values, a range, or a table of values with labels."""
    if path == "seed":
        raise InputError(
            f"{where}: a seed is not a setting; seeds = 4 or seeds = [1, 5] runs every point with"
            " each of these seeds"
        )
    settings = dict(content) if isinstance(content, Mapping) else {"values": content}
    refuse_unknown(settings, FACTOR_KEYS, f"{where}: ")
    if "values" in settings:
        values = settings["values"]
        if surplus := [key for key in ("from", "to", "step", "count", "scale") if key in settings]:
            raise InputError(f"{where}: values and {surplus[0]} exclude each other")
    else:
        values = _read_range(where, settings)
    if values == [] and isinstance(content, Mapping):
        raise InputError(f"{where}: values is empty")
    if not isinstance(values, list) or not values:
        raise InputError(
            f"{where}: expected a list of values, or a range, found {show_value(values)}"
        )
    labels = settings.get("labels") or [_label(where, value) for value in values]
    if not isinstance(labels, list) or len(labels) != len(values):
        raise InputError(f"{where}: {len(values)} values need as many labels")
    if twice := next((label for label, count in Counter(labels).items() if count > 1), None):
        raise InputError(f'{where}: two values would both be called "{twice}"')
    if len({isinstance(label, str) for label in labels}) > 1:
        labels = [str(label) for label in labels]
    name = str(settings.get("name", path))
    return Factor(path, name, tuple(values), tuple(labels), spaced="count" in settings)


def _read_range(where: str, settings: Mapping[str, Any]) -> list[Value]:
    """Give the values of ``{from, to, step}`` or ``{from, to, count, scale}``, with units."""
    for key in ("from", "to"):
        if key not in settings:
            raise InputError(f'{where}: a range needs "{key}"')
    (first, unit), (last, other) = (_split(where, settings[key]) for key in ("from", "to"))
    if unit != other:
        raise InputError(f'{where}: from is in "{unit}" and to in "{other}"; expected one unit')
    if ("step" in settings) == ("count" in settings):
        raise InputError(f"{where}: a range needs either step or count")
    if "step" in settings:
        if "scale" in settings:
            raise InputError(
                f"{where}: scale needs count: the steps of a range with step are equal"
            )
        step, of_step = _split(where, settings["step"])
        if of_step not in ("", unit):
            raise InputError(f'{where}: step is in "{of_step}" and from in "{unit}"')
        if step <= 0 or last < first:
            raise InputError(f"{where}: expected from ≤ to and a step above 0")
        steps = (last - first) / step
        if steps >= MOST_POINTS:
            # Of an absurd range not even the number is written out.
            found = f"{int(steps) + 1:,}" if steps < 10**18 else f"{steps:.3g}"
            raise InputError(f"{where}: {found} values; a sweep has at most {MOST_POINTS:,} points")
        many = int(steps) + 1
        numbers = [first + step * number for number in range(many)]
    else:
        numbers = _space(where, first, last, settings)
    return [_join(number, unit) for number in numbers]


def _space(where: str, first: Decimal, last: Decimal, settings: Mapping[str, Any]) -> list[Decimal]:
    """Give numbers at equal distances or, on a logarithmic scale, ratios, with four digits."""
    count, scale = settings["count"], settings.get("scale", "linear")
    if isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= MOST_POINTS:
        raise InputError(
            f"{where}: expected a count of 2 to {MOST_POINTS}, found {show_value(count)}"
        )
    if scale not in ("linear", "log"):
        raise InputError(f'{where}: scale is "linear" or "log", found {show_value(scale)}')
    shares = [Decimal(number) / (count - 1) for number in range(count)]
    if scale == "linear":
        return [first + (last - first) * share for share in shares]
    if first <= 0 or last <= 0:
        raise InputError(f"{where}: a logarithmic range needs ends above 0")
    inner = [
        Decimal(
            f"{math.exp(math.log(first) * float(1 - share) + math.log(last) * float(share)):.4g}"
        )
        for share in shares[1:-1]
    ]
    return [first, *inner, last]


def _split(where: str, value: Any) -> tuple[Decimal, str]:
    match = NUMBER.fullmatch(str(value).strip())
    if isinstance(value, bool) or match is None:
        raise InputError(
            f'{where}: expected a number, or a number with a unit such as "2 Mbit/s", found'
            f" {show_value(value)}"
        )
    number = Decimal(match[1])
    # What a computer's numbers cannot hold, no scenario takes.
    if not math.isfinite(float(number)) or (number and not float(number)):
        raise InputError(f"{where}: too large or too small a number: {show_value(value)}")
    return number, match[2] or ""


def _join(number: Decimal, unit: str) -> Value:
    if not unit:
        return int(number) if number == number.to_integral_value() else float(number)
    return f"{float(number):.10g} {unit}"


def _label(where: str, value: Any) -> Value:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return value
    return shorten_value(write_value(value, where))


def show_value(value: Any) -> str:
    """Write what was found as a file has it."""
    if value == []:
        return "an empty list"
    try:
        return write_value(value, "")
    except InputError:  # a date, or what only Python has
        return str(value)
