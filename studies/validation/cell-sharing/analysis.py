"""Turns of 802.11b stations: beside a slow neighbour, and over how long they are even."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart, mark_across
from headend.study import ClaimResult, ClaimVerdict, decide
from headend.study.airtime import CELL, Airtime

from ..dcf import average_jain, draw_jain, share_two_bps

PACKET_BYTES = 1500

#: Rates of the second of two stations, Mbit/s, by case.
RATES = {"1": 1.0, "2": 2.0, "5.5": 5.5, "11": 11.0}

#: Stations of the cases whose turns are looked at.
STATIONS = {"11": 2, "five": 5, "ten": 10}

#: Windows in frames.
WINDOWS = (2, 4, 6, 10, 20, 40, 60, 100, 200)

#: Intervals of 1.5 ms before measuring begins, and frames of the process that is drawn.
WARMUP, DRAWN = 1000, 200_000


def time_station(mbps: float) -> Airtime:
    """Give the times of a station's frames: those of 1 Mbit/s are answered at 1."""
    return replace(CELL, data_mbps=mbps, answer_mbps=min(mbps, 2.0))


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Give what two stations have by the second's rate, simulated and by the closed form, Mb/s."""
    rows = []
    for case, rate in RATES.items():
        chosen = points.filter(case=case)
        if chosen.height:
            fast, slow = (float(np.mean(chosen[name].to_list())) / 1e6 for name in ("fast", "slow"))
            form = share_two_bps(PACKET_BYTES, [time_station(11.0), time_station(rate)]) / 1e6
            rows.append({"rate": rate, "fast": fast, "slow": slow, "form": form})
    return pl.DataFrame(rows)


def read_turns(points: pl.DataFrame, case: str) -> npt.NDArray[np.int64] | None:
    """Give who sent each frame that arrived, from the series of all stations, of the first seed."""
    chosen = points.filter(case=case)
    if chosen.is_empty():
        return None
    row = chosen.row(0, named=True)
    series = [row[f"s{number + 1}"] for number in range(STATIONS[case])]
    busy = np.array(series)[:, WARMUP:] > 0
    assert busy.sum(axis=0).max() <= 1, "an interval holds one frame at most"
    turns: npt.NDArray[np.int64] = busy.argmax(axis=0)[busy.any(axis=0)]
    return turns


def predict_jain(stations: int) -> dict[int, float]:
    """Give Jain's index of the process of slots by window."""
    return draw_jain(stations, WINDOWS, DRAWN)


def chance_jain(stations: int) -> dict[int, float]:
    """Give Jain's index of turns drawn at random by window."""
    return draw_jain(stations, WINDOWS, DRAWN, by_chance=True)


def measure_jain(points: pl.DataFrame, case: str) -> dict[int, float]:
    """Give Jain's index of the simulated turns by window."""
    turns = read_turns(points, case)
    if turns is None:
        return {}
    return {window: average_jain(turns, STATIONS[case], window) for window in WINDOWS}


def check_anomaly(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look at a fast station beside a slow one."""
    rows = tabulate(points).filter(rate=RATES[limits["case"]])
    mbps = float(rows["fast"].to_list()[0])
    return ClaimResult(f"{mbps:.3f} Mb/s", decide(mbps < limits["below_mbps"]))


def check_equal(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare what two stations have."""
    rows = tabulate(points)
    ratios = (rows["fast"] / rows["slow"]).to_list()
    text = ", ".join(f"{r:.3f} ({rate:g})" for r, rate in zip(ratios, rows["rate"], strict=True))
    agrees = all(abs(ratio - 1) <= limits["within"] for ratio in ratios)
    return ClaimResult(f"fast over slow, by Mb/s of the slow: {text}", decide(agrees))


def check_form(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold what both have against the closed form."""
    rows = tabulate(points)
    ratios = ((rows["fast"] + rows["slow"]) / 2 / rows["form"]).to_list()
    text = ", ".join(f"{r:.3f} ({rate:g})" for r, rate in zip(ratios, rows["rate"], strict=True))
    agrees = all(abs(ratio - 1) <= limits["within"] for ratio in ratios)
    return ClaimResult(f"of the closed form, by Mb/s of the slow: {text}", decide(agrees))


def check_turns(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold Jain's index against that of the process of slots."""
    gaps = {
        STATIONS[case]: max(
            abs(value - predict_jain(STATIONS[case])[w]) for w, value in jain.items()
        )
        for case in STATIONS
        if (jain := measure_jain(points, case))
    }
    text = ", ".join(f"{gap:.4f} ({stations} stations)" for stations, gap in gaps.items())
    agrees = all(gap <= limits["within"] for gap in gaps.values())
    return ClaimResult(f"off by at most {text}", decide(agrees))


def check_short_term(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold Jain's index against that of turns drawn at random."""
    jain = measure_jain(points, limits["case"])
    if not jain:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    chance = chance_jain(STATIONS[limits["case"]])
    above = sum(jain[window] > chance[window] for window in WINDOWS)
    few = limits["window"]
    text = (
        f"above in {above} of {len(WINDOWS)} windows; {jain[few]:.3f} in windows of {few},"
        f" {chance[few]:.3f} at random"
    )
    return ClaimResult(text, decide(above == len(WINDOWS) and jain[few] < limits["below"]))


def draw_anomaly(points: pl.DataFrame) -> list[Panel]:
    """Draw what a fast station has over the rate of its neighbour."""
    law = pl.DataFrame(
        [
            {
                "rate": rate,
                "mbps": share_two_bps(PACKET_BYTES, [time_station(11.0), time_station(rate)]) / 1e6,
            }
            for rate in (1.0, 1.5, 2.0, 3.0, 4.0, 5.5, 7.0, 9.0, 11.0)
        ]
    )
    names = {"fast": "the station at 11 Mbit/s", "slow": "its neighbour"}
    rows = tabulate(points).unpivot(["fast", "slow"], index="rate", value_name="mbps")
    rows = rows.with_columns(pl.col("variable").replace_strict(names))
    x = vl.X(
        "rate:Q",
        title="rate of the neighbour, Mbit/s",
        axis=vl.Axis(values=list(RATES.values()), format=".2~f"),
        scale=vl.Scale(domain=[0, 11.5], nice=False),
    )
    y = vl.Y("mbps:Q", title="IP throughput of each, Mbit/s", scale=vl.Scale(zero=True))
    order, legend = list(names.values()), vl.Legend(title=None)
    tone = vl.Color(
        "variable:N", scale=vl.Scale(domain=order, range=list(PALETTE[:2])), legend=legend
    )
    # Of one field and order, colour and shape have one legend together.
    form = vl.Shape(
        "variable:N", scale=vl.Scale(domain=order, range=["circle", "diamond"]), legend=legend
    )
    chart = vl.layer(
        make_chart(law).mark_line(color="#8C8C8C", strokeWidth=1.5).encode(x=x, y=y),
        make_chart(rows)
        .mark_point(filled=False, size=80, strokeWidth=2)
        .encode(x=x, y=y, color=tone, shape=form),
    )
    return [Panel("", chart)]


def draw_turns_figure(points: pl.DataFrame) -> list[Panel]:
    """Draw Jain's index over the window for each number of stations."""
    dots, lines = [], []
    for case, stations in STATIONS.items():
        name = f"{stations} stations"
        dots += [
            {"window": window, "jain": value, "who": name}
            for window, value in measure_jain(points, case).items()
        ]
        for kind, values in (("slots", predict_jain(stations)), ("random", chance_jain(stations))):
            lines += [
                {"window": window, "jain": value, "who": name, "kind": kind}
                for window, value in values.items()
            ]
    names = [f"{stations} stations" for stations in STATIONS.values()]
    x = vl.X(
        "window:Q",
        title="frames in the window",
        scale=vl.Scale(type="log", domain=[2, 200], nice=False),
        axis=vl.Axis(values=[2, 5, 10, 20, 50, 100, 200]),
    )
    y = vl.Y("jain:Q", title="Jain's index", scale=vl.Scale(domain=[0, 1]))
    tone = vl.Color(
        "who:N",
        scale=vl.Scale(domain=names, range=list(PALETTE[:3])),
        legend=vl.Legend(title=None, symbolType="stroke"),
    )
    frame = pl.DataFrame(lines)
    chart = vl.layer(
        mark_across(0.95, "0.95", near_left=True),
        make_chart(frame.filter(kind="slots"))
        .mark_line(strokeWidth=1.5)
        .encode(x=x, y=y, color=tone),
        make_chart(frame.filter(kind="random"))
        .mark_line(strokeWidth=1.2, strokeDash=[4, 4])
        .encode(x=x, y=y, color=tone),
        make_chart(pl.DataFrame(dots))
        .mark_point(filled=True, size=50)
        .encode(x=x, y=y, color=tone),
    )
    return [Panel("", chart)]
