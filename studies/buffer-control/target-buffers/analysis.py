"""Table 2 of the Buffer Control guideline, derived from calls, pages and uploads rather than copied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt
import polars as pl

from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart, mark_across
from headend.study.buffers import KIB, draw_over_buffers
from headend.study.claims import Finding, decide

#: Table 2.
PUBLISHED_KIB = {1: 8, 2: 16, 5: 32, 10: 50}

#: What is drawn: how near to the best score, and what share of the rate is full.
NEAR, FULL = 0.05, 0.95


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Average the seeds: a row for each rate and buffer, with score, load time (s) and shares of the rate that are used."""
    places = ["rate_mbps", "buffer_kib"]
    rows = points.group_by(*places, "uploads", maintain_order=True).agg(
        pl.col("used", "mos", "load").mean()
    )
    used = rows.pivot("uploads", index=places, values="used").rename({"one Reno": "reno"})
    one = rows.filter(pl.col("uploads") == "one").select(*places, "mos")
    ten = rows.filter(pl.col("uploads") == "ten").select(*places, load_s=pl.col("load") / 1e9)
    return used.join(one, on=places).join(ten, on=places).sort(places)


def list_criteria(near: float, full: float, sender: str = "one") -> dict[str, pl.Expr]:
    """Give the three conditions that a target meets, the last for one upload of a sender (``one``: CUBIC, ``reno``)."""
    return {
        "calls": pl.col("mos") >= pl.col("mos").max().over("rate_mbps") - near,
        "ten uploads": pl.col("ten") >= full,
        "one upload": pl.col(sender) >= full,
    }


def derive(
    points: pl.DataFrame, near: float, full: float, sender: str = "one"
) -> dict[int, int | None]:
    """Give the smallest buffer, KiB, that meets all conditions at each rate; None where none does."""
    targets: dict[int, int | None] = {}
    for rate, rows in _split(tabulate(points)):
        good = rows.filter(*list_criteria(near, full, sender).values())
        targets[rate] = None if good.is_empty() else int(good.row(0, named=True)["buffer_kib"])
    return targets


def check_targets(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare derived targets with the recommended ones."""
    levels = (limits["near"], limits["full"], limits.get("sender", "one"))
    derived = derive(points, *levels)
    agrees = all(
        _is_within(target, limits["published_kib"][str(rate)], limits["factor"])
        for rate, target in derived.items()
    )
    text = ", ".join(
        f"{target or 'no'} KiB for {limits['published_kib'][str(rate)]} at {rate} Mb/s"
        for rate, target in derived.items()
    )
    ranges = _tell_ranges(points, *levels)
    if agrees:
        return Finding(text, decide(agrees), why=ranges)
    why = (
        "one CUBIC upload keeps 70 % of its window at a loss, and fills the line with less than half of the bandwidth-delay"
        " product, from which Table 2 is reckoned; Reno needs all of it (BUF-11.target-reno)"
    )
    return Finding(text, decide(agrees), why=f"{why}. {ranges}")


def check_round_trips(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Reckon the round trips of the derived targets."""
    found, agrees = [], True
    for rate, target in derive(points, limits["near"], limits["full"]).items():
        trip = None if target is None else target * KIB * 8 / (rate * 1e3)
        published = limits["published_ms"][str(rate)]
        found.append(f"{'none' if trip is None else format(trip, '.0f')} for {published}")
        agrees &= _is_within(trip, published, limits["factor"])
    return Finding(", ".join(found) + " ms", decide(agrees))


def check_grows(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Follow the derived targets over the rates."""
    targets = list(derive(points, limits["near"], limits["full"]).values())
    known = [target for target in targets if target is not None]
    agrees = len(known) == len(targets) and known == sorted(set(known))
    reno = derive(points, limits["near"], limits["full"], "reno").values()
    text = ", ".join(f"{target or 'none'}" for target in targets) + " KiB"
    why = f"with a Reno upload: {', '.join(str(target or 'none') for target in reno)} KiB"
    return Finding(text, decide(agrees), why=why)


def check_voice(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare the score with the recommended buffer with the best."""
    found, agrees = [], True
    for rate, rows in _split(tabulate(points)):
        score = _get(rows, limits["nearest_kib"][str(rate)], "mos")
        best = float(rows["mos"].max())  # type: ignore[arg-type]
        found.append(f"{score:.2f} of {best:.2f} at {rate} Mb/s")
        agrees &= best - score <= limits["near"]
    return Finding(", ".join(found), decide(agrees))


def check_uploads(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look at what ten uploads get through the recommended buffer, and one."""
    found, single, agrees = [], [], True
    for rate, rows in _split(tabulate(points)):
        ten, one = (_get(rows, limits["nearest_kib"][str(rate)], name) for name in ("ten", "one"))
        found.append(f"{ten:.1%} at {rate} Mb/s")
        single.append(f"{one:.1%}")
        agrees &= ten >= limits["full"]
    return Finding(", ".join(found), decide(agrees), why=f"one upload: {', '.join(single)}")


def check_pages(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare pages through the recommended buffer with those through a larger one."""
    found, agrees = [], True
    for rate, rows in _split(tabulate(points)):
        sizes = [limits[name][str(rate)] for name in ("nearest_kib", "larger_kib")]
        if not set(sizes) <= set(rows["buffer_kib"]):
            continue
        there, larger = (_get(rows, size, "load_s") for size in sizes)
        found.append(f"{there:.1f} s, {larger:.1f} s with {sizes[1]} KiB at {rate} Mb/s")
        agrees &= there < larger
    agrees = agrees and bool(found)
    why = (
        ""
        if agrees
        else (
            "ten uploads leave a buffer counted in packets no room for a page's connection requests, and each that is dropped costs"
            " three seconds; counted in bytes the recommended buffers are the faster ones (buffer-control/web-choices)"
        )
    )
    return Finding("; ".join(found), decide(agrees), why=why)


def draw_targets(points: pl.DataFrame) -> list[Panel]:
    """Draw the ranges that each condition leaves, the derived targets and the published ones."""
    rows = []
    for rate, part in _split(tabulate(points)):
        criteria = {**list_criteria(NEAR, FULL), "one Reno upload": pl.col("reno") >= FULL}
        for slot, (name, condition) in enumerate(criteria.items()):
            sizes = part.filter(condition)["buffer_kib"]
            if not sizes.is_empty():
                # Each size of the grid stands for an eighth of a doubling to either side, so that a single one is seen.
                low, high = (float(size) for size in sizes.sort()[[0, -1]])
                rows.append((f"{rate} Mb/s", name, slot, low / 2**0.125, high * 2**0.125))
    ranges = pl.DataFrame(rows, schema=["rate", "series", "slot", "low", "high"], orient="row")
    order = [f"{rate} Mb/s" for rate in PUBLISHED_KIB]
    y = alt.Y("rate:N", title="upstream rate", sort=order)
    x = alt.X(
        "low:Q",
        title="buffer (KiB)",
        scale=alt.Scale(type="log", base=2, domain=[5, 140], nice=False),
        axis=alt.Axis(values=[8, 16, 32, 64, 128]),
    )
    names = ranges["series"].unique(maintain_order=True).to_list()
    bars = (
        make_chart(ranges)
        .mark_bar(size=8, opacity=0.75)
        .encode(
            x=x,
            x2="high:Q",
            y=y,
            yOffset=alt.YOffset("series:N", sort=names),
            color=colour(ranges, "circle"),
        )
    )
    found = {f"{rate} Mb/s": size for rate, size in derive(points, NEAR, FULL).items() if size}
    derived = make_chart(pl.DataFrame({"rate": list(found), "low": list(found.values())}))
    table = {
        f"{rate} Mb/s": size for rate, size in PUBLISHED_KIB.items() if f"{rate} Mb/s" in found
    }
    published = make_chart(pl.DataFrame({"rate": list(table), "low": list(table.values())}))
    ticks = derived.mark_tick(thickness=4, size=44, color="#8c8c8c").encode(x=x, y=y)
    diamonds = published.mark_point(
        shape="diamond", size=160, filled=True, color="#E69F00", stroke="#8c8c8c"
    ).encode(x=x, y=y)
    return [Panel("", alt.layer(bars, ticks, diamonds))]


def draw_curves(points: pl.DataFrame) -> list[Panel]:
    """Draw score, load time and use of the line over the buffer."""
    rows = tabulate(points).with_columns(
        pl.col("one", "reno", "ten") * 100,
        series=pl.format("{} Mb/s", "rate_mbps"),
        slot=pl.col("rate_mbps").rank("dense").cast(pl.Int64) - 1,
    )
    used = "use of the line (%)"
    mos = draw_over_buffers(rows, "mos", "mean opinion score", domain=(1, 5))
    load = draw_over_buffers(rows, "load_s", "page load time, median (s)", domain=(1, 60), log=True)
    one = draw_over_buffers(rows, "one", used, domain=(0, 105))
    reno = draw_over_buffers(rows, "reno", used, domain=(0, 105))
    ten = draw_over_buffers(rows, "ten", used, domain=(0, 105))
    full = mark_across(100 * FULL, "95 %")
    return [
        Panel(
            "Calls beside one upload", alt.layer(mos, mark_across(4, "toll quality")), name="mos"
        ),
        Panel("A page beside ten uploads", load, name="load"),
        Panel("One upload", alt.layer(one, full), name="one-upload"),
        Panel("One Reno upload", alt.layer(reno, full), name="one-reno-upload"),
        Panel("Ten uploads", alt.layer(ten, full), name="ten-uploads"),
    ]


def _tell_ranges(points: pl.DataFrame, near: float, full: float, sender: str) -> str:
    """Say which buffers meet each condition at each rate."""
    told = []
    for rate, rows in _split(tabulate(points)):
        parts = []
        for name, condition in list_criteria(near, full, sender).items():
            sizes = rows.filter(condition)["buffer_kib"]
            ends = [int(size) for size in sizes.sort()[[0, -1]]] if len(sizes) else []
            parts.append(f"{name} {ends[0]} to {ends[1]}" if ends else f"{name} none")
        told.append(f"{rate} Mb/s: {', '.join(parts)} KiB")
    return "; ".join(told)


def _is_within(value: float | None, published: float, factor: float) -> bool:
    return value is not None and published / factor <= value <= published * factor


def _split(rows: pl.DataFrame) -> Iterator[tuple[int, pl.DataFrame]]:
    for (rate,), part in rows.group_by("rate_mbps", maintain_order=True):
        yield int(str(rate)), part


def _get(rows: pl.DataFrame, buffer_kib: int, name: str) -> float:
    return float(rows.filter(pl.col("buffer_kib") == buffer_kib)[name].item())
