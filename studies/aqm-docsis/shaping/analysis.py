"""What two token buckets let through, and the delay at the end of a burst."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, colour, make_chart, mark_across
from headend.study import ClaimResult, decide

from ..pooling import Values

#: Of the scenario: s between two values, bytes of a packet and of its MAC frame, when the floods
#: begin and end (s) and the service's rates (Mb/s).
STEP, PACKET, FRAME = 0.002, 1500, 1518
STARTS, STOPS = (0.0, 9.5, 16.65), (8.0, 16.0, 23.0)
RATES = {"up": (200.0, 250.0), "down": (1000.0, 1500.0)}

#: The interval of the matrix's MAPs, ms.
MAP_MS = 2

#: An OFDM symbol of the preset docsis31, ns: downstream packets come out at its end
#: (docs/models/docsis.md).
SYMBOL_NS = 22_500

#: How many values a figure puts together.
TOGETHER = 10


def count_bytes(rates: Any) -> Values:
    """Give the MAC bytes that had arrived at the end of each interval, from 0 on."""
    each = np.nan_to_num(np.asarray(rates, dtype=float)) * STEP / 8 * FRAME / PACKET
    return np.concatenate([[0.0], each.cumsum()])


def find_excess(counts: Values, rate_mbps: float) -> float:
    """Give the most bytes by which any interval exceeds what a rate carries in it."""
    above = counts - np.arange(len(counts)) * STEP * rate_mbps * 1e6 / 8
    return float((above - np.minimum.accumulate(above)).max())


def measure_beyond(points: pl.DataFrame, direction: str, rate_mbps: float, burst: float) -> float:
    """Give the most bytes of any run's interval beyond a rate and burst; negative if none."""
    rows = points[direction].to_list()
    return max(find_excess(count_bytes(rates), rate_mbps) for rates in rows) - burst


def tell_beyond(size: float, digits: int = 1) -> str:
    """Say by how many bytes something is beyond a bound or below it, in kB."""
    return f"{abs(size) / 1e3:,.{digits}f} kB {'beyond' if size > 0 else 'below'}"


def check_inequalities(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold every interval against both rates, both ways, with the matrix's MAPs; tell others."""
    agrees, found = True, []
    own = take_matrix(points)
    for direction in ("up", "down"):
        bounds = limits[direction]
        for name, rate, burst in (
            ("R", bounds["rate_mbps"], bounds["burst"]),
            ("P", bounds["peak_mbps"], bounds["slack"]),
        ):
            beyond = measure_beyond(own, direction, rate, burst)
            agrees &= beyond <= limits["packet"]
            found.append(f"{direction}stream {name} {tell_beyond(beyond)} the bound")
    peak, slack = limits["up"]["peak_mbps"], limits["up"]["slack"]
    told = ", ".join(
        f"{interval} ms {tell_beyond(measure_beyond(rows, 'up', peak, slack))} it"
        for (interval,), rows in points.sort("map_ms").group_by("map_ms", maintain_order=True)
    )
    steady, held = (
        excess_by_symbols(symbol, limits["down"]["peak_mbps"]) - limits["down"]["slack"]
        for symbol in (1, SYMBOL_NS)
    )
    why = (
        "upstream the rates bound what is requested, and a MAP's worth of it leaves in one burst:"
        f" held against P it is {told} with MAPs that far apart. Downstream packets come out at the"
        f" ends of OFDM symbols of {SYMBOL_NS / 1e3:g} µs: frames exactly at P, held to these, are"
        f" {tell_beyond(held)} it by arithmetic, and {tell_beyond(steady, 2)} it without symbols"
    )
    return ClaimResult("; ".join(found), decide(agrees), why="" if agrees else why)


def excess_by_symbols(symbol_ns: int, rate_mbps: float) -> float:
    """Give the most bytes beyond a rate in a second of frames that end with symbols."""
    leave = np.arange(1, round(rate_mbps * 1e6 / 8 / FRAME)) * FRAME * 8e3 / rate_mbps
    out = np.ceil(leave / symbol_ns) * symbol_ns
    each = np.bincount((out // (STEP * 1e9)).astype(np.int64)) * float(FRAME)
    return find_excess(np.concatenate([[0.0], each.cumsum()]), rate_mbps)


def take_matrix(points: pl.DataFrame) -> pl.DataFrame:
    """Give the runs with MAPs as the matrix has them."""
    return points.filter(map_ms=MAP_MS)


def find_peak(rates: Any, direction: str, start: float, stop: float) -> tuple[float, float]:
    """Give from when until when the peak rate was let through between two times, s.

    Against a rate midway between the two, the bytes gain while the peak rate passes and lose before
    and after.
    """
    first, last = round(start / STEP), round(stop / STEP)
    counts = count_bytes(rates)[first : last + 1]
    gain = counts - np.arange(len(counts)) * STEP * sum(RATES[direction]) / 2 * 1e6 / 8
    end = int(gain.argmax())
    begin = int(gain[: end + 1].argmin())
    return start + begin * STEP, start + end * STEP


def measure_peak(rates: Any, direction: str, start: float, stop: float) -> float:
    """Give for how long the peak rate was let through between two times, s."""
    begin, end = find_peak(rates, direction, start, stop)
    return end - begin


def smooth(rates: Any) -> Values:
    """Give means over some intervals; those in which nothing left do not count."""
    values = np.ma.masked_invalid(np.asarray(rates, dtype=float))
    whole = len(values) // TOGETHER * TOGETHER
    means = values[:whole].reshape(-1, TOGETHER).mean(axis=1)
    return np.asarray(np.ma.filled(means, np.nan))


def check_duration(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the length of the first burst against the bucket's."""
    agrees, found = True, []
    points = take_matrix(points)
    for direction in ("up", "down"):
        expected = limits[f"{direction}_s"]
        lengths = [
            measure_peak(rates, direction, 0.0, STOPS[0]) for rates in points[direction].to_list()
        ]
        agrees &= all(abs(length / expected - 1) <= limits["within"] for length in lengths)
        found.append(f"{direction}stream {' and '.join(f'{length:.2f}' for length in lengths)} s")
    return ClaimResult("; ".join(found), decide(agrees))


def check_credit(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the length of later bursts against what the rests earned."""
    rows = take_matrix(points).filter(pl.col("buffer_ms") == points["buffer_ms"].min())
    rates = rows["up"].to_list()[0]
    full, half = (
        measure_peak(rates, "up", *span) for span in zip(STARTS[1:], STOPS[1:], strict=True)
    )
    agrees = all(
        abs(length / expected - 1) <= limits["within"]
        for length, expected in ((full, limits["full_s"]), (half, limits["half_s"]))
    )
    return ClaimResult(
        f"{full:.2f} s after a rest of 1.5 s, {half:.2f} s after one of 0.65 s", decide(agrees)
    )


def check_step(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the delay before and after the first burst's end against the buffer's at each rate."""
    agrees, found = True, []
    for row in take_matrix(points).sort("buffer_ms").iter_rows(named=True):
        delays = smooth(row["delay"]) / 1e6
        _, end = find_peak(row["up"], "up", 0.0, STOPS[0])
        place, width = round(end / STEP / TOGETHER), round(1 / STEP / TOGETHER)
        settled = place + int(np.ceil(row["buffer_ms"] / 1e3 / STEP / TOGETHER)) + 1
        before, after = (
            np.nanmean(delays[place - width : place - 1]),
            np.nanmean(delays[settled : settled + width]),
        )
        step = row["buffer_ms"] * (1 - limits["rate_mbps"] / limits["peak_mbps"])
        agrees &= bool(abs(after - before - step) <= limits["within_ms"])
        found.append(
            f"{row['buffer_ms']} ms: from {before:.1f} to {after:.1f} ms, a step of"
            f" {after - before:.1f} for {step:.0f}"
        )
    return ClaimResult("; ".join(found), decide(agrees))


def draw_rate(points: pl.DataFrame) -> list[Panel]:
    """Draw the upstream rate, with the smallest buffer."""
    row = take_matrix(points).sort("buffer_ms").row(0, named=True)
    values = smooth(row["up"]) * FRAME / PACKET / 1e6
    rows = pl.DataFrame({"time": (np.arange(len(values)) + 1) * STEP * TOGETHER, "rate": values})
    chart = (
        make_chart(rows)
        .mark_line(strokeWidth=1.6, color=PALETTE[0])
        .encode(
            x=vl.X("time:Q", title="time (s)"),
            y=vl.Y("rate:Q", title="rate upstream, MAC frames (Mb/s)"),
        )
    )
    return [Panel("", vl.layer(chart, mark_across(200, "sustained"), mark_across(250, "peak")))]


def draw_delay(points: pl.DataFrame) -> list[Panel]:
    """Draw the flood's queue delay over its first eight seconds."""
    frames = []
    for slot, row in enumerate(take_matrix(points).sort("buffer_ms").iter_rows(named=True)):
        values = smooth(row["delay"])[: round(8 / STEP / TOGETHER)] / 1e6
        frame = pl.DataFrame(
            {"time": (np.arange(len(values)) + 1) * STEP * TOGETHER, "delay": values}
        )
        frames.append(
            frame.with_columns(series=pl.lit(f"buffer of {row['buffer_ms']} ms"), slot=pl.lit(slot))
        )
    rows = pl.concat(frames)
    chart = (
        make_chart(rows)
        .mark_line(strokeWidth=1.8)
        .encode(
            x=vl.X("time:Q", title="time (s)"),
            y=vl.Y("delay:Q", title="queue delay (ms)"),
            color=colour(rows),
        )
    )
    return [Panel("", chart)]
