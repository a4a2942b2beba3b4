"""Calls and pages behind nine queues, over all loads and channels of the AQM paper."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from headend.analysis.estimate import estimate_mean
from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, colour, log_axis, make_chart, share_axis
from headend.study import (
    ClaimResult,
    ClaimVerdict,
    Decision,
    decide,
    decide_over_seeds,
    join_decisions,
)

from ..disciplines import DISCIPLINES, SLOTS
from ..pooling import Values, find_percentile, pool, spread_out

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: CoDel-DT with the offset that its published code has: another reading of what the figures show.
OFFSET = "codel-dt-offset"

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

#: What §5.1 and §5.2 compare queues by, as columns of a cell, and what findings call it.
COMPARED = {"latency": "latency", "loss": "loss", "badness": "MOS", "pages": "page load time"}

#: The load with the torrent.
TORRENTS = 9

#: The least loss that Figure 2's axis shows.
LEAST_LOSS = 1e-5

#: What a difference is more than, of ms, s, a share or a score: equal is not above.
LEAST = 1e-12

#: What the axes of Figures 1 and 5 show, ms and s.
MOST_MS, MOST_S = 350.0, 10.0

#: How far the detail of Figure 1 goes, ms, and how high the distributions are drawn, pixels.
DETAIL_MS, HEIGHT = 80.0, 340

#: Why latencies, losses, scores and page load times differ, by the experiment that tells.
WHY_LATENCY = {
    "codel": (
        "where the grants stand in a MAP moves all three: at its beginning calls beside six uploads"
        " wait 1.8 (CoDel), 3.1 (CoDel-DT) and 6.6 ms (PIE) less (AQM-7.placement). With a fresh"
        " connection for each file they wait two to three times as long (AQM-open.fresh)"
    ),
    "bufferbloat": (
        "no single cause was found. Without heavy congestion, under which 6.25 MB last up to twice"
        " as long, it is still above. On two loads without congestion (aqm-docsis/choices) calls"
        " wait 137 ms, and 166 with grants at the beginning of each MAP. The buffer's unit is not"
        " it: counted in packets of 1514 B they wait 141 instead of 132 ms there (a trial of eight"
        " seeds, +10 ± 21 ms)"
    ),
}
WHY_CODEL_DT = (
    "CoDel-DT has no offset by the words of §4.3, and its departure rate does not make up for it:"
    " beside six uploads it waits 26.0 ms, 25.0 with token buckets in its place, and CoDel 24.8"
    " (AQM-7.placement). The offset is in the published ns-2 code: with it CoDel-DT is below both,"
    " as the measured column has it"
)
WHY_HASH = (
    "nearly all are lost where a call meets others in one of 32 queues. Under load 9 and heavy"
    " congestion 68 are lost in twelve runs, and with a queue for each flow one, by SFQ-PIE's law"
    " (AQM-F2.sfq-alone)"
)
WHY_LOSS = "no cause was found"
WHY_MOS = (
    "of the SFQ algorithms it is nearly always load 9, where the call shares its queue: under heavy"
    " congestion it then waits for 55 to 68 ms (SFQ-CoDel) or 6 to 110 ms (SFQ-PIE), and with a"
    " queue for each flow for 4 or 14 ms (aqm-docsis/flow-queues). For CoDel-DT, 0.03 too low in"
    " one cell, no cause was found"
)
WHY_PAGES = (
    "no cause was found that serves all: pages are faster than published behind the AQMs and Buffer"
    " Control, and slower behind Buffer Bloat. Servers at 100 ms make all of them slower, kept"
    " connections all of them faster; no distance that was tried gives all of the published times"
    " (AQM-open.servers)"
)


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


def list_latencies(points: pl.DataFrame, queue: str) -> list[float]:
    """Give the 90th percentile latency of a queue, ms: a value for each seed."""
    return [find_percentile(*pool_latency(rows), PERCENTILE) for rows in split(points, queue)]


def list_pages(points: pl.DataFrame, queue: str) -> list[float]:
    """Give the 90th percentile page load time of a queue, s: a value for each seed."""
    return [find_percentile(*pool_pages(rows), PERCENTILE) for rows in split(points, queue)]


def split(points: pl.DataFrame, queue: str) -> list[pl.DataFrame]:
    """Give the cells of a queue, seed by seed."""
    return points.filter(queue=queue).sort("seed").partition_by("seed", maintain_order=True)


def list_present(points: pl.DataFrame, queues: Sequence[str]) -> list[str]:
    """Give those of some queues that were run."""
    run = set(points["queue"].to_list())
    return [queue for queue in queues if queue in run]


def say(queue: str, values: Sequence[float], unit: str, digits: int = 1) -> str:
    """Write a queue's mean over the seeds, with its interval where there is one."""
    found = estimate_mean(values)
    half = "" if math.isnan(found.half) else f" ± {found.half:.{digits}f}"
    return f"{DISCIPLINES[queue]} {found.mean:.{digits}f}{half} {unit}"


# The claims.


def check_latency(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the 90th percentile latency of some queues against a range."""
    found = {
        queue: list_latencies(points, queue) for queue in list_present(points, limits["queues"])
    }
    finding = judge_range(found, limits, "ms", WHY_LATENCY.get(limits["queues"][0], ""))
    if len(found) != 1:
        return describe_other(points, finding, lambda own: check_latency(own, limits))
    cells = find_cells(points.filter(pl.col("queue").is_in(list(found))))
    by_rf = cells.group_by("rf", maintain_order=True).agg(pl.col("p90").mean())
    told = ", ".join(f"{rf} {p90:.0f}" for rf, p90 in by_rf.iter_rows())
    text = f"{finding.measured}; mean of the cells by RF congestion: {told} ms"
    light = points.filter(pl.col("rf") != "heavy")
    if not light.is_empty():
        own = ", ".join(say(queue, list_latencies(light, queue), "ms") for queue in found)
        text += f"; without the heavy one {own}"
    return replace(finding, measured=text)


def check_pages(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the 90th percentile page load time of some queues against a range."""
    found = {queue: list_pages(points, queue) for queue in list_present(points, limits["queues"])}
    return judge_range(found, limits, "s", WHY_PAGES)


def judge_range(
    found: dict[str, list[float]], limits: dict[str, Any], unit: str, why: str
) -> ClaimResult:
    """Hold numbers of each seed against a range."""
    if not found:
        return ClaimResult("not run", ClaimVerdict.UNTESTABLE)
    digits = 1 if unit == "ms" else 2
    text = ", ".join(say(queue, values, unit, digits) for queue, values in found.items())
    most = limits.get("most", math.inf)
    decisions = [decide_over_seeds(values, limits["least"], most) for values in found.values()]
    return join_decisions(decisions, text, why)


def check_order(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the kinds of queues against their order in latency."""
    kinds = [list_present(points, kind) for kind in limits["kinds"]]
    found = {queue: list_latencies(points, queue) for kind in kinds for queue in kind}
    return judge_order([kind for kind in kinds if kind], found, "ms")


def check_page_order(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the kinds of queues against their order in page load time."""
    kinds = [list_present(points, kind) for kind in limits["kinds"]]
    found = {queue: list_pages(points, queue) for kind in kinds for queue in kind}
    return judge_order([kind for kind in kinds if kind], found, "s")


def judge_order(
    kinds: Sequence[Sequence[str]], found: dict[str, list[float]], unit: str
) -> ClaimResult:
    """Hold each queue of a kind against each of the next, seed by seed."""
    digits = 1 if unit == "ms" else 2
    text = " < ".join(
        ", ".join(say(queue, found[queue], unit, digits) for queue in kind) for kind in kinds
    )
    decisions = [
        exceed(found[worse], found[better])
        for lower, higher in itertools.pairwise(kinds)
        for better, worse in itertools.product(lower, higher)
    ]
    finding = join_decisions(decisions, text)
    if finding.verdict is ClaimVerdict.REPRODUCED:
        return finding
    return replace(finding, measured=text.replace(" < ", "; then "))


def exceed(values: Sequence[float], base: Sequence[float]) -> Decision:
    """Decide whether one queue's numbers are above another's, seed by seed."""
    return decide_over_seeds(
        [own - other for own, other in zip(values, base, strict=True)], low=LEAST
    )


def check_codel_dt(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Look whether CoDel-DT has less latency than CoDel and PIE."""
    queues = list_present(points, ["codel-dt", "codel", "pie"])
    if len(queues) < 3:
        return ClaimResult("not run", ClaimVerdict.UNTESTABLE)
    found = {queue: list_latencies(points, queue) for queue in queues}
    text = ", ".join(say(queue, values, "ms") for queue, values in found.items())
    decisions = [exceed(found[queue], found["codel-dt"]) for queue in ("codel", "pie")]
    finding = join_decisions(decisions, text, WHY_CODEL_DT)
    return describe_other(points, finding, lambda own: check_codel_dt(own, _limits))


def describe_other(
    points: pl.DataFrame, finding: ClaimResult, check: Callable[[pl.DataFrame], ClaimResult]
) -> ClaimResult:
    """Add what is measured, and the verdict, for CoDel-DT with its published code's offset."""
    other = points.filter(queue=OFFSET)
    if other.is_empty():
        return finding
    rest = points.filter(~pl.col("queue").is_in([OFFSET, "codel-dt"]))
    found = check(pl.concat([rest, other.with_columns(queue=pl.lit("codel-dt"))]))
    told = found.measured.replace(DISCIPLINES["codel-dt"], DISCIPLINES[OFFSET])
    # What is measured of the other queues stands there already.
    names = [part for part in told.split(", ") if DISCIPLINES[OFFSET] in part] or [told]
    return replace(
        finding,
        measured=f"{finding.measured}; with the published code's offset ({found.verdict}):"
        f" {', '.join(names)}",
    )


def check_no_loss(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look for cells of some queues in which a packet was lost."""
    found, packets = [], 0.0
    for queue in list_present(points, limits["queues"]):
        own = points.filter(queue=queue)
        lost, losing = float(own["lost"].sum()), int((own["lost"] > 0).sum())
        packets += lost
        loads = sorted(set(own.filter(pl.col("lost") > 0)["load"].to_list()))
        where = f", of load {', '.join(map(str, loads))}" if loads else ""
        found.append(
            f"{DISCIPLINES[queue]} lost {lost:.0f} packets ({lost / float(own['sent'].sum()):.1e})"
            f" in {losing} of {own.height} cells{where}"
        )
    if not found:
        return ClaimResult("not run", ClaimVerdict.UNTESTABLE)
    return ClaimResult(", ".join(found), decide(not packets), why=WHY_HASH if packets else "")


def check_loss_order(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the single-queue AQMs against their order in loss, seed by seed."""
    queues = list_present(points, limits["queues"])
    if len(queues) < len(limits["queues"]):
        return ClaimResult("not run", ClaimVerdict.UNTESTABLE)
    shares = {queue: list_losses(points, queue) for queue in queues}
    text = ", ".join(f"{DISCIPLINES[queue]} {describe_share(own)}" for queue, own in shares.items())
    heavy = points.filter(load=TORRENTS)
    if not heavy.is_empty():
        apart = ", ".join(
            (
                f"{DISCIPLINES[queue]}"
                f" {describe_share(list_losses(points.filter(pl.col('load') != TORRENTS), queue))}"
            )
            for queue in queues
        )
        text += f"; without load {TORRENTS}: {apart}"
    decisions = [
        exceed(shares[worse], shares[better]) for better, worse in itertools.pairwise(queues)
    ]
    finding = join_decisions(decisions, text, WHY_LOSS)
    return describe_other(points, finding, lambda own: check_loss_order(own, limits))


def list_losses(points: pl.DataFrame, queue: str) -> list[float]:
    """Give the share of all packets that a queue lost: a value for each seed."""
    return [float(rows["lost"].sum()) / float(rows["sent"].sum()) for rows in split(points, queue)]


def describe_share(values: Sequence[float]) -> str:
    """Write a small share's mean over the seeds, with its interval where there is one."""
    found = estimate_mean(values)
    half = "" if math.isnan(found.half) else f" ± {found.half:.1e}"
    return f"{found.mean:.1e}{half}"


def check_best_mos(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the best score of all against the scale's end."""
    best = float(points["mos"].drop_nans().max())  # type: ignore[arg-type]
    return ClaimResult(f"{best:.2f}", decide(limits["least"] <= best <= limits["most"]))


def check_mos(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Count the cells of some queues whose mean score over the seeds is below a bound."""
    agrees, found = True, []
    for queue in list_present(points, limits["queues"]):
        cells = points.filter(queue=queue).group_by("load", "rf").agg(pl.col("mos").mean())
        scores = cells["mos"].drop_nulls().drop_nans().to_list()
        low = cells.filter(pl.col("mos") < limits["below"])
        share = low.height / len(scores)
        agrees &= share > limits["least"] if "least" in limits else share <= limits["most"]
        loads = sorted(set(low["load"].to_list()))
        where = f" (load {', '.join(map(str, loads))})" if 0 < len(loads) < 4 else ""
        found.append(
            f"{DISCIPLINES[queue]} {low.height} of {len(scores)} cells{where}, worst"
            f" {min(scores):.2f}"
        )
    if not found:
        return ClaimResult("not run", ClaimVerdict.UNTESTABLE)
    text = f"below {limits['below']:g}: " + "; ".join(found)
    return ClaimResult(text, decide(agrees), why="" if agrees else WHY_MOS)


def find_cells(points: pl.DataFrame) -> pl.DataFrame:
    """Give the 90th percentile latency of each cell, ms, mean of the seeds."""
    return (
        points.with_columns(p90=pl.col("delays").list.get(round(PERCENTILE)) / 1e6)
        .group_by("queue", "load", "rf", maintain_order=True)
        .agg(pl.col("p90").mean())
    )


def check_none_best(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Count the comparisons where one of some queues is ahead of, or behind, all others."""
    queues = limits["queues"]
    if len(list_present(points, queues)) < len(queues):
        return ClaimResult("not run", ClaimVerdict.UNTESTABLE)
    rows = points.filter(pl.col("queue").is_in(queues), pl.col("load") > 1)
    counts = {
        name: {queue: dict.fromkeys(COMPARED, 0) for queue in queues}
        for name in ("ahead", "behind")
    }
    number = 0
    for cell in take_compared(rows).partition_by("load", "rf", maintain_order=True):
        for measure in COMPARED:
            found = {queue: cell.filter(queue=queue)[measure].to_list() for queue in queues}
            known = {queue: own for queue, own in found.items() if all_known(own)}
            if len(known) < len(queues):
                continue
            number += 1
            for queue, own in known.items():
                others = [other for name, other in known.items() if name != queue]
                if all(exceed(other, own).verdict is ClaimVerdict.REPRODUCED for other in others):
                    counts["ahead"][queue][measure] += 1
                if all(exceed(own, other).verdict is ClaimVerdict.REPRODUCED for other in others):
                    counts["behind"][queue][measure] += 1
    agrees, found_texts = True, []
    for name, by_queue in counts.items():
        totals = {queue: sum(of.values()) for queue, of in by_queue.items()}
        clear = sum(totals.values())
        if not clear:
            return ClaimResult(f"none clearly {name} of both others", ClaimVerdict.UNTESTABLE)
        agrees &= max(totals.values()) <= limits["most"] * clear
        told = ", ".join(
            f"{DISCIPLINES[queue]} {totals[queue]} (" + " + ".join(map(str, of.values())) + ")"
            for queue, of in by_queue.items()
        )
        found_texts.append(f"{name} of both others in {told} of {clear}")
    text = f"{'; '.join(found_texts)}, by {', '.join(COMPARED.values())}, of {number} comparisons"
    return ClaimResult(text, decide(agrees))


def all_known(values: Sequence[float | None]) -> bool:
    """Tell whether every seed has a number."""
    return bool(values) and all(value is not None and not math.isnan(value) for value in values)


def take_compared(points: pl.DataFrame) -> pl.DataFrame:
    """Give what §5 compares of each cell and seed, in the order of `COMPARED`: less is better."""
    return points.sort("seed").select(
        "queue",
        "load",
        "rf",
        "seed",
        latency=pl.col("delays").list.get(round(PERCENTILE)) / 1e6,
        loss=pl.col("lost") / pl.col("sent"),
        badness=-pl.col("mos"),
        pages=pl.col("page_p90") / 1e9,
    )


# The figures.


def mark_series(frame: pl.DataFrame, queue: str) -> pl.DataFrame:
    """Give rows the name and the colour of their queue."""
    return frame.with_columns(series=pl.lit(DISCIPLINES[queue]), slot=pl.lit(SLOTS[queue]))


def draw_shares(
    rows: pl.DataFrame, x: vl.X, layers: Sequence[vl.Chart] = (), *, what: str, step: bool = False
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
            tooltip=[
                "series:N",
                vl.Tooltip("value:Q", format=".3~g"),
                vl.Tooltip("share:Q", format=".1%"),
            ],
        )
    )
    return [Panel("", vl.layer(curves, *layers).properties(height=HEIGHT))]


def draw_published(
    published: Sequence[tuple[str, float, float, str]], axis: vl.X
) -> list[vl.Chart]:
    """Draw the paper's 90th percentiles: bars for ranges, points for one number."""
    layers: list[vl.Chart] = []
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
        layers.append(words.encode(x=vl.value("width"), y=vl.value(height)))
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
    axis = vl.X("value:Q", title="packet latency (ms)", scale=vl.Scale(domain=[0, most]))
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
                x=vl.X("load:O", title="load (Table 1)", axis=vl.Axis(labelAngle=0)),
                y=vl.Y(
                    "p90:Q",
                    title="90th percentile latency (ms)",
                    scale=vl.Scale(type="log", domain=[3, 300], nice=False),
                    axis=log_axis((3, 300)),
                ),
                color=colour(rows),
                tooltip=["series:N", "load:O", vl.Tooltip("p90:Q", format=".3~g")],
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
    axis = vl.X(
        "value:Q",
        title="packet loss",
        scale=vl.Scale(type="log", domain=[LEAST_LOSS, 1], nice=False),
        axis=vl.Axis(values=[10.0**power for power in range(-5, 1)], format=".0e"),
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
    axis = vl.X("value:Q", title="VoIP MOS", scale=vl.Scale(domain=list(domain)))
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
    axis = vl.X("value:Q", title="page load time (s)", scale=vl.Scale(domain=[0, MOST_S]))
    return draw_shares(rows, axis, draw_published(PUBLISHED_S, axis), what="pages")
