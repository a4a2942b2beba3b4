"""The names a scenario may use, with their parameters, read from the engine's JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

#: The definition in the schema that lists each kind of choice.
DEFINITIONS = {
    "queue": "Queue",
    "congestion": "Congestion",
    "application": "Application",
    "link": "Link",
}


@dataclass(frozen=True)
class Parameter:
    """One key of a choice."""

    name: str
    description: str
    default: str


@dataclass(frozen=True)
class Choice:
    """One name that can be written, such as a queue discipline."""

    name: str
    description: str
    parameters: list[Parameter] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON can hold it."""
        return asdict(self)


def list_choices(kind: str) -> list[Choice]:
    """List the choices of a kind: ``queue``, ``congestion``, ``application``, ``link``."""
    from headend import _engine

    return read_choices(json.loads(_engine.schema()), kind)


def read_choices(schema: dict[str, Any], kind: str) -> list[Choice]:
    """Read the choices of a kind from a schema: an enum whose variants are names or one-key tables."""
    definitions = schema.get("$defs", {})
    wanted = DEFINITIONS[kind].lower()
    names = sorted(definitions, key=len)
    definition = next((name for name in names if name.lower().startswith(wanted)), None)
    if definition is None:
        return []
    found: dict[str, Choice] = {}
    for name, description, settings in _walk_variants(definitions[definition], definitions):
        parameters = _read_parameters(settings, definitions)
        known = found.get(name)
        if known is None or (parameters and not known.parameters):
            found[name] = Choice(
                name, description or (known.description if known else ""), parameters
            )
    return list(found.values())


def _walk_variants(
    node: dict[str, Any], definitions: dict[str, Any]
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    node = _follow(node, definitions)
    for variant in [*node.get("oneOf", []), *node.get("anyOf", [])]:
        description = variant.get("description", "")
        if "const" in variant:
            yield variant["const"], description, {}
        elif "enum" in variant:
            for name in variant["enum"]:
                yield name, description, {}
        elif len(variant.get("properties", {})) >= 1 and variant.get("type") == "object":
            for name, settings in variant["properties"].items():
                resolved = _follow(settings, definitions)
                text = settings.get("description") or description or resolved.get("description", "")
                yield name, text, resolved
        else:
            yield from _walk_variants(variant, definitions)
    for name in node.get("enum", []):
        yield name, "", {}


def _read_parameters(settings: dict[str, Any], definitions: dict[str, Any]) -> list[Parameter]:
    return [
        Parameter(
            name,
            _join(prop.get("description") or _follow(prop, definitions).get("description", "")),
            _write_default(prop),
        )
        for name, prop in settings.get("properties", {}).items()
    ]


def _follow(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in node:
        node = definitions[node["$ref"].rsplit("/", 1)[-1]]
    return node


def _write_default(prop: dict[str, Any]) -> str:
    if prop.get("default") is None:
        return ""
    return json.dumps(prop["default"], ensure_ascii=False)


def _join(text: str) -> str:
    return " ".join(text.split())
