"""The tables of one run: its flows, its queues and channels, and what it expected of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headend.analysis.bottleneck import QueueGroup, gather_queues
from headend.analysis.channels import gather_channels
from headend.analysis.flow_groups import FlowGroup
from headend.analysis.grading import Grade
from headend.analysis.limits import LIMITS_COLUMN, LIMITS_NOTE
from headend.analysis.low_latency import MOST_AGGREGATES, choose_aggregates
from headend.scenario.groups import MOST_LISTED
from headend.text.quantity import PER_CENT, Unit, choose_unit
from headend.wording.emulation import list_timing
from headend.wording.flows import describe_experience
from headend.wording.low_latency import COLUMNS, explain_columns, write_flow
from headend.wording.run import WAYS, WAYS_NOTE, describe_so_far
from headend.wording.table import Cell, Column, Row, Table, make_table

if TYPE_CHECKING:
    from headend.analysis.channels import ChannelState
    from headend.analysis.quality import FlowQuality
    from headend.results.outcome import Outcome
    from headend.results.record import Record

#: Stands before a goodput that is the sum of both directions.
BOTH_WAYS = "↕"


def tabulate_flows(parties: Sequence[FlowGroup]) -> Table:
    """Give a row for each flow, the worst off first; of a group, the middle and worst member.

    What the path lost has a column only where it lost something, and what held TCP senders back
    only where that is known of one.
    """
    findings = [finding for party in parties for finding in party.findings]
    listed = [finding for party in parties for finding in (party.worst, party.middle)]
    delays = [
        delay_ns for finding in listed for delay_ns in (finding.delay_p50_ns, finding.delay_p95_ns)
    ]
    delay = choose_unit(delays, "time")
    rate = choose_unit([finding.goodput_bps for finding in listed], "rate")
    columns = [
        Column("grade", is_unbroken=True),
        Column("experience"),
        Column.of("delay p50", delay, is_detail=True),
        Column.of("delay p95", delay),
        Column.of("lost", PER_CENT),
    ]
    is_path_lossy = any(finding.path_loss_ratio for finding in findings)
    has_limits = any(finding.limit for finding in findings)
    columns += [Column.of("lost on path", PER_CENT)] if is_path_lossy else []
    columns += [Column.of("goodput", rate)]
    columns += [Column(LIMITS_COLUMN)] if has_limits else []

    def make_row(label: str, finding: FlowQuality, grade: Cell, before: str = "") -> Row:
        cells = [
            grade,
            Cell(before + describe_experience(finding)),
            Cell.of(finding.delay_p50_ns, delay),
            Cell.of(finding.delay_p95_ns, delay, WAYS.get(finding.delay_direction, "")),
            Cell.of(finding.loss_ratio, PER_CENT),
        ]
        cells += [Cell.of(finding.path_loss_ratio, PER_CENT)] if is_path_lossy else []
        both = f"{BOTH_WAYS} " if finding.is_both_ways else ""
        cells += [Cell.of(finding.goodput_bps, rate, both)]
        cells += [Cell(finding.limit or "–")] if has_limits else []
        return Row(label, tuple(cells), "inner" if label.startswith("worst: ") else "")

    rows = []
    for party in parties:
        if party.is_group:
            rows.append(make_row(party.label, party.middle, write_grades(party), "in the middle: "))
        before = "worst: " if party.is_group else ""
        rows.append(make_row(before + party.worst.flow, party.worst, write_grade(party.worst)))
    return Table(tuple(columns), tuple(rows), "flow", note=_explain_flows(findings))


def write_grade(finding: FlowQuality) -> Cell:
    """Write the grade of a flow in the word for it; nothing where it has none."""
    return Cell(grade=finding.grade, word=finding.word)


def write_grades(party: FlowGroup) -> Cell:
    """Write of how many members each word is said."""
    found = party.words.items()
    return Cell(counts=tuple((f"{count} {word}", grade) for word, (count, grade) in found))


def _explain_flows(findings: Sequence[FlowQuality]) -> str:
    """Explain the marks in the table of flows; empty where it has none."""
    notes = []
    if any(finding.limit for finding in findings):
        notes.append(LIMITS_NOTE)
    if any(finding.is_both_ways for finding in findings):
        notes.append(f"{BOTH_WAYS} up and down together.")
    if any(finding.path_loss_ratio for finding in findings):
        notes.append("Lost on path: the part of lost that was beyond all links (path.loss).")
    if any(finding.delay_direction for finding in findings):
        notes.append(WAYS_NOTE)
    return " ".join(notes)


def tabulate_queues(result: Record, bottleneck: str | None, most: int = 1) -> Table:
    """Give a row for each shared channel and each queue that had packets; of a group, two of them.

    Parameters
    ----------
    bottleneck
        The queue to stand out.
    most
        Of so many queues of a group, the worst ones, there are rows besides that of the middle one.
    """
    return _tabulate_queues(gather_channels(result), gather_queues(result), bottleneck, most)


def tabulate_members(party: FlowGroup) -> Table:
    """Give a row for each of the members of a group that suffer most."""
    members = party.findings[:MOST_LISTED]
    return tabulate_flows([FlowGroup(member.flow, member.flow, (member,)) for member in members])


def tabulate_member_queues(party: QueueGroup, bottleneck: str | None) -> Table:
    """Give a row for each of the queues of a group where packets wait longest."""
    queues = party.rows[:MOST_LISTED]
    return _tabulate_queues(
        [], [QueueGroup(row["queue"], (row,)) for row in queues], bottleneck, most=1
    )


def _tabulate_queues(
    channels: Sequence[ChannelState],
    parties: Sequence[QueueGroup],
    bottleneck: str | None,
    most: int,
) -> Table:
    listed = [row for party in parties for row in (party.worst, party.middle)]
    delay = choose_unit(
        [row[name] for row in listed for name in ("delay_p50_ns", "delay_p99_ns")], "time"
    )
    capacities = [state.capacity_bps for state in channels]
    rate = choose_unit([row["rate_bps"] for row in listed] + capacities, "rate")
    size = choose_unit([row["backlog_max_bytes"] for row in listed], "size")
    is_marked = any(row["marked"] for party in parties for row in party.rows)
    columns = (
        Column("discipline", is_unbroken=True),
        Column.of("rate", rate),
        Column.of("delay p50", delay),
        Column.of("delay p99", delay),
        Column.of("stood", PER_CENT, is_detail=True),
        Column.of("longest backlog", size, is_detail=True),
        Column.of("used", PER_CENT),
        Column.of("dropped"),
        Column.of("marked", is_detail=not is_marked),
    )
    rows = [_write_channel(state, rate) for state in channels]
    units = {"rate": rate, "delay": delay, "size": size}
    for party in parties:
        is_chosen = any(row["queue"] == bottleneck for row in party.rows)
        if party.is_group:
            middle = Cell(f"{party.label}, in the middle", is_chosen=is_chosen)
            rows.append(Row(middle, _write_queue(party.middle, party.discipline, units)))
        for number, row in enumerate(party.rows[:most]):
            name = f"{'worst: ' if party.is_group and not number else ''}{row['queue']}"
            tag = "bottleneck" if row["queue"] == bottleneck else ""
            label = Cell(name, is_chosen=is_chosen, tag=tag)
            cells = _write_queue(row, row["discipline"], units)
            rows.append(Row(label, cells, "inner" if party.is_group else ""))
    return Table(columns, tuple(rows), "queue")


def _write_channel(state: ChannelState, rate: Unit) -> Row:
    """Write a channel's row of the table of queues, which has no delays, backlog or packets."""
    tag = "full" if state.is_full else ""
    cells = (
        Cell(state.sharing),
        Cell.of(state.capacity_bps, rate),
        *[None] * 4,
        Cell.of(state.utilisation, PER_CENT),
        *[None] * 2,
    )
    return Row(Cell(f"{state.channel}, the channel", is_chosen=state.is_full, tag=tag), cells)


def _write_queue(
    row: Mapping[str, Any], discipline: str, units: Mapping[str, Unit]
) -> tuple[Cell, ...]:
    return (
        Cell(discipline),
        Cell.of(row["rate_bps"], units["rate"]),
        Cell.of(row["delay_p50_ns"], units["delay"]),
        Cell.of(row["delay_p99_ns"], units["delay"]),
        Cell.of(row["standing_ratio"], PER_CENT),
        Cell.of(row["backlog_max_bytes"], units["size"]),
        Cell.of(row["utilisation"], PER_CENT),
        Cell(f"{row['lost']:,}", value=row["lost"]),
        Cell(f"{row['marked']:,}", value=row["marked"]),
    )


def tabulate_expectations(
    outcomes: Sequence[Outcome], runs: Sequence[Record], labels: Sequence[str] = ()
) -> Table:
    """Give a row for each expectation: whether it is met, and what was measured.

    Parameters
    ----------
    outcomes
        What became of each.
    runs
        The run of each.
    labels
        What to call the run of each, where there are several.
    """
    columns = (*([Column("")] if labels else []), Column("expected"), Column("measured"))
    rows = []
    named = labels or [""] * len(outcomes)
    for outcome, run, label in zip(outcomes, runs, named, strict=True):
        grade, word = (Grade.GOOD, "met") if outcome.met else (Grade.BAD, "missed")
        texts = (Cell(outcome.expected), Cell(outcome.measured_text))
        mark = Cell(grade=grade, word=f"{word}{describe_so_far(run)}")
        rows.append(Row(label, (mark, *texts)) if labels else Row(mark, texts))
    return Table(columns, tuple(rows), "run" if labels else "", look="stacked")


def tabulate_aggregates(result: Record, queue: str | None) -> list[Table]:
    """Give a table for each low-latency aggregate with flows, a row for each of them.

    Parameters
    ----------
    queue
        The queue that the run is judged by.
    """
    return [
        make_table(
            COLUMNS[0],
            map(Column.of, COLUMNS[1:]),
            [write_flow(flow, is_protected=aggregate.is_protected) for flow in aggregate.flows],
            title=aggregate.low,
            note=explain_columns(aggregate),
        )
        for aggregate in choose_aggregates(result, queue)[:MOST_AGGREGATES]
        if aggregate.flows
    ]


def tabulate_timing(result: Record) -> Table | None:
    """Give a row for each value of how well a run kept to real time; None in virtual time."""
    rows = [
        (line.name, Cell(line.value, Grade.BAD if line.is_bad else Grade.NONE))
        for line in list_timing(result)
    ]
    return make_table("", [""], rows, look="stacked") if rows else None
