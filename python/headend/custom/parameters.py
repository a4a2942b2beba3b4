"""Parameters of code of one's own: read from annotations, with units, defaults and bounds.

An annotated attribute of a class with a default is a parameter. A scenario writes it with its unit,
as the default is written; the object has it as a number.
"""

from __future__ import annotations

import inspect
import json
import math
import types
import typing
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from headend.errors import InputError, suggest


@dataclass(frozen=True)
class Quantity:
    """What a parameter is: ``duration``, ``size``, ``rate`` or ``probability``."""

    kind: str


#: A time such as ``"15 ms"``; the object has whole nanoseconds.
Duration = Annotated[Any, Quantity("duration")]
#: A size such as ``"64 KiB"``; the object has whole bytes.
Size = Annotated[Any, Quantity("size")]
#: A rate such as ``"10 Mbit/s"``; the object has whole bit/s.
Rate = Annotated[Any, Quantity("rate")]
#: A probability or share such as ``"5 %"`` or ``0.05``; the object has a number from 0 to 1.
Probability = Annotated[Any, Quantity("probability")]

#: Keys beside the parameters in a scenario: the name of the code, the buffer, the text of the file.
_TAKEN = ("code", "limit", "text")
_EXAMPLES = {
    "duration": '"15 ms"',
    "size": '"64 KiB"',
    "rate": '"10 Mbit/s"',
    "probability": '"5 %"',
}
_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def read_parameters(cls: type, base: type, values: dict[str, Any], name: str) -> dict[str, Any]:
    """Give every parameter of a class, by name: what is written, and the defaults.

    Raises
    ------
    InputError
        For a parameter that the class has not got, one without a value, or a wrong value.
    """
    hints = _list_parameters(cls, base, name)
    for key in values:
        if key not in hints:
            raise InputError(_describe_unknown(key, list(hints), name))
    read = {}
    for key, hint in hints.items():
        if key in values:
            value, place = values[key], key
        elif hasattr(cls, key):
            value, place = getattr(cls, key), f"{key}, the default in {name}"
        else:
            raise InputError(f"{key}: expected a value, since {name} has no default for it")
        read[key] = _read(value, hint, place)
    return read


def _describe_unknown(key: str, known: list[str], name: str) -> str:
    if not known:
        return f'{name} has no parameters, found "{key}"'
    return f'{name} has no parameter "{key}"{suggest(key, known)}'


def _list_parameters(cls: type, base: type, name: str) -> dict[str, Any]:
    """List the annotated attributes of a class that its base has not got, with what they are."""
    hints: dict[str, Any] = {}
    for one in reversed(cls.__mro__):
        if one not in base.__mro__:
            try:
                hints |= inspect.get_annotations(one, eval_str=True)
            except Exception as error:
                raise InputError(f"{name}: an annotation cannot be read: {error}") from error
    for key in hints:
        if key in base.__annotations__ or key in _TAKEN:
            raise InputError(f'{name}: "{key}" is the engine\'s; call the parameter otherwise')
    return {
        key: hint
        for key, hint in hints.items()
        if not key.startswith("_") and typing.get_origin(hint) is not ClassVar
    }


def _read(value: Any, hint: Any, place: str) -> Any:
    if typing.get_origin(hint) is Annotated:
        for part in typing.get_args(hint)[1:]:
            if isinstance(part, Quantity):
                return _read_quantity(value, part.kind, place)
        hint = typing.get_args(hint)[0]
    if typing.get_origin(hint) is Literal:
        choices = typing.get_args(hint)
        if value not in choices:
            listed = " or ".join(json.dumps(one) for one in choices)
            raise InputError(f"{place}: expected {listed}, found {json.dumps(value)}")
        return value
    if typing.get_origin(hint) in (typing.Union, types.UnionType) or hint is Any:
        return value
    if hint not in _WORDS:
        raise InputError(
            f"{place}: a parameter is Duration, Size, Rate, Probability, int, float, bool, str or"
            f" Literal[...], found {hint!r}"
        )
    fits = isinstance(value, hint) and (hint is bool or not isinstance(value, bool))
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        value, fits = float(value), True
    if not fits or (hint is float and not math.isfinite(value)):
        raise InputError(f"{place}: expected {_WORDS[hint]}, found {json.dumps(value)}")
    return value


def _read_quantity(value: Any, kind: str, place: str) -> Any:
    from headend import _engine

    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not isinstance(value, str) and not (is_number and kind == "probability"):
        raise InputError(
            f"{place}: expected a {kind} such as {_EXAMPLES[kind]}, found {json.dumps(value)}"
        )
    try:
        return _engine.read_quantity(kind, json.dumps(value))
    except ValueError as error:
        raise InputError(f"{place}: {error}") from error
