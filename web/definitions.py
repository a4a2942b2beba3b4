"""Definitions of figures for the lab: a report's charts, with placeholders for what a run brings.

A small run is drawn as a report draws it. What is of that run alone is then taken out of the
Vega-Lite specification: rows, names and colours of series, and ends of axes. In their place stand
objects such as ``{"$": "series"}``, and for the rows a role and the columns of the table from which
they come. The lab fills these in for its own runs (src/workbench/figures/fill.ts), so that no chart
is defined twice.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import headend
from headend.analysis.bottleneck import find_shared_bottleneck
from headend.figures import Figure, Panel, delay, draw_figures, over_time, theme, thinning
from headend.figures.remarks import read_course, remark_on_queue, remark_on_rate
from headend.results.record import Record

#: A run that has all that the charts can show: a group, a single TCP flow, both directions, and a
#: warm-up.
SAMPLE = """\
title = "Sample"
duration = "30 s"
warmup = "5 s"
bottleneck = "cable.up"

[link.cable.docsis]
preset = "docsis31"
upstream = { rate = "10 Mbit/s", queue = "drop_tail" }
downstream.rate = "100 Mbit/s"

[flow.call]
application = "voice"

[flow.upload]
application = "bulk"
direction = "up"
count = 5

[flow.download]
application = "bulk"
direction = "down"
"""

#: The columns that tell what rows are, by the role that they have.
ROLES = {
    "lines": ("time_s", "value", "series", "slot"),
    "band": ("time_s", "low", "high", "series", "slot"),
    "top": ("time_s", "top"),
    "warmup": ("begin", "time_s", "meaning"),
    "nominal": ("mark", "meaning"),
    "mark": ("delay_ms", "meaning"),
    "tail_band": ("low_ms", "high_ms", "share", "series", "slot"),
    "tail": ("key", "share", "delay_ms", "low_ms", "high_ms", "series", "slot", "place"),
}

#: Where the rows of each chart come from: a table, the column of the values, that of the worst of
#: each interval, and the factor to the unit of the axis.
SOURCES: dict[str, list[dict[str, Any]]] = {
    "queue": [
        {"table": "queue_series", "value": mean, "top": top, "factor": factor}
        for _, mean, top, factor in over_time.TOPS
    ],
    "delay": [{"table": "histograms", "kind": "flow"}],
    "rates": [
        {
            "table": "flow_series",
            "value": f"{measure}_bps",
            "factor": 1e-6,
        }
        for measure in ("throughput", "goodput")
    ],
    "line-rate": [
        {"table": "queue_series", "value": "rate_bps", "factor": 1e-6},
    ],
    "cwnd": [
        {
            "table": "connection_series",
            "value": "cwnd_bytes",
            "factor": 1 / 1024,
        }
    ],
}


def run_sample(text: str = SAMPLE) -> Record:
    """Run a scenario that is given as a text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sample.toml"
        path.write_text(text, encoding="utf-8")
        return headend.run(path)


def define_figures(record: Record) -> list[dict[str, Any]]:
    """Give the definitions of the lab's figures, in the order of a report."""
    figures = draw_figures([record], only=SOURCES)
    remarks = list_remarks(record)
    return [_define_figure(figure, remarks) for figure in figures]


def list_remarks(record: Record) -> list[str]:
    """List the sentences on the shapes of curves that charts of a run have."""
    queue = find_shared_bottleneck([record])
    course = read_course(record, queue)
    if course is None:
        return []
    (rate,) = (row["rate_bps"] for row in record.rows("queues") if row["queue"] == queue)
    return [remark_on_queue(course, rate), remark_on_rate([(record.label, course)], rate)]


def _define_figure(figure: Figure, remarks: Sequence[str]) -> dict[str, Any]:
    explanation = figure.explanation.removesuffix(figure.note).removesuffix(thinning.NOTE)
    for remark in remarks:
        explanation = explanation.replace(remark, "")
    return {
        "name": figure.name,
        "title": figure.title,
        "explanation": explanation,
        "panels": [
            {"title": panel.title, "source": source, **open_panel(panel)}
            for panel, source in zip(figure.panels, SOURCES[figure.name], strict=True)
        ],
    }


def open_panel(panel: Panel) -> dict[str, Any]:
    """Give a panel's specification with placeholders, and the role of each of its data sets.

    A role's rows are given where they are the same for all runs, such as those of a known mark.
    """
    specification = panel.specify()
    sets = specification.pop("datasets")
    roles = {name: find_role(rows[0]) for name, rows in sets.items()}
    constant = {name: sets[name] for name, role in roles.items() if role == "mark"}
    # Either is shown for one series only, which then has this colour.
    known = find_series(specification)
    return {
        "specification": _open(specification, known, roles),
        "roles": roles,
        "constant": constant,
    }


def find_role(row: Mapping[str, Any]) -> str:
    """Say what rows are by the columns that one of them has."""
    return next(role for role, columns in ROLES.items() if tuple(row) == columns)


def find_series(specification: Any) -> dict[str, Any]:
    """Find the names of series with their colours and dashes: each is in a scale."""
    found: dict[str, Any] = {}
    for part in list_dicts(specification):
        for channel, what in (("color", "colours"), ("strokeDash", "dashes")):
            scale = part[channel].get("scale") if isinstance(part.get(channel), dict) else None
            if scale:
                found |= {"series": scale["domain"], what: scale["range"]}
    return found


def list_dicts(part: Any) -> list[dict[str, Any]]:
    """List the objects of a specification, itself the first."""
    if isinstance(part, list):
        return [own for item in part for own in list_dicts(item)]
    if not isinstance(part, dict):
        return []
    return [part, *(own for item in part.values() for own in list_dicts(item))]


def _open(part: Any, known: Mapping[str, Any], roles: Mapping[str, str], role: str = "") -> Any:
    """Put placeholders into a part of a specification whose rows have a role."""
    for name, value in known.items():
        if part == value:
            return {"$": name}
    if isinstance(part, list):
        return [_open(item, known, roles, role) for item in part]
    if not isinstance(part, dict):
        return part
    role = roles.get(part.get("data", {}).get("name"), role)
    opened = {name: _open(item, known, roles, role) for name, item in part.items()}
    return {name: _open_option(name, item, opened, role) for name, item in opened.items()}


def _open_option(name: str, value: Any, part: Mapping[str, Any], role: str) -> Any:
    """Put a placeholder in the place of an option that is by the run."""
    place = None
    if role == "top" and name == "color":
        place = "colour"
    elif role == "warmup" and name in ("align", "dx"):
        place = name
    elif role == "tail" and name == "domain" and part.get("type") == "log" and value[-1] != 1:
        place = "domain"
    elif role == "tail" and name == "values" and "labelExpr" in part:
        place = "ticks"
    elif role == "lines" and name == "domain" and isinstance(value, list):
        place = "most"
    elif role == "lines" and name == "domainMax":
        place = "room"
    return {"$": place} if place else value


def describe_rules() -> dict[str, Any]:
    """Give the numbers by which placeholders are filled in, each from the code that draws."""
    return {
        "points": thinning.POINTS_OVER_TIME,
        "shares": thinning.TAIL_SHARES,
        "note": thinning.NOTE.strip(),
        "fewest_times": over_time.FEWEST_TIMES,
        "headroom": theme.leave_headroom(1.0)["domainMax"],
        "wide": over_time.WIDE_WARMUP,
        "warmup": {kind: _describe_shade(is_wide=kind == "wide") for kind in ("wide", "narrow")},
        "tail": {
            "include": [delay.LATEST_EASY_MS, delay.EARLIEST_HARD_MS],
            "room": delay.ROOM,
            "least": delay.LEAST_MS,
        },
        "ticks": {"steps": theme.LOG_STEPS, "most_decades": theme.MOST_STEPPED},
    }


def _describe_shade(*, is_wide: bool) -> dict[str, Any]:
    """Say how the warm-up's name stands beside or in its shade."""
    written = theme.shade_along(1.0, "warm-up", "time_s", is_wide=is_wide).to_dict()
    (row,) = written["datasets"]["rows_1"]
    mark = written["layer"][-1]["mark"]
    return {"meaning": row["meaning"], "align": mark["align"], "dx": mark["dx"]}


def list_placeholders(part: Any) -> Sequence[str]:
    """List the placeholders in a definition."""
    return [own["$"] for own in list_dicts(part) if "$" in own]
