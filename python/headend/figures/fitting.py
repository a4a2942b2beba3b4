"""Specifications fitted to a width and height: columns of legends, and names and titles in lines.

Pages do the same in page.js, where the reader's screen says how wide a chart is.
"""

from __future__ import annotations

import json
import textwrap
from typing import Any

#: The width of one letter of a legend or title, and of a legend's symbol, in pixels.
LETTER, SYMBOL = 6.5, 30

#: Channels that have legends.
CHANNELS = ("color", "strokeDash", "shape")


def fit_specification(specification: dict[str, Any], width: float, height: float) -> None:
    """Fit legends and axis titles to the room there is, in place.

    Parameters
    ----------
    specification
        Vega-Lite's.
    width
        Of the plot, in pixels.
    height
        Of the plot, in pixels.
    """
    for part in (*specification.get("layer", ()), *specification.get("vconcat", ())):
        fit_specification(part, width, height)
    encoding = specification.get("encoding", {})
    for channel in CHANNELS:
        if channel in encoding:
            _fit_legend(encoding[channel], width)
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
    widest = SYMBOL + LETTER * max(map(len, names))
    columns = max(min(int(width / widest), len(names), legend.get("columns", len(names))), 1)
    channel["legend"] = {**legend, "columns": columns, "labelLimit": 0}
    if widest > width and "labelExpr" not in legend and "format" not in legend:
        letters = max(int((width - SYMBOL) / LETTER), 1)
        lines = {name: textwrap.wrap(name, letters) for name in names if len(name) > letters}
        written = json.dumps(lines, ensure_ascii=False)
        channel["legend"]["labelExpr"] = f"({written})[datum.label] || datum.label"
