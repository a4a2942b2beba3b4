"""Shares of the air, round trips, rates and calls of three stations behind four access points."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, log_axis, log_scale, make_chart
from headend.study import ClaimResult, decide, decide_over_seeds, join_decisions

from ..access_points import (
    ABOVE,
    NOT_RUN,
    QUEUES,
    Limits,
    average,
    compare,
    draw_dots,
    hold_gain,
    take,
)

STATIONS = ["fast_1", "fast_2", "slow"]
NAMES = {"fast_1": "fast 1", "fast_2": "fast 2", "slow": "slow"}

#: The ends of the axis of round trips, ms.
ROUND_TRIPS_MS = (2, 5000)

#: Table 1, from memory: the mean bytes of a frame, the rate on the air in Mbit/s, the share of the
#: air in percent, the base rate and the calculated rate in Mbit/s.
TABLE = {
    "FIFO": [
        (6892, 144.4, 10, 97.3, 9.7),
        (7833, 144.4, 11, 101.1, 11.4),
        (2914, 7.2, 79, 6.5, 5.1),
    ],
    "Airtime": [
        (28434, 144.4, 33, 126.7, 42.2),
        (28557, 144.4, 33, 126.8, 42.3),
        (2914, 7.2, 33, 6.5, 2.2),
    ],
}

#: Of an MPDU with a packet of 1500 B: IP bytes, and all bytes with delimiter, MAC header and FCS.
PACKET, MPDU = 1500, 1544


def time_data(size: int, rate: float) -> float:
    """Give how long the data of a frame takes in the paper's model, in us.

    Parameters
    ----------
    size
        Bytes of the frame.
    rate
        On the air, Mbit/s.
    """
    return 32 + 8 * size / rate


def find_base_rate(size: int, rate: float) -> float:
    """Give what a station alone would get by the model, in Mbit/s of IP packets.

    Besides the data, an exchange has DIFS of 34 us, SIFS of 16 us, a block acknowledgement of 58 B
    at the station's rate after 16 us, and a mean backoff of 67.5 us.
    """
    others = 34 + 16 + 16 + 8 * 58 / rate + 67.5
    return 8 * size * PACKET / MPDU / (time_data(size, rate) + others)


def find_shares(queues: str) -> list[float]:
    """Give the stations' shares of the air by the model, in percent."""
    times = [time_data(size, rate) for size, rate, *_ in TABLE[queues]]
    even = 100 / len(times)
    return [even if queues == "Airtime" else 100 * own / sum(times) for own in times]


def check_model(_points: Any, limits: Limits) -> ClaimResult:
    """Hold the calculated columns of Table 1 against the model."""
    off: dict[str, float] = {"base rates": 0, "shares": 0, "rates": 0}
    for queues, rows in TABLE.items():
        shares = find_shares(queues)
        for (size, rate, share, base, total), reckoned in zip(rows, shares, strict=True):
            own = find_base_rate(size, rate)
            # In units of the last digit that the table has.
            units = {
                "base rates": (own - base) / 0.1,
                "shares": reckoned - share,
                "rates": (own * reckoned / 100 - total) / 0.1,
            }
            off = {name: max(off[name], abs(unit)) for name, unit in units.items()}
    told = ", ".join(f"{unit:.2f} ({name})" for name, unit in off.items())
    agrees = all(unit <= limits["within"] for unit in off.values())
    return ClaimResult(f"at most so many units of the last digit off: {told}", decide(agrees))


def share(points: pl.DataFrame) -> pl.DataFrame:
    """Turn times on the air into shares of the stations' time, in percent."""
    return points.with_columns(pl.col(STATIONS) * 100 / pl.sum_horizontal(STATIONS))


def check_shares(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the stations' shares of the air in a case against those given."""
    rows = share(points)
    where = {"case": limits["case"], "queues": limits["queues"]}
    found = [take(rows, name, **where) for name in STATIONS]
    if not found[0]:
        return NOT_RUN
    within = limits["within"]
    decisions = [
        decide_over_seeds(own, wanted - within, wanted + within)
        for own, wanted in zip(found, limits["shares"], strict=True)
    ]
    told = ", ".join(
        f"{average(own):.1f} % ({NAMES[name]})" for own, name in zip(found, STATIONS, strict=True)
    )
    return join_decisions(decisions, told)


def hold(found: dict[str, list[float]], low: float) -> ClaimResult:
    """Hold that each of several ratios is at least a number."""
    if not all(found.values()):
        return NOT_RUN
    told = ", ".join(f"{average(values):.3g} times ({name})" for name, values in found.items())
    return join_decisions([decide_over_seeds(own, low) for own in found.values()], told)


def check_latency(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold how many times as long a ping takes with FIFO as with another one."""
    found = {
        name: compare(points, column, "FIFO", limits["over"], case=limits["case"])
        for name, column in (("fast", "ping_fast"), ("slow", "ping_slow"))
    }
    return hold(found, limits["factor"])


def check_totals(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold how many times as much all get with one access point as with another."""
    found = {
        case: compare(points, "total", limits["above"], limits["below"], case=case)
        for case in limits["cases"]
    }
    return hold(found, limits["factor"] + ABOVE)


def check_ratio(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the ratio of two totals against a published one."""
    return hold_gain(points, limits, case=limits["case"])


def check_total(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold what all get together against a number in Mbit/s."""
    found = take(points, "total", case=limits["case"], queues=limits["queues"])
    if not found:
        return NOT_RUN
    megabits = [value / 1e6 for value in found]
    wanted, within = limits["total"], limits["within"]
    decision = decide_over_seeds(megabits, wanted * (1 - within), wanted * (1 + within))
    return decision.tell(f"{decision.mean:.1f} Mbit/s")


def check_order(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the order of pings with several access points, and whether two are alike if asked."""
    column, case = limits["ping"], limits["case"]
    pairs = zip(limits["order"], limits["order"][1:], strict=False)
    found = [
        (compare(points, column, one, other, case=case), 1 + ABOVE, math.inf)
        for one, other in pairs
    ]
    if "alike" in limits:
        first, second = limits["alike"]
        alike = compare(points, column, first, second, case=case)
        found.append((alike, 1 / limits["factor"], limits["factor"]))
    if not all(ratios for ratios, *_ in found):
        return NOT_RUN
    told = ", ".join(
        f"{average(take(points, column, case=case, queues=queues)) / 1e6:.1f} ms ({queues})"
        for queues in QUEUES
    )
    return join_decisions([decide_over_seeds(*own) for own in found], told)


def check_upload(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the slow station's share where stations upload too."""
    rows = share(points)
    decisions, texts = [], []
    for case in limits["cases"]:
        fifo, airtime = (take(rows, "slow", case=case, queues=own) for own in ("FIFO", "Airtime"))
        if not airtime:
            return NOT_RUN
        decisions.append(decide_over_seeds(airtime, low=limits["above"]))
        less = [one - other for one, other in zip(fifo, airtime, strict=True)]
        decisions.append(decide_over_seeds(less, low=ABOVE))
        texts.append(f"{case}: {average(airtime):.1f} % for {average(fifo):.1f} % with FIFO")
    return join_decisions(decisions, "; ".join(texts))


def check_calls(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the scores of calls: below 2 with the bad access points, above 4 with the good ones."""
    decisions, texts = [], []
    for case in limits["cases"]:
        own = {
            queues: take(points, "mos", case=case, queues=queues)
            for queues in [*limits["bad"], *limits["good"]]
        }
        if not all(own.values()):
            return NOT_RUN
        decisions += [decide_over_seeds(own[queues], high=2.0) for queues in limits["bad"]]
        decisions += [decide_over_seeds(own[queues], low=4.0) for queues in limits["good"]]
        scores = ", ".join(f"{average(values):.2f} ({name})" for name, values in own.items())
        texts.append(f"{case}: {scores}")
    return join_decisions(decisions, "; ".join(texts))


#: What figures call the cases that they show.
SHOWN = {
    "udp": "UDP down",
    "tcp": "TCP down",
    "tcp-18": "TCP down, 18 MPDUs",
    "tcp-5": "TCP down, 5 MPDUs",
    "both": "TCP both ways",
}


def name_rows(points: pl.DataFrame, *cases: str) -> pl.DataFrame:
    """Give the runs of some cases, with what figures call these."""
    rows = points.with_columns(pl.col("case", "queues").cast(pl.String))
    return rows.filter(pl.col("case").is_in(cases)).with_columns(
        load=pl.col("case").replace_strict(SHOWN, default=None)
    )


def draw_shares(points: pl.DataFrame) -> list[Panel]:
    """Draw the stations' shares of the air as bars of 100 %, by load and access point."""
    rows = share(name_rows(points, "udp", "tcp", "both"))
    means = (
        rows.group_by("load", "queues", maintain_order=True)
        .agg(pl.col(STATIONS).mean())
        .unpivot(STATIONS, index=["load", "queues"], variable_name="station", value_name="percent")
        .with_columns(pl.col("station").replace(NAMES))
    )
    panels = []
    for load in SHOWN.values():
        own = means.filter(load=load)
        if own.is_empty():
            continue
        bars = (
            make_chart(own)
            .mark_bar()
            .encode(
                x=vl.X("percent:Q", title="share of the air (%)", scale=vl.Scale(domain=[0, 100])),
                y=vl.Y("queues:N", title=None, sort=QUEUES),
                color=vl.Color(
                    "station:N",
                    title=None,
                    scale=vl.Scale(domain=list(NAMES.values()), range=PALETTE[: len(NAMES)]),
                ),
            )
        )
        panels.append(Panel(load, bars))
    return panels


def draw_latency(points: pl.DataFrame) -> list[Panel]:
    """Draw the median round trips by access point, of a fast station and the slow one."""
    rows = name_rows(points, "udp", "tcp", "tcp-5", "both")
    means = (
        rows.group_by("load", "queues", maintain_order=True)
        .agg(fast=pl.col("ping_fast").mean() / 1e6, slow=pl.col("ping_slow").mean() / 1e6)
        .unpivot(
            ["fast", "slow"], index=["load", "queues"], variable_name="station", value_name="ms"
        )
        .filter(pl.col("ms").is_finite())
    )
    panels = []
    for load in SHOWN.values():
        own = means.filter(load=load)
        if own.is_empty():
            continue
        dots = draw_dots(
            own,
            vl.X(
                "ms:Q",
                title="median round trip (ms)",
                scale=log_scale(ROUND_TRIPS_MS),
                axis=log_axis(ROUND_TRIPS_MS, ends=True),
            ),
            vl.Y("queues:N", title=None, sort=QUEUES),
            "station",
            {"fast": PALETTE[0], "slow": PALETTE[2]},
        )
        panels.append(Panel(load, dots))
    return panels


def draw_totals(points: pl.DataFrame) -> list[Panel]:
    """Draw what all stations get together, by load and access point."""
    rows = name_rows(points, *SHOWN)
    means = rows.group_by("load", "queues", maintain_order=True).agg(
        total=pl.col("total").mean() / 1e6
    )
    dots = draw_dots(
        means,
        vl.X("total:Q", title="total (Mbit/s)"),
        vl.Y("load:N", title=None, sort=list(SHOWN.values())),
        "queues",
        dict(zip(QUEUES, PALETTE, strict=False)),
    )
    return [Panel("", dots)]
