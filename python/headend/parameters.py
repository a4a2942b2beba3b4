"""What a run's scenario gives a flow's application: its parameters, with every default filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headend.groups import name_group

if TYPE_CHECKING:
    from headend.result import Result


def read_parameters(result: Result, flow: str, application: str) -> Mapping[str, Any]:
    """Give the parameters of a flow's application, or of the group it is a member of; nothing where it has another."""
    flows = result.manifest["scenario"].get("flow", {})
    definition = flows.get(flow) or flows.get(name_group(flow)) or {}
    chosen = definition.get("application")
    parameters = chosen.get(application) if isinstance(chosen, Mapping) else None
    return parameters if isinstance(parameters, Mapping) else {}
