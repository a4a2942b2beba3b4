"""Where each law keeps the queue, beside its target or its thresholds."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import ClaimResult, ClaimVerdict, decide

#: Of the scenario: round-trip time without queue, and IP bytes of a full segment.
RTT_MS, SEGMENT = 20.0, 1500

#: A cell is judged if its target is so many packet times, and a flow's window so many packets.
LEAST_TIMES, LEAST_WINDOW = 3.0, 4.0

#: What a loss leaves of a flow's window.
KEPT = {"reno": 0.5, "cubic": 0.7}

#: Below this utilisation the queue ran empty.
BUSY = 0.995

UNEXPLAINED = "Not explained"

_FORGETS = (
    "The law begins a dropping state with the drops of the last one only (RFC 8289 §5.5), and does"
    " not come to the rate of drops that such windows need; one that keeps its count does"
)

_DROPS_SOON = (
    "With a greatest probability of 10 % RED drops soon above its lower threshold, and a backoff"
    " leaves less. With 0.2 % (queue.red.max_probability) a lone CUBIC flow at 20 Mbit/s has 16.4"
    " packets"
)

#: Why a law's queue is long, and a law without that cause with its target in ms: it must keep that
#: in the same cell.
CONTROLS = {
    "codel": (_FORGETS, "cobalt", 5),
    "codel_dt": (_FORGETS, "codel_dt_ns2", 14),
    "docsis_pie": (
        "A second without probability makes the law INACTIVE (RFC 8034 §4.3), and it drops nothing"
        " before a third of the buffer, 83 ms, is filled; one that never sleeps keeps its target",
        "docsis_pie_awake",
        10,
    ),
}


def place(points: pl.DataFrame, limits: dict[str, Any]) -> pl.DataFrame:
    """Give a law's cells with what each flow has there, in packets, and whether the cell is judged.

    Parameters
    ----------
    points
        Runs of the study.
    limits
        ``queue`` and its ``target_ms``, or ``thresholds`` in packets around it;
        ``queue_of_its_own`` where each flow has one, served at its share of the rate; ``within``,
        how far from the target a median may be; ``rates_mbps`` and ``least_flows`` where thresholds
        are made for some rates, and a law for several flows.
    """
    rows = points.filter(pl.col("queue") == limits["queue"]).with_columns(
        flows_of_a_queue=(pl.lit(1) if limits.get("queue_of_its_own") else pl.col("flows")).cast(
            pl.Int64
        ),
        packets_per_ms=pl.col("rate_mbps") * 1e3 / 8 / SEGMENT,
    )
    rate = pl.col("packets_per_ms") * pl.col("flows_of_a_queue") / pl.col("flows")
    rows = rows.with_columns(packets_per_ms=rate, median_ms=pl.col("delay") / 1e6)
    rows = rows.with_columns(**_find_target(limits))
    line = pl.col("packets_per_ms") * RTT_MS
    window = (line + pl.col("target")) / pl.col("flows_of_a_queue")
    # What one flow takes back after a loss while the queue stands as high as it may.
    lost = 1 - pl.col("congestion").replace_strict(KEPT, return_dtype=pl.Float64)
    backoff = lost * (line + pl.col("high")) / pl.col("flows_of_a_queue")
    rows = rows.with_columns(
        is_judged=(pl.col("target") >= LEAST_TIMES)
        & (window >= LEAST_WINDOW)
        & pl.col("rate_mbps").is_in(limits.get("rates_mbps", rows["rate_mbps"].unique().to_list()))
        & (pl.col("flows") >= limits.get("least_flows", 1)),
        is_emptied=backoff > pl.col("high"),
        mean=pl.col("backlog") / SEGMENT,
    )
    return rows.sort("congestion", "rate_mbps", "flows")


def _find_target(limits: dict[str, Any]) -> dict[str, pl.Expr]:
    """Give target and thresholds of a queue, in packets."""
    if "thresholds" in limits:
        low, high = limits["thresholds"]
        return {
            "target": pl.lit((low + high) / 2),
            "low": pl.lit(float(low)),
            "high": pl.lit(float(high)),
        }
    target = pl.col("packets_per_ms") * limits["target_ms"]
    if "least_threshold" not in limits:
        within = limits["within"]
        return {"target": target, "low": (1 - within) * target, "high": (1 + within) * target}
    low = pl.max_horizontal(target / 2, pl.lit(float(limits["least_threshold"])))
    return {"target": 2 * low, "low": low, "high": 3 * low}


def list_limits(check: str) -> list[dict[str, Any]]:
    """Give the limits of the study's claims that this function checks."""
    text = (Path(__file__).parent / "study.toml").read_text(encoding="utf-8")
    claims = tomllib.loads(text)["claim"]
    return [claim["limits"] for claim in claims if claim["check"] == check]


def check_target(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the median delay against the target."""
    rows = place(points, limits).with_columns(
        value=pl.col("median_ms"), is_low=pl.col("median_ms") < limits["target_ms"]
    )
    ratio = pl.col("median_ms") / limits["target_ms"]
    return _find(rows, (ratio - 1).abs() <= limits["within"], "ms", points, limits)


def check_thresholds(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the mean queue against the thresholds."""
    rows = place(points, limits).with_columns(
        value=pl.col("mean"), is_low=pl.col("mean") < pl.col("low")
    )
    return _find(rows, pl.col("mean").is_between("low", "high"), "packets", points, limits)


def _find(
    rows: pl.DataFrame, is_within: pl.Expr, unit: str, points: pl.DataFrame, limits: dict[str, Any]
) -> ClaimResult:
    judged = rows.filter("is_judged")
    if judged.is_empty():
        return ClaimResult("no such cell", ClaimVerdict.UNTESTABLE)
    # A queue that one backoff empties, however long it may be, is not held at its target by any
    # law: there, less is no fault.
    empty = judged.filter(~is_within & pl.col("is_low") & pl.col("is_emptied"))
    outside = judged.filter(~is_within & ~(pl.col("is_low") & pl.col("is_emptied")))
    values = judged["value"].to_list()
    text = (
        f"{judged.height - outside.height - empty.height} of {judged.height} cells within, from"
        f" {min(values):.1f} to {max(values):.1f} {unit}; {empty.height} below, where a backoff"
        f" empties the queue; {rows.height - judged.height} not judged"
    )
    causes: dict[str, list[str]] = {}
    for row in outside.iter_rows(named=True):
        cause, figure = _explain(row, points, limits)
        causes.setdefault(cause, []).append(f"{_name(row)} {row['value']:.1f} {unit}{figure}")
    why = ". ".join(f"{cause}: {', '.join(cells)}" for cause, cells in causes.items())
    return ClaimResult(text, decide(outside.is_empty()), why=why)


def _explain(row: dict[str, Any], points: pl.DataFrame, limits: dict[str, Any]) -> tuple[str, str]:
    """Say what keeps a cell from its target, and the figure of a run that shows it."""
    if row["is_low"] and row["queue"] == "red":
        return _DROPS_SOON, f" (utilisation {row['utilisation']:.3f})"
    if row["is_low"] and row["utilisation"] < BUSY:
        cause = "A loss takes more from the windows than the queue holds, and it runs empty"
        return cause, f" (utilisation {row['utilisation']:.3f})"
    if not row["is_low"] and row["queue"] in CONTROLS:
        cause, control, target_ms = CONTROLS[row["queue"]]
        delay = _measure_in(control, row, points)
        if delay is None:
            return UNEXPLAINED, f" ({control} not run)"
        is_kept = abs(delay / target_ms - 1) <= limits["within"]
        return cause if is_kept else UNEXPLAINED, f" ({control} {delay:.1f} ms for {target_ms})"
    return UNEXPLAINED, ""


def _measure_in(queue: str, row: dict[str, Any], points: pl.DataFrame) -> float | None:
    """Give the median delay in ms of the same cell through another queue, if it was run."""
    same = points.filter(
        pl.col("queue") == queue,
        *(pl.col(axis) == row[axis] for axis in ("congestion", "rate_mbps", "flows")),
    )
    return float(same["delay"][0]) / 1e6 if same.height else None


def _name(row: dict[str, Any]) -> str:
    flows = "1 flow" if row["flows"] == 1 else f"{row['flows']} flows"
    return f"{flows} of {row['congestion']} at {row['rate_mbps']} Mbit/s"


def draw_delays(points: pl.DataFrame) -> list[Panel]:
    """Draw the median delay over the target of every run of a law with a target."""
    rows = pl.concat(
        place(points, limits).with_columns(value=pl.col("median_ms") / limits["target_ms"])
        for limits in list_limits("check_target")
    )
    return _draw(rows, "median queue delay ÷ target", [0.5, 1.5], scale="log")


def draw_averages(points: pl.DataFrame) -> list[Panel]:
    """Draw where the mean queue is between the thresholds."""
    rows = pl.concat(
        place(points, limits) for limits in list_limits("check_thresholds")
    ).with_columns(value=(pl.col("mean") - pl.col("low")) / (pl.col("high") - pl.col("low")))
    return _draw(
        rows, "(mean queue less lower threshold) ÷ (upper less lower)", [0, 1], scale="linear"
    )


def _draw(rows: pl.DataFrame, title: str, band: list[float], *, scale: str) -> list[Panel]:
    rows = rows.with_columns(
        line=pl.format("{} Mbit/s", "rate_mbps"),
        many=pl.when(pl.col("flows") == 1)
        .then(pl.lit("1 flow"))
        .otherwise(pl.format("{} flows", "flows")),
        seen=pl.when("is_judged").then(1.0).otherwise(0.25),
    )
    lines = [f"{rate} Mbit/s" for rate in (2, 20, 200)]
    many = ["1 flow", "10 flows", "100 flows"]
    middle = make_chart(pl.DataFrame({"low": [band[0]], "high": [band[1]]}))
    x = vl.X("value:Q", title=title, scale=vl.Scale(type=scale, padding=8))
    judged = middle.mark_rect(opacity=0.12, color=PALETTE[0]).encode(
        x=vl.X("low:Q", title=title), x2="high:Q"
    )
    queue = vl.Y("queue:N", title=None, sort=rows["queue"].unique(maintain_order=True).to_list())
    dots = (
        make_chart(rows)
        .mark_point(filled=True, size=55)
        .encode(
            x=x,
            y=queue,
            color=vl.Color(
                "line:N", title=None, scale=vl.Scale(domain=lines, range=list(PALETTE[:3]))
            ),
            shape=vl.Shape("many:N", title=None, scale=vl.Scale(domain=many)),
            opacity=vl.Opacity("seen:Q", scale=None),
            tooltip=[
                "queue:N",
                "congestion:N",
                "line:N",
                "many:N",
                vl.Tooltip("value:Q", format=".3~g"),
            ],
        )
    )
    return [Panel("", vl.layer(judged, dots))]
