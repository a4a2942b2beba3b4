"""The scripted blast of the CBT paper: what each discipline leaves to TCP, to conferences and to a flood."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl
import polars.selectors as cs

from headend.estimate import estimate_mean, give_interval
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study.claims import Finding, Verdict, decide

if TYPE_CHECKING:
    from headend.figures.theme import AnyChart

    Values = np.ndarray[Any, np.dtype[np.float64]]

#: Of the scenario: s between two values, when the flood is on, bit/s of the line, how many conferences, IP bytes of the flood's packets.
INTERVAL, BLAST, RATE, CONFERENCES, PACKET = 1.0, (50, 95), 10e6, 6, 1000

#: kbit/s of a conference, where claims do not say otherwise, and the other value that the paper's 1.6 Mbit/s come to.
KBPS, OTHER_KBPS = 210, 267

#: FRED with Lin and Morris's extension for many flows, which the paper does not describe: beside the claims.
EXTENDED = "FRED, extended"

#: CBT's variants: RED for all, and RED for TCP only.
VARIANTS = ("CBT", "CBT, RED for TCP only")

#: What CBT is to be compared with, and itself.
COMPARED = ("RED", "FRED", "CBT", "CBQ")

WHY_RATE = "with RED for all, RED takes of a conference what it takes of 240 transfers that share 1125 packets a second"
WHY_DELAY = (
    "RED keeps the same average queue with either. What it drops at random out of a queue are packets that have waited, so that those which get through have waited"
    " less; and RED only for TCP adds the other classes' packets to that queue"
)


def trace(row: dict[str, Any]) -> pl.DataFrame:
    """Give TCP's throughput over time in kB/s (what left the queue and is not UDP's) and RED's average, at each interval's end."""
    names = ["rate", "blast", *(f"proshare_{number}" for number in range(1, CONFERENCES + 1))]
    rows = pl.DataFrame({name: row[name] for name in [*names, "average"]}, strict=False)
    udp = pl.sum_horizontal(names[1:])
    return rows.with_row_index("number").select(
        "average",
        time_s=(pl.col("number") + 1) * INTERVAL,
        tcp_kbps=((pl.col("rate") - udp) / 8e3).clip(lower_bound=0),
        tagged_bps=pl.sum_horizontal(names[2:]),
    )


def average_seeds(
    points: pl.DataFrame, queue: str, column: str, part: Sequence[float]
) -> list[float]:
    """Give the mean of a traced column over a part of the time (s), by seed."""
    rows = points.filter(
        pl.col("queue") == queue, pl.col("part") == "whole", pl.col("conference_kbps") == KBPS
    )
    within = (pl.col("time_s") > part[0]) & (pl.col("time_s") <= part[1])
    traces = (trace(row).filter(within)[column] for row in rows.iter_rows(named=True))
    return [float(own.cast(pl.Float64).to_numpy().mean()) for own in traces]


def average_over(points: pl.DataFrame, queue: str, column: str, part: Sequence[float]) -> float:
    """Give the same of all seeds together."""
    return float(np.mean(average_seeds(points, queue, column, part)))


def during(points: pl.DataFrame, kbps: int = KBPS) -> pl.DataFrame:
    """Give what was measured while the flood lasted: a row for each discipline and seed."""
    chosen = points.filter(pl.col("part") == "blast", pl.col("conference_kbps") == kbps)
    rows = chosen.with_columns(
        tcp_loss=pl.col("tcp_lost") / pl.col("tcp_sent"),
        loss=pl.col("tagged_lost") / pl.col("tagged_sent"),
        blast_loss=pl.col("blast_lost") / pl.col("blast_sent"),
        delay_ms=pl.col("tagged_delay") / 1e6,
        tcp_kbps=pl.col("tcp") / 8e3,
        tagged_kbps=pl.col("tagged_rate") / 1e3,
        slots=pl.col("blast_rate") / (8 * PACKET) * pl.col("blast_delay") / 1e9,
    )
    # The series are left out: a chart of these rows need not carry them.
    return rows.drop(cs.list()).sort("seed", maintain_order=True)


def values(points: pl.DataFrame, queue: str, column: str, kbps: int = KBPS) -> Values:
    """Give a measure of a discipline during the flood, by seed. Empty if it was not run."""
    return during(points, kbps).filter(pl.col("queue") == queue)[column].cast(pl.Float64).to_numpy()


def check_collapse(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare TCP's throughput under a discipline before the flood and during it."""
    before, now = (
        average_seeds(points, limits["queue"], "tcp_kbps", limits[part])
        for part in ("before", "during")
    )
    left = [late / early for early, late in zip(before, now, strict=True)]
    ratio = float(np.mean(left))
    text = f"from {np.mean(before):.0f} to {np.mean(now):.0f} kB/s: {ratio:.0%}"
    return Finding(text, decide(ratio < limits["most"]), give_interval(left))


def check_otherwise(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare TCP's throughput outside the flood with what the conferences leave."""
    texts, agrees = [], True
    for part in ("before", "after"):
        tcp, tagged = (
            average_over(points, limits["queue"], column, limits[part])
            for column in ("tcp_kbps", "tagged_bps")
        )
        left = (limits["rate"] - tagged) / 8e3
        agrees &= tcp >= (1 - limits["within"]) * left
        texts.append(f"{tcp:.0f} of {left:.0f} kB/s {part} the flood")
    return Finding("; ".join(texts), decide(agrees))


def check_fred(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare TCP under FRED before the flood and during it, and with RED."""
    before, now = (
        average_seeds(points, "FRED", "tcp_kbps", limits[part]) for part in ("before", "during")
    )
    red = average_over(points, "RED", "tcp_kbps", limits["during"])
    left = [late / early for early, late in zip(before, now, strict=True)]
    ratio, kbps = float(np.mean(left)), float(np.mean(now))
    agrees = limits["least"] < ratio < 1 and kbps >= limits["times"] * red
    text = f"from {np.mean(before):.0f} to {kbps:.0f} kB/s: {ratio:.0%}; RED {red:.0f} kB/s"
    return Finding(text, decide(agrees), give_interval(left))


def check_flood_loss(points: pl.DataFrame, _limits: dict[str, Any]) -> Finding:
    """Compare the flood's losses under FRED and RED."""
    fred, red = (values(points, queue, "blast_loss") for queue in ("FRED", "RED"))
    text = f"{fred.mean():.1%} of the flood's packets under FRED, {red.mean():.1%} under RED"
    return Finding(text, decide(bool((fred > red).all())))


def check_slots(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Find how many packets of the flood's stand in the queue on average, by Little's law."""
    fred, red = (values(points, queue, "slots").mean() for queue in ("FRED", "RED"))
    whole = average_over(points, "RED", "average", BLAST)
    text = f"FRED {fred:.1f}; RED {red:.1f} of {whole:.1f} packets"
    agrees = bool(fred <= limits["most"] and red > limits["share"] * whole)
    return Finding(text, decide(agrees), why="" if agrees else _tell_slots(points))


def _tell_slots(points: pl.DataFrame) -> str:
    """Say how many packets FRED lets a flood have, and how many with its extension."""
    extended = values(points, EXTENDED, "slots")
    with_it = (
        f". With Lin and Morris's extension for many flows: {extended.mean():.1f}"
        if extended.size
        else ""
    )
    return (
        "a flow may have as many packets as the lower threshold, 15, until it has been caught twice, and what it was caught at is forgotten"
        f" whenever it has no packet left{with_it}"
    )


def check_protection(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare TCP's goodput during the flood with RED's."""
    red = values(points, "RED", "tcp_kbps")
    found = _gather(points, limits["queues"], "tcp_kbps")
    agrees = all(bool((own >= limits["times"] * red).all()) for own in found.values())
    return Finding(_list({"RED": red, **found}, "{:.0f} kB/s"), decide(agrees))


def check_comparable(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare TCP's goodput during the flood with FRED's."""
    fred = values(points, "FRED", "tcp_kbps").mean()
    ratios = {
        queue: own.mean() / fred
        for queue, own in _gather(points, limits["queues"], "tcp_kbps").items()
    }
    text = ", ".join(f"{queue}: {ratio:.2f}" for queue, ratio in ratios.items())
    agrees = min(ratios.values()) >= limits["least"]
    return Finding(f"of FRED's, {text}", decide(bool(agrees)))


def check_tagged_rate(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare the conferences' throughput with RED's and FRED's."""
    form = "{:.0f} kbit/s"
    return _compare(points, limits["queue"], "tagged_kbps", form=form, higher=True, why=WHY_RATE)


def check_tagged_delay(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare the conferences' mean delay with RED's and FRED's."""
    form = "{:.1f} ms"
    return _compare(points, limits["queue"], "delay_ms", form=form, higher=False, why=WHY_DELAY)


def check_tagged_loss(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare the conferences' losses with RED's and FRED's."""
    own = _gather(points, [limits["queue"]], "loss")
    if not own:
        return Finding("not run", Verdict.UNTESTABLE)
    others = _gather(points, ("RED", "FRED"), "loss")
    loss = own[limits["queue"]].mean()
    agrees = all(loss <= limits["share"] * other.mean() for other in others.values())
    why = "" if agrees else WHY_RATE + _tell_extended(points, "loss", "{:.2%}")
    return Finding(_list({**own, **others}, "{:.2%}"), decide(bool(agrees)), why=why)


def check_near_cbq(points: pl.DataFrame, _limits: dict[str, Any]) -> Finding:
    """See how near CBT comes to CBQ, and how near the others."""
    agrees, text = _compare_with_cbq(points, KBPS)
    if agrees is None:
        return Finding(text, Verdict.UNTESTABLE)
    other, words = _compare_with_cbq(points, OTHER_KBPS)
    why = (
        "a FIFO makes a conference wait for what others have in the queue, while CBQ gives it a queue of its own, which stays empty as long as the"
        f" conferences bring less than its 16 %. With conferences of {OTHER_KBPS} kbit/s, which bring just that, it is {'so' if other else 'not so either'}:"
        f" {words}"
    )
    return Finding(text, decide(agrees), why="" if agrees else why)


def _compare_with_cbq(points: pl.DataFrame, kbps: int) -> tuple[bool | None, str]:
    texts, agrees = [], True
    columns = (("tcp_kbps", "{:.0f} kB/s"), ("loss", "{:.2%} lost"), ("delay_ms", "{:.1f} ms"))
    for column, form in columns:
        found = {queue: values(points, queue, column, kbps) for queue in COMPARED}
        if not all(own.size for own in found.values()):
            return None, "not all four were run"
        means = {queue: float(own.mean()) for queue, own in found.items()}
        apart = {queue: abs(mean - means["CBQ"]) for queue, mean in means.items()}
        agrees &= apart["CBT"] < min(apart["RED"], apart["FRED"])
        texts.append(", ".join(f"{queue} {form.format(mean)}" for queue, mean in means.items()))
        if column == "delay_ms":
            agrees &= means["CBQ"] == min(means.values())
    return agrees, "; ".join(texts)


def check_variant_loss(points: pl.DataFrame, _limits: dict[str, Any]) -> Finding:
    """Compare the conferences' losses under both variants of CBT."""
    return _compare_variants(points, "loss")


def check_variant_tcp(points: pl.DataFrame, _limits: dict[str, Any]) -> Finding:
    """Compare TCP's losses under both variants of CBT."""
    finding = _compare_variants(points, "tcp_loss")
    goodput = _list(_gather(points, VARIANTS, "tcp_kbps"), "{:.0f} kB/s")
    return replace(finding, measured=f"{finding.measured}; goodput {goodput}")


def check_twelve(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Count the packets in the queue that are not TCP's, by Little's law."""
    rows = during(points, limits["conference_kbps"]).filter(pl.col("queue") == limits["queue"])
    if rows.is_empty():
        return Finding("not run", Verdict.UNTESTABLE)
    passed = (pl.col("tagged_sent") - pl.col("tagged_lost")) / (BLAST[1] - BLAST[0])
    held = rows.select(tagged=passed * pl.col("tagged_delay") / 1e9, flood="slots")
    tagged, flood = held.mean().row(0)
    near = abs(tagged + flood - limits["packets"]) <= limits["within"]
    text = f"{tagged + flood:.1f}: {tagged:.1f} of the conferences, {flood:.1f} of the flood"
    return Finding(text, decide(near), give_interval(held.sum_horizontal().to_list()))


def check_average(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look at RED's average queue under the transfers alone."""
    averages = average_seeds(points, limits["queue"], "average", limits["part"])
    average = float(np.mean(averages))
    near = abs(average - limits["packets"]) <= limits["within"]
    return Finding(f"{average:.1f} packets", decide(near), give_interval(averages))


def check_arrivals(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Count what the conferences send while a packet passes through the queue."""
    seconds = limits["to_s"] - limits["from_s"]
    sent = float(values(points, "RED", "tagged_sent").mean()) / seconds
    packets = sent * limits["seconds"]
    why = (
        f"the paper's own {limits['stated']} packets/s would bring {limits['stated'] * limits['seconds']:.1f} in 22 ms; ten need"
        f" {limits['packets'] / limits['seconds']:.0f} packets/s. Its 800 ns a packet are 800 µs; how ProShare cuts 210 kbit/s into packets is"
        " not given"
    )
    near = abs(packets - limits["packets"]) <= limits["within"]
    text = f"{sent:.0f} packets/s, {packets:.1f} in 22 ms"
    return Finding(text, decide(near), why="" if near else why)


def check_load(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look at the conferences' load before the transfers begin."""
    load = average_over(points, "RED", "tagged_bps", (2, 20))
    near = abs(load - limits["bps"]) <= limits["within"]
    why = "six times the 210 kbit/s of the same section are 1.26 Mbit/s; 1.6 Mbit/s need 267 kbit/s each, which application.conference.rate gives"
    return Finding(f"{load / 1e6:.2f} Mbit/s", decide(near), why="" if near else why)


def check_state(_points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Add up the state that each discipline keeps."""
    state = {
        "CBT": limits["cbt_class"] * limits["cbt_classes"],
        "CBQ": limits["cbq_class"] * limits["cbq_classes"],
        "FRED": limits["fred_connection"] * limits["connections"],
    }
    text = ", ".join(f"{queue} {size} B" for queue, size in state.items())
    even = limits["cbt_class"] * limits["cbt_classes"] // limits["fred_connection"]
    why = f"FRED's grows with the connections: up to {even} of them it has less than CBT's three classes"
    return Finding(text, decide(state["CBT"] < state["CBQ"] < state["FRED"]), why=why)


def check_missing(_points: pl.DataFrame, _limits: dict[str, Any]) -> Finding:
    """Say that our copy of the paper lacks it."""
    return Finding("not in our copy of the paper", Verdict.UNTESTABLE)


def draw_red(points: pl.DataFrame) -> list[Panel]:
    """Draw Figure 2."""
    return _draw_throughput(points, ["RED"])


def draw_fred(points: pl.DataFrame) -> list[Panel]:
    """Draw Figure 3."""
    return _draw_throughput(points, ["FRED"])


def draw_others(points: pl.DataFrame) -> list[Panel]:
    """Draw the same of the other disciplines, a panel for each."""
    queues = points["queue"].unique(maintain_order=True).to_list()
    return _draw_throughput(points, [queue for queue in queues if queue not in ("RED", "FRED")])


def draw_during(points: pl.DataFrame) -> list[Panel]:
    """Draw what was measured during the flood, a panel for each measure."""
    rows = during(points)
    order = rows["queue"].unique(maintain_order=True).to_list()
    charts = (
        ("TCP", "tcp_kbps", "goodput of all transfers (kB/s)"),
        ("Conferences: losses", "loss", "packets lost (share)"),
        ("Conferences: delay", "delay_ms", "mean one-way delay (ms)"),
        ("Flood", "blast_loss", "packets lost (share)"),
    )
    panels = []
    for title, column, axis in charts:
        dots = (
            make_chart(rows)
            .mark_point(filled=True, size=60, color=PALETTE[0], opacity=0.8)
            .encode(
                x=alt.X(f"{column}:Q", title=axis, scale=alt.Scale(zero=True)),
                y=alt.Y("queue:N", title=None, sort=order, axis=alt.Axis(labelLimit=220)),
                tooltip=["queue:N", "seed:Q", alt.Tooltip(f"{column}:Q", format=".4~g")],
            )
        )
        panels.append(Panel(title, dots))
    return panels


def _gather(points: pl.DataFrame, queues: Sequence[str], column: str) -> dict[str, Values]:
    """Give a measure of those disciplines that were run."""
    found = {queue: values(points, queue, column) for queue in queues}
    return {queue: own for queue, own in found.items() if own.size}


def _list(found: dict[str, Values], form: str) -> str:
    """Write the means of some disciplines, with the half widths of their 95 % intervals."""
    texts = []
    for queue, own in found.items():
        half = estimate_mean(own.tolist()).half
        spread = "" if math.isnan(half) else f" ± {form.format(half)}"
        texts.append(f"{queue}: {form.format(own.mean())}{spread}")
    return "; ".join(texts)


def _compare(
    points: pl.DataFrame, queue: str, column: str, *, form: str, higher: bool, why: str
) -> Finding:
    """Compare a discipline with RED and FRED, seed by seed."""
    found = _gather(points, (queue, "RED", "FRED"), column)
    if len(found) < 3:
        return Finding("not all three were run", Verdict.UNTESTABLE)
    own, *others = found.values()
    holds = [(own > other) if higher else (own < other) for other in others]
    agrees = all(bool(held.all()) for held in holds)
    if agrees:
        return Finding(_list(found, form), decide(agrees))
    exceptions = [
        f"not against {rival} with {_count_exceptions(held)}"
        for rival, held in zip(("RED", "FRED"), holds, strict=True)
        if not held.all()
    ]
    why = f"{', '.join(exceptions)}: {why}{_tell_extended(points, column, form)}"
    return Finding(_list(found, form), decide(agrees), why=why)


def _count_exceptions(held: np.ndarray[Any, np.dtype[np.bool_]]) -> str:
    """Say with how many seeds something does not hold."""
    missed = int((~held).sum())
    return "any seed" if missed == held.size else f"{missed} of {held.size} seeds"


def _tell_extended(points: pl.DataFrame, column: str, form: str) -> str:
    """Say what FRED with its extension for many flows comes to, where it was run."""
    own = values(points, EXTENDED, column)
    if not own.size:
        return ""
    return f". FRED with Lin and Morris's extension for many flows: {form.format(own.mean())}"


def _compare_variants(points: pl.DataFrame, column: str) -> Finding:
    """See whether a loss is smaller with RED for TCP only than with RED for all, seed by seed."""
    found = _gather(points, VARIANTS, column)
    if len(found) < 2:
        return Finding("not both were run", Verdict.UNTESTABLE)
    whole, only = found.values()
    held = only < whole
    why = "" if held.all() else f"not so with {_count_exceptions(held)}"
    return Finding(_list(found, "{:.2%}"), decide(bool(held.all())), why=why)


def _draw_throughput(points: pl.DataFrame, queues: Sequence[str]) -> list[Panel]:
    """Draw TCP's throughput over time on the paper's axes, of the first seed."""
    rows = points.filter(pl.col("part") == "whole", pl.col("conference_kbps") == KBPS)
    rows = rows.sort("seed", maintain_order=True)
    panels = []
    for queue in queues:
        own = rows.filter(pl.col("queue") == queue)
        if own.is_empty():
            continue
        panels.append(Panel(queue, _draw_line(trace(own.row(0, named=True)))))
    return panels


def _draw_line(rows: pl.DataFrame) -> AnyChart:
    band = pl.DataFrame({"from_s": [BLAST[0]], "to_s": [BLAST[1]], "text": ["UDP blast"]})
    shade = (
        make_chart(band)
        .mark_rect(color="#9aa5b1", opacity=0.25)
        .encode(x="from_s:Q", x2="to_s:Q", y=alt.value(0), y2=alt.value(260))
    )
    line = (
        make_chart(rows)
        .mark_line(strokeWidth=1.5, color=PALETTE[0], clip=True)
        .encode(
            x=alt.X(
                "time_s:Q",
                title="elapsed time (s)",
                scale=alt.Scale(domain=[0, 200], nice=False),
                axis=alt.Axis(values=list(range(0, 201, 25)), grid=False),
            ),
            y=alt.Y(
                "tcp_kbps:Q",
                title="TCP throughput (kB/s)",
                scale=alt.Scale(domain=[0, 1250], nice=False),
                axis=alt.Axis(values=list(range(0, 1201, 200))),
            ),
        )
    )
    return alt.layer(shade, line)
