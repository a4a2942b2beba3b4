"""Claims on the verdicts of an evaluation: at the conditions a claim names, what must hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from headend.study import ClaimResult, ClaimVerdict
from headend.text.quantity import Kind, format_quantity

#: The columns by which a claim chooses conditions.
_CONDITIONS = ("variant", "rate", "rtt", "buffer")

#: What a unit of the verdicts is a unit of.
_KINDS: Mapping[str, Kind] = {"ns": "time", "bit/s": "rate", "B": "size"}


def choose(verdicts: pl.DataFrame, limits: Mapping[str, Any]) -> pl.DataFrame:
    """Give a claim's rows: of its name, case and criterion, at the conditions that it names."""
    names = ("name", "case", "criterion")
    rows = verdicts.filter(*(pl.col(key) == limits[key] for key in names))
    return rows.filter(*(pl.col(key).is_in(limits[key]) for key in _CONDITIONS if key in limits))


def name_condition(row: Mapping[str, Any]) -> str:
    """Name the condition of a row."""
    return ", ".join(filter(None, (row[key] for key in _CONDITIONS)))


def check_standing(verdicts: pl.DataFrame, limits: Mapping[str, Any]) -> ClaimResult:
    """Hold the standing of a criterion at all conditions against the claim's: holds, or fails."""
    rows = choose(verdicts, limits).to_dicts()
    if not rows:
        return _tell_nothing()
    expected = limits["standing"]
    other = {"holds": "fails", "fails": "holds"}[expected]
    against = [row for row in rows if row["standing"] == other]
    undecided = [row for row in rows if row["standing"] not in (expected, other)]
    measured = f"{expected} at {len(rows) - len(against) - len(undecided)} of {len(rows)}"
    if against:
        first = f"{other} at {name_condition(against[0])}"
        return ClaimResult(f"{measured}; {first}", ClaimVerdict.DIFFERS, why=limits.get("why", ""))
    if undecided:
        where = f"undecided at {name_condition(undecided[0])}"
        return ClaimResult(f"{measured}; {where}", ClaimVerdict.UNDECIDED)
    return ClaimResult(f"{measured} conditions", ClaimVerdict.REPRODUCED)


def check_range(verdicts: pl.DataFrame, limits: Mapping[str, Any]) -> ClaimResult:
    """Hold a number, or its ratio to another name's, against a range at each condition.

    With ``over``, what is held against the range is the number over the baseline's or over that of
    another name; its interval then reaches from the least over the most to the most over the least.
    """
    rows = choose(verdicts, limits).to_dicts()
    over = limits.get("over", "")
    others = _find_others(verdicts, limits, over)
    low, high = limits.get("low", -math.inf), limits.get("high", math.inf)
    found = [
        (row, *spread)
        for row in rows
        if row["mean"] is not None
        and (spread := _spread(row, others.get(name_condition(row)), over))
    ]
    if not found:
        return _tell_nothing()
    means = [mean for _, mean, _, _ in found]
    write = _write(found[0][0]["unit"], over)
    measured = f"{write(min(means))} to {write(max(means))} at {len(found)} conditions"
    interval = None
    if len(found) == 1:
        measured, interval = write(means[0]), (found[0][2], found[0][3])
    outside = [row for row, _, least, most in found if most < low or least > high]
    if outside:
        where = f"{measured}; outside at {len(outside)}, such as {name_condition(outside[0])}"
        return ClaimResult(where, ClaimVerdict.DIFFERS, interval, limits.get("why", ""))
    across = [row for row, _, least, most in found if least < low or most > high]
    if across:
        where = f"{measured}; undecided at {name_condition(across[0])}"
        return ClaimResult(where, ClaimVerdict.UNDECIDED, interval)
    return ClaimResult(measured, ClaimVerdict.REPRODUCED, interval)


def _find_others(
    verdicts: pl.DataFrame, limits: Mapping[str, Any], over: str
) -> dict[str, Mapping[str, Any]]:
    """Give the rows of another name by their conditions."""
    if not over or over == "baseline":
        return {}
    rows = choose(verdicts, {**limits, "name": over}).to_dicts()
    return {name_condition(row): row for row in rows}


def _spread(
    row: Mapping[str, Any], other: Mapping[str, Any] | None, over: str
) -> tuple[float, float, float] | None:
    """Give mean, least and most of a row, or of its ratio to another; None without a divisor."""
    own = _read(row, "")
    if not over:
        return own
    mean, least, most = _read(row, "baseline_") if over == "baseline" else _read(other or {}, "")
    if not mean > 0:
        return None
    return own[0] / mean, own[1] / most, own[2] / least if least > 0 else math.inf


def _read(row: Mapping[str, Any], prefix: str) -> tuple[float, float, float]:
    values: Sequence[float | None] = [row.get(prefix + key) for key in ("mean", "low", "high")]
    mean = values[0] if values[0] is not None else math.nan
    least, most = (mean if value is None else value for value in values[1:])
    return mean, least, most


def _write(unit: str, over: str) -> Any:
    """Give what writes a number of a unit, or a ratio."""
    kind = _KINDS.get(unit)
    if over or kind is None:
        return lambda value: f"{value:.3g}"
    return lambda value: format_quantity(value, kind)


def _tell_nothing() -> ClaimResult:
    return ClaimResult("not run", ClaimVerdict.UNTESTABLE, why="no run was at its conditions")
