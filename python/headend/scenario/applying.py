"""A scenario's tables with overrides written into them, as a file that can be run without these."""

from __future__ import annotations

import copy
import json
import tomllib
from collections.abc import Mapping
from typing import Any

from headend.errors import InputError
from headend.files import parse_toml
from headend.scenario.source import QUEUE_ALIAS, Overrides, Text, read_scenario


def apply_overrides(text: Text, overrides: Overrides) -> dict[str, Any]:
    """Give the tables of a scenario with overrides in them.

    They are the author's own, as far as each override can be written into them by its path alone.
    Where it cannot, all tables are in the engine's words, with every default.

    Raises
    ------
    InputError
        Where the engine refuses the scenario with the overrides.
    """
    loaded = text.load(overrides)
    content = _write(text.parse(), overrides, loaded.scenario.queue_path or "")
    return content if _is_same(text, content, loaded.resolved) else loaded.resolved


def _write(content: dict[str, Any], overrides: Overrides, queue_path: str) -> dict[str, Any]:
    content = copy.deepcopy(content)
    for path, value in overrides:
        if path.split(".")[0] == QUEUE_ALIAS and queue_path:
            path = path.replace(QUEUE_ALIAS, queue_path, 1)
        *tables, last = path.split(".")
        place = content
        for name in tables:
            inner = place.get(name)
            place[name] = inner if isinstance(inner, dict) else {}
            place = place[name]
        place[last] = _read_value(value)
    return content


def _read_value(text: str) -> Any:
    """Read a value as TOML; plain words are text without quotes."""
    try:
        return parse_toml(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _is_same(text: Text, content: Mapping[str, Any], resolved: Mapping[str, Any]) -> bool:
    """Say whether tables make the scenario that was run."""
    try:
        own = read_scenario(content, text.access).load().resolved
    except InputError:
        return False
    return json.dumps(own, sort_keys=True) == json.dumps(resolved, sort_keys=True)
