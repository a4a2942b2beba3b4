"""Looking things up in a scenario: the value at a path, an application's parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headend.scenario.groups import name_group


def read_parameters(scenario: Mapping[str, Any], flow: str, application: str) -> Mapping[str, Any]:
    """Give the parameters of a flow's or its group's application; nothing if it has another."""
    flows = scenario.get("flow", {})
    definition = flows.get(flow) or flows.get(name_group(flow)) or {}
    chosen = definition.get("application")
    parameters = chosen.get(application) if isinstance(chosen, Mapping) else None
    return parameters if isinstance(parameters, Mapping) else {}


def name_choice(value: Any) -> str:
    """Name what a key chooses, written as a name or as a table of one name; empty for nothing.

    Examples
    --------
    >>> name_choice("codel"), name_choice({"pie": {"target": "15 ms"}}), name_choice(None)
    ('codel', 'pie', '')
    """
    return str(next(iter(value), "")) if isinstance(value, Mapping) else str(value or "")


def find_value(table: Any, path: str) -> Any:
    """Give what stands at a path such as ``link.cable.docsis``; None where nothing does.

    Examples
    --------
    >>> find_value({"link": {"cable": {"docsis": 1}}}, "link.cable.docsis")
    1
    """
    for key in path.split("."):
        if not isinstance(table, Mapping) or key not in table:
            return None
        table = table[key]
    return table
