"""Tells series apart without colour: dashes for lines and shapes for points, in every chart.

Papers are printed in black and white, and some readers see no colour. What a chart tells apart by
colour has a form of its own besides: a line has dashes, a point has a shape, and a line with points
has both. The legend shows the shapes, or the dashes where there are no points. A form goes with its
colour, so that a flow has the same one in all figures of a report.

A chart that gives its own dashes or shapes keeps them. Bars and areas stand in the order of their
legend and need no form.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headend.figures.parts import NAMES, list_own_parts, list_values
from headend.figures.theme import DASHES, PALETTE, QUEUE_TONES, SHAPES

#: Marks that have shapes, and those that have dashes.
POINTS, LINES = ("point",), ("line", "trail")

#: In a legend of lines, each is 26 pixels long: long enough for its dashes to be seen.
SYMBOLS = {"symbolType": "stroke", "symbolSize": 26**2, "symbolStrokeWidth": 2}


def tell_apart(specification: dict[str, Any]) -> None:
    """Give each series of a chart a form that goes with its colour, in place.

    Parameters
    ----------
    specification
        Of Vega-Lite, with its data sets as rows or as columns by name.
    """
    fields: dict[str, list[_Unit]] = {}
    for unit in _list_units(specification, specification.get("datasets", {}), {}):
        if _is_by_colour(unit.encoding):
            fields.setdefault(unit.encoding["color"]["field"], []).append(unit)
    for units in fields.values():
        _tell_apart(units)
    _resolve_forms(specification)


def _resolve_forms(part: dict[str, Any]) -> None:
    """Let charts that have colours of their own have forms of their own too."""
    scales = part.get("resolve", {}).get("scale", {})
    if "color" in scales:
        forms = dict.fromkeys(("strokeDash", "shape"), scales["color"])
        part["resolve"] = {**part["resolve"], "scale": {**forms, **scales}}
    for own in list_own_parts(part):
        _resolve_forms(own)


def _tell_apart(units: Sequence[_Unit]) -> None:
    """Give forms to what has its colours by one field."""
    has_points = any(unit.has_points for unit in units)
    has_lines = any(unit.is_line for unit in units)
    is_dashed = any(unit.is_line and "strokeDash" in unit.mark for unit in units)
    for unit in units:
        colour = unit.encoding["color"]
        names, slots = _list_slots(colour, unit.find_values(colour["field"]))
        if not names:
            continue
        # One legend is drawn for all parts of a chart: they have to agree on it.
        own, legend = unit.part.setdefault("encoding", {}), colour.get("legend", {})
        if legend is not None and (has_points or has_lines):
            legend = {key: part for key, part in legend.items() if key != "symbolType"}
            legend |= {} if has_points else SYMBOLS
            colour = {**colour, "legend": legend}
            own["color"] = colour
        if unit.has_points and not unit.has("shape"):
            own["shape"] = _make_channel(colour, names, [SHAPES[slot] for slot in slots])
        if not unit.is_line or unit.has("strokeDash"):
            continue
        dashes = [list(DASHES[slot]) for slot in slots]
        if not has_points:
            own["strokeDash"] = _make_channel(colour, names, dashes)
        elif not is_dashed:
            # Where dashes already mean something, the points tell the series apart.
            own["strokeDash"] = _choose_dashes(colour["field"], names, dashes)


@dataclass(frozen=True)
class _Unit:
    """A chart that is not made of others, with what is encoded in it or above it, and its rows."""

    part: Any
    encoding: Mapping[str, Any]
    rows: Any

    @property
    def mark(self) -> Mapping[str, Any]:
        """The mark with its options."""
        mark = self.part["mark"]
        return mark if isinstance(mark, Mapping) else {"type": mark}

    @property
    def is_line(self) -> bool:
        """Whether it draws lines."""
        return self.mark["type"] in LINES

    @property
    def has_points(self) -> bool:
        """Whether it draws points, alone or on lines."""
        return self.mark["type"] in POINTS or (self.is_line and bool(self.mark.get("point")))

    def has(self, form: str) -> bool:
        """Say whether it gives its own form, one for all or one for each."""
        return form in self.encoding or form in self.mark

    def find_values(self, field: str) -> list[Any]:
        """Give the values of a field in its rows, each once."""
        values = dict.fromkeys(list_values(self.rows, field))
        return [value for value in values if value is not None]


def _list_units(
    part: Any, sets: Mapping[str, Any], encoding: Mapping[str, Any], rows: Any = ()
) -> Iterator[_Unit]:
    """Give the charts that are not made of others; they have what the parts above them have."""
    encoding = {**encoding, **part.get("encoding", {})}
    rows = sets.get(part["data"].get("name"), ()) if part.get("data") else rows
    if "mark" in part:
        yield _Unit(part, encoding, rows)
    for own in list_own_parts(part):
        yield from _list_units(own, sets, encoding, rows)


def _is_by_colour(encoding: Mapping[str, Any]) -> bool:
    """Say whether names have colours by a scale: values that are colours themselves have none."""
    colour = encoding.get("color", {})
    return (
        "field" in colour
        and colour.get("type") in NAMES
        and not ("scale" in colour and colour["scale"] is None)
    )


def _list_slots(colour: Mapping[str, Any], found: Sequence[Any]) -> tuple[list[Any], list[int]]:
    """Give the names of a channel, and the place of each one's form; no two are alike if possible.

    The form goes by the place of the name's colour among those of its kind. Colours of no kind have
    the form of their place in the legend.
    """
    scale = colour.get("scale") or {}
    order = colour.get("sort")
    names = list(
        scale.get("domain") or (order if isinstance(order, list) else sorted(found, key=str))
    )
    tones = scale.get("range")
    tones = list(tones) if isinstance(tones, list) else []
    taken: list[tuple[Any, int]] = []
    for number, _ in enumerate(names):
        tone = tones[number % len(tones)] if tones else None
        kind = next((kind for kind in (PALETTE, QUEUE_TONES) if tone in kind), None)
        before = sum(tone == other for other, _ in taken) if tone else 0
        wanted = (kind.index(tone) if kind else number) + before
        places = [(wanted + step) % len(DASHES) for step in range(len(DASHES))]
        slots = [slot for _, slot in taken]
        alone = [place for place in places if place not in slots]
        # More names than forms: then each has a colour and a form that no other has together.
        alone += [place for place in places if (tone, place) not in taken]
        taken.append((tone, (alone or places)[0]))
    return names, [slot for _, slot in taken]


def _choose_dashes(
    field: str, names: Sequence[Any], dashes: Sequence[Sequence[int]]
) -> dict[str, Any]:
    """Give each series its dashes without a scale, which Vega-Lite would put into the legend."""
    conditions = [
        {
            "test": f"datum[{json.dumps(field)}] === {json.dumps(name, ensure_ascii=False)}",
            "value": own,
        }
        for name, own in zip(names, dashes, strict=True)
    ]
    return {"condition": conditions, "value": list(DASHES[0])}


def _make_channel(
    colour: Mapping[str, Any], names: Sequence[Any], forms: Sequence[Any]
) -> dict[str, Any]:
    """Show a colour's field by forms as well, so that both have one legend."""
    kept = ("field", "type", "sort", "title", "legend")
    channel = {key: own for key, own in colour.items() if key in kept}
    return {**channel, "scale": {"domain": list(names), "range": list(forms)}}
