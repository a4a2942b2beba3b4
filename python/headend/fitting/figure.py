"""The figures of a fitted line: delay over time and its distribution, measured and simulated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Figure, Panel
from headend.figures.theme import colour, fade, highlight, make_chart
from headend.fitting.sentences import LOADS
from headend.measurement.record import Trip

if TYPE_CHECKING:
    from headend.fitting.finding import Curve, Found

_SLOTS = {"measured": 0, "simulated": 1}

_WHAT = "delay that load adds (ms)"


def draw_fit(found: Found) -> list[Figure]:
    """Draw what can be laid side by side; nothing where a tool keeps no samples."""
    timed = _group([own for own in found.curves if own.times])
    spread = _group([own for own in found.curves if own.quantiles])
    figures = []
    if timed:
        panels = [Panel(title, _draw_times(curves)) for title, curves in timed.items()]
        text = (
            "Along the bottom, the time since the load began; up the side, what it adds to the"
            " delay of the probe (the median of each moment). The fitted line is simulated under"
            " the load of the measurement. Single moments differ, since both draw chance anew; a"
            " good fit has the same height, the same swings and the same start."
        )
        figures.append(Figure("delay", "Delay under load, measured and simulated", text, panels))
    if spread:
        panels = [Panel(title, _draw_spread(curves)) for title, curves in spread.items()]
        text = (
            "Along the bottom, what load adds to the delay of the probe; up the side, the share of"
            " probes that waited no longer. A good fit has both curves on each other."
        )
        figures.append(
            Figure("distribution", "Delays under load, measured and simulated", text, panels)
        )
    return figures


def _group(curves: list[Curve]) -> dict[str, list[Curve]]:
    found: dict[str, list[Curve]] = {}
    for own in curves:
        trip = "" if own.trip is Trip.ROUND else f", packets {own.trip.value}"
        found.setdefault(f"{LOADS[own.load]}{trip}", []).append(own)
    return found if len(found) > 1 else dict(zip([""], found.values(), strict=False))


def _draw_times(curves: list[Curve]) -> vl.Chart:
    points = pl.DataFrame(
        [
            {"time_s": at, "delay": delay, "series": own.side, "slot": _SLOTS[own.side]}
            for own in curves
            for at, delay in zip(own.times, own.delays, strict=True)
        ]
    )
    chosen = highlight()
    scale = vl.Scale(nice=False, zero=True)
    return (
        make_chart(points)
        .mark_line()
        .encode(
            x=vl.X("time_s:Q", title="time under load (s)", scale=scale),
            y=vl.Y("delay:Q", title=_WHAT),
            color=colour(points),
            opacity=fade(chosen),
        )
        .add_params(chosen)
    )


def _draw_spread(curves: list[Curve]) -> vl.Chart:
    points = pl.DataFrame(
        [
            {
                "delay": delay,
                "share": place / (len(own.quantiles) - 1),
                "series": own.side,
                "slot": _SLOTS[own.side],
            }
            for own in curves
            for place, delay in enumerate(own.quantiles)
        ]
    )
    chosen = highlight()
    return (
        make_chart(points)
        .mark_line()
        .encode(
            x=vl.X("delay:Q", title=_WHAT),
            y=vl.Y(
                "share:Q",
                title="share of probes within",
                scale=vl.Scale(domain=[0, 1]),
                axis=vl.Axis(format="~%"),
            ),
            color=colour(points),
            opacity=fade(chosen),
            order=vl.Order("share:Q"),
        )
        .add_params(chosen)
    )
