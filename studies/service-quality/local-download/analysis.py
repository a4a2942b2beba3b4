"""§III.A of Nguyen and Armitage: how a neighbour's download lengthens round trips."""

from __future__ import annotations

from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart, mark_across
from headend.study import ClaimResult, ClaimVerdict, decide_over_seeds, join_decisions

#: Whom the pings go to, with the round trip of the wide area to each, ms.
PLACES = {"near": 0.0, "country": 30.0, "ocean": 100.0, "far": 200.0}

LINES = {"wifi": "802.11b cell", "cable": "cable line"}

WINDOW_BITS = 32 * 1024 * 8


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Give a row for each line, place and rate cap: idle round trip and addition, ms."""
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


def list_rises(points: pl.DataFrame, column: str, **place: Any) -> list[float]:
    """Give what a download adds to the round trips to one place in ms, a seed after the other."""
    rows = points.filter(**place)
    idle = rows.filter(state="idle").select("cable_mbps", "seed", idle=column)
    loaded = rows.filter(state="download").join(idle, on=["cable_mbps", "seed"]).sort("seed")
    return ((loaded[column] - loaded["idle"]) / 1e6).to_list()


def check_rise(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look at what is added to round trips to each place; the cap is nothing to a cell."""
    cap = points["cable_mbps"].min()
    found = [
        decide_over_seeds(
            list_rises(points, f"{limits['line']}_{place}", cable_mbps=cap), low=limits["least_ms"]
        )
        for place in PLACES
    ]
    text = ", ".join(f"{one.mean:.1f}" for one in found) + " ms"
    return join_decisions(found, text, limits["why"])


def check_caps(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Say what is added at every rate cap: which of them the document had it does not say."""
    rows = tabulate(points).filter(line=limits["line"])
    texts, agreeing = [], []
    for cap in rows["cable_mbps"].unique().sort().to_list():
        least = min(rows.filter(cable_mbps=cap)["rise"].to_list())
        texts.append(f"{least:.0f} ms or more at {cap} Mb/s")
        agreeing += [cap] if least >= limits["least_ms"] else []
    told = " and ".join(map(str, agreeing)) or "none"
    why = f"the text gives no rate cap; of those that were run it is so at {told} Mb/s"
    return ClaimResult(", ".join(texts), ClaimVerdict.UNTESTABLE, why=why)


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
                x=vl.X("ms:Q", title="mean round trip of a ping, ms"),
                y=vl.Y("place:N", title=None, sort=names),
                color=vl.Color(
                    "part:N",
                    title=None,
                    scale=vl.Scale(
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
    """Draw what is added over the cable line's rate cap, with the window's time at it."""
    rows = tabulate(points).filter(line="cable", place="ocean")
    caps = [mbps / 10 for mbps in range(10, 51)]
    # Of the window, what is in flight on the idle line does not wait in the queue.
    flight = float(tabulate(points).filter(line="cable", place="near")["idle"].to_list()[0])
    law = pl.DataFrame(
        {"cable_mbps": caps, "rise": [WINDOW_BITS / cap / 1e3 - flight for cap in caps]}
    )
    x = vl.X("cable_mbps:Q", title="rate cap of the downstream, Mbit/s")
    y = vl.Y("rise:Q", title="added to round trips, ms", scale=vl.Scale(zero=True))
    chart = vl.layer(
        mark_across(100, "published: over 100 ms"),
        make_chart(law).mark_line(color="#8C8C8C", strokeWidth=1.5).encode(x=x, y=y),
        make_chart(rows).mark_point(filled=True, size=70, color=PALETTE[1]).encode(x=x, y=y),
    )
    return [Panel("", chart)]
