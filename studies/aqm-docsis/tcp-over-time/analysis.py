"""Mean rates of two uploads since they began, behind nine queues and over four distances."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from headend.analysis.estimate import estimate_mean
from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, colour, make_chart
from headend.study import ClaimResult, ClaimVerdict, Decision, decide_over_seeds, join_decisions

from ..disciplines import DISCIPLINES, SLOTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..pooling import Values

#: Between two values of the series, s; results.interval of the study.
STEP = 0.25

#: The senders that the claims are about, and those that stand beside them.
SENDER = "reno"
NARROW = "receive-6M"
SENDERS = {
    "reno": "NewReno",
    "reno-first": "NewReno, grants at the beginning of a MAP",
    "receive-6M": "NewReno, receive window 6 MiB",
    "scripts": "2012 scripts: CUBIC",
    "today": "NewReno, windows of today",
    "linux": "Linux: CUBIC, HyStart, RACK",
}

#: PIE without the improvements made before the selection, which stands beside the paper's queues.
DRAFT = "pie-draft"
QUEUES = {**DISCIPLINES, DRAFT: "PIE, bare draft"}

#: How long a test is, s.
LENGTH = 100.0

#: What the text says of PIE and CoDel-DT, for the figure: (distance, who is better, from, to).
SAID = (
    (20, "equal", 0.25, 2),
    (20, "pie", 2, 7),
    (20, "equal", 7, 25),
    (50, "equal", 0.25, 7),
    (50, "pie", 7, 18),
    (50, "codel-dt", 18, 25),
    (100, "pie", 0.25, 20),
    (100, "codel-dt", 20, 25),
    (200, "codel-dt", 0.25, 25),
)

TONES = {"equal": "#8C8C8C", "pie": PALETTE[0], "codel-dt": PALETTE[1]}


def take_means(goodput: Sequence[float]) -> Values:
    """Give the mean rate since the beginning at the end of each interval, bit/s."""
    rates = np.asarray(goodput, dtype=float)[: round(LENGTH / STEP)]
    return np.asarray(rates.cumsum() / np.arange(1, len(rates) + 1))


def list_means(points: pl.DataFrame, rtt_ms: int, queue: str, sender: str = SENDER) -> list[Values]:
    """Give these of each seed."""
    rows = points.filter(rtt_ms=rtt_ms, queue=queue, sender=sender).sort("seed")
    return [take_means(series) for series in rows["goodput"].to_list()]


def check_alike(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the rates of some queues against each other, seed by seed."""
    found = read_speeds(points, limits)
    if len(found) < 2:
        return ClaimResult("not run", ClaimVerdict.UNTESTABLE)
    text = ", ".join(f"{QUEUES[queue]} {np.mean(own) / 1e6:.1f}" for queue, own in found.items())
    spreads = find_spreads(found)
    text += f" Mb/s: {tell(spreads)} apart in a seed"
    for rtt_ms in limits.get("told", ()):
        if others := read_speeds(points, {**limits, "rtt_ms": rtt_ms}):
            text += f"; over {rtt_ms} ms: {tell(find_spreads(others))}"
    draft = read_speeds(points, replace_pie(limits))
    if DRAFT in draft:
        rate = np.mean(draft[DRAFT]) / 1e6
        text += f"; with the draft's PIE ({rate:.1f} Mb/s): {tell(find_spreads(draft))}"
    for sender in list(SENDERS)[1:]:
        if others := read_speeds(points, limits, sender):
            text += f"; {SENDERS[sender]}: {tell(find_spreads(others))}"
    decision = decide_over_seeds(spreads, high=limits["within"])
    return decision.tell(
        text, "" if decision.verdict is ClaimVerdict.REPRODUCED else describe_window(points, limits)
    )


def describe_window(points: pl.DataFrame, limits: dict[str, Any]) -> str:
    """Write what the receive window alone changes over a distance."""
    speed = limits.get("speed", "speed_10s")
    seconds = speed.removeprefix("speed_").removesuffix("s")
    told = []
    for queue in ("pie", "codel-dt"):
        own = {**limits, "speed": speed, "queues": [queue]}
        before, after = (read_speeds(points, own, sender) for sender in (SENDER, NARROW))
        if before and after:
            rates = [np.mean(speeds[queue]) / 1e6 for speeds in (after, before)]
            told.append(f"{QUEUES[queue]} {rates[0]:.1f} instead of {rates[1]:.1f}")
    if not told:
        return ""
    return (
        "the paper gives no receive window. With 6 MiB in place of 40 MB, and nothing else"
        f" changed, the mean rates of {seconds} s over {limits['rtt_ms']} ms are {', '.join(told)}"
        " Mb/s. No other cause was looked for; the measured column has all senders"
    )


def replace_pie(limits: dict[str, Any]) -> dict[str, Any]:
    """Give the limits with the draft's PIE in the place of PIE."""
    return {
        **limits,
        "queues": [DRAFT if queue == "pie" else queue for queue in limits["queues"]],
    }


def find_spreads(speeds: dict[str, list[float]]) -> list[float]:
    """Give by how much the fastest queue is above the slowest in each seed."""
    return [max(own) / min(own) - 1 for own in zip(*speeds.values(), strict=True)]


def tell(shares: Sequence[float]) -> str:
    """Write a mean share, with its interval where there is one."""
    found = estimate_mean(shares)
    half = "" if np.isnan(found.half) else f" ± {found.half * 100:.1f}"
    return f"{found.mean * 100:.1f}{half} %"


def read_speeds(
    points: pl.DataFrame, limits: dict[str, Any], sender: str = SENDER
) -> dict[str, list[float]]:
    """Give what tests of a distance showed, queue by queue, each seed, bit/s."""
    rows = points.filter(rtt_ms=limits["rtt_ms"], sender=sender).sort("seed")
    speeds = {
        queue: rows.filter(queue=queue)[limits["speed"]].to_list() for queue in limits["queues"]
    }
    return {queue: values for queue, values in speeds.items() if values}


def compare_stretches(
    points: pl.DataFrame, limits: dict[str, Any], sender: str = SENDER, own: str = "pie"
) -> list[list[float]]:
    """Give by how much PIE, or its draft, is ahead of CoDel-DT in each stretch, seed by seed."""
    pie, codel_dt = (
        list_means(points, limits["rtt_ms"], queue, sender) for queue in (own, "codel-dt")
    )
    if not pie or len(pie) != len(codel_dt):
        return []
    leads = []
    for _, begin, end in limits["stretches"]:
        part = slice(round(begin / STEP), round(end / STEP))
        pairs = zip(pie, codel_dt, strict=True)
        leads.append([float(one[part].mean() / other[part].mean()) - 1 for one, other in pairs])
    return leads


def decide_lead(better: str, leads: Sequence[float], within: float) -> Decision:
    """Decide whether PIE's lead is what is said of it."""
    low, high = {
        "equal": (-within, within),
        "pie": (0.0, math.inf),
        "codel-dt": (-math.inf, 0.0),
        "not pie": (-math.inf, within),
    }[better]
    return decide_over_seeds(leads, low, high)


def check_stretches(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold PIE against CoDel-DT over stretches of time: one that differs is enough."""
    leads = compare_stretches(points, limits)
    if not leads:
        return ClaimResult("not run", ClaimVerdict.UNTESTABLE)
    decisions = [
        decide_lead(better, own, limits["within"])
        for (better, _, _), own in zip(limits["stretches"], leads, strict=True)
    ]
    return join_decisions(
        decisions, describe_leads(points, limits, leads), describe_window(points, limits)
    )


def check_inferior(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look whether PIE is behind, and further behind than over the shorter distances."""
    leads = compare_stretches(points, limits)
    if not leads:
        return ClaimResult("not run", ClaimVerdict.UNTESTABLE)
    decisions = [decide_lead("codel-dt", leads[0], limits["within"])]
    text = describe_leads(points, limits, leads)
    for rtt_ms in limits["shorter"]:
        others = compare_stretches(points, {**limits, "rtt_ms": rtt_ms})
        if not others or len(others[0]) != len(leads[0]):
            continue
        further = [own - other for own, other in zip(leads[0], others[0], strict=True)]
        decisions.append(decide_over_seeds(further, high=0.0))
        text += f". Over {rtt_ms} ms: {write_leads(others, limits)}"
    return join_decisions(decisions, text, describe_window(points, limits))


def describe_leads(
    points: pl.DataFrame, limits: dict[str, Any], leads: Sequence[Sequence[float]]
) -> str:
    """Write PIE's leads, those of the draft's PIE, and those with the other senders."""
    text = f"PIE against CoDel-DT: {write_leads(leads, limits)}"
    if drafts := compare_stretches(points, limits, own=DRAFT):
        text += f". The draft's PIE: {write_leads(drafts, limits)}"
    for sender in list(SENDERS)[1:]:
        if others := compare_stretches(points, limits, sender):
            text += f". {SENDERS[sender]}: {write_leads(others, limits)}"
    return text


def write_leads(leads: Sequence[Sequence[float]], limits: dict[str, Any]) -> str:
    """Write PIE's lead in each stretch."""
    words = []
    for (_, begin, end), values in zip(limits["stretches"], leads, strict=True):
        lead = estimate_mean(values)
        half = "" if np.isnan(lead.half) else f" ± {lead.half * 100:.1f}"
        words.append(f"{begin:g} to {end:g} s {lead.mean * 100:+.1f}{half} %")
    return "; ".join(words)


def draw_throughput(points: pl.DataFrame) -> list[Panel]:
    """Draw Figure 6, a panel for each distance."""
    panels = []
    for rtt_ms in sorted(set(points["rtt_ms"].to_list())):
        frames = []
        for queue, name in DISCIPLINES.items():
            means = list_means(points, rtt_ms, queue)
            if queue == DRAFT or not means:
                continue
            curve = np.mean(means, axis=0) / 1e6
            frame = pl.DataFrame({"time": (np.arange(len(curve)) + 1) * STEP, "rate": curve})
            # The curves are smooth late: fewer values carry them.
            frame = frame.filter((pl.col("time") <= 30) | (pl.col("time") % 2 == 0))
            frames.append(frame.with_columns(series=pl.lit(name), slot=pl.lit(SLOTS[queue])))
        rows = pl.concat(frames)
        chart = (
            make_chart(rows)
            .mark_line(strokeWidth=2, clip=True)
            .encode(
                x=vl.X(
                    "time:Q",
                    title="time (s)",
                    scale=vl.Scale(type="log", domain=[0.25, LENGTH], nice=False),
                    axis=vl.Axis(values=[0.25, 0.5, 1, 2, 5, 7, 10, 18, 25, 50, 100], format="~g"),
                ),
                y=vl.Y(
                    "rate:Q",
                    title="mean rate since the beginning (Mb/s)",
                    scale=vl.Scale(domain=[0, 250]),
                ),
                color=colour(rows),
                tooltip=["series:N", "time:Q", vl.Tooltip("rate:Q", format=".1f")],
            )
        )
        panels.append(Panel(f"RTT {rtt_ms} ms", chart))
    return panels


def draw_ratio(points: pl.DataFrame) -> list[Panel]:
    """Draw PIE's rate over CoDel-DT's, a panel for each distance."""
    panels = []
    for rtt_ms in sorted(set(points["rtt_ms"].to_list())):
        pie, codel_dt = (list_means(points, rtt_ms, queue) for queue in ("pie", "codel-dt"))
        # In the first round trips nothing has arrived yet.
        ratios = [
            np.divide(own, other, out=np.full(len(own), np.nan), where=other > 0)
            for own, other in zip(pie, codel_dt, strict=True)
        ]
        end = round(30 / STEP)
        rows = pl.concat(
            pl.DataFrame(
                {
                    "time": (np.arange(end) + 1) * STEP,
                    "ratio": ratio[:end],
                    "seed": [number] * end,
                }
            )
            for number, ratio in enumerate(ratios)
        )
        said = pl.DataFrame(
            [
                {"from": begin, "to": stop, "tone": TONES[better]}
                for distance, better, begin, stop in SAID
                if distance == rtt_ms
            ]
        )
        bands = (
            make_chart(said)
            .mark_rect(opacity=0.18)
            .encode(x="from:Q", x2="to:Q", color=vl.Color("tone:N", scale=None))
        )
        lines = (
            make_chart(rows)
            .mark_line(strokeWidth=1.4, color="#8C8C8C", clip=True)
            .encode(
                x=vl.X("time:Q", title="time (s)", scale=vl.Scale(domain=[0, 30])),
                y=vl.Y(
                    "ratio:Q",
                    title="PIE's mean rate / CoDel-DT's",
                    scale=vl.Scale(type="log", domain=[0.1, 10], nice=False),
                    axis=vl.Axis(values=[0.1, 0.2, 0.5, 1, 2, 5, 10]),
                ),
                detail="seed:N",
            )
        )
        one = (
            make_chart(pl.DataFrame({"ratio": [1.0]}))
            .mark_rule(strokeDash=[4, 3])
            .encode(y="ratio:Q")
        )
        panels.append(Panel(f"RTT {rtt_ms} ms", vl.layer(bands, one, lines)))
    return panels


def draw_senders(points: pl.DataFrame) -> list[Panel]:
    """Draw what a test shows after ten seconds, by sender, a panel for each distance."""
    known = points.filter(pl.col("sender").is_in(list(SENDERS)))
    panels = []
    for rtt_ms in sorted(set(known["rtt_ms"].to_list())):
        means = (
            known.filter(rtt_ms=rtt_ms)
            .group_by("queue", "sender", maintain_order=True)
            .agg(rate=pl.col("speed_10s").mean() / 1e6)
        )
        rows = means.with_columns(
            name=pl.col("queue").replace_strict(QUEUES),
            series=pl.col("sender").replace_strict(SENDERS),
            slot=pl.col("sender").replace_strict({sender: n for n, sender in enumerate(SENDERS)}),
        )
        chart = (
            make_chart(rows)
            .mark_point(filled=True, size=80)
            .encode(
                x=vl.X(
                    "name:N",
                    title=None,
                    sort=list(QUEUES.values()),
                    axis=vl.Axis(labelAngle=-30),
                ),
                y=vl.Y(
                    "rate:Q",
                    title="mean rate of the first 10 s (Mb/s)",
                    scale=vl.Scale(domain=[0, 250]),
                ),
                xOffset=vl.XOffset("series:N", sort=list(SENDERS.values())),
                color=colour(rows, "circle"),
                tooltip=["name:N", "series:N", vl.Tooltip("rate:Q", format=".1f")],
            )
        )
        panels.append(Panel(f"RTT {rtt_ms} ms", chart))
    return panels
