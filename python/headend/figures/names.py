"""The names in a specification: titles of axes and legends, series, and categories along axes.

A text takes the place of a name wherever it is shown: in the data, the scale and the legend. So the
columns of a legend and the lines of a title are fitted to the new text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from headend.figures.parts import LEGENDS, NAMES, list_parts, list_values

#: Channels along which categories stand.
EDGES = ("x", "y")

#: Channels whose names are in the data: those, and places beside others of the same category.
NAMED = (*EDGES, *LEGENDS, "xOffset", "yOffset", "detail", "order", "row", "column", "facet")

#: Where a specification lists names, and where it has them in expressions of Vega.
LISTS = ("domain", "sort", "values")
EXPRESSIONS = ("test", "expr", "filter", "calculate", "labelExpr")


def put_texts(specification: dict[str, Any], texts: Mapping[str, str]) -> None:
    """Put texts in the place of names in a specification, whose data are rows or columns."""
    fields = find_fields(specification, only_shown=False)
    for part in list_parts(specification):
        for channel in _list_channels(part):
            _put_title(channel, texts)
            if channel.get("field") in fields and channel.get("type") in NAMES:
                _put_lists(channel, texts)
    for rows in specification.get("datasets", {}).values():
        for field in fields:
            if isinstance(rows, dict) and field in rows:
                rows[field] = [_choose(value, texts) for value in rows[field]]
            elif not isinstance(rows, dict):
                for row in rows:
                    if field in row:
                        row[field] = _choose(row[field], texts)
    named = {value for values in fields.values() for value in values} & set(texts)
    _put_literals(specification, {_quote(name): _quote(texts[name]) for name in named})


def _choose(value: Any, texts: Mapping[str, str]) -> Any:
    return texts.get(value, value) if isinstance(value, str) else value


def _quote(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _list_channels(part: Mapping[str, Any], names: Sequence[str] = NAMED) -> list[dict[str, Any]]:
    encoding = part.get("encoding", {})
    return [encoding[name] for name in names if isinstance(encoding.get(name), dict)]


def find_titles(specification: dict[str, Any]) -> list[str]:
    """List the titles of axes and legends."""
    found = []
    for part in list_parts(specification):
        for channel in _list_channels(part, (*EDGES, *LEGENDS)):
            for own in (channel, channel.get("axis") or {}, channel.get("legend") or {}):
                title = own.get("title")
                if isinstance(title, str) and title.strip():
                    found.append(title)
    return found


def _put_title(channel: dict[str, Any], texts: Mapping[str, str]) -> None:
    for own in (channel, channel.get("axis"), channel.get("legend")):
        if own and own.get("title") in texts:
            own["title"] = texts[own["title"]]


def _put_lists(part: Any, texts: Mapping[str, str]) -> None:
    """Put texts into the lists of names of a channel, its scale, its axis and its legend."""
    for name, own in part.items():
        if isinstance(own, dict):
            _put_lists(own, texts)
        elif name in LISTS and isinstance(own, list):
            part[name] = [_choose(value, texts) for value in own]


def _put_literals(part: Any, literals: Mapping[str, str]) -> None:
    """Put texts for names into the expressions that compare data with them."""
    if isinstance(part, list):
        for own in part:
            _put_literals(own, literals)
    elif isinstance(part, dict):
        for name, own in part.items():
            if name == "datasets":
                continue
            if name in EXPRESSIONS and isinstance(own, str):
                # All at once: a text that is put in may be the name of another.
                known = "|".join(map(re.escape, literals))
                part[name] = re.sub(known, lambda found: literals[found[0]], own) if known else own
            else:
                _put_literals(own, literals)


def find_fields(specification: dict[str, Any], *, only_shown: bool) -> dict[str, list[str]]:
    """Give the fields that hold names, each with its names in the order of its scale.

    With ``only_shown``, those are left out that no axis and no legend shows.
    """
    sets = specification.get("datasets", {})
    found: dict[str, list[str]] = {}
    for part in list_parts(specification):
        encoding = part.get("encoding", {})
        for name in NAMED:
            channel = encoding.get(name)
            if not isinstance(channel, dict) or channel.get("type") not in NAMES:
                continue
            if "scale" in channel and channel["scale"] is None:
                continue
            shows = "axis" if name in EDGES else "legend" if name in LEGENDS else ""
            if only_shown and (not shows or channel.get(shows, {}) is None):
                continue
            values = found.setdefault(channel["field"], [])
            listed = (channel.get("scale") or {}).get("domain")
            if not isinstance(listed, list):
                listed = [] if only_shown and values else _list_all_values(sets, channel["field"])
            legend = channel.get("legend") or {}
            # A scale may have names for all that there could be, and the legend those that are.
            listed = legend.get("values", listed) if only_shown else listed
            values += [own for own in listed if isinstance(own, str) and own not in values]
    return {field: values for field, values in found.items() if values}


def _list_all_values(sets: Mapping[str, Any], field: str) -> list[Any]:
    every = (value for rows in sets.values() for value in list_values(rows, field))
    return list(dict.fromkeys(every))
