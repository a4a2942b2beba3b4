"""What a web test shows, typed by a person: rates, delays, jitter and loss, each a single number.

A number without a unit is in the unit that web tests show: Mbit/s, ms or %.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from headend.errors import InputError, refuse_argument
from headend.measurement.record import (
    Direction,
    Load,
    Measurement,
    Quantity,
    Statistic,
    Summary,
)
from headend.text.quantity import EXAMPLES, UNITS, Kind, format_quantity, parse_quantity

#: What the record says of where these numbers are from.
TOOL = "by hand"

#: How a computer can be connected.
MEDIA = ("ethernet", "wifi")

#: The unit of a number without one, by kind.
_UNSTATED: dict[Kind, str] = {"rate": "Mbit/s", "time": "ms", "ratio": "%"}

#: Units as web tests write them, and as they are written here.
_OTHER_UNITS = {
    "gbps": "Gbit/s",
    "mbps": "Mbit/s",
    "kbps": "kbit/s",
    "msec": "ms",
    "sec": "s",
}

#: One of a unit of the record, in the base unit of its kind: rates are in bit/s and delays in ms.
_RECORDED: dict[Kind, float] = {"rate": 1, "time": UNITS["time"]["ms"], "ratio": 1}

#: More is taken for a mistake in the unit: no access line has 1 Tbit/s, and a browser gives up a
#: request that takes minutes.
_MOST: dict[Kind, float] = {"rate": 1e12, "time": UNITS["time"]["min"], "ratio": 1}

#: Web tests show whole ms: two equal delays can read as 1 ms apart.
_ROUNDING = 1.0


@dataclass(frozen=True)
class _Field:
    """What one of the numbers is about."""

    kind: Kind
    quantity: Quantity
    statistic: Statistic
    load: Load
    direction: Direction | None = None
    may_be_zero: bool = False


#: The numbers that a web test may show. A test that shows one delay under load without a direction
#: takes it over transfers of both. Whether a delay is a median or a mean is seldom said; the middle
#: is what both are about.
_FIELDS: dict[str, _Field] = {
    "down": _Field("rate", Quantity.RATE, Statistic.MEAN, Load.DOWN, Direction.DOWN),
    "up": _Field("rate", Quantity.RATE, Statistic.MEAN, Load.UP, Direction.UP),
    "idle": _Field("time", Quantity.DELAY, Statistic.MEDIAN, Load.IDLE),
    "loaded_down": _Field("time", Quantity.DELAY, Statistic.MEDIAN, Load.DOWN),
    "loaded_up": _Field("time", Quantity.DELAY, Statistic.MEDIAN, Load.UP),
    "loaded": _Field("time", Quantity.DELAY, Statistic.MEDIAN, Load.BOTH),
    "jitter": _Field("time", Quantity.DELAY, Statistic.JITTER, Load.IDLE, may_be_zero=True),
    "loss": _Field("ratio", Quantity.LOSS, Statistic.MEAN, Load.BOTH, may_be_zero=True),
}


def measure_by_hand(
    *,
    down: str | float | None = None,
    up: str | float | None = None,
    idle: str | float | None = None,
    loaded_down: str | float | None = None,
    loaded_up: str | float | None = None,
    loaded: str | float | None = None,
    jitter: str | float | None = None,
    loss: str | float | None = None,
    medium: str = "",
    name: Callable[[str], str] = str,
) -> Measurement:
    """Give what a web test shows as a measurement.

    Parameters
    ----------
    down, up
        The rates, as text or number: ``"300"`` and ``300`` are Mbit/s, ``"1.2 Gbit/s"`` says so.
    idle
        The delay there and back without load: ``"12"`` is ms.
    loaded_down, loaded_up
        The same during the download, and during the upload.
    loaded
        The same under load, where the test does not tell the directions apart.
    jitter
        The mean difference of successive delays without load: ``"3"`` is ms.
    loss
        The share of lost packets: ``"1"`` and ``"1 %"`` are a hundredth.
    medium
        How the computer was connected: ``"wifi"`` or ``"ethernet"``.
    name
        Gives the name of a parameter in errors and notes, such as the command's option.

    Raises
    ------
    InputError
        In one line that begins with the name: what was found and what is expected.

    Examples
    --------
    >>> measured = measure_by_hand(down="300", idle="12 ms", loss="0.5 %")
    >>> [(summary.quantity.value, summary.value) for summary in measured.summaries]
    [('rate', 300000000.0), ('delay', 12.0), ('loss', 0.005)]
    >>> measure_by_hand(down="12 ms")
    Traceback (most recent call last):
    ...
    headend.errors.InputError: down: expected a rate such as "8 Mbit/s"
    (bit/s, kbit/s, Mbit/s, Gbit/s), found "12 ms"
    """
    written = {
        "down": down,
        "up": up,
        "idle": idle,
        "loaded_down": loaded_down,
        "loaded_up": loaded_up,
        "loaded": loaded,
        "jitter": jitter,
        "loss": loss,
    }
    given = {key: value for key, value in written.items() if value is not None}
    if not given:
        raise InputError(f"expected one of {', '.join(map(name, _FIELDS))}, found none")
    if medium not in ("", *MEDIA):
        raise refuse_argument("medium", " or ".join(f'"{known}"' for known in MEDIA), medium)
    values = {key: _read_value(value, _FIELDS[key], name(key)) for key, value in given.items()}
    return Measurement(
        tools=(TOOL,),
        summaries=tuple(_summarise(value, _FIELDS[key]) for key, value in values.items()),
        medium=medium,
        notes=tuple(_compare_delays(values, name)),
    )


def _read_value(written: object, field: _Field, name: str) -> float:
    """Give a number in the unit of the record."""
    kind = field.kind
    if isinstance(written, bool) or not isinstance(written, str | int | float):
        raise refuse_argument(name, f"a text such as {EXAMPLES[kind]} or a number", written)
    unit = _UNSTATED[kind]
    try:
        text = written if isinstance(written, str) else repr(written)
        value = parse_quantity(f"{text} {unit}" if _is_bare(text) else text, kind).value
    except ValueError as error:
        raise InputError(f"{name}: {error}{_suggest(written, kind)}") from error
    if value < 0 or (value == 0 and not field.may_be_zero):
        least = "0 or more" if field.may_be_zero else "more than 0"
        raise InputError(f"{name}: expected {least}, found {text.strip()}")
    if value > _MOST[kind]:
        most, found = (format_quantity(shown, kind) for shown in (_MOST[kind], value))
        bare = f" (a number without a unit is in {unit})" if _is_bare(text) else ""
        raise InputError(f"{name}: expected at most {most}, found {found}{bare}")
    return value / _RECORDED[kind]


def _suggest(written: object, kind: Kind) -> str:
    """Ask for what is meant by a comma, or by a unit as web tests write it; else nothing."""
    text = str(written).strip().replace(",", ".")
    for other, unit in _OTHER_UNITS.items():
        if text.lower().endswith(other):
            text = f"{text[: -len(other)].strip()} {unit}"
            break
    try:
        parse_quantity(f"{text} {_UNSTATED[kind]}" if _is_bare(text) else text, kind)
    except ValueError:
        return ""
    return f'; did you mean "{text}"?'


def _is_bare(text: str) -> bool:
    """Whether a text is a number without a unit."""
    try:
        return math.isfinite(parse_quantity(text, "number").value)
    except ValueError:
        return False


def _summarise(value: float, field: _Field) -> Summary:
    return Summary(field.quantity, field.statistic, value, field.load, field.direction)


def _compare_delays(values: dict[str, float], name: Callable[[str], str]) -> list[str]:
    """Note delays under load that are below the one without load by more than it varies."""
    if "idle" not in values:
        return []
    idle = values["idle"]
    least = idle - max(values.get("jitter", 0.0), _ROUNDING)
    return [
        f"{name(key)} ({values[key]:g} ms) is less than {name('idle')} ({idle:g} ms): load takes"
        " nothing off a line's delay, so the two may be of different servers, or interchanged"
        for key in ("loaded_down", "loaded_up", "loaded")
        if values.get(key, idle) < least
    ]
