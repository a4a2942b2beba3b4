"""The figures: goodput over queueing delay (RFC 7928 §2.7), and numbers over a condition."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import polars as pl

from headend.analysis.estimate import BOUNDS, Estimate, estimate_mean
from headend.evaluation.case import Extent
from headend.evaluation.criterion import take
from headend.figures import vegalite as vl
from headend.figures.figure import Figure, Panel, make_figure
from headend.figures.placing import mark_among
from headend.figures.spacing import space_values
from headend.figures.theme import colour, fade, highlight, make_chart
from headend.figures.trade_off import add_unit
from headend.text.quantity import choose_unit, format_quantity

if TYPE_CHECKING:
    from headend.evaluation.case import Bottleneck, Case
    from headend.evaluation.curves import Curve, Trade
    from headend.evaluation.findings import Condition, Findings

#: Nanoseconds of a millisecond.
_MILLI = 1e6

_NUMBER = re.compile(r"[0-9.]+")


def draw_evaluation(findings: Findings) -> list[Figure]:
    """Draw all figures that have something."""
    family = findings.request.family
    drawn = [draw_trade(findings, own) for own in family.trades]
    drawn += [draw_curve(findings, own) for own in family.curves]
    return [figure for figure in drawn if figure]


def draw_trade(findings: Findings, trade: Trade) -> Figure | None:
    """Draw goodput over queueing delay: a point for each name and condition, with intervals."""
    case = _find(findings, trade.case)
    if case is None:
        return None
    panels = []
    for rate, rtt in _list_paths(findings, case):
        conditions = [
            own
            for own in findings.list_conditions(case)
            if (own.bottleneck.rate, own.bottleneck.rtt) == (rate, rtt)
        ]
        rows = [
            {
                "series": name,
                "slot": slot,
                "condition": ", ".join(
                    filter(None, (condition.variant, condition.bottleneck.labels[2]))
                ),
                **_spread("x", x),
                **_spread("y", y),
            }
            for slot, name in enumerate(findings.request.every)
            for condition in conditions
            if (x := _estimate(findings, case, condition, name, trade.delay, _MILLI))
            and (
                y := _estimate(
                    findings, case, condition, name, trade.goodput, condition.bottleneck.rate
                )
            )
        ]
        if rows:
            path = {"rate": format_quantity(rate, "rate"), "rtt": format_quantity(rtt, "time")}
            chart = _draw_trade(pl.DataFrame(rows))
            panels.append(Panel(", ".join(path.values()), chart, place=path))
    text = (
        f"{case.about} Along the bottom, the mean queueing delay; up the side, the goodput as a"
        " share of the bottleneck's rate: the upper left corner is best. A point for each"
        " condition; the bars are 95 % intervals over seeds."
    )
    return make_figure(trade.name, trade.title, text, panels)


def _draw_trade(rows: pl.DataFrame) -> vl.Chart:
    chosen = highlight()
    x = vl.Scale(zero=True, nice=True)
    y = vl.Scale(domain=[min(0.9, math.floor(10 * _least(rows, "y_low")) / 10), 1], nice=False)
    base = make_chart(rows).encode(
        color=colour(rows, "circle"),
        opacity=fade(chosen),
        tooltip=[
            vl.Tooltip("series:N", title="name"),
            vl.Tooltip("condition:N", title="condition"),
            vl.Tooltip("x:Q", title="mean queueing delay (ms)", format=".3~g"),
            vl.Tooltip("y:Q", title="goodput", format=".3~%"),
        ],
    )
    ticks = vl.Axis(tickCount={"expr": "max(2, min(8, floor(width / 60)))"})
    across = {"title": "mean queueing delay (ms)", "scale": x, "axis": ticks}
    along = {"title": "goodput of the rate", "scale": y, "axis": vl.Axis(format="~%")}
    return vl.layer(
        base.mark_rule().encode(x=vl.X("x_low:Q", **across), x2="x_high:Q", y=vl.Y("y:Q", **along)),
        base.mark_rule().encode(y=vl.Y("y_low:Q", **along), y2="y_high:Q", x=vl.X("x:Q", **across)),
        base.mark_point(filled=True, size=50)
        .encode(x=vl.X("x:Q", **across), y=vl.Y("y:Q", **along))
        .add_params(chosen),
    )


def draw_curve(findings: Findings, curve: Curve) -> Figure | None:
    """Draw a number over the variants of a case: a panel for each bottleneck, a line a name."""
    case = _find(findings, curve.case)
    if case is None:
        return None
    panels = []
    for bottleneck in findings.request.list_bottlenecks(case.extent):
        rows = _list_points(findings, curve, case, bottleneck)
        if rows:
            shown = bottleneck.labels if case.extent is Extent.GRID else bottleneck.labels[:2]
            title = "" if findings.has_one_bottleneck else ", ".join(shown)
            at = dict(zip(("rate", "rtt", "buffer"), bottleneck.labels, strict=False))
            panels.append(Panel(title, _draw_curve(pl.DataFrame(rows), curve, case), place=at))
    return make_figure(curve.name, curve.title, curve.text, panels)


def _list_points(
    findings: Findings, curve: Curve, case: Case, bottleneck: Bottleneck
) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for slot, name in enumerate(findings.request.every):
        for condition in findings.list_conditions(case):
            if condition.bottleneck != bottleneck:
                continue
            values = list(findings.read(case, condition, name, curve.read).values())
            if values:
                number = _NUMBER.match(condition.variant)
                rows.append(
                    {
                        "series": name,
                        "slot": slot,
                        "variant": condition.variant,
                        "at": float(number[0]) if number else 0.0,
                        **_spread("y", estimate_mean(values, BOUNDS.get(curve.kind))),
                    }
                )
    return rows


def _draw_curve(rows: pl.DataFrame, curve: Curve, case: Case) -> vl.Chart:
    unit = choose_unit([rows["y_high"].max()], curve.kind)  # type: ignore[list-item]
    rows = rows.with_columns(pl.col("y", "y_low", "y_high") / unit.size)
    chosen = highlight()
    title = add_unit(curve.what, unit.name)
    bound = None if curve.bound is None else curve.bound / unit.size
    most = max(_most(rows, "y_high"), bound or 0.0)
    scale = vl.Scale(domain=[0, most * 1.08 or 1], nice=False)
    y = vl.Y("y:Q", title=title, scale=scale)
    if curve.is_numeric:
        x = vl.X("at:Q", title=curve.along, **space_values(rows["at"].to_list()))
    else:
        x = vl.X("variant:N", title=curve.along, sort=list(case.variants),
                 axis=vl.Axis(labelAngle=0))  # fmt: skip
    base = make_chart(rows).encode(
        x=x,
        color=colour(rows, "circle"),
        opacity=fade(chosen),
        tooltip=[
            vl.Tooltip("series:N", title="name"),
            vl.Tooltip("variant:N", title=curve.along),
            vl.Tooltip("y:Q", title=title, format=".3~g"),
        ],
    )
    # Between kinds of traffic or of senders there is nothing.
    layers = [base.mark_line().encode(y=y)] if curve.is_numeric else []
    layers += [
        base.mark_rule().encode(y=vl.Y("y_low:Q", title=title, scale=scale), y2="y_high:Q"),
        base.mark_point(filled=True, size=45).encode(y=y).add_params(chosen),
    ]
    if bound is not None and curve.is_numeric:
        text = format_quantity(curve.bound, curve.kind)
        layers = [*mark_among(rows, [(bound, text)], scale, x="at", y="y"), *layers]
    return vl.layer(*layers)


def _find(findings: Findings, name: str) -> Case | None:
    return next((case for case in findings.cases if case.id == name), None)


def _list_paths(findings: Findings, case: Case) -> list[tuple[float, float]]:
    bottlenecks = findings.request.list_bottlenecks(case.extent)
    return list(dict.fromkeys((bottleneck.rate, bottleneck.rtt) for bottleneck in bottlenecks))


def _estimate(
    findings: Findings, case: Case, condition: Condition, name: str, value: str, unit: float
) -> Estimate | None:
    """Estimate a value in a unit; none of those that are drawn is below zero."""
    values = [own / unit for own in findings.read(case, condition, name, take(value)).values()]
    return estimate_mean(values, (0.0, math.inf if unit == _MILLI else 1.0)) if values else None


def _spread(name: str, own: Estimate) -> dict[str, float]:
    low, high = (own.mean, own.mean) if math.isnan(own.low) else (own.low, own.high)
    return {name: own.mean, f"{name}_low": low, f"{name}_high": high}


def _least(rows: pl.DataFrame, column: str) -> float:
    return float(rows[column].min() or 0.0)  # type: ignore[arg-type]


def _most(rows: pl.DataFrame, column: str) -> float:
    return float(rows[column].max() or 0.0)  # type: ignore[arg-type]
