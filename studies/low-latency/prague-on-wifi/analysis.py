"""Rates and delays of Prague and CUBIC behind an access point, by its queue."""

from __future__ import annotations

from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.study import ClaimResult

from ..dots import draw_dots
from ..seeds import compare, hold, take

Limits = dict[str, Any]

#: One way of the path of 20 ms, in ns.
PATH = 10e6

#: Queues of the access point in the order of figures.
QUEUES = ["fq_codel", "1 ms", "1 ms, short frames", "4 ms", "8 ms"]

#: The queues as figures call them: those with a step are DualPI2.
LABELS = {name: name if name == "fq_codel" else f"dualpi2, {name}" for name in QUEUES}


def settings(points: pl.DataFrame) -> list[dict[str, Any]]:
    """List the settings that were run, whatever the queue: a row has the values of a setting."""
    return points.select("queues", "station", "flows").unique(maintain_order=True).to_dicts()


def name_setting(setting: dict[str, Any]) -> str:
    """Say what a finding calls a setting."""
    where = "one station" if setting["station"] == "one" else "two stations"
    return f"{setting['flows']} and {setting['flows']}, {where}, {setting['queues']}"


def wait(points: pl.DataFrame) -> pl.DataFrame:
    """Take the time of the path from the delays."""
    return points.with_columns(pl.col("prague_delay", "cubic_delay") - PATH)


def relate(
    points: pl.DataFrame,
    one: tuple[str, str],
    other: tuple[str, str],
    queues: str | None = None,
) -> dict[str, list[float]]:
    """Give one number over another in each setting, a value for each seed.

    Parameters
    ----------
    points
        The runs.
    one, other
        The column of a number, and the queue of the access point that it is of.
    queues
        Only settings with queues of this kind; None for all.
    """
    return {
        name_setting(own): compare(
            *(take(points, column, queue=queue, **own) for column, queue in (one, other))
        )
        for own in settings(points)
        if queues in (None, own["queues"])
    }


def check_shares(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold Prague's rate over CUBIC's."""
    queue = limits["queue"]
    one, other = ("prague_rate", queue), ("cubic_rate", queue)
    return hold(relate(points, one, other, limits.get("queues")), limits["low"], limits["high"])


def check_frames(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold Prague's rate with short frames over that with long ones."""
    one, other = ("prague_rate", limits["short"]), ("prague_rate", limits["long"])
    return hold(relate(points, one, other), limits["factor"], unit=" times")


def check_delay(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the wait of Prague's packets over that of CUBIC's."""
    one, other = ("prague_delay", limits["queue"]), ("cubic_delay", limits["queue"])
    return hold(relate(wait(points), one, other), high=limits["factor"])


def check_fq_codel(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the wait of Prague's packets behind FQ-CoDel over that behind DualPI2."""
    one, other = ("prague_delay", "fq_codel"), ("prague_delay", limits["queue"])
    return hold(relate(wait(points), one, other), limits["factor"], unit=" times")


def _draw(points: pl.DataFrame, columns: dict[str, str], scale: float, title: str) -> list[Panel]:
    """Draw two columns by queue, a panel for each place of CUBIC and kind of queues."""
    rows = wait(points).filter(pl.col("flows").cast(pl.String) == "4")
    rows = rows.with_columns(pl.col("queue", "queues", "station").cast(pl.String))
    means = (
        rows.group_by("queue", "queues", "station", maintain_order=True)
        .agg(pl.col(list(columns)).mean() / scale)
        .unpivot(
            list(columns),
            index=["queue", "queues", "station"],
            variable_name="sender",
            value_name="value",
        )
        .with_columns(pl.col("sender").replace(columns), pl.col("queue").replace(LABELS))
        .rename({"queue": "case"})
    )
    panels = []
    for station, where in (("one", "one station"), ("other", "two stations")):
        for queues in ("by_station", "by_category"):
            own = means.filter(station=station, queues=queues)
            if own.is_empty():
                continue
            x = vl.X("value:Q", title=title)
            dots = draw_dots(own, x, "sender", ["Prague", "CUBIC"], list(LABELS.values()))
            panels.append(Panel(f"{where}, {queues}", dots))
    return panels


def draw_rates(points: pl.DataFrame) -> list[Panel]:
    """Draw the rates of both by queue."""
    return _draw(points, {"prague_rate": "Prague", "cubic_rate": "CUBIC"}, 1e6, "goodput (Mbit/s)")


def draw_delays(points: pl.DataFrame) -> list[Panel]:
    """Draw the waits of both by queue."""
    columns = {"prague_delay": "Prague", "cubic_delay": "CUBIC"}
    return _draw(points, columns, 1e6, "mean wait (ms)")
