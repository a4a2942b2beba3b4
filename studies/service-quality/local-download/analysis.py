"""§III.A of Nguyen and Armitage: by how much a download from next door lengthens round trips to elsewhere."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart, mark_across
from headend.study.claims import Finding, decide

#: Whom the pings go to, with the round trip of the wide area to each, ms.
PLACES = {"near": 0.8, "country": 30.0, "ocean": 100.0, "far": 200.0}

LINES = {"wifi": "802.11b cell", "cable": "cable line"}

WINDOW_BITS = 32 * 1024 * 8


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Give a row for each line, place and rate cap: the idle round trip, and what the download adds, ms, means over the seeds."""
    means = points.group_by("state", "cable_mbps", maintain_order=True).mean()
    idle, loaded = (means.filter(state=state) for state in ("idle", "download"))
    both = idle.join(loaded, on="cable_mbps", suffix="_loaded").sort("cable_mbps")
    return pl.DataFrame(
        [
            {
                "line": line,
                "place": place,
                "cable_mbps": row["cable_mbps"],
                "idle": row[f"{line}_{place}"] / 1e6,
                "rise": (row[f"{line}_{place}_loaded"] - row[f"{line}_{place}"]) / 1e6,
            }
            for row in both.iter_rows(named=True)
            for line in LINES
            for place in PLACES
        ]
    )


def check_rise(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look at what is added to the round trips to each place."""
    rows = tabulate(points).filter(line=limits["line"], cable_mbps=limits["cable_mbps"])
    rises = rows["rise"].to_list()
    text = ", ".join(f"{rise:.1f}" for rise in rises) + " ms"
    agrees = all(limits["least_ms"] <= rise <= limits["most_ms"] for rise in rises)
    return Finding(text, decide(agrees))


def check_caps(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look at what is added at every rate cap."""
    rows = tabulate(points).filter(line="cable", place="ocean")
    text = ", ".join(
        f"{row['rise']:.0f} ms at {row['cable_mbps']} Mb/s" for row in rows.iter_rows(named=True)
    )
    agrees = bool((rows["rise"] >= limits["least_ms"]).all())
    return Finding(text, decide(agrees), why="" if agrees else limits["why"])


def check_everywhere(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """See whether it is the same wherever the pings go to."""
    spreads = (
        tabulate(points)
        .group_by("line", "cable_mbps", maintain_order=True)
        .agg(spread=pl.col("rise").max() - pl.col("rise").min())
    )
    most = {line: max(spreads.filter(line=line)["spread"].to_list()) for line in LINES}
    text = ", ".join(f"{value:.1f} ms ({LINES[line]})" for line, value in most.items())
    agrees = all(value <= limits["within_ms"] for value in most.values())
    return Finding(f"apart by at most {text}", decide(agrees))


def draw_rise(points: pl.DataFrame) -> list[Panel]:
    """Draw idle round trips and what is added, by place, for each line."""
    table = tabulate(points).filter(cable_mbps=2)
    names = [f"{away:g} ms away" for away in PLACES.values()]
    panels = []
    for line, title in LINES.items():
        rows = [
            {"place": name, "part": part, "ms": row[column], "order": order}
            for name, row in zip(names, table.filter(line=line).iter_rows(named=True), strict=True)
            for order, (part, column) in enumerate(
                (("idle", "idle"), ("added by the download", "rise"))
            )
        ]
        chart = (
            make_chart(pl.DataFrame(rows))
            .mark_bar()
            .encode(
                x=alt.X("ms:Q", title="mean round trip of a ping, ms"),
                y=alt.Y("place:N", title=None, sort=names),
                color=alt.Color(
                    "part:N",
                    title=None,
                    scale=alt.Scale(
                        domain=["idle", "added by the download"], range=list(PALETTE[:2])
                    ),
                ),
                order="order:O",
            )
            .properties(height=130)
        )
        panels.append(
            Panel(title if line == "wifi" else f"{title}, 2 Mbit/s", chart, f"rise-{line}")
        )
    return panels


def draw_caps(points: pl.DataFrame) -> list[Panel]:
    """Draw what is added over the cable line's rate cap, with the time that the window takes at that rate."""
    rows = tabulate(points).filter(line="cable", place="ocean")
    caps = [mbps / 10 for mbps in range(10, 51)]
    # Of the window, what is in flight on the idle line does not wait in the queue.
    flight = float(tabulate(points).filter(line="cable", place="near")["idle"].to_list()[0])
    law = pl.DataFrame(
        {"cable_mbps": caps, "rise": [WINDOW_BITS / cap / 1e3 - flight for cap in caps]}
    )
    x = alt.X("cable_mbps:Q", title="rate cap of the downstream, Mbit/s")
    y = alt.Y("rise:Q", title="added to round trips, ms", scale=alt.Scale(zero=True))
    chart = alt.layer(
        mark_across(100, "published: over 100 ms"),
        make_chart(law).mark_line(color="#8C8C8C", strokeWidth=1.5).encode(x=x, y=y),
        make_chart(rows).mark_point(filled=True, size=70, color=PALETTE[1]).encode(x=x, y=y),
    )
    return [Panel("", chart)]
