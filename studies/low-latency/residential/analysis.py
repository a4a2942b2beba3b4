"""The games, rates and pages of ten scenarios, beside what docsis-ns3 printed for them."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import ClaimResult, ClaimVerdict, decide, decide_over_seeds, join_decisions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headend.study import Decision

Limits = dict[str, Any]

#: Rates of the line, bit/s.
RATES = {"up": 50e6, "down": 200e6}

#: Who plays, and how it is shown.
GAMES = {"ef": "EF", "be": "best effort"}
WAYS = {"up": "upstream", "down": "downstream"}

#: The statistics of a delay that docsis-ns3.toml has, in its order.
STATISTICS = ("mean", "p50", "p99")

#: The runs of docsis-ns3 that the claims are held against, and those that figures show besides.
REPAIRED, PUBLISHED = "repaired", "published"

#: Cases of one scenario each, and those that test a cause.
SCENARIOS = tuple(str(number) for number in range(1, 11))
EACH_SEGMENT = "an ACK for each segment"
ENDLESS = "endless transfers"

#: Runs that test what a difference in the best-effort game's delay comes from.
EXPERIMENTS = (
    (f"10, {EACH_SEGMENT}", "up", "with an ACK for each segment in both"),
    (f"9, {ENDLESS}", "down", "without starts and ends of transfers"),
)

#: The mean time that docsis-ns3's page reader takes to parse a page, which ours does not, s.
PARSING = 0.13

#: Models in figures, in order.
MODELS = ("headend", "docsis-ns3, repaired", "docsis-ns3, published")

#: Height of a row in a figure, pixels.
STEP = 30


@functools.cache
def read_runs() -> tuple[dict[str, Any], ...]:
    """Give what docsis-ns3 printed: delays in ms, rates in Mbit/s of PDU bytes, pages in s."""
    file = Path(__file__).with_name("docsis-ns3.toml")
    return tuple(tomllib.loads(file.read_text(encoding="utf-8"))["run"])


def find_run(case: str, variant: str = REPAIRED) -> dict[str, Any]:
    """Give what docsis-ns3 printed for a case; nothing where that was not run."""
    scenario, _, change = case.partition(", ")
    wanted = change if change in (EACH_SEGMENT, ENDLESS) else variant
    return next(
        (
            run
            for run in read_runs()
            if run["variant"] == wanted and run["scenario"] == int(scenario)
        ),
        {},
    )


def take(points: pl.DataFrame, case: str, column: str) -> list[float]:
    """Give a column of a case, one value for each seed: delays in ms, shares as they are."""
    values = points.filter(pl.col("case") == case)[column].drop_nulls().to_list()
    return values if column.endswith("_used") else [value / 1e6 for value in values]


def compare(
    points: pl.DataFrame, of: str, cases: Iterable[str], within: float
) -> dict[str, Decision]:
    """Hold a delay's median and 99th percentile against docsis-ns3's, in every case run.

    Parameters
    ----------
    of
        Whose delay and which way: ``"ef_up"``.
    within
        How far apart they may be, ms.
    """
    found = {}
    for case in cases:
        theirs = find_run(case).get(of)
        for statistic in ("p50", "p99"):
            ours = take(points, case, f"{of}_{statistic}")
            if ours and theirs:
                apart = [value - theirs[STATISTICS.index(statistic)] for value in ours]
                found[f"{statistic} of {case}"] = decide_over_seeds(apart, -within, within)
    return found


def tell(found: dict[str, Decision], within_us: float, why: str = "") -> ClaimResult:
    """Give one finding for several differences, with the largest of them."""
    if not found:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    name, worst = max(found.items(), key=lambda item: abs(item[1].mean))
    agreeing = [own for own in found.values() if own.verdict is ClaimVerdict.REPRODUCED]
    text = (
        f"{len(agreeing)} of {len(found)} within {within_us:.0f} us,"
        f" the farthest {1000 * worst.mean:+.0f} us ({name})"
    )
    return join_decisions(found.values(), text, why)


def check_ef_up(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the delay of the game marked EF up against docsis-ns3's."""
    found = compare(points, "ef_up", SCENARIOS, limits["within_us"] / 1000)
    return tell(found, limits["within_us"])


def check_ef_down(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the delay of the game marked EF down against docsis-ns3's."""
    found = compare(points, "ef_down", SCENARIOS, limits["within_us"] / 1000)
    return tell(found, limits["within_us"])


def check_idle(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the delay of the best-effort game on an idle line against docsis-ns3's."""
    found = compare(points, "be_up", limits["cases"], limits["within_us"] / 1000)
    return tell(found, limits["within_us"])


def check_lost(points: pl.DataFrame, _limits: Limits) -> ClaimResult:
    """Count lost packets of the game marked EF, here and in docsis-ns3."""
    ours = int(points["ef_lost"].sum())
    theirs = sum(run["ef_lost"] for run in read_runs())
    return ClaimResult(f"{ours} here, {theirs} in docsis-ns3", decide(ours == theirs == 0))


def compute_ratios(points: pl.DataFrame, case: str, way: str) -> list[float]:
    """Give the classic flow's rate over docsis-ns3's, one per seed; none if not run."""
    run = find_run(case)
    shares = take(points, case, f"{way}_used") if run else []
    return [share * RATES[way] / 1e6 / run[f"classic_{way}"] for share in shares]


def check_rate(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the rate of the classic flow against docsis-ns3's."""
    case, way = limits["case"], limits["way"]
    ratios = compute_ratios(points, case, way)
    if not ratios:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    bounds = [limits["ratio"] * (1 + sign * limits["within"]) for sign in (-1, 1)]
    found = decide_over_seeds(ratios, *bounds)
    theirs = find_run(case)[f"classic_{way}"]
    text = f"{found.mean * theirs:.2f} Mbit/s to {theirs:.2f}, a ratio of {found.mean:.4f}"
    why = ""
    endless = compute_ratios(points, f"{case}, {ENDLESS}", way)
    if endless and found.verdict is not ClaimVerdict.REPRODUCED:
        why = (
            "docsis-ns3's line is not full from the end of one test to the next slow start: while"
            f" 16 transfers without an end go on, the ratio is {fmean(endless):.4f}"
        )
    return found.tell(text, why)


def check_loaded(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the mean delay of the best-effort game beside a speed test against docsis-ns3's."""
    found, texts, parts = [], [], []
    for way, case in limits["cases"].items():
        ours, run = take(points, case, f"be_{way}_mean"), find_run(case)
        if not ours or not run:
            continue
        theirs = run[f"be_{way}"][STATISTICS.index("mean")]
        apart = [value / theirs - 1 for value in ours]
        found.append(decide_over_seeds(apart, -limits["within"], limits["within"]))
        texts.append(f"{way} {fmean(ours):.1f} ms to {theirs:.1f}")
        medians = fmean(take(points, case, f"be_{way}_p50")), run[f"be_{way}"][1]
        parts.append(f"medians {way} {medians[0]:.1f} to {medians[1]:.1f} ms")
    if not found:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    for case, way, change in EXPERIMENTS:
        means, medians_of = (take(points, case, f"be_{way}_{name}") for name in STATISTICS[:2])
        run = find_run(case)
        if means and run:
            mean, median = fmean(means), fmean(medians_of)
            theirs = run[f"be_{way}"]
            parts.append(
                f"{change}, {way} {mean:.1f} to {theirs[0]:.1f} ms in the mean and {median:.1f} to"
                f" {theirs[1]:.1f} in the median"
            )
    return join_decisions(found, ", ".join(texts), "; ".join(parts))


def list_models(points: pl.DataFrame, case: str) -> list[tuple[str, dict[str, Any]]]:
    """Give what docsis-ns3 printed for a case that was run here, repaired and as published."""
    if points.filter(pl.col("case") == case).is_empty():
        return []
    runs = zip(MODELS[1:], (find_run(case), find_run(case, PUBLISHED)), strict=True)
    return [(model, run) for model, run in runs if run]


def draw_delays(points: pl.DataFrame) -> list[Panel]:
    """Draw median to 99th percentile of both games, both ways, in each scenario and model."""
    panels = []
    for game, shown in GAMES.items():
        for way, direction in WAYS.items():
            of, rows = f"{game}_{way}", []
            for case in SCENARIOS:
                models = list_models(points, case)
                for model, run in models:
                    rows.append(_place(case, model, run[of][1], run[of][1], run[of][2]))
                if models:
                    p50, p99 = (
                        fmean(take(points, case, f"{of}_{name}")) for name in ("p50", "p99")
                    )
                    rows.append(_place(case, MODELS[0], p50, p50, p99))
            title = "delay (ms), median to 99th percentile"
            panels.append(_draw(f"{shown}, {direction}", rows, title, scale="log"))
    return panels


def draw_rates(points: pl.DataFrame) -> list[Panel]:
    """Draw the classic flow's rate in each scenario and model."""
    panels = []
    for way, direction in WAYS.items():
        rows = []
        for case in SCENARIOS:
            models = list_models(points, case)
            for model, run in models:
                rows.append(_place(case, model, run[f"classic_{way}"]))
            if models:
                rate = fmean(take(points, case, f"{way}_used")) * RATES[way] / 1e6
                rows.append(_place(case, MODELS[0], rate))
        panels.append(_draw(direction, rows, "rate of the classic flow (Mbit/s)"))
    return panels


def draw_pages(points: pl.DataFrame) -> list[Panel]:
    """Draw the mean load time of a page in each case that has a reader, of both models."""
    rows = []
    for case in (*SCENARIOS, f"1, {EACH_SEGMENT}"):
        run, ours = find_run(case), take(points, case, "page_mean")
        if "page" in run and ours:
            mean, error, _ = run["page"]
            rows.append(_place(case, MODELS[1], mean, mean - error, mean + error))
            rows.append(_place(case, MODELS[0], fmean(ours) / 1000 + PARSING))
    return [_draw("", rows, "mean load time of a page (s)")] if rows else []


def _place(
    case: str, model: str, mark: float, start: float | None = None, end: float | None = None
) -> dict[str, Any]:
    """Give a row of a figure: its mark's place, and its line's ends, if it has one."""
    return {"case": case, "model": model, "mark": mark, "start": start, "end": end}


def _draw(title: str, rows: list[dict[str, Any]], axis: str, scale: str = "linear") -> Panel:
    """Draw a mark for each model in each case, and the lines that rows have."""
    table = pl.DataFrame(rows, infer_schema_length=None)
    models = [model for model in MODELS if model in set(table["model"])]
    cases = list(dict.fromkeys(table["case"]))
    own = vl.Scale(type="log") if scale == "log" else vl.Scale(zero=True)
    base = make_chart(table).encode(
        y=vl.Y("case:N", title="scenario", sort=cases, axis=vl.Axis(labelLimit=170)),
        yOffset=vl.YOffset("model:N", sort=models),
        color=vl.Color(
            "model:N",
            title=None,
            scale=vl.Scale(domain=models, range=list(PALETTE[: len(models)])),
        ),
    )
    lines = base.mark_rule(strokeWidth=2.5).encode(
        x=vl.X("start:Q", title=axis, scale=own), x2="end:Q"
    )
    marks = base.mark_point(filled=True, size=45, opacity=1).encode(
        x=vl.X("mark:Q", title=axis, scale=own)
    )
    chart = vl.layer(lines, marks) if table["start"].count() else marks
    return Panel(title, chart.properties(height=STEP * len(cases)))
