"""Reads ``--rtt``: a round-trip time, a range, or a city of CM-GL-Buffer, Appendix I."""

from __future__ import annotations

import functools
import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from headend.errors import InputError, suggest
from headend.files import parse_toml
from headend.scenario.source import read_scenario

#: Between the ends of a range.
_TO = re.compile(r"\s+to\s+|\s*\.\.\s*|\s*–\s*|(?<=\w)\s*-\s*(?=[0-9])")

#: A number without a unit, which has that of the other end.
_BARE = re.compile(r"[0-9]+\.?[0-9]*|\.[0-9]+")

#: What the engine's errors begin with.
_PLACE = re.compile(r"scenario: flow\.probe\.rtt(?:\.([\w.]+))?")


def read_round_trip(value: Any) -> str | Mapping[str, Any]:
    """Give a round-trip time as scenarios have it: a time, or a table with its distribution.

    Parameters
    ----------
    value
        ``20 ms``, ``20 ms to 100 ms`` (evenly), a city such as ``boston``, ``all`` for all three,
        or a table as in a scenario.

    Raises
    ------
    InputError
        Without saying where it is written.

    Examples
    --------
    >>> read_round_trip("20 to 100 ms"), read_round_trip("Boston"), read_round_trip("35 ms")
    ({'from': '20 ms', 'to': '100 ms'}, {'sites': 'boston'}, '35 ms')
    """
    found = _read(value)
    scenario = {
        "link": {"line": {"docsis": {}}},
        "flow": {"probe": {"application": "ping", "rtt": found}},
    }
    try:
        read_scenario(scenario).load()
    except InputError as error:
        match = _PLACE.match(str(error))
        reason = str(error)[match.end() :].lstrip(": ") if match else str(error)
        raise InputError(f"{match[1]}: {reason}" if match and match[1] else reason) from error
    return found


def _read(value: Any) -> str | Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    if not isinstance(value, str):
        raise InputError(f"{_expect()}, found {json.dumps(value, default=str)}")
    text = value.strip().replace("µ", "u")
    if text.startswith("{"):
        return _read_table(text)
    word = text.lower()
    if word in list_cities():
        return {"sites": word}
    if not any(letter.isdigit() for letter in text):
        raise InputError(f'{_expect()}, found "{value}"{suggest(word, list_cities())}')
    ends = _TO.split(text)
    if len(ends) == 2:
        first, last = ends
        unit = last.lstrip("0123456789. ")
        return {"from": f"{first} {unit}" if _BARE.fullmatch(first) else first, "to": last}
    return text


def _read_table(text: str) -> Mapping[str, Any]:
    try:
        table = parse_toml(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError as error:
        raise InputError(
            f'{_expect()}, or a table such as {{ sites = "boston" }}, found "{text}"'
        ) from error
    return table if isinstance(table, Mapping) else {}


def _expect() -> str:
    return (
        'expected a time such as "40 ms", two such as "20 ms to 100 ms",'
        f" or a city ({', '.join(list_cities())})"
    )


@functools.cache
def list_cities() -> tuple[str, ...]:
    """List the cities whose distances to popular sites are known, and the word for all of them."""
    from headend import _engine

    place = json.loads(_engine.schema())["$defs"]["Place"]
    forms = place.get("oneOf", [place])
    return tuple(
        sorted(name for form in forms for name in (form.get("enum") or [form.get("const")]))
    )
