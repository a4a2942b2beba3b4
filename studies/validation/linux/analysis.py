"""Losses, delays and slow starts of headend's Linux senders, beside real Linux's."""

from __future__ import annotations

import math
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
    from collections.abc import Iterable, Sequence

Limits = dict[str, Any]

#: Payload of a full segment with timestamps, bytes.
SEGMENT = 1448

#: What the scenarios leave out at the start, and how long the drops of the start are counted, ns.
START = 5_000_000_000

#: By how much of a bound a mean that is one may miss it.
ROUNDING = 1e-9

#: What a figure shows of ratios, and where their axis has labels.
SHOWN, TICKS = (0.4, 2.5), [0.5, 0.75, 1, 1.5, 2]

#: Height of a case in a figure, pixels: a line of text and a bar.
STEP = 36


def measure(row: dict[str, Any]) -> dict[str, Any]:
    """Take from a run what the claims are about.

    Parameters
    ----------
    row
        A point of the study.

    Returns
    -------
    dict
        Goodput in Mbit/s, loss in %, the ping's figures in ms; of the uploads the ``drops`` of the
        start and the time of the ``first_loss`` in s; and the ssthresh of the first one at its
        ``exit`` from slow start without a loss, in segments. What did not happen is None.
    """
    pings, times = row["dropped_pings"], row["time"]
    dropped = [all_ - ping for all_, ping in zip(row["dropped"], pings, strict=True)]
    first = next((time for time, lost in zip(times, dropped, strict=True) if lost > 0), math.inf)
    windows = list(zip(row["window_time"], row["ssthresh"], strict=True))
    # A sender behind a full buffer of 250 ms learns of a drop later than within its interval.
    exits = [ssthresh for time, ssthresh in windows if time <= first and _is_set(ssthresh)]
    return {
        "case": row["case"],
        "goodput": row["goodput"] / 1e6,
        "loss": 100 * row["discarded"] / row["sent"],
        "mean": row["ping_mean"] / 1e6,
        "p99": row["ping_p99"] / 1e6,
        "drops": sum(lost for time, lost in zip(times, dropped, strict=True) if time <= START),
        "first_loss": first / 1e9 if math.isfinite(first) else None,
        "exit": exits[0] / SEGMENT if exits else None,
    }


def _is_set(ssthresh: float | None) -> bool:
    return ssthresh is not None and math.isfinite(ssthresh)


def take(points: pl.DataFrame, case: str) -> pl.DataFrame:
    """Give a row for each seed of a case."""
    rows = [measure(row) for row in points.filter(pl.col("case") == case).iter_rows(named=True)]
    return pl.DataFrame(rows, infer_schema_length=None)


def list_limits(check: str) -> list[Limits]:
    """Give what the claims that this function checks are held against, in the study's order."""
    content = tomllib.loads(Path(__file__).with_name("study.toml").read_text(encoding="utf-8"))
    return [claim["limits"] for claim in content["claim"] if claim["check"] == check]


def accept(
    real: float | Sequence[float], within: float, spread: float = 0.0
) -> tuple[float, float]:
    """Give what agrees with a real figure, or with any of a range of them."""
    low, high = (real, real) if isinstance(real, (int, float)) else real
    return low - spread - within * low, high + spread + within * high


def accept_loss(limits: Limits) -> tuple[float, float]:
    """Give what agrees with a real loss, %."""
    low, high = accept(limits["real"], limits["within"], limits["spread"])
    return max(0.0, low), high


def accept_delay(limits: Limits) -> dict[str, tuple[float, float]]:
    """Give what agrees with each of the ping's figures that are known, ms."""
    return {
        name: accept(limits[name], limits["within"], limits.get(f"{name}_spread", 0))
        for name in ("mean", "p99")
        if name in limits
    }


def check_loss(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the losses of a case against the real ones."""
    rows = take(points, limits["case"])
    return _judge(rows, "loss", accept_loss(limits), "{:.4f} %", cause=limits.get("cause", ""))


def check_delay(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the ping's mean and 99th percentile in a case against the real ones."""
    rows = take(points, limits["case"])
    if rows.is_empty():
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    names = {"mean": "mean", "p99": "99th percentile"}
    found = {
        names[name]: _judge(rows, name, bounds, "{:.1f} ms")
        for name, bounds in accept_delay(limits).items()
    }
    return ClaimResult(
        ", ".join(f"{name} {finding.measured}" for name, finding in found.items()),
        _join(finding.verdict for finding in found.values()),
        why="; ".join(f"{name}: {finding.why}" for name, finding in found.items() if finding.why),
        deciding_seeds=max(own.deciding_seeds or 0 for own in found.values()) or None,
    )


def _join(verdicts: Iterable[ClaimVerdict]) -> ClaimVerdict:
    """Give the verdict on all of several: differing if one is, or undecided if one is."""
    given = set(verdicts)
    order = (ClaimVerdict.DIFFERS, ClaimVerdict.UNDECIDED, ClaimVerdict.REPRODUCED)
    return next(verdict for verdict in order if verdict in given)


def check_exit(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the ssthresh at which HyStart leaves slow start against the real one."""
    bounds = accept(limits["real"], limits["within"])
    rows = take(points, limits["case"])
    return _judge(rows, "exit", bounds, "{:.1f} segments", never="no exit before a loss")


def check_first_loss(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the time of the first loss against the real one."""
    bounds = accept(limits["real"], limits["within"])
    rows = take(points, limits["case"])
    return _judge(rows, "first_loss", bounds, "{:.2f} s", never="no loss")


def check_drops(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the drops of the first seconds against the real ones."""
    bounds = accept(limits["real"], limits["within"])
    rows = take(points, limits["case"])
    return _judge(rows, "drops", bounds, "{:.0f} packets", cause=limits.get("cause", ""))


def check_goodput(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the goodput of every case that was run against the real one."""
    within = limits["within"]
    found = {
        case: decide_over_seeds([own / real - 1 for own in rows["goodput"]], -within, within)
        for case, real in limits["real"].items()
        if not (rows := take(points, case)).is_empty()
    }
    if not found:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    errors = [own.mean for own in found.values()]
    outside = {
        case: own for case, own in found.items() if own.verdict is not ClaimVerdict.REPRODUCED
    }
    text = (
        f"{len(found) - len(outside)} of {len(found)} cases, from {min(errors):+.1%}"
        f" to {max(errors):+.1%}"
    )
    why = ", ".join(f"{case} {own.mean:+.1%}" for case, own in outside.items())
    return join_decisions(found.values(), text, why)


# The claims on the kernel in virtual time have checks of their own names, so that no figure or
# count mixes the two references; they do the same.


def check_virtual_loss(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the losses of a case against those of the kernel in virtual time."""
    return check_loss(points, limits)


def check_virtual_delay(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the ping's mean and 99th percentile against those beside the kernel in virtual time."""
    return check_delay(points, limits)


def check_virtual_exit(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold HyStart's exit against that of the kernel in virtual time."""
    return check_exit(points, limits)


def check_virtual_first_loss(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the time of the first loss against that of the kernel in virtual time."""
    return check_first_loss(points, limits)


def check_virtual_drops(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the drops of the first seconds against those of the kernel in virtual time."""
    return check_drops(points, limits)


def check_virtual_goodput(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the goodput of every case that was run against that of the kernel in virtual time."""
    return check_goodput(points, limits)


def check_rows(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Count the cases that agree in losses and delay, of those with all figures known."""
    losses = {own["case"]: own for own in list_limits("check_loss")}
    delays = {own["case"]: own for own in list_limits("check_delay")}
    cases = [case for case in losses if case in delays]
    found = {
        "losses": {case: check_loss(points, losses[case]) for case in cases},
        "delay": {case: check_delay(points, delays[case]) for case in cases},
    }
    both = {case: [own[case].verdict for own in found.values()] for case in cases}
    if any(ClaimVerdict.UNTESTABLE in verdicts for verdicts in both.values()):
        return ClaimResult("not all cases were run", ClaimVerdict.UNTESTABLE)
    joined = [_join(verdicts) for verdicts in both.values()]
    agreeing, open_ = joined.count(ClaimVerdict.REPRODUCED), joined.count(ClaimVerdict.UNDECIDED)
    text = f"{agreeing} of {len(cases)} agree in both"
    verdict = decide(agreeing >= limits["least"])
    if open_:
        text += f", {open_} undecided"
        if agreeing < limits["least"] <= agreeing + open_:
            verdict = ClaimVerdict.UNDECIDED
    why = "; ".join(
        f"{word} in {name}: {', '.join(named)}"
        for word, kind in (("not", ClaimVerdict.DIFFERS), ("undecided", ClaimVerdict.UNDECIDED))
        for name, own in found.items()
        if (named := [case for case, finding in own.items() if finding.verdict is kind])
    )
    return ClaimResult(text, verdict, why=why)


def _judge(
    rows: pl.DataFrame,
    name: str,
    bounds: tuple[float, float],
    form: str,
    *,
    never: str = "",
    cause: str = "",
) -> ClaimResult:
    """Hold the mean over the seeds against bounds.

    Parameters
    ----------
    rows
        A case, a row for each seed.
    name
        What to look at.
    bounds
        What is accepted; a mean that is a bound, but for rounding, is accepted too.
    form
        How it is written, with its unit.
    never
        What to say where a run has not got it.
    cause
        Why it is another than Linux's, where that is known.
    """
    if rows.is_empty():
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    values = rows[name].drop_nulls().to_list()
    if len(values) < rows.height:
        text = f"{never} in {rows.height - len(values)} of {rows.height} runs"
        return ClaimResult(text, ClaimVerdict.DIFFERS)
    found = decide_over_seeds(values, bounds[0] * (1 - ROUNDING), bounds[1] * (1 + ROUNDING))
    number, _, unit = form.partition(" ")
    text = form.format(found.mean)
    if len(values) > 1:
        least, most = number.format(min(values)), number.format(max(values))
        text += f" ({least} to {most})"
    why = ""
    if found.verdict is not ClaimVerdict.REPRODUCED:
        why = f"{bounds[0]:.4g} to {bounds[1]:.4g} {unit}"
        why = f"not {why}" if found.verdict is ClaimVerdict.DIFFERS else f"over a bound of {why}"
        why += f": {cause}" if cause else ""
    return found.tell(text, why)


def _agrees(value: float, bounds: tuple[float, float]) -> bool:
    """Say whether a value is within bounds; one that is a bound, but for rounding, agrees."""
    low, high = bounds
    return low * (1 - ROUNDING) <= value <= high * (1 + ROUNDING)


def draw_rows(points: pl.DataFrame) -> list[Panel]:
    """Draw losses, and the ping's mean and 99th percentile, over the real ones."""
    return _draw_rows(points, "check_loss", "check_delay")


def draw_start(points: pl.DataFrame) -> list[Panel]:
    """Draw how slow start ends, over how it really does."""
    return [
        *_draw_start(points, "check_exit", "HyStart's exit", "exit", "segments"),
        *_draw_start(points, "check_first_loss", "Time of the first loss", "first_loss", "s"),
        *_draw_start(points, "check_drops", "Drops in the first 5 s", "drops", "packets"),
    ]


def draw_virtual(points: pl.DataFrame) -> list[Panel]:
    """Draw losses, the ping's figures and HyStart's exit, over the virtual kernel's."""
    return [
        *_draw_rows(points, "check_virtual_loss", "check_virtual_delay"),
        *_draw_start(points, "check_virtual_exit", "HyStart's exit", "exit", "segments"),
    ]


def _draw_rows(points: pl.DataFrame, loss: str, delay: str) -> list[Panel]:
    """Draw losses and the ping over what the claims of these two checks hold them against."""
    losses = [
        _compare(points, limits["case"], "loss", limits["real"], accept_loss(limits), "%")
        for limits in list_limits(loss)
    ]
    delays = {
        name: [
            _compare(points, limits["case"], name, limits[name], accept_delay(limits)[name], "ms")
            for limits in list_limits(delay)
            if name in limits
        ]
        for name in ("mean", "p99")
    }
    return [
        *_draw("Packets lost", losses),
        *_draw("Ping, mean", delays["mean"]),
        *_draw("Ping, 99th percentile", delays["p99"]),
    ]


def _draw_start(points: pl.DataFrame, check: str, title: str, name: str, unit: str) -> list[Panel]:
    """Draw a figure of the start over what the claims of this check hold it against."""
    rows = []
    for limits in list_limits(check):
        bounds = accept(limits["real"], limits["within"])
        rows.append(_compare(points, limits["case"], name, limits["real"], bounds, unit))
    return _draw(title, rows)


def _compare(
    points: pl.DataFrame,
    case: str,
    name: str,
    known: float | Sequence[float],
    bounds: tuple[float, float],
    unit: str,
) -> dict[str, Any]:
    """Give what a figure shows of a case; nothing where it was not run or has no ratio."""
    rows = take(points, case)
    values = [] if rows.is_empty() else rows[name].drop_nulls().to_list()
    real = known if isinstance(known, (int, float)) else fmean(known)
    if not values or not real:
        return {}
    mean = fmean(values)
    is_accepted = len(values) == rows.height and _agrees(mean, bounds)
    rate, _, rtt, _, queue, many, control = case.split(" ")
    return {
        # A label has two lines, and so leaves a narrow page its width.
        "case": f"{rate} Mbit/s, {rtt} ms|{queue}, {many} {control}",
        "ratio": mean / real,
        "low": bounds[0] / real,
        "high": bounds[1] / real,
        "text": f"{_shorten(mean)} : {_shorten(real)} {unit}",
        "verdict": "accepted" if is_accepted else "not accepted",
    }


def _shorten(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _draw(title: str, rows: Sequence[dict[str, Any]]) -> list[Panel]:
    """Draw a panel of ratios with what is accepted; none where there are no rows."""
    table = pl.DataFrame([row for row in rows if row], infer_schema_length=None)
    if table.is_empty():
        return []
    y = vl.Y(
        "case:N",
        title=None,
        sort=table["case"].to_list(),
        axis=vl.Axis(labelExpr="split(datum.label, '|')", labelLimit=170, grid=False),
    )
    x = vl.X(
        "ratio:Q",
        title="headend ÷ Linux (no unit)",
        scale=vl.Scale(type="log", domain=list(SHOWN), nice=False, clamp=True),
        axis=vl.Axis(values=TICKS, format="~g"),
    )
    verdicts = ["accepted", "not accepted"]
    base = make_chart(table).encode(y=y)
    bars = base.mark_bar(color=PALETTE[6], opacity=0.35, height=12, yOffset=8).encode(
        x=vl.X("low:Q", title=x["title"]), x2="high:Q"
    )
    dots = base.mark_point(filled=True, size=70, opacity=1, yOffset=8).encode(
        x=x,
        color=vl.Color(
            "verdict:N", title=None, scale=vl.Scale(domain=verdicts, range=list(PALETTE[:2]))
        ),
        shape=vl.Shape(
            "verdict:N", title=None, scale=vl.Scale(domain=verdicts, range=["circle", "diamond"])
        ),
    )
    numbers = base.mark_text(align="left", dy=-8).encode(x=vl.value(4), text="text:N")
    same = make_chart(pl.DataFrame({"ratio": [1.0]})).mark_rule().encode(x=x)
    chart = vl.layer(same, bars, dots, numbers)
    return [Panel(title, chart.properties(height=STEP * table.height))]
