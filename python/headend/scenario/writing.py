"""Writes the tables of a scenario as TOML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from headend.scenario.source import write_value

#: Keys that TOML takes without quotes.
_BARE = re.compile(r"[A-Za-z0-9_-]+")

#: How many keys the header of a table has at most, by the first of them; deeper ones take one line.
_DEPTHS = {"link": 4}
_DEPTH = 2


def write_toml(content: Mapping[str, Any]) -> str:
    r"""Write tables as TOML that reads back as the same tables.

    Examples
    --------
    >>> call = {"application": "voice", "rtt": "40 ms"}
    >>> print(write_toml({"seed": 1, "flow": {"call": call}}), end="")
    seed = 1
    <BLANKLINE>
    [flow.call]
    application = "voice"
    rtt = "40 ms"
    """
    return "\n".join(_write_table((), content)).lstrip("\n") + "\n"


def _write_table(path: tuple[str, ...], content: Mapping[str, Any]) -> Iterator[str]:
    tables = {
        key: value
        for key, value in content.items()
        if isinstance(value, Mapping) and len(path) < _DEPTHS.get((*path, key)[0], _DEPTH)
    }
    lines = {key: value for key, value in content.items() if key not in tables}
    if path and (lines or not tables):
        yield f"\n[{'.'.join(map(_write_key, path))}]"
    for key, value in lines.items():
        yield f"{_write_key(key)} = {_write_value(value)}"
    for key, value in tables.items():
        yield from _write_table((*path, key), value)


def _write_value(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_write_key(key)} = {_write_value(own)}" for key, own in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_write_value, value))}]"
    return write_value(value, "scenario")


def _write_key(key: str) -> str:
    return key if _BARE.fullmatch(key) else json.dumps(key)
