"""The figure: the share of people who suffer over the number of homes, by cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from headend.capacity.counting import SHARED, Cause
from headend.capacity.sentences import list_found
from headend.figures import vegalite as vl
from headend.figures.figure import Figure, Panel
from headend.figures.placing import mark_among
from headend.figures.theme import colour, fade, highlight, make_chart
from headend.text.quantity import format_quantity

if TYPE_CHECKING:
    from headend.capacity.findings import Findings

_TITLE = "people who suffer"


def draw_capacity(result: Findings) -> list[Figure]:
    """Draw the share that suffers from sharing, its causes, and those of their own home."""
    found_causes = list_found(result)
    apart = found_causes if len(found_causes) > 1 else []
    series = [("from sharing", SHARED), *((own.words, (own,)) for own in (*apart, Cause.OWN))]
    rows = []
    for slot, (name, causes) in enumerate(series):
        found = {
            number: estimate
            for number in sorted(result.numbers)
            if (estimate := result.estimate(number, *causes))
        }
        if slot and not any(own.mean for own in found.values()):
            continue
        rows += [
            {
                "homes": number,
                "series": name,
                "slot": slot,
                "mean": own.mean,
                "low": own.low if own.count > 1 else own.mean,
                "high": own.high if own.count > 1 else own.mean,
            }
            for number, own in found.items()
        ]
    if not rows:
        return []
    points = pl.DataFrame(rows)
    chosen = highlight()
    top = max(points["high"].max() or 0.0, result.most) * 1.08  # type: ignore[operator]
    scale = vl.Scale(domain=[0, min(top, 1.0)], nice=False)
    along = vl.Scale(domain=[0, max(result.numbers)], nice=False)
    base = make_chart(points).encode(
        x=vl.X("homes:Q", title="homes", scale=along),
        color=colour(points, "circle"),
        opacity=fade(chosen),
        tooltip=[
            vl.Tooltip("series:N", title="cause"),
            vl.Tooltip("homes:Q", title="homes"),
            vl.Tooltip("mean:Q", title=_TITLE, format=".3~%"),
        ],
    )
    y = vl.Y("mean:Q", title=_TITLE, scale=scale, axis=vl.Axis(format="~%"))
    low = vl.Y("low:Q", title=_TITLE, scale=scale, axis=vl.Axis(format="~%"))
    bound = f"{format_quantity(result.most, 'ratio')} may suffer"
    chart = vl.layer(
        *mark_among(points, [(result.most, bound)], scale, x="homes", y="mean"),
        base.mark_line().encode(y=y),
        base.mark_rule().encode(y=low, y2="high:Q"),
        base.mark_point(filled=True, size=45).encode(y=y).add_params(chosen),
    )
    text = (
        "Along the bottom, the number of homes; up the side, the share of all judged people who"
        " suffer. The bars are 95 % intervals over seeds; the dashed line is what may suffer from"
        " sharing."
    )
    return [
        Figure("suffering", "People who suffer by the number of homes", text, [Panel("", chart)])
    ]
