"""The figure of rate control: the modes in which the frames to and from each station were sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from headend.analysis.air import find_cell_of
from headend.comparison.pooling import list_runs
from headend.figures import vegalite as vl
from headend.figures.figure import MOST_NAMED, Figure, Panel, make_figure
from headend.figures.theme import PALETTE, list_numbers, make_chart
from headend.results.record import Record
from headend.text.wording import list_names

#: The name of the figure.
NAME = "modes"

#: Senders that have a chart of their own, those that sent most.
MOST_SENDERS = 8

#: Modes with a smaller share of a sender's MPDUs are drawn as one: most of them were only probed.
LEAST_SHARE = 0.01

#: The colours of what was acknowledged, and of the outline that the rest of a bar has.
ARRIVED, LOST, OUTLINE = PALETTE[0], "transparent", PALETTE[0]

#: The standard whose frames have a rate and no MCS.
_WITHOUT_MCS = "dot11g"

#: What identifies a sender; the access point sends down.
_SENDER = ("link", "station", "direction")
_ARROWS = {"up": "↑", "down": "↓"}


def draw_modes(results: Sequence[Record]) -> Figure | None:
    """Draw in which modes each sender under rate control sent; None where there is none."""
    senders = {
        _name_sender(result, results, sender): _shape(result, rows)
        for result in results
        for sender, rows in _sum_modes(result).group_by(*_SENDER, maintain_order=True)
    }
    most = sorted(senders, key=lambda name: senders[name]["mpdus"].sum(), reverse=True)
    left = [name for name in senders if name not in most[:MOST_SENDERS]]
    note = f" Not drawn, as they sent less: {list_names(left, MOST_NAMED)}." if left else ""
    return make_figure(
        NAME,
        "Modes that rate control chose",
        "The share of a sender's MPDUs that were sent in each mode in the measured time, retries"
        " included; ↓ is what the access point sends to a station, ↑ what the station sends, ×2 two"
        " spatial streams. Rate control learns from acknowledgements, takes the mode whose rate and"
        " success ratio promise most, and probes others. Several modes with much each: the signal"
        " changed. A slow mode sends few MPDUs in much time; when that was, the rates over time"
        " show. What is not acknowledged broke, met another frame, or its answer did. Modes with"
        f" less than {100 * LEAST_SHARE:.0f} % are drawn as one.",
        [
            Panel(name, _draw(rows), place={"sender": name})
            for name, rows in senders.items()
            if name not in left
        ],
        note,
    )


def _name_sender(result: Record, results: Sequence[Record], sender: tuple[object, ...]) -> str:
    """Name a sender by what tells it apart from all others of these results."""
    link, station, direction = map(str, sender)
    links = {own for each in results for own in each.rate_control["link"]}
    run = [result.label] if len(results) > 1 else []
    return ", ".join([*run, *([link] if len(links) > 1 else []), f"{station} {_ARROWS[direction]}"])


def _sum_modes(result: Record) -> pl.DataFrame:
    """Sum the MPDUs of each sender and mode over the seeds."""
    rows = pl.concat([run.rate_control for run in list_runs(result)])
    lost = pl.col("mpdus") * pl.col("unacknowledged_ratio")
    return (
        rows.with_columns(lost=lost)
        .group_by(*_SENDER, "mcs", "streams", "rate_bps", maintain_order=True)
        .agg(pl.col("mpdus", "lost").sum())
    )


def _shape(result: Record, rows: pl.DataFrame) -> pl.DataFrame:
    """Give a row for each mode of a sender, the fastest first, and one for all that are seldom."""
    cell = find_cell_of(result, rows["link"][0])
    share = rows["mpdus"] / rows["mpdus"].sum()
    # A mode that is alone among the others has a name of its own.
    rare = share < LEAST_SHARE if (share < LEAST_SHARE).sum() > 1 else share < 0
    has_mcs = cell is None or cell.find_standard(rows["station"][0]) != _WITHOUT_MCS
    named = rows.with_columns(
        mode=pl.Series(
            [
                f"{rare.sum()} others" if is_rare else _name_mode(row, has_mcs=has_mcs)
                for row, is_rare in zip(rows.to_dicts(), rare, strict=True)
            ]
        ),
        rank=pl.when(rare).then(0).otherwise("rate_bps"),
    )
    return (
        named.group_by("mode", maintain_order=True)
        .agg(pl.col("mpdus", "lost").sum(), pl.col("rank").first())
        .sort("rank", descending=True, maintain_order=True)
    )


def _name_mode(row: dict[str, Any], *, has_mcs: bool) -> str:
    rate = f"{row['rate_bps'] / 1e6:.4g} Mbit/s"
    return f"MCS {row['mcs']} ×{row['streams']}, {rate}" if has_mcs else rate


def _draw(rows: pl.DataFrame) -> vl.Chart:
    total = rows["mpdus"].sum()
    amounts = {
        "acknowledged": pl.col("mpdus") - pl.col("lost"),
        "not acknowledged": pl.col("lost"),
    }
    parts = pl.concat(
        [
            rows.select(
                "mode",
                percent=(100 * amount / total).round_sig_figs(4),
                what=pl.lit(what),
                place=pl.lit(place),
            )
            for place, (what, amount) in enumerate(amounts.items())
        ]
    ).filter(pl.col("percent") > 0)
    modes = rows["mode"].to_list()
    y = vl.Y("mode:N", title=None, sort=modes, scale=vl.Scale(domain=modes))
    names = list(amounts)
    bars = (
        make_chart(parts)
        .mark_bar(height={"band": 0.7}, stroke=OUTLINE, strokeWidth=1)
        .encode(
            x=vl.X(
                "percent:Q",
                title="share of MPDUs (%)",
                stack="zero",
                scale=vl.Scale(domain=[0, 100]),
            ),
            y=y,
            color=vl.Color(
                "what:N",
                scale=vl.Scale(domain=names, range=[ARRIVED, LOST]),
                legend=vl.Legend(
                    title=None, symbolType="square", symbolStrokeColor=OUTLINE, symbolStrokeWidth=1
                ),
                sort=names,
            ),
            order="place:Q",
            tooltip=[
                vl.Tooltip("mode:N", title=" "),
                vl.Tooltip("what:N", title="of it"),
                *list_numbers(percent="%"),
            ],
        )
    )
    return bars.properties(height=max(60, 22 * len(modes)))
