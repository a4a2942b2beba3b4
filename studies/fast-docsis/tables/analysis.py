"""The document's tables of required α: what they add up to."""

from __future__ import annotations

from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart
from headend.study import ClaimResult, decide

from ..alpha import correlate_ranks

#: As printed: by modems, flows (of each modem) with α required and target queueing delay, ms.
TABLES = {
    1: {1: (13, 52), 2: (44, 176), 4: (48, 192), 6: (54, 216), 8: (72, 288), 10: (80, 320)},
    2: {1: (12, 48), 2: (16, 64), 3: (30, 120), 4: (32, 128), 5: (30, 120), 10: (60, 360)},
    3: {1: (18, 72), 2: (32, 128), 3: (36, 144), 4: (48, 192), 5: (45, 180)},
}


def check_delay(_points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Multiply every α by a packet's time."""
    rows = [(modems, *row) for modems, table in TABLES.items() for row in table.items()]
    wrong = [
        (
            f"{alpha} ({modems} CMs, {flows} flows) would be {alpha * limits['packet_ms']} ms,"
            f" printed {delay}"
        )
        for modems, flows, (alpha, delay) in rows
        if alpha * limits["packet_ms"] != delay
    ]
    why = "a misprint of the document: no model is run here"
    text = f"{len(rows) - len(wrong)} of {len(rows)} rows"
    return ClaimResult("; ".join([text, *wrong]), decide(not wrong), why=why if wrong else "")


def check_whole(_points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Divide every α by the flows of a modem, and by all flows."""
    entries = [
        (modems, flows, alpha)
        for modems, table in TABLES.items()
        for flows, (alpha, _) in table.items()
    ]
    of_modem = sum(alpha % flows == 0 for _, flows, alpha in entries)
    of_all = sum(alpha % (flows * modems) == 0 for modems, flows, alpha in entries)
    text = f"{of_modem} of {len(entries)} entries; divided by the flows of all modems {of_all}"
    return ClaimResult(text, decide(of_modem == len(entries)))


def check_trend(_points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Correlate flows and α of each table."""
    ranks = {
        modems: correlate_ranks({flows: float(alpha) for flows, (alpha, _) in table.items()})
        for modems, table in TABLES.items()
    }
    text = ", ".join(f"{rank:.2f} ({modems})" for modems, rank in ranks.items())
    return ClaimResult(f"by modems: {text}", decide(min(ranks.values()) > 0))


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
    chart = (
        make_chart(frame)
        .mark_line(point={"filled": True, "size": 50}, strokeWidth=1.5)
        .encode(
            x=vl.X("flows:Q", title="flows per CM", axis=vl.Axis(values=[1, 2, 3, 4, 5, 6, 8, 10])),
            y=vl.Y("alpha:Q", title="α required (packets of 4 ms)"),
            color=colour(frame),
            tooltip=["series:N", "flows:Q", "alpha:Q"],
        )
    )
    return [Panel("", chart)]
