"""Which unit a modem counts its buffer in, by pings beside uploads of several sizes."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart
from headend.study import ClaimResult, ClaimVerdict, decide
from headend.text.quantity import format_quantity

#: The upstream rate, bit/s.
RATE = 5e6

#: What a packet occupies on a modem that counts packets, B.
LARGEST = 1518

#: Sizes of blocks that a modem may have, B. A block that holds any packet cannot be told from a
#: packet.
BLOCKS = (64, 128, 256, 512, 1024)

#: The sizes of the pings as the modem sees them, B.
PINGS = (102, 538, 938, 1518)

#: The idle line's ping is left out by so many steps at the most.
PARTS = 50

#: What the pings run beside: nothing, or the datagrams of the test of losses.
IDLE, LOSSES = "nothing", "1518 B, pings of four sizes"


def occupy(unit: str, size: int) -> int:
    """Give how many bytes of a buffer a packet of a size takes.

    Examples
    --------
    >>> [occupy(unit, 260) for unit in ("bytes", "blocks of 256 B", "packets")]
    [260, 512, 1518]
    """
    if unit == "bytes":
        return size
    if unit == "packets":
        return LARGEST
    block = int(unit.split()[2])
    return math.ceil(size / block) * block


def list_units() -> list[str]:
    """Give the units that a modem may count in."""
    return ["bytes", *(f"blocks of {block} B" for block in BLOCKS), "packets"]


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Average the seeds: the ping beside datagrams of each size and that of the idle line, ns."""
    rows = points.group_by("counts", "beside", maintain_order=True).agg(pl.col("ping").mean())
    idle = rows.filter(pl.col("beside") == IDLE).select("counts", idle="ping")
    return (
        rows.filter(pl.col("beside").str.contains(r"^\d+ B$"))
        .with_columns(size=pl.col("beside").str.extract(r"^(\d+)").cast(pl.Int64))
        .join(idle, on="counts", maintain_order="left")
        .sort("counts", "size", maintain_order=True)
    )


def count(rows: pl.DataFrame, unit: str, outside: float) -> pl.Series:
    """Give how much a full buffer holds, in a unit's bytes, at each size and idle share."""
    room = pl.Series([occupy(unit, size) / size for size in rows["size"]])
    return (rows["ping"] - outside * rows["idle"]) / 1e9 * RATE / 8 * room


def vary(rows: pl.DataFrame, unit: str) -> float:
    """Give the least deviation over mean of what the full buffer holds, over idle shares."""
    amounts = (count(rows, unit, step / PARTS) for step in range(PARTS + 1))
    return min(float(held.std() or 0) / float(held.mean()) for held in amounts)  # type: ignore[arg-type]


def describe_unit(rows: pl.DataFrame) -> list[str]:
    """List the units, that of which the full buffer holds the most constant amount first."""
    return sorted(list_units(), key=lambda unit: vary(rows, unit))


def check_unit(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Tell each modem's unit."""
    found, agrees = [], True
    for counts, rows in _split(points):
        first, second, *_ = describe_unit(rows)
        agrees &= first == counts
        apart = " and ".join(
            f"{format_quantity(vary(rows, unit), 'ratio')} ({unit})" for unit in (first, second)
        )
        found.append(f"{counts}: {first} chosen, which vary by {apart}")
    return ClaimResult("; ".join(found), decide(agrees))


def check_size(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Bound each modem's buffer by the ping beside full-size datagrams."""
    found, agrees = [], True
    for counts, rows in _split(points):
        full = rows.filter(pl.col("size") == LARGEST)
        low, high = (float(count(full, counts, part)[0]) / 1024 for part in (1.0, 0.0))
        agrees &= low <= limits["buffer_kib"] <= high
        found.append(f"{low:.1f} to {high:.1f} KiB ({counts})")
    return ClaimResult(", ".join(found), decide(agrees))


def check_lost(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare the loss of the smallest pings with that of the largest."""
    rows = lose(points)
    if rows.is_empty():
        return ClaimResult("not run with pings of four sizes", ClaimVerdict.UNTESTABLE)
    found, agrees = [], True
    for (counts,), part in rows.group_by("counts", maintain_order=True):
        small, large = (float(part.sort("size")["lost"][place]) for place in (0, -1))
        error = sum(share * (1 - share) / limits["pings"] for share in (small, large)) ** 0.5
        alike, fewer = abs(small - large) <= 1.96 * error, large - small > 1.96 * error
        agrees &= alike if counts == "packets" else fewer
        told = [format_quantity(share, "ratio") for share in (small, large)]
        found.append(f"{told[0]} and {told[1]} ({counts})")
    return ClaimResult("smallest and largest: " + ", ".join(found), decide(agrees))


def lose(points: pl.DataFrame) -> pl.DataFrame:
    """Give the lost share of each size of ping beside full-size datagrams."""
    rows = points.filter(pl.col("beside") == LOSSES)
    parts = [
        rows.group_by("counts", maintain_order=True).agg(
            lost=pl.col(f"lost_{size}").mean(), size=pl.lit(size)
        )
        for size in PINGS
    ]
    return pl.concat(parts)


def draw_held(points: pl.DataFrame) -> list[Panel]:
    """Draw what a full buffer holds over the size of the datagrams, a line for each modem."""
    held = (pl.col("ping") - pl.col("idle")) / 1e9 * RATE / 8 / 1024
    rows = _colour(tabulate(points).with_columns(kib=held))
    lines = (
        make_chart(rows)
        .mark_line(point={"filled": True, "size": 40}, strokeWidth=2)
        .encode(
            x=vl.X("size:Q", title="size of the datagrams (B)"),
            y=vl.Y("kib:Q", title="held by the full buffer (KiB)"),
            color=colour(rows),
            tooltip=["series:N", "size:Q", vl.Tooltip("kib:Q", format=".4~g")],
        )
    )
    return [Panel("", lines)]


def draw_lost(points: pl.DataFrame) -> list[Panel]:
    """Draw the loss of the pings over their size, a line for each modem."""
    if not (points["beside"] == LOSSES).any():
        return []
    rows = _colour(lose(points).with_columns(percent=pl.col("lost") * 100))
    lines = (
        make_chart(rows)
        .mark_line(point={"filled": True, "size": 40}, strokeWidth=2)
        .encode(
            x=vl.X("size:Q", title="size of the pings (B)"),
            y=vl.Y("percent:Q", title="pings dropped (%)"),
            color=colour(rows),
            tooltip=["series:N", "size:Q", vl.Tooltip("percent:Q", format=".3~g")],
        )
    )
    return [Panel("", lines)]


def _colour(rows: pl.DataFrame) -> pl.DataFrame:
    names = rows["counts"].unique(maintain_order=True).to_list()
    slots = {name: place for place, name in enumerate(names)}
    return rows.with_columns(
        series=pl.col("counts"),
        slot=pl.col("counts").replace_strict(slots, return_dtype=pl.Int64),
    )


def _split(points: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """Give what was tabulated for each modem."""
    parts = tabulate(points).group_by("counts", maintain_order=True)
    return [(str(counts), rows) for (counts,), rows in parts]
