"""The names a scenario may use, with their parameters, read from the engine's JSON Schema.

What is said of a name comes from the engine's doc comments: what it is from the variant, and from
its ``Config`` (or from the variant, where it has none) the paragraphs that begin with "Use it" and
"Source:".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

#: The definition in the schema that lists each kind of choice.
DEFINITIONS = {
    "queue": "Queue",
    "congestion": "Congestion",
    "application": "Application",
    "link": "Link",
    "system": "System",
}

#: How the paragraphs begin that say when to use something, and where it is specified.
USE, SOURCE = "Use it", "Source:"

#: What a title says that says no more than that parameters follow: "Parameters of CoDel."
_BARE_TITLE = re.compile(r"Parameters of [^.:]*\.")

#: What values with units look like, by the format that the schema gives them.
FORMATS = {
    "ByteCount": 'size ("64 KiB")',
    "MaximumRate": 'rate or "unlimited" ("10 Mbit/s")',
    "MemoryLimit": 'size or "unlimited" ("4 MiB")',
    "TimeLimit": 'duration or "unlimited" ("10 s")',
    "TunedSize": 'size or "autotuned" ("64 KiB")',
    "Decibels": 'ratio ("25 dB")',
    "Duration": 'duration ("10 ms")',
    "Limit": 'size, duration, packets or "unlimited"',
    "Overhead": 'size, perhaps below zero ("44 B")',
    "Probability": 'share ("10 %" or 0.1)',
    "Rate": 'rate ("10 Mbit/s")',
}

#: What plain values are called; nothing for those that may be left out.
KINDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "null": "",
    "array": "list",
}


@dataclass(frozen=True)
class Parameter:
    """One key of a choice."""

    name: str
    form: str
    default: str
    description: str


@dataclass(frozen=True)
class Choice:
    """One name that can be written, such as a queue discipline.

    Parameters
    ----------
    description
        What it is.
    use
        When to use it.
    source
        Where it is specified.
    remarks
        What else is to be known of its parameters.
    """

    name: str
    description: str
    use: str = ""
    source: str = ""
    remarks: str = ""
    parameters: list[Parameter] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON can hold it."""
        return asdict(self)


def list_choices(kind: str) -> list[Choice]:
    """List a kind's choices: ``queue``, ``congestion``, ``application``, ``link``, ``system``."""
    from headend import _engine

    return read_choices(json.loads(_engine.schema()), kind)


def read_choices(schema: dict[str, Any], kind: str) -> list[Choice]:
    """Read the choices of a kind from a schema: an enum of names or one-key tables."""
    definitions = schema.get("$defs", {})
    wanted = DEFINITIONS[kind].lower()
    names = sorted(definitions, key=len)
    definition = next((name for name in names if name.lower().startswith(wanted)), None)
    if definition is None:
        return []
    found: dict[str, Choice] = {}
    for name, description, settings in _walk_variants(definitions[definition], definitions):
        known = found.get(name)
        if known is None or (settings.get("properties") and not known.parameters):
            found[name] = _describe(name, description, settings, definitions)
    return list(found.values())


def _describe(
    name: str, description: str, settings: dict[str, Any], definitions: dict[str, Any]
) -> Choice:
    about, *rest = _split_paragraphs(description) or [""]
    rest += _split_paragraphs(settings.get("description", ""))

    def take(start: str) -> str:
        return next((text for text in rest if text.startswith(start)), "")

    use, source = take(USE), take(SOURCE)
    remarks = [text for text in rest if text not in (about, use, source)]
    return Choice(
        name,
        about,
        use=use,
        source=source.removeprefix(SOURCE).strip(),
        remarks=" ".join(text for text in remarks if not _BARE_TITLE.fullmatch(text)),
        parameters=_read_parameters(settings, definitions),
    )


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
                yield name, settings.get("description") or description, resolved
        else:
            yield from _walk_variants(variant, definitions)
    for name in node.get("enum", []):
        yield name, "", {}


def _read_parameters(
    settings: dict[str, Any], definitions: dict[str, Any], above: str = ""
) -> list[Parameter]:
    """Read the keys of a table and its tables: ``hash.ways``, ``class.NAME.share``."""
    found = []
    for name, prop in settings.get("properties", {}).items():
        path = above + name
        inner = _unwrap(prop, definitions)
        found.append(
            Parameter(
                path,
                _name_form(prop, definitions),
                _write_default(prop),
                _join(prop.get("description") or inner.get("description", "")),
            )
        )
        found += _read_parameters(inner, definitions, f"{path}.")
        named = inner.get("additionalProperties")
        if isinstance(named, dict):
            found += _read_parameters(_unwrap(named, definitions), definitions, f"{path}.NAME.")
    return found


def _unwrap(prop: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Give what a key holds, whether or not it may be left out."""
    node = _follow(prop, definitions)
    variants = [one for one in node.get("anyOf", []) if one.get("type") != "null"]
    return _follow(variants[0], definitions) if len(variants) == 1 else node


def _follow(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in node:
        node = definitions[node["$ref"].rsplit("/", 1)[-1]]
    return node


def _name_form(prop: dict[str, Any], definitions: dict[str, Any]) -> str:
    """Say what a value looks like: a kind with its unit, or the names there are."""
    node = _follow(prop, definitions)
    variants = [*node.get("anyOf", []), *node.get("oneOf", [])]
    names = [variant["const"] for variant in variants if "const" in variant]
    if variants and len(names) == len(variants):
        return " | ".join(f'"{name}"' for name in names)
    if variants:
        forms = (_name_form(variant, definitions) for variant in variants)
        return " or ".join(dict.fromkeys(form for form in forms if form))
    if "items" in node:
        return f"list of {_name_form(node['items'], definitions)}"
    if node.get("format") in FORMATS:
        return FORMATS[node["format"]]
    kind = node.get("type")
    kind = next((name for name in kind if name != "null"), "") if isinstance(kind, list) else kind
    return KINDS.get(str(kind), "table")


def _write_default(prop: dict[str, Any]) -> str:
    if prop.get("default") is None:
        return ""
    return json.dumps(prop["default"], ensure_ascii=False)


def _split_paragraphs(text: str) -> list[str]:
    return [_join(paragraph) for paragraph in text.split("\n\n") if paragraph.strip()]


def _join(text: str) -> str:
    return " ".join(text.split())
