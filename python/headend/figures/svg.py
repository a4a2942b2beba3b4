"""Vega-Lite specifications drawn as SVG, with legends and titles that fit their width.

Pages fit them in page.js, where the reader's screen says how wide a chart is. A picture has the
same bytes, whatever was drawn before.
"""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Mapping
from typing import Any

from headend.text.reveal import picture_in_json

#: The width of one letter of a legend or title, and of a legend's symbol with the gaps around it,
#: in pixels; and of the symbol itself, where a legend does not give it another size.
LETTER, SYMBOL, BARE = 6.5, 30, 10

#: Channels that have legends.
CHANNELS = ("color", "strokeDash", "shape")

_ROOT = re.compile(r'<svg[^>]*? width="([\d.]+)" height="([\d.]+)"[^>]*>')

#: Where a picture names what clips a part of it, or refers to it.
_CLIP = re.compile(r'(?<=id="clip)\d+(?=")|(?<=url\(#clip)\d+(?=\))')


def fit_specification(
    specification: dict[str, Any], width: float, height: float, beside: float | None = None
) -> None:
    """Fit legends and axis titles to the room that a plot has in pixels, in place.

    Legends that stand outside of the plot have room of their own, ``beside``.
    """
    for part in (*specification.get("layer", ()), *specification.get("vconcat", ())):
        fit_specification(part, width, height, beside)
    encoding = specification.get("encoding", {})
    for channel in CHANNELS:
        if channel in encoding:
            _fit_legend(encoding[channel], beside or width)
    for channel, room in (("x", width), ("y", height)):
        title = encoding.get(channel, {}).get("title")
        if isinstance(title, str) and len(title) * LETTER > room:
            encoding[channel]["title"] = textwrap.wrap(title, max(int(room / LETTER), 1))


def _fit_legend(channel: dict[str, Any], width: float) -> None:
    """Give a legend as many columns as its longest name allows, and break long names."""
    # A channel whose values are colours has no scale: None.
    legend, scale = channel.get("legend"), channel.get("scale") or {}
    if legend is None:
        return
    names = [str(name) for name in legend.get("values", scale.get("domain", []))]
    if not names:
        return
    symbol = SYMBOL + math.sqrt(legend.get("symbolSize", BARE**2)) - BARE
    widest = symbol + LETTER * max(map(len, names))
    columns = max(min(int(width / widest), len(names), legend.get("columns", len(names))), 1)
    channel["legend"] = {**legend, "columns": columns, "labelLimit": 0}
    if widest > width and "labelExpr" not in legend and "format" not in legend:
        letters = max(int((width - symbol) / LETTER), 1)
        lines = {name: textwrap.wrap(name, letters) for name in names if len(name) > letters}
        written = json.dumps(lines, ensure_ascii=False)
        channel["legend"]["labelExpr"] = f"({written})[datum.label] || datum.label"


def draw_svg(specification: Mapping[str, Any]) -> str:
    """Draw a specification as it stands."""
    import vl_convert

    # A picture is XML, which cannot hold control characters at all.
    text = picture_in_json(json.dumps(specification, ensure_ascii=False))
    return number_clips(str(vl_convert.vegalite_to_svg(text)))


def find_root(svg: str) -> re.Match[str]:
    """Give the opening of a picture, with its width and height."""
    root = _ROOT.search(svg)
    if root is None:
        raise ValueError("expected a picture as SVG with a width and a height")
    return root


def number_clips(svg: str) -> str:
    """Count what clips parts of a picture from 0; Vega counts over all of a process.

    Examples
    --------
    >>> number_clips('<g clip-path="url(#clip41)"/><clipPath id="clip41"/><clipPath id="clip7"/>')
    '<g clip-path="url(#clip0)"/><clipPath id="clip0"/><clipPath id="clip1"/>'
    """
    numbers: dict[str, str] = {}
    return _CLIP.sub(lambda found: numbers.setdefault(found[0], str(len(numbers))), svg)
