"""The document's tables of required α: what they add up to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart
from headend.study.alpha import correlate_ranks
from headend.study.claims import Finding, decide

if TYPE_CHECKING:
    from headend.figures.theme import AnyChart

#: As printed: by modems, flows (of each modem) with α required and target queueing delay, ms.
TABLES = {
    1: {1: (13, 52), 2: (44, 176), 4: (48, 192), 6: (54, 216), 8: (72, 288), 10: (80, 320)},
    2: {1: (12, 48), 2: (16, 64), 3: (30, 120), 4: (32, 128), 5: (30, 120), 10: (60, 360)},
    3: {1: (18, 72), 2: (32, 128), 3: (36, 144), 4: (48, 192), 5: (45, 180)},
}


def check_packet(_points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Calculate a packet's time, and how many of them path and buffer hold."""
    packet_s = limits["size"] * 8 / limits["rate"]
    found = {
        "packet_ms": packet_s * 1e3,
        "product": limits["rtt_s"] / packet_s,
        "places": limits["buffer_s"] / packet_s,
    }
    text = "{packet_ms:g} ms, {product:g} and {places:g} packets".format(**found)
    agrees = all(abs(value - limits[name]) < 1e-9 for name, value in found.items())
    return Finding(text, decide(agrees))


def check_delay(_points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Multiply every α of a table by a packet's time."""
    table = TABLES[limits["modems"]]
    wrong = [
        f"{alpha} ({flows} flows) would be {alpha * limits['packet_ms']} ms, printed {delay}"
        for flows, (alpha, delay) in table.items()
        if alpha * limits["packet_ms"] != delay
    ]
    why = "a slip of the document's (E33): 360 ms would be an α of 90, 9 for each of 10 flows"
    text = f"{len(table) - len(wrong)} of {len(table)} rows"
    return Finding("; ".join([text, *wrong]), decide(not wrong), why=why if wrong else "")


def check_whole(_points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Divide every α by the flows that would be added up."""
    broken, rows = [], 0
    for modems, table in TABLES.items():
        for flows, (alpha, _) in table.items():
            share = flows * (modems if limits["of"] == "all" else 1)
            rows += 1
            if alpha % share:
                broken.append(f"{alpha} of {modems} modems with {flows} flows: {alpha / share:.2f}")
    why = "(E34) the other reading divides all of them, so the entry need not be a slip"
    text = "; ".join([f"{rows - len(broken)} of {rows} entries", *broken])
    return Finding(text, decide(not broken), why=why if broken else "")


def check_trend(_points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Correlate flows and α of each table."""
    ranks = {
        modems: correlate_ranks({flows: float(alpha) for flows, (alpha, _) in table.items()})
        for modems, table in TABLES.items()
    }
    text = ", ".join(f"{rank:.2f} ({modems})" for modems, rank in ranks.items())
    return Finding(f"by modems: {text}", decide(min(ranks.values()) > limits["least"]))


def check_scale(_points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare the first table's ends."""
    (one, _), (ten, _) = TABLES[1][1], TABLES[1][10]
    return Finding(f"{ten} to {one}: {ten / one:.1f}", decide(ten / one > limits["times"]))


def draw_tables(_points: pl.DataFrame) -> list[Panel]:
    """Draw the three tables."""
    rows = [
        {
            "series": f"{modems} CM{'s' if modems > 1 else ''}",
            "slot": modems - 1,
            "flows": n,
            "alpha": alpha,
        }
        for modems, table in TABLES.items()
        for n, (alpha, _) in table.items()
    ]
    frame = pl.DataFrame(rows)
    chart: AnyChart = (
        make_chart(frame)
        .mark_line(point={"filled": True, "size": 50}, strokeWidth=1.5)
        .encode(
            x=alt.X(
                "flows:Q", title="flows per CM", axis=alt.Axis(values=[1, 2, 3, 4, 5, 6, 8, 10])
            ),
            y=alt.Y("alpha:Q", title="α required (packets of 4 ms)"),
            color=colour(frame),
            tooltip=["series:N", "flows:Q", "alpha:Q"],
        )
    )
    return [Panel("", chart)]
