"""Calls and pages behind eight queues, over all loads and channels of the AQM paper."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from headend.estimate import Estimate, estimate_mean
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, AnyChart, colour, dash, log_axis, make_chart, share_axis
from headend.study.claims import Finding, Verdict, decide
from headend.study.disciplines import DISCIPLINES, SLOTS
from headend.study.pooling import Values, find_percentile, pool, spread_out

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Columns with the percentiles of page load times, ns.
PAGES = {
    0.0: "page_min",
    5.0: "page_p5",
    25.0: "page_p25",
    50.0: "page_p50",
    75.0: "page_p75",
    90.0: "page_p90",
    95.0: "page_p95",
    100.0: "page_max",
}

#: The percentile that the paper speaks of.
PERCENTILE = 90.0

#: How many pages a load's users ask for at the same time: what a cell's pages count in Figure 5.
USERS = {1: 1, 2: 1, 3: 1, 4: 1, 5: 1, 6: 4, 7: 4, 8: 4, 9: 4}

#: The paper's 90th percentiles, from where to where: of latency in ms, of pages in s.
PUBLISHED_MS = (
    ("sfq-codel", 13.0, 13.0, "SFQ ≈ 13 ms"),
    ("codel", 20.0, 26.0, "CoDel, CoDel-DT, PIE 20 to 26 ms"),
    ("buffer-control", 40.0, 40.0, "Buffer Control above 40 ms"),
    ("bufferbloat", 170.0, 170.0, "Buffer Bloat ≈ 170 ms"),
)
PUBLISHED_S = (
    ("codel", 2.7, 3.0, "all AQM 2.7 to 3 s"),
    ("buffer-control", 3.5, 3.5, "Buffer Control 3.5 s"),
    ("bufferbloat", 5.5, 5.5, "Buffer Bloat 5.5 s"),
)

#: The least loss that Figure 2's axis shows.
LEAST_LOSS = 1e-5

#: What the axes of Figures 1 and 5 show, ms and s.
MOST_MS, MOST_S = 350.0, 10.0

#: How far the detail of Figure 1 goes, ms, and how high the distributions are drawn, pixels.
DETAIL_MS, HEIGHT = 80.0, 340

#: Why latencies, scores and page load times differ, by the first queue of a claim, where they do.
WHY_LATENCY = {
    "sfq-codel": "a call that has its queue to itself waits for request and grant alone, which §7 puts at 4 to 8 ms, and less while the uploads' requests are out; between which ends the paper measured, and how"
    " long before a grant its SFQ had chosen the packets (§3.2), it does not say. Where a call meets uploads or a torrent in its queue, it waits ten times as long (aqm-docsis/flow-queues)",
    "codel": "under RF congestion all three are where the paper has them; where only the shaper limits, CoDel-DT and PIE are above: their estimator reads the line rate within a burst (§7), and takes the queue for shorter than it is. With uploads that last, PIE that takes its"
    " delay from the token buckets is in the range, and senders that use a fresh connection for each file move all of them (aqm-docsis/choices)",
    "bufferbloat": "250 ms at 200 Mb/s are more on a channel that gives 100, and how full they are is the senders': windows, and what starts anew with each file, which the paper does not tell (aqm-docsis/choices)",
}
WHY_ESTIMATOR = "where only the shaper limits, the estimator that PIE and CoDel-DT share reads the line rate within a burst (§7) and takes the queue for shorter than it is"
WHY_CODEL_DT = (
    f"{WHY_ESTIMATOR}, and CoDel-DT, without an integral, has nothing to make up for it; the offset that the paper suspects is in its published ns-2 code, which aims 6 ms lower than it is told:"
    " long uploads then wait less than with CoDel, short ones do not (aqm-docsis/choices)"
)
WHY_HASH = "only where a call meets others in one of 32 queues; with a queue for each flow there is none (aqm-docsis/flow-queues)"
WHY_LOSS = "more than half of the packets lost are load 9's, whose hundred connections give way only from 100 ms of delay on: there CoDel lets the delay grow where PIE drops. Of the other loads the two lose hardly anything, and about equally little"
WHY_MOS = "a de-jitter buffer of 40 ms, ours, holds packets to 40 ms more than the fastest: Buffer Control's 50 ms and what single-queue AQMs let stand in slow start are late for it. With 60 ms all but a few are in time (aqm-docsis/choices). Of the SFQ algorithms it is load 9, where the call shares its queue"
WHY_PAGES = "how far the servers are, the paper does not tell: at 100 ms instead of 20 to 80 all pages take longer than the paper's (aqm-docsis/choices). SFQ's pages wait behind nothing but their own acknowledgements here"


# Reading the points.


def pool_latency(rows: pl.DataFrame) -> tuple[Values, Values]:
    """Pool the packets of cells: latencies in ms, and the share of packets within each."""
    parts = [np.asarray(delays, dtype=float)[1:] / 1e6 for delays in rows["delays"].to_list()]
    return pool(parts, rows["sent"].to_list())


def pool_pages(rows: pl.DataFrame) -> tuple[Values, Values]:
    """Pool the pages of cells: load times in s, and the share of pages within each."""
    parts, weights = [], []
    for row in rows.select("load", *PAGES.values()).iter_rows(named=True):
        values = spread_out({place: row[column] for place, column in PAGES.items()})
        if values is not None:
            parts.append(values / 1e9)
            weights.append(USERS[row["load"]])
    return pool(parts, weights)


def estimate_latency(points: pl.DataFrame, queue: str) -> Estimate:
    """Estimate the 90th percentile latency of a queue, ms: a value for each seed."""
    return estimate_mean(
        [find_percentile(*pool_latency(rows), PERCENTILE) for rows in split(points, queue)]
    )


def estimate_pages(points: pl.DataFrame, queue: str) -> Estimate:
    """Estimate the 90th percentile page load time of a queue, s: a value for each seed."""
    return estimate_mean(
        [find_percentile(*pool_pages(rows), PERCENTILE) for rows in split(points, queue)]
    )


def split(points: pl.DataFrame, queue: str) -> list[pl.DataFrame]:
    """Give the cells of a queue, seed by seed."""
    return points.filter(queue=queue).sort("seed").partition_by("seed", maintain_order=True)


def list_present(points: pl.DataFrame, queues: Sequence[str]) -> list[str]:
    """Give those of some queues that were run."""
    run = set(points["queue"].to_list())
    return [queue for queue in queues if queue in run]


def say(queue: str, estimate: Estimate, unit: str, digits: int = 1) -> str:
    """Write a queue's estimate, with its interval where there is one."""
    half = "" if math.isnan(estimate.half) else f" ± {estimate.half:.{digits}f}"
    return f"{DISCIPLINES[queue]} {estimate.mean:.{digits}f}{half} {unit}"


def take_interval(estimates: Sequence[Estimate]) -> tuple[float, float] | None:
    """Give the interval of a single estimate."""
    if len(estimates) != 1 or math.isnan(estimates[0].half):
        return None
    return estimates[0].low, estimates[0].high


# The claims.


def check_latency(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold the 90th percentile latency of some queues against a range."""
    queues = list_present(points, limits["queues"])
    found = [estimate_latency(points, queue) for queue in queues]
    return judge_range(queues, found, limits, "ms", WHY_LATENCY.get(limits["queues"][0], ""))


def check_pages(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold the 90th percentile page load time of some queues against a range."""
    queues = list_present(points, limits["queues"])
    found = [estimate_pages(points, queue) for queue in queues]
    return judge_range(queues, found, limits, "s", WHY_PAGES)


def judge_range(
    queues: Sequence[str], found: Sequence[Estimate], limits: dict[str, Any], unit: str, why: str
) -> Finding:
    """Hold estimates against a range."""
    if not queues:
        return Finding("not run", Verdict.UNTESTABLE)
    digits = 1 if unit == "ms" else 2
    text = ", ".join(say(*pair, unit, digits) for pair in zip(queues, found, strict=True))
    agrees = all(limits["least"] <= item.mean <= limits["most"] for item in found)
    return Finding(text, decide(agrees), take_interval(found), "" if agrees else why)


def check_order(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold the kinds of queues against their order in latency."""
    kinds = [list_present(points, kind) for kind in limits["kinds"]]
    found = {queue: estimate_latency(points, queue) for kind in kinds for queue in kind}
    return judge_order([kind for kind in kinds if kind], found, "ms")


def check_page_order(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold the kinds of queues against their order in page load time."""
    kinds = [list_present(points, kind) for kind in limits["kinds"]]
    found = {queue: estimate_pages(points, queue) for kind in kinds for queue in kind}
    return judge_order([kind for kind in kinds if kind], found, "s")


def judge_order(kinds: Sequence[Sequence[str]], found: dict[str, Estimate], unit: str) -> Finding:
    """Hold the worst of each kind against the best of the next."""
    digits = 1 if unit == "ms" else 2
    text = " < ".join(
        ", ".join(say(queue, found[queue], unit, digits) for queue in kind) for kind in kinds
    )
    agrees = all(
        max(found[queue].mean for queue in better) < min(found[queue].mean for queue in worse)
        for better, worse in itertools.pairwise(kinds)
    )
    return Finding(text if agrees else text.replace(" < ", "; then "), decide(agrees))


def check_alike(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold the difference of two queues' latency against a bound."""
    queues = list_present(points, [limits["first"], limits["second"]])
    if len(queues) < 2:
        return Finding("not run", Verdict.UNTESTABLE)
    found = [estimate_latency(points, queue) for queue in queues]
    text = " and ".join(say(queue, item, "ms") for queue, item in zip(queues, found, strict=True))
    agrees = abs(found[0].mean - found[1].mean) <= limits["most_ms"]
    return Finding(text, decide(agrees), why="" if agrees else WHY_ESTIMATOR)


def check_codel_dt(points: pl.DataFrame, _limits: dict[str, Any]) -> Finding:
    """Look whether CoDel-DT has less latency than CoDel and PIE."""
    queues = list_present(points, ["codel-dt", "codel", "pie"])
    if len(queues) < 3:
        return Finding("not run", Verdict.UNTESTABLE)
    found = [estimate_latency(points, queue) for queue in queues]
    text = ", ".join(say(queue, item, "ms") for queue, item in zip(queues, found, strict=True))
    agrees = found[0].mean < min(found[1].mean, found[2].mean)
    return Finding(text, decide(agrees), why="" if agrees else WHY_CODEL_DT)


def lose(points: pl.DataFrame) -> pl.DataFrame:
    """Give each queue's share of packets lost in all, its cells, and those that lost something."""
    return points.group_by("queue", maintain_order=True).agg(
        share=pl.col("lost").sum() / pl.col("sent").sum(),
        cells=pl.len(),
        losing=(pl.col("lost") > 0).sum(),
        packets=pl.col("lost").sum(),
    )


def check_no_loss(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look for cells of some queues in which a packet was lost."""
    rows = lose(points.filter(pl.col("queue").is_in(limits["queues"]))).to_dicts()
    if not rows:
        return Finding("not run", Verdict.UNTESTABLE)
    rows.sort(key=lambda row: SLOTS[row["queue"]])
    text = ", ".join(
        f"{DISCIPLINES[row['queue']]} lost {row['packets']:.0f} packets ({row['share']:.1e}) in {row['losing']} of {row['cells']} cells"
        for row in rows
    )
    agrees = all(row["packets"] == 0 for row in rows)
    return Finding(text, decide(agrees), why="" if agrees else WHY_HASH)


def check_loss_order(points: pl.DataFrame, _limits: dict[str, Any]) -> Finding:
    """Hold the single-queue AQMs against their order in loss."""
    shares = dict(lose(points).select("queue", "share").iter_rows())
    if not {"pie", "codel", "codel-dt"} <= shares.keys():
        return Finding("not run", Verdict.UNTESTABLE)
    pie, codel, codel_dt = (shares[queue] for queue in ("pie", "codel", "codel-dt"))
    text = f"PIE {pie:.2e}, CoDel {codel:.2e}, CoDel-DT {codel_dt:.2e}"
    agrees = pie < codel < codel_dt and codel - pie < codel_dt - codel
    return Finding(text, decide(agrees), why="" if agrees else WHY_LOSS)


def check_some_without_loss(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Count the cells of each queue that lost nothing."""
    rows = lose(points.filter(pl.col("queue").is_in(limits["queues"]))).to_dicts()
    rows.sort(key=lambda row: SLOTS[row["queue"]])
    text = ", ".join(
        f"{DISCIPLINES[row['queue']]} {row['cells'] - row['losing']} of {row['cells']} cells"
        for row in rows
    )
    return Finding(text, decide(all(row["losing"] < row["cells"] for row in rows)))


def check_best_mos(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold the best score of all against the scale's end."""
    best = float(points["mos"].drop_nans().max())  # type: ignore[arg-type]
    return Finding(f"{best:.2f}", decide(limits["least"] <= best <= limits["most"]))


def check_mos(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Count the cells of some queues that score below a bound."""
    agrees, found = True, []
    for queue in list_present(points, limits["queues"]):
        scores = points.filter(queue=queue)["mos"].drop_nulls().to_list()
        share = sum(score < limits["below"] for score in scores) / len(scores)
        agrees &= share > limits["least"] if "least" in limits else share <= limits["most"]
        found.append(
            f"{DISCIPLINES[queue]} {share:.0%} of {len(scores)} cells, worst {min(scores):.2f}"
        )
    if not found:
        return Finding("not run", Verdict.UNTESTABLE)
    text = f"below {limits['below']:g}: " + "; ".join(found)
    return Finding(text, decide(agrees), why="" if agrees else WHY_MOS)


def find_cells(points: pl.DataFrame) -> pl.DataFrame:
    """Give the 90th percentile latency of each cell, ms, mean of the seeds."""
    return (
        points.with_columns(p90=pl.col("delays").list.get(round(PERCENTILE)) / 1e6)
        .group_by("queue", "load", "rf", maintain_order=True)
        .agg(pl.col("p90").mean())
    )


def check_none_best(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Count the cells in which each of some queues has the least latency of them."""
    queues = limits["queues"]
    if len(list_present(points, queues)) < len(queues):
        return Finding("not run", Verdict.UNTESTABLE)
    cells = find_cells(points).filter(pl.col("queue").is_in(queues))
    best = cells.sort("p90").group_by("load", "rf", maintain_order=True).first()["queue"].to_list()
    counts = {queue: best.count(queue) for queue in queues}
    text = ", ".join(f"{DISCIPLINES[queue]} {count}" for queue, count in counts.items())
    agrees = min(counts.values()) > 0
    why = "" if agrees else WHY_CODEL_DT
    return Finding(f"least in {text} of {len(best)} cells", decide(agrees), why=why)


# The figures.


def mark_series(frame: pl.DataFrame, queue: str) -> pl.DataFrame:
    """Give rows the name and the colour of their queue."""
    return frame.with_columns(series=pl.lit(DISCIPLINES[queue]), slot=pl.lit(SLOTS[queue]))


def draw_shares(
    rows: pl.DataFrame, x: alt.X, layers: Sequence[AnyChart] = (), *, what: str, step: bool = False
) -> list[Panel]:
    """Draw cumulative distributions, one for each queue."""
    curves = (
        make_chart(rows)
        .mark_line(strokeWidth=2.2, clip=True, interpolate="step-after" if step else "linear")
        .encode(
            x=x,
            y=share_axis(what),
            order="share:Q",
            color=colour(rows),
            strokeDash=dash(rows, smooth=True),
            tooltip=[
                "series:N",
                alt.Tooltip("value:Q", format=".3~g"),
                alt.Tooltip("share:Q", format=".1%"),
            ],
        )
    )
    return [Panel("", alt.layer(curves, *layers).properties(height=HEIGHT))]


def draw_published(
    published: Sequence[tuple[str, float, float, str]], axis: alt.X
) -> list[AnyChart]:
    """Draw the paper's 90th percentiles: bars from where to where, points where there is one number; and say so."""
    layers: list[AnyChart] = []
    for place, (queue, low, high, text) in enumerate(published):
        tone = PALETTE[SLOTS[queue]]
        frame = pl.DataFrame({"value": [low], "end": [high], "share": [PERCENTILE / 100]})
        base = make_chart(frame).encode(y="share:Q")
        bar = base.mark_rule(strokeWidth=9, opacity=0.5, color=tone).encode(x=axis, x2="end:Q")
        point = base.mark_point(shape="diamond", size=130, filled=True, color=tone).encode(x=axis)
        layers.append(bar if high > low else point)
        words = make_chart(frame).mark_text(
            align="right", color=tone, fontWeight="bold", text=f"\N{BLACK DIAMOND} paper: {text}"
        )
        height = HEIGHT - 14 - 16 * (len(published) - 1 - place)
        layers.append(words.encode(x=alt.value("width"), y=alt.value(height)))
    return layers


def thin(values: Values, shares: Values) -> pl.DataFrame:
    """Keep as much of a distribution as a figure shows: two hundred and one shares."""
    wanted = np.linspace(0, 1, 201)
    places = np.minimum(np.searchsorted(shares, wanted), len(values) - 1)
    return pl.DataFrame({"value": values[places], "share": wanted})


def draw_latency(points: pl.DataFrame) -> list[Panel]:
    """Draw Figure 1."""
    return draw_latencies(points, MOST_MS, PUBLISHED_MS)


def draw_latency_detail(points: pl.DataFrame) -> list[Panel]:
    """Draw where all but one of its curves are."""
    return draw_latencies(points, DETAIL_MS, PUBLISHED_MS[:-1])


def draw_latencies(
    points: pl.DataFrame, most: float, published: Sequence[tuple[str, float, float, str]]
) -> list[Panel]:
    """Draw the distribution of the packets' latency up to some ms."""
    rows = pl.concat(
        mark_series(thin(*pool_latency(points.filter(queue=queue))), queue)
        for queue in list_present(points, list(DISCIPLINES))
    )
    axis = alt.X("value:Q", title="packet latency (ms)", scale=alt.Scale(domain=[0, most]))
    return draw_shares(rows, axis, draw_published(published, axis), what="packets")


def draw_latency_by_load(points: pl.DataFrame) -> list[Panel]:
    """Draw the 90th percentile of each cell, a panel for each RF pattern."""
    cells = find_cells(points)
    panels = []
    for rf in points["rf"].unique(maintain_order=True).to_list():
        rows = pl.concat(
            mark_series(cells.filter(rf=rf, queue=queue), queue)
            for queue in list_present(points, list(DISCIPLINES))
        )
        chart = (
            make_chart(rows)
            .mark_line(point=True, strokeWidth=1.6)
            .encode(
                x=alt.X("load:O", title="load (Table 1)", axis=alt.Axis(labelAngle=0)),
                y=alt.Y(
                    "p90:Q",
                    title="90th percentile latency (ms)",
                    scale=alt.Scale(type="log", domain=[3, 300], nice=False),
                    axis=log_axis((3, 300)),
                ),
                color=colour(rows),
                tooltip=["series:N", "load:O", alt.Tooltip("p90:Q", format=".3~g")],
            )
        )
        panels.append(Panel(f"RF congestion: {rf}", chart))
    return panels


def draw_loss(points: pl.DataFrame) -> list[Panel]:
    """Draw Figure 2."""
    frames = []
    for queue in list_present(points, list(DISCIPLINES)):
        own = points.filter(queue=queue)
        values = np.sort((own["lost"] / own["sent"]).to_numpy())
        shares = np.arange(1, len(values) + 1) / len(values)
        zero = float((values == 0).mean())
        lossy = values > 0
        frame = pl.DataFrame(
            {
                "value": np.concatenate(
                    [[LEAST_LOSS], np.maximum(values[lossy], LEAST_LOSS), [1.0]]
                ),
                "share": np.concatenate([[zero], shares[lossy], [1.0]]),
            }
        )
        frames.append(mark_series(frame, queue))
    axis = alt.X(
        "value:Q",
        title="packet loss",
        scale=alt.Scale(type="log", domain=[LEAST_LOSS, 1], nice=False),
        axis=alt.Axis(values=[10.0**power for power in range(-5, 1)], format=".0e"),
    )
    return draw_shares(pl.concat(frames), axis, what="cells", step=True)


def draw_scores(points: pl.DataFrame, domain: tuple[float, float]) -> list[Panel]:
    """Draw the distribution of the cells' scores."""
    frames = []
    for queue in list_present(points, list(DISCIPLINES)):
        values = np.sort(points.filter(queue=queue)["mos"].drop_nans().to_numpy())
        shares = np.arange(1, len(values) + 1) / len(values)
        frame = pl.DataFrame(
            {
                "value": np.concatenate([[1.0], values, [4.5]]),
                "share": np.concatenate([[0.0], shares, [1.0]]),
            }
        )
        frames.append(mark_series(frame, queue))
    axis = alt.X("value:Q", title="VoIP MOS", scale=alt.Scale(domain=list(domain)))
    return draw_shares(pl.concat(frames), axis, what="cells", step=True)


def draw_mos(points: pl.DataFrame) -> list[Panel]:
    """Draw Figure 3."""
    return draw_scores(points, (1.0, 4.5))


def draw_mos_detail(points: pl.DataFrame) -> list[Panel]:
    """Draw Figure 4."""
    return draw_scores(points, (4.0, 4.5))


def draw_pages(points: pl.DataFrame) -> list[Panel]:
    """Draw Figure 5."""
    rows = pl.concat(
        mark_series(thin(*pool_pages(points.filter(queue=queue))), queue)
        for queue in list_present(points, list(DISCIPLINES))
    )
    axis = alt.X("value:Q", title="page load time (s)", scale=alt.Scale(domain=[0, MOST_S]))
    return draw_shares(rows, axis, draw_published(PUBLISHED_S, axis), what="pages")
