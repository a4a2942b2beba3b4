"""The scripted blast of the CBT paper: what each discipline leaves to each kind of flow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import polars.selectors as cs

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import (
    ClaimResult,
    ClaimVerdict,
    Decision,
    decide,
    decide_over_seeds,
    join_decisions,
)

if TYPE_CHECKING:
    Values = np.ndarray[Any, np.dtype[np.float64]]

#: Of the scenario: s between two values, when the flood is on, bit/s of the line, how many
#: conferences, IP bytes of the flood's packets.
INTERVAL, BLAST, RATE, CONFERENCES, PACKET = 1.0, (50, 95), 10e6, 6, 1000

#: The paper's disciplines, and the other variant of CBT.
PAPER, OTHER = ("RED", "FRED", "CBT", "CBQ"), "CBT, RED for TCP only"

#: RED and FRED otherwise than the claims have them.
ARRIVALS, FOUR, TWO, LIN = (
    "RED, arrivals dropped",
    "FRED, multiplier of 4",
    "FRED, 2 %",
    "FRED, Lin and Morris",
)

#: What the paper leaves open and is varied, as it is told.
VARIED = {
    "267 kbit/s": "conferences of 267 kbit/s",
    "300 ms": "delays of up to 300 ms",
    "Linux": "Linux's TCP",
}


def trace(row: dict[str, Any]) -> pl.DataFrame:
    """Give TCP's throughput in kB/s and RED's average at each interval's end."""
    names = ["rate", "blast", *(f"proshare_{number}" for number in range(1, CONFERENCES + 1))]
    rows = pl.DataFrame({name: row[name] for name in [*names, "average"]}, strict=False)
    udp = pl.sum_horizontal(names[1:])
    return rows.with_row_index("number").select(
        "average",
        time_s=(pl.col("number") + 1) * INTERVAL,
        tcp_kbps=((pl.col("rate") - udp) / 8e3).clip(lower_bound=0),
    )


def average_seeds(
    points: pl.DataFrame, queue: str, column: str, part: Sequence[float]
) -> list[float]:
    """Give the mean of a traced column over a part of the time (s), by seed."""
    rows = points.filter(pl.col("queue") == queue, pl.col("part") == "whole").sort("seed")
    within = (pl.col("time_s") > part[0]) & (pl.col("time_s") <= part[1])
    traces = (trace(row).filter(within)[column] for row in rows.iter_rows(named=True))
    return [float(own.cast(pl.Float64).to_numpy().mean()) for own in traces]


def during(points: pl.DataFrame, part: str = "blast") -> pl.DataFrame:
    """Give what was measured while the flood lasted: a row for each discipline and seed."""
    seconds = BLAST[1] - BLAST[0]
    passed = pl.col("tagged_sent") - pl.col("tagged_lost")
    # Of the time that a packet takes, the last part is its own transmission: it waits no longer.
    own_s = pl.col("tagged_rate") * seconds / passed / RATE
    rows = points.filter(pl.col("part") == part).with_columns(
        tcp_loss=pl.col("tcp_lost") / pl.col("tcp_sent"),
        loss=pl.col("tagged_lost") / pl.col("tagged_sent"),
        blast_loss=pl.col("blast_lost") / pl.col("blast_sent"),
        delay_ms=pl.col("tagged_delay") / 1e6,
        tcp_kbps=pl.col("tcp") / 8e3,
        tagged_kbps=pl.col("tagged_rate") / 1e3,
        slots=pl.col("blast_rate")
        / (8 * PACKET)
        * (pl.col("blast_delay") / 1e9 - 8 * PACKET / RATE),
        tagged_slots=passed / seconds * (pl.col("tagged_delay") / 1e9 - own_s),
    )
    # The series are left out: a chart of these rows need not carry them.
    return rows.drop(cs.list()).sort("seed", maintain_order=True)


def values(points: pl.DataFrame, queue: str, column: str, part: str = "blast") -> Values:
    """Give a measure of a discipline during the flood, by seed. Empty if it was not run."""
    return during(points, part).filter(pl.col("queue") == queue)[column].cast(pl.Float64).to_numpy()


def check_collapse(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare TCP's throughput under a discipline before the flood and during it."""
    before, now = (
        average_seeds(points, limits["queue"], "tcp_kbps", limits[part])
        for part in ("before", "during")
    )
    left = [late / early for early, late in zip(before, now, strict=True)]
    decision = decide_over_seeds(left, high=limits["most"])
    text = f"from {np.mean(before):.0f} to {np.mean(now):.0f} kB/s: {decision.mean:.0%}"
    why = _describe_varied(points, ["RED"], "tcp_kbps", "{:.0f} kB/s")
    return decision.tell(text, why)


def check_fred(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare TCP under FRED before the flood and during it, and with RED."""
    before, now = (
        average_seeds(points, "FRED", "tcp_kbps", limits[part]) for part in ("before", "during")
    )
    red = average_seeds(points, "RED", "tcp_kbps", limits["during"])
    left = [late / early for early, late in zip(before, now, strict=True)]
    decisions = [
        decide_over_seeds(left, limits["least"], 1),
        decide_over_seeds(np.subtract(now, red).tolist(), low=0),
    ]
    text = (
        f"from {np.mean(before):.0f} to {np.mean(now):.0f} kB/s: {np.mean(left):.0%}; RED"
        f" {np.mean(red):.0f} kB/s"
    )
    return join_decisions(decisions, text)


def check_protection(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare TCP's goodput during the flood with RED's and FRED's."""
    found = _gather(points, ("RED", "FRED", limits["queue"]), "tcp_kbps")
    if len(found) < 3:
        return ClaimResult("not all three were run", ClaimVerdict.UNTESTABLE)
    red, fred, own = found.values()
    decisions = [_exceed(own, red), _exceed(np.abs(own - red), np.abs(own - fred))]
    beside = _gather(points, (OTHER,), "tcp_kbps")
    return join_decisions(decisions, _list({**found, **beside}, "{:.0f} kB/s"))


def check_throughput(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare the conferences' throughput with RED's and FRED's."""
    column, form = "tagged_kbps", "{:.0f} kbit/s"
    found = _gather(points, ("RED", "FRED", limits["queue"]), column)
    if len(found) < 3:
        return ClaimResult("not all three were run", ClaimVerdict.UNTESTABLE)
    queue = limits["queue"]
    # As run, and with each thing that is varied: FRED, and the flows.
    choices = [(fred, "blast") for fred in ("FRED", FOUR, TWO, LIN)]
    choices += [("FRED", part) for part in VARIED]
    orders = {choice: _outdo(points, queue, column, *choice) for choice in choices}
    finding = join_decisions(orders["FRED", "blast"], _list(found, form))
    losses, only = _gather(points, (queue, OTHER), "loss"), values(points, OTHER, column)
    parts = [_describe_order(orders)]
    if finding.verdict is ClaimVerdict.DIFFERS and only.size and only.mean() > found["FRED"].mean():
        lost, spared = (own.mean() for own in losses.values())
        cause = (
            f"RED's test takes {lost:.0%} of the conferences' packets under CBT: without it for"
            f" them, RED only for TCP, they lose {spared:.1%} and have {form.format(only.mean())}"
        )
        parts.insert(0, cause)
    return replace(finding, why=". ".join(parts))


def check_latency(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare the conferences' mean delay with RED's and FRED's."""
    column, form = "delay_ms", "{:.1f} ms"
    found = _gather(points, ("RED", "FRED", limits["queue"]), column)
    if len(found) < 3:
        return ClaimResult("not all three were run", ClaimVerdict.UNTESTABLE)
    red, fred, own = found.values()
    finding = join_decisions([_exceed(red, own), _exceed(fred, own)], _list(found, form))
    cause = (
        "above its upper threshold RED drops packets drawn at random out of the queue, which have"
        " waited: those that get through have waited less. With RED that drops the arrival in their"
        " place it is as published"
    )
    arrivals = values(points, ARRIVALS, column)
    is_cause = bool(arrivals.size and own.mean() < arrivals.mean())
    parts = [cause] if is_cause and finding.verdict is ClaimVerdict.DIFFERS else []
    beside = (OTHER, ARRIVALS, FOUR, TWO, LIN)
    parts += [text] if (text := _list(_gather(points, beside, column), form)) else []
    parts.append(_describe_same(points, limits["queue"], column, finding.verdict))
    return replace(finding, why=". ".join(part for part in parts if part))


def check_near_cbq(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """See how far conferences come under CBT on the way from RED and FRED to CBQ."""
    names = ("RED", "FRED", limits["queue"], "CBQ")
    rates, delays = (_gather(points, names, column) for column in ("tagged_kbps", "delay_ms"))
    if len(rates) < 4:
        return ClaimResult("not all four were run", ClaimVerdict.UNTESTABLE)
    decisions = []
    for found, choose in ((rates, np.maximum), (delays, np.minimum)):
        red, fred, own, cbq = found.values()
        decisions.append(_exceed(np.abs(own - choose(red, fred)), np.abs(cbq - own)))
    rate, delay = (values(points, OTHER, column) for column in ("tagged_kbps", "delay_ms"))
    full = _list(_gather(points, names[2:], "delay_ms", "267 kbit/s"), "{:.1f} ms")
    why = (
        "what CBT's classes let in, RED then drops at random: without that test, RED only for TCP,"
        f" {rate.mean():.0f} kbit/s, and {delay.mean():.1f} ms. With conferences of 267 kbit/s,"
        f" which fill CBQ's share for them: {full}"
        if rate.size
        else ""
    )
    text = f"{_list(rates, '{:.0f} kbit/s')}. Mean delay: {_list(delays, '{:.1f} ms')}"
    return join_decisions(decisions, text, why)


def check_flood_loss(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Compare the flood's losses under FRED and RED."""
    fred, red = (values(points, queue, "blast_loss") for queue in ("FRED", "RED"))
    text = f"{fred.mean():.1%} of the flood's packets under FRED, {red.mean():.1%} under RED"
    return _exceed(fred, red).tell(text)


def check_slots(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Find how many packets of the flood's wait on average, by Little's law."""
    found = _gather(points, ("FRED", "RED"), "slots")
    decision = decide_over_seeds(found["FRED"].tolist(), high=limits["most"])
    why = _list(_gather(points, (FOUR, TWO, LIN), "slots"), "{:.1f}")
    return decision.tell(f"{_list(found, '{:.1f}')} packets", why)


def check_variant_loss(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Compare the conferences' losses under both variants of CBT."""
    return _compare_variants(points, "loss")


def check_variant_tcp(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Compare TCP's losses under both variants of CBT."""
    goodput = _list(_gather(points, ("CBT", OTHER), "tcp_kbps"), "{:.0f} kB/s")
    return _compare_variants(points, "tcp_loss", f"; goodput {goodput}")


def check_twelve(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Count the packets that wait and are not TCP's, by Little's law."""
    counts = {}
    for part in (limits["part"], "blast"):
        tagged, flood = (
            values(points, limits["queue"], name, part) for name in ("tagged_slots", "slots")
        )
        counts[part] = (tagged, flood)
    tagged, flood = counts[limits["part"]]
    if not tagged.size:
        return ClaimResult("not run", ClaimVerdict.UNTESTABLE)
    middle, within = limits["packets"], limits["within"]
    decision = decide_over_seeds((tagged + flood).tolist(), middle - within, middle + within)
    text = (
        f"{decision.mean:.1f}: {tagged.mean():.1f} of the conferences, {flood.mean():.1f} of the"
        " flood"
    )
    less, again = (own.mean() for own in counts["blast"])
    why = f"with conferences of 210 kbit/s {less + again:.1f}: {less:.1f} and {again:.1f}"
    return decision.tell(text, why)


def check_average(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look at RED's average queue under the transfers alone."""
    averages = average_seeds(points, limits["queue"], "average", limits["part"])
    decision = decide_over_seeds(averages, limits["low"], limits["high"])
    return decision.tell(f"{decision.mean:.1f} packets")


def check_arrivals(_points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Multiply the packets that arrive in a second by the time that one takes through the queue."""
    packets = limits["per_second"] * limits["seconds"]
    near = abs(packets - limits["packets"]) <= limits["within"]
    why = f"ten packets in 22 ms need {limits['packets'] / limits['seconds']:.0f} packets/s"
    return ClaimResult(f"{packets:.1f} packets", decide(near), why="" if near else why)


def check_load(_points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Multiply a conference's rate by their number."""
    load = limits["connections"] * limits["bps"]
    near = abs(load - limits["sum"]) <= limits["within"]
    each = limits["sum"] / limits["connections"] / 1e3
    why = f"1.6 Mbit/s need {each:.0f} kbit/s of each conference"
    return ClaimResult(f"{load / 1e6:.2f} Mbit/s", decide(near), why="" if near else why)


def check_missing(_points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Say that our copy of the paper lacks it."""
    return ClaimResult("not in our copy of the paper", ClaimVerdict.UNTESTABLE)


def draw_red(points: pl.DataFrame) -> list[Panel]:
    """Draw Figure 2."""
    return _draw_throughput(points, ["RED"])


def draw_fred(points: pl.DataFrame) -> list[Panel]:
    """Draw Figure 3."""
    return _draw_throughput(points, ["FRED"])


def draw_others(points: pl.DataFrame) -> list[Panel]:
    """Draw the same of CBT and CBQ, a panel for each."""
    return _draw_throughput(points, ["CBT", OTHER, "CBQ"])


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
                x=vl.X(f"{column}:Q", title=axis, scale=vl.Scale(zero=True)),
                y=vl.Y("queue:N", title=None, sort=order, axis=vl.Axis(labelLimit=220)),
                tooltip=["queue:N", "seed:Q", vl.Tooltip(f"{column}:Q", format=".4~g")],
            )
        )
        panels.append(Panel(title, dots))
    return panels


def _gather(
    points: pl.DataFrame, queues: Sequence[str], column: str, part: str = "blast"
) -> dict[str, Values]:
    """Give a measure of those disciplines that were run."""
    found = {queue: values(points, queue, column, part) for queue in queues}
    return {queue: own for queue, own in found.items() if own.size}


def _list(found: dict[str, Values], form: str) -> str:
    """Write the means of some disciplines."""
    return ", ".join(f"{queue} {form.format(own.mean())}" for queue, own in found.items())


def _exceed(more: Values, less: Values) -> Decision:
    """Decide whether a measure is larger than another of the same seeds."""
    return decide_over_seeds((more - less).tolist(), low=0)


def _outdo(points: pl.DataFrame, queue: str, column: str, fred: str, part: str) -> list[Decision]:
    """Decide whether a discipline has more than RED and than a FRED. Empty if they were not run."""
    found = _gather(points, (queue, "RED", fred), column, part)
    if len(found) < 3:
        return []
    own, *others = found.values()
    return [_exceed(own, other) for other in others]


def _describe_order(orders: dict[tuple[str, str], list[Decision]]) -> str:
    """Say how far ahead of FRED CBT is by each choice, the decision against FRED being the last."""
    texts = [
        f"{order[-1].mean:+.0f} ({fred if part == 'blast' else f'{fred}, {VARIED[part]}'})"
        for (fred, part), order in orders.items()
        if order
    ]
    return f"CBT over FRED, kbit/s, by what the paper leaves open: {', '.join(texts)}"


def _describe_same(points: pl.DataFrame, queue: str, column: str, verdict: ClaimVerdict) -> str:
    """Say with which flows a discipline's measure is smaller than RED's and FRED's."""
    same = []
    for part, words in VARIED.items():
        found = _gather(points, (queue, "RED", "FRED"), column, part)
        if len(found) == 3:
            own, *others = found.values()
            judged = join_decisions([_exceed(other, own) for other in others], "").verdict
            same += [words] if judged is verdict else []
    return f"The same with {', '.join(same)}" if same else ""


def _describe_varied(points: pl.DataFrame, queues: Sequence[str], column: str, form: str) -> str:
    """Say what becomes of a measure with each thing that the paper leaves open."""
    texts = []
    for part, words in VARIED.items():
        found = _gather(points, list(queues), column, part)
        if found:
            texts.append(f"with {words} {_list(found, form)}")
    return "; ".join(texts)


def _compare_variants(points: pl.DataFrame, column: str, more: str = "") -> ClaimResult:
    """See whether a loss is smaller with RED only for TCP than with RED for all, seed by seed."""
    found = _gather(points, ("CBT", OTHER), column)
    if len(found) < 2:
        return ClaimResult("not both were run", ClaimVerdict.UNTESTABLE)
    whole, only = found.values()
    return _exceed(whole, only).tell(_list(found, "{:.2%}") + more)


def _draw_throughput(points: pl.DataFrame, queues: Sequence[str]) -> list[Panel]:
    """Draw TCP's throughput over time on the paper's axes, of the first seed."""
    rows = points.filter(pl.col("part") == "whole").sort("seed", maintain_order=True)
    panels = []
    for queue in queues:
        own = rows.filter(pl.col("queue") == queue)
        if own.is_empty():
            continue
        panels.append(Panel(queue, _draw_line(trace(own.row(0, named=True)))))
    return panels


def _draw_line(rows: pl.DataFrame) -> vl.Chart:
    band = pl.DataFrame({"from_s": [BLAST[0]], "to_s": [BLAST[1]], "text": ["UDP blast"]})
    shade = (
        make_chart(band)
        .mark_rect(color="#9aa5b1", opacity=0.25)
        .encode(x="from_s:Q", x2="to_s:Q", y=vl.value(0), y2=vl.value(260))
    )
    line = (
        make_chart(rows)
        .mark_line(strokeWidth=1.5, color=PALETTE[0], clip=True)
        .encode(
            x=vl.X(
                "time_s:Q",
                title="elapsed time (s)",
                scale=vl.Scale(domain=[0, 200], nice=False),
                axis=vl.Axis(values=list(range(0, 201, 25)), grid=False),
            ),
            y=vl.Y(
                "tcp_kbps:Q",
                title="TCP throughput (kB/s)",
                scale=vl.Scale(domain=[0, 1250], nice=False),
                axis=vl.Axis(values=list(range(0, 1201, 200))),
            ),
        )
    )
    return vl.layer(shade, line)
