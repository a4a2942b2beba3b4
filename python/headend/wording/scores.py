"""The table of the scores that people know from other tests, and a line on each."""

from __future__ import annotations

import math
from collections.abc import Sequence

from headend.analysis.scores import (
    FEW_ANSWERS,
    PROFILES,
    Scores,
    classify_rpm,
    find_letter,
    score_flows,
)
from headend.results.record import Record
from headend.scenario.groups import name_group
from headend.text.quantity import format_quantity
from headend.wording.quantities import share
from headend.wording.table import Cell, Column, Row, Table

TITLE = "Scores people know"

#: Profiles for which only pages have room: the others of LibreQoS ask for the same delays.
_DETAILS = frozenset({"video_streaming", "real_time_gaming"})

#: A line that is used less is not full, and its letter says little.
_FULL = 0.9


def tabulate_scores(record: Record) -> Table:
    """Give a row for each flow that has scores; of a group, for the member with the longest wait.

    Empty where no flow has any.
    """
    columns = (
        Column("bufferbloat", is_unbroken=True),
        Column("round trips a minute"),
        *(
            Column(f"QoO {profile.title}", is_number=True, is_detail=name in _DETAILS)
            for name, profile in PROFILES.items()
        ),
    )
    return Table(columns, tuple(_list_rows(score_flows(record))), "flow")


def _list_rows(scores: Sequence[Scores]) -> list[Row]:
    groups: dict[str, list[Scores]] = {}
    for own in scores:
        groups.setdefault(name_group(own.flow) or own.flow, []).append(own)
    rows = []
    for members in groups.values():
        worst = max(members, key=_rank)
        label = f"{worst.flow}, the worst of {len(members)}" if len(members) > 1 else worst.flow
        rows.append(Row(label, _write_cells(worst)))
    return rows


def _rank(scores: Scores) -> float:
    """Give what is larger of who waits longer."""
    if scores.trips and not scores.trips.answers:
        return math.inf
    return scores.bloat_ns if scores.bloat_ns is not None else -(scores.rpm or 0.0)


def _write_cells(scores: Scores) -> tuple[Cell | None, ...]:
    bloat, rpm, qoo = scores.bloat_ns, scores.rpm, scores.qoo
    letter = "" if bloat is None else f"{find_letter(bloat)} (+{format_quantity(bloat, 'time')})"
    speed = "" if rpm is None else f"{rpm:,.0f} {classify_rpm(rpm)}"
    return (
        Cell(letter, value=bloat) if letter else None,
        Cell(speed, value=rpm) if speed else None,
        *(Cell(f"{qoo[name]:.0f}", value=qoo[name]) if qoo else None for name in PROFILES),
    )


def explain_scores(record: Record) -> list[str]:
    """Say in a line what each score means, and what these are not good for."""
    scores = score_flows(record)
    trips = [own.trips for own in scores if own.trips]
    lines = []
    if trips:
        lines.append(
            "Bufferbloat: how much longer the mean round trip is than the least that the run saw,"
            " which stands for the idle line. A+ is below 5 ms, A below 30, B 60, C 200, D 400, and"
            " F is the rest (DSLReports)."
        )
    lines.append(
        "Round trips a minute (RPM): 60 s divided by the mean round trip, or the result of a"
        " responsiveness test. Excellent from 6000, good from 1000, fair above 300"
        " (draft-ietf-ippm-responsiveness); Apple says High from about 1000, Low below about 200."
    )
    if trips:
        lines.append(
            "QoO, quality of outcome: 100 is optimal for that application, 0 is of no use"
            " (draft-ietf-ippm-qoo); requirements of LibreQoS, for games those of goresponsiveness."
        )
        lines += _list_doubts(record, min(own.answers for own in trips))
    return lines


def _list_doubts(record: Record, answers: int) -> list[str]:
    doubts = []
    fullest = max(
        (row["utilisation"] for row in record.rows("queues") if not math.isnan(row["utilisation"])),
        default=0.0,
    )
    if fullest < _FULL:
        doubts.append(
            f"No line was full (at most {share(fullest)} of it was used), and a letter of"
            " bufferbloat is meant for one that is."
        )
    if answers < FEW_ANSWERS:
        doubts.append(
            f"With {answers} answers the 99th percentile of the round trip is about the longest."
        )
    return doubts
