"""Figures 6 to 10 of the Buffer Control guideline: calls beside an upload, by buffer."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import inf
from statistics import fmean
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart, mark_across
from headend.study import ClaimResult, ClaimVerdict, decide, decide_over_seeds, join_decisions
from headend.text.quantity import format_quantity

from ..buffers import draw_over_buffers, make_buffer_axis, measure_leads

#: Table 1: what a score is called.
WORDS = {5: "Excellent", 4: "Good", 3: "Fair", 2: "Poor", 1: "Bad"}

#: Where the guideline saw its best scores, KiB, by rate in Mb/s (§7.2.3.3).
PUBLISHED_BEST = {1: (8, 16), 2: (16, 16), 5: (32, 32), 10: (32, 64)}

MEASURES = ("mos", "mos_min", "mos_max", "loss", "late", "delay", "set_up", "set_up_max", "failed")

#: A difference of two measures that is more than none.
MORE = 1e-9

Check = Callable[[pl.DataFrame, dict[str, Any]], ClaimResult]


def at_its_rate(check: Check) -> Check:
    """Give no verdict on a claim whose rate was not run, as in the quick form."""

    @functools.wraps(check)
    def attempt(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
        rows = points.filter(pl.col("rate_mbps") == limits["rate_mbps"])
        if rows.is_empty():
            return ClaimResult("not run at this rate", ClaimVerdict.UNTESTABLE)
        return check(rows, limits)

    return attempt


def tabulate(points: pl.DataFrame, *by: str) -> pl.DataFrame:
    """Average the seeds, or by fewer columns the round trips too; times in ms, shares in %."""
    places = by or ("rate_mbps", "buffer_kib", "added_ms")
    return (
        points.group_by(places, maintain_order=True)
        .agg(pl.col(name).mean() for name in MEASURES)
        .with_columns(pl.col("delay", "set_up", "set_up_max") / 1e6)
        .with_columns(missed=(pl.col("loss") + pl.col("late")) * 100)
        .sort(places)
    )


def average_rtts(points: pl.DataFrame) -> pl.DataFrame:
    """Average the tests of both round trips, as Figure 10 does."""
    return tabulate(points, "rate_mbps", "buffer_kib")


def find_leads(points: pl.DataFrame) -> pl.DataFrame:
    """Give how far each buffer's score is below the best, and its standard error in ten calls.

    Each seed is such a test, so the error is the spread of the difference over seeds; with one seed
    it is not known, and only equal scores are ties.
    """
    by_seed = points.group_by("buffer_kib", "seed").agg(
        pl.col("mos").mean(), missed=(pl.col("loss") + pl.col("late")).mean()
    )
    return (
        measure_leads(by_seed)
        .group_by("buffer_kib")
        .agg(
            pl.col("mos", "lead", "missed").mean(),
            error=pl.col("lead").std().fill_null(0),
        )
        .sort("buffer_kib")
    )


def find_best(points: pl.DataFrame) -> list[int]:
    """Give the best buffer of ten calls, and those that such a test cannot tell from it, KiB."""
    leads = find_leads(points)
    best: list[int] = leads.filter(pl.col("lead") <= pl.col("error"))["buffer_kib"].to_list()
    return best


@at_its_rate
def check_best(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Find the best buffers for each round trip."""
    found, told, agrees = [], [], True
    for added, rows in _split(points, "added_ms"):
        best = find_best(rows)
        found.append(f"{_list(best)} with {added} ms added")
        told.append(f"{_describe_leads(find_leads(rows))} with {added} ms added")
        agrees &= not set(best).isdisjoint(limits["best_kib"])
    why = (
        f"below the best, with the standard error of ten calls, and lost or late: {'; '.join(told)}"
    )
    return ClaimResult("; ".join(found), decide(agrees), why=why)


@at_its_rate
def check_best_within(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Find the best buffers for each round trip: some of the named ones.

    Where a test of ten calls cannot tell others from these, it is undecided.
    """
    finding = check_best(points, limits)
    best = [set(find_best(rows)) for _, rows in _split(points, "added_ms")]
    if finding.verdict is ClaimVerdict.DIFFERS or all(
        sizes <= set(limits["best_kib"]) for sizes in best
    ):
        return finding
    return replace(finding, verdict=ClaimVerdict.UNDECIDED)


@at_its_rate
def check_best_in_turn(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """See whether the named buffers are the best: each at one round trip, or both alike at both.

    They are alike where they are within a margin of each other and all others further below both.
    """
    finding = check_best(points, limits)
    alike, best, told = True, set[int](), []
    for added, rows in _split(points, "added_ms"):
        leads = find_leads(rows)
        named = pl.col("buffer_kib").is_in(limits["best_kib"])
        apart = leads.filter(named)["lead"].to_list()
        others = leads.filter(~named)["lead"].to_list()
        spread, next_best = max(apart) - min(apart), min(others, default=inf) - max(apart)
        alike &= spread <= limits["margin"] < next_best
        best |= set(find_best(rows))
        told.append(f"{spread:.3f} apart and {next_best:.2f} above the next with {added} ms added")
    measured = f"{finding.measured}; {_list(limits['best_kib'])} {'; '.join(told)}"
    in_turn = best == set(limits["best_kib"])
    return replace(finding, measured=measured, verdict=decide(alike or in_turn))


@at_its_rate
def check_best_and_degraded(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Find the best buffers for each round trip, and compare others with the published best."""
    best = check_best(points, limits)
    scores = _pivot(points, "mos")
    top = scores[str(limits["best_kib"][0])]
    decisions = [
        decide_over_seeds((top - scores[str(size)]).to_list(), low=MORE)
        for size in limits["degraded_kib"]
    ]
    told = " and ".join(
        f"{decision.mean:.3f} below with {size} KiB"
        for decision, size in zip(decisions, limits["degraded_kib"], strict=True)
    )
    text = f"best {best.measured}; {told}"
    if best.verdict is ClaimVerdict.DIFFERS:
        return ClaimResult(text, ClaimVerdict.DIFFERS, why=best.why)
    return join_decisions(decisions, text, best.why)


def check_more_distinct(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Find the best buffers in the mean of both round trips, and compare leads of two rates."""
    rates = [limits["rate_mbps"], limits["beside_mbps"]]
    parts = [points.filter(pl.col("rate_mbps") == rate) for rate in rates]
    if any(rows.is_empty() for rows in parts):
        return ClaimResult("not run at both rates", ClaimVerdict.UNTESTABLE)
    best = find_best(parts[0])
    leads = [_measure_peak(rows) for rows in parts]
    decision = decide_over_seeds((leads[0] - leads[1]).to_list(), low=MORE)
    told = " and ".join(
        f"{fmean(lead):.3f} at {rate} Mb/s" for lead, rate in zip(leads, rates, strict=True)
    )
    text = f"best {_list(best)} in the mean; it leads by {told}"
    why = check_best(parts[0], limits).why
    if best != limits["best_kib"]:
        return ClaimResult(text, ClaimVerdict.DIFFERS, why=why)
    return decision.tell(text, why)


@at_its_rate
def check_drop(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare the fall from the worse of two buffers to a larger with their difference."""
    scores = _pivot(points, "mos")
    names = [str(size) for size in limits["near_kib"]]
    worse, better = sorted(names, key=lambda name: fmean(scores[name]))
    last = scores[str(limits["to_kib"])]
    beyond = (scores[worse] - last) - (scores[better] - scores[worse])
    text = ", ".join(
        f"{fmean(scores[name]):.2f} with {name} KiB" for name in (*names, str(limits["to_kib"]))
    )
    return decide_over_seeds(beyond.to_list(), low=MORE).tell(text)


@at_its_rate
def check_falls(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare the scores of two buffers."""
    scores = _pivot(points, "mos")
    before, after = (scores[str(limits[name])].to_list() for name in ("from_kib", "to_kib"))
    drops = [score - other for score, other in zip(before, after, strict=True)]
    text = f"from {fmean(before):.2f} to {fmean(after):.2f}"
    return decide_over_seeds(drops, low=MORE).tell(text)


def check_time_outs(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Count the calls that were not set up, and say how long the others took."""
    rows = tabulate(points)
    found, longest, agrees = [], 0.0, True
    for place in limits["places"]:
        there = rows.filter(pl.col(name) == value for name, value in place.items())
        if there.is_empty():
            return ClaimResult("not run there", ClaimVerdict.UNTESTABLE)
        failed, middle = (float(there[name].mean()) for name in ("failed", "set_up"))  # type: ignore[arg-type]
        longest = float(there["set_up_max"].max()) / 1e3  # type: ignore[arg-type]
        found.append(
            f"{failed:.0%} not set up at {place['rate_mbps']} Mb/s with {place['buffer_kib']} KiB"
            f" (set up in {middle / 1e3:.2f} s at the median, {longest:.2f} s at the longest)"
        )
        agrees &= failed > 0
    why = "" if agrees else _describe_timer(rows, longest)
    return ClaimResult("; ".join(found), decide(agrees), why=why)


@at_its_rate
def check_loss(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare the calls' loss in small buffers with that in the one of the best scores."""
    losses = _pivot(points, "loss")
    large = losses[str(limits["buffer_kib"])]
    decisions = [
        decide_over_seeds((losses[str(small)] - large).to_list(), low=MORE)
        for small in limits["small_kib"]
    ]
    text = ", ".join(
        f"{format_quantity(fmean(losses[str(size)]), 'ratio')} with {size} KiB"
        for size in (*limits["small_kib"], limits["buffer_kib"])
    )
    return join_decisions(decisions, text)


@at_its_rate
def check_good(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the scores of a range of buffers against a level."""
    scores = _pivot(points, "mos")
    decisions = [
        decide_over_seeds(scores[str(size)].to_list(), low=limits["good"])
        for size in limits["buffers_kib"]
    ]
    text = ", ".join(
        f"{fmean(scores[str(size)]):.2f} with {size} KiB" for size in limits["buffers_kib"]
    )
    return join_decisions(decisions, text)


def check_optimum_moves(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Compare the best buffers of both round trips at each rate."""
    found, same, count = [], 0, 0
    for rate, rows in _split(points, "rate_mbps"):
        best = [find_best(part) for _, part in _split(rows, "added_ms")]
        count += 1
        same += bool(set.intersection(*map(set, best)))
        found.append(f"{' and '.join(_list(sizes) for sizes in best)} at {rate} Mb/s")
    text = f"the same at {same} of {count} rates: {'; '.join(found)}"
    return ClaimResult(text, decide(same > count / 2))


def draw_by_rate(points: pl.DataFrame) -> list[Panel]:
    """Draw Figures 6 to 9: a panel for each rate, a line for each round trip."""
    panels = []
    for rate, rows in _split(tabulate(points), "rate_mbps"):
        own = rows.with_columns(
            series=pl.format("+{} ms", "added_ms"),
            slot=pl.col("added_ms").rank("dense").cast(pl.Int64) - 1,
        )
        spread = (
            make_chart(own)
            .mark_rule(strokeWidth=5, opacity=0.25)
            .encode(
                x=make_buffer_axis(_sizes(own)),
                y=_score("mos_min:Q"),
                y2="mos_max:Q",
                color=colour(own),
            )
        )
        lines = draw_over_buffers(own, "mos", "mean opinion score", domain=(1, 5))
        layers = [_shade(*PUBLISHED_BEST[int(str(rate))]), spread, lines, *_mark_words()]
        panels.append(Panel(f"{rate} Mb/s upstream", vl.layer(*layers), name=f"mos-{rate}-mbps"))
    return panels


def draw_average(points: pl.DataFrame) -> list[Panel]:
    """Draw Figure 10."""
    rows = _by_rate(points)
    lines = draw_over_buffers(rows, "mos", "mean opinion score", domain=(1, 5))
    best = float(rows["mos"].max())  # type: ignore[arg-type]
    detail = draw_over_buffers(rows, "mos", "mean opinion score", domain=(best - 0.25, best + 0.05))
    return [
        Panel("", vl.layer(lines, *_mark_words()), name="average"),
        Panel("In detail", detail, name="average-detail"),
    ]


def draw_causes(points: pl.DataFrame) -> list[Panel]:
    """Draw what calls miss and how long they take, over the buffer."""
    rows = _by_rate(points)
    missed = draw_over_buffers(rows, "missed", "packets lost or late (%)")
    delays = draw_over_buffers(
        rows, "delay", "mean one-way delay (ms)", domain=(30, 3000), log=True
    )
    marks = [mark_across(177, "177 ms: scores fall"), mark_across(400, "400 ms: unacceptable")]
    return [
        Panel("Lost or late", missed, name="missed"),
        Panel("Delay", vl.layer(delays, *marks), name="delay"),
    ]


def draw_set_up(points: pl.DataFrame) -> list[Panel]:
    """Draw median and slowest set-up over the buffer, at the slowest and the fastest rate."""
    rows = average_rtts(points)
    ends = [rows["rate_mbps"].min(), rows["rate_mbps"].max()]
    parts = []
    for slot, (name, words) in enumerate((("set_up", "median"), ("set_up_max", "slowest"))):
        for place, rate in enumerate(ends):
            own = rows.filter(pl.col("rate_mbps") == rate)
            parts.append(
                own.select(
                    "buffer_kib",
                    seconds=pl.col(name) / 1e3,
                    series=pl.format("{} Mb/s, {}", "rate_mbps", pl.lit(words)),
                    slot=pl.lit(2 * place + slot),
                )
            )
    chart = draw_over_buffers(
        pl.concat(parts), "seconds", "time to set up (s)", domain=(0.05, 40), log=True
    )
    return [Panel("", vl.layer(chart, mark_across(32, "SIP gives up", near_left=True)))]


def _describe_timer(rows: pl.DataFrame, longest: float) -> str:
    """Say what a tester would have to wait for, and what it would not have completed then."""
    others = rows.filter(pl.col("rate_mbps") == rows["rate_mbps"].min())
    beyond = others.filter(pl.col("set_up") / 1e3 > longest)
    return (
        "SIP repeats an INVITE after 0.5 s and gives up after 32 s: seconds of queue delay a call"
        " and do not prevent it. No other timer fits both places: one that fails a call at the"
        f" second of them, within {longest:.2f} s, fails the median call at {beyond.height} of"
        f" {others.height} places at {others['rate_mbps'][0]} Mb/s, of which scores are published"
    )


def _split(rows: pl.DataFrame, column: str) -> Iterator[tuple[object, pl.DataFrame]]:
    for (value,), part in rows.group_by(column, maintain_order=True):
        yield value, part


def _sizes(rows: pl.DataFrame) -> list[float]:
    sizes: list[float] = rows["buffer_kib"].unique().sort().to_list()
    return sizes


def _by_rate(points: pl.DataFrame) -> pl.DataFrame:
    return average_rtts(points).with_columns(
        series=pl.format("{} Mb/s", "rate_mbps"),
        slot=pl.col("rate_mbps").rank("dense").cast(pl.Int64) - 1,
    )


def _measure_peak(points: pl.DataFrame) -> pl.Series:
    """Say for each seed how far the best buffer is above the next one, mean of both round trips."""
    scores = _pivot(points, "mos").sort("seed")
    first, second = sorted(
        scores.drop("seed").columns, key=lambda name: fmean(scores[name]), reverse=True
    )[:2]
    return scores[first] - scores[second]


def _pivot(points: pl.DataFrame, value: str) -> pl.DataFrame:
    """Give a value for each seed, mean of both round trips, a column for each buffer."""
    return points.pivot("buffer_kib", index="seed", values=value, aggregate_function="mean")


def _list(sizes: list[int]) -> str:
    return f"{' = '.join(map(str, sizes))} KiB"


def _describe_leads(leads: pl.DataFrame) -> str:
    return ", ".join(
        f"{row['buffer_kib']} KiB {row['lead']:.3f} ± {row['error']:.3f} ({row['missed']:.1%})"
        for row in leads.iter_rows(named=True)
    )


def _score(field: str) -> vl.Y:
    return vl.Y(
        field, title="mean opinion score", scale=vl.Scale(domain=[1, 5], nice=False, clamp=True)
    )


def _shade(low: float, high: float) -> vl.Chart:
    """Shade where the guideline's best scores were, half a doubling around its sizes."""
    band = pl.DataFrame({"buffer_kib": [max(low / 2**0.5, 8)], "to": [high * 2**0.5]})
    return (
        make_chart(band)
        .mark_rect(color="#8c8c8c", opacity=0.15, clip=True)
        .encode(x="buffer_kib:Q", x2="to:Q")
    )


def _mark_words() -> list[vl.Chart]:
    """Write Table 1's words at their scores, and toll quality's line."""
    rows = pl.DataFrame({"mos": list(WORDS), "word": list(WORDS.values())})
    words = (
        make_chart(rows)
        .mark_text(align="right", dx=-4, dy=-6, clip=True)
        .encode(y="mos:Q", x=vl.value("width"), text="word:N")
    )
    toll = make_chart(pl.DataFrame({"mos": [4]})).mark_rule(strokeDash=[4, 3]).encode(y="mos:Q")
    return [toll, words]
