"""The tables of an evaluation: the matrix, each case's criteria, and every condition as rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from headend.analysis.estimate import Estimate, format_estimate
from headend.analysis.grading import Grade
from headend.analysis.ranking import Feasibility
from headend.analysis.sums import BASE_UNITS
from headend.evaluation.case import Case
from headend.evaluation.findings import Condition, Finding, Findings, Verdict, rank_verdict
from headend.text.quantity import Kind, format_quantity
from headend.wording.table import Cell, Column, Row, Table, make_matrix, make_table

if TYPE_CHECKING:
    import polars as pl

#: The words of verdicts.
WORDS = {
    Feasibility.HOLDS: "holds",
    Feasibility.UNDECIDED: "undecided",
    Feasibility.FAILS: "fails",
    Feasibility.MISSING: "does not apply",
}


def name_section(section: str) -> str:
    """Write where an RFC has something.

    Examples
    --------
    >>> name_section("5.1.1")
    '§5.1.1'
    """
    return "§" + section.replace(" to ", " to §")


def tabulate_matrix(findings: Findings) -> Table:
    """Make the matrix: a row for each case, a column for each name that is evaluated."""
    names = findings.request.names
    rows = []
    for case in findings.cases:
        label = Cell(case.title, note=name_section(case.section))
        rows.append(Row(label, tuple(_sum_up(findings, case, name) for name in names)))
    note = (
        "Of the criteria of each test, how many hold under all conditions. A criterion is undecided"
        " where the 95 % interval over the seeds reaches from what meets its bound to what does"
        " not, and where a run has no number."
    )
    return make_matrix(names, rows, note=note)


def _sum_up(findings: Findings, case: Case, name: str) -> Cell:
    counts = findings.count(name, [case])
    judged = sum(counts.values()) - counts[Feasibility.MISSING]
    if not judged:
        return Cell("does not apply")
    worst = next(own for own in counts if counts[own])
    others = (Feasibility.FAILS, Feasibility.UNDECIDED)
    note = ", ".join(write_standing(counts[own], own) for own in others if counts[own])
    return Cell(f"{counts[Feasibility.HOLDS]} of {judged} hold", worst.grade, note=note)


def tabulate_case(findings: Findings, case: Case) -> Table:
    """Make the table of a case: a row for each criterion, a column for each name."""
    family = findings.request.family
    names = _list_judged(findings, case)
    columns = [Column("required"), *(Column(name) for name in names)]
    rows = []
    for criterion in case.criteria:
        bound = criterion.write_bound(family.baseline)
        note = f"bound: {criterion.bound.source}"
        if criterion.bound.section:
            note += f" ({name_section(criterion.bound.section)})"
        if criterion.section:  # another one than that of the case
            note += f"; criterion: {name_section(criterion.section)}"
        required = Cell(f"{criterion.what} {bound}", note=note)
        cells = [describe_verdict(findings, findings.find(name, case, criterion)) for name in names]
        rows.append(Row(criterion.statement, (required, *cells)))
    return Table(tuple(columns), tuple(rows), "criterion", look="stacked")


def _list_judged(findings: Findings, case: Case) -> list[str]:
    """List the names that have verdicts: all but a baseline that only others are held against."""
    baseline = findings.request.family.baseline
    return [
        name
        for name in findings.request.every
        if name != baseline
        or name in findings.request.names
        or any(findings.find(name, case, own).worst for own in case.criteria)
    ]


def describe_verdict(findings: Findings, verdict: Verdict) -> Cell:
    """Write a verdict: the word, the number at the worst condition, and where that is."""
    baseline, worst = findings.request.family.baseline, verdict.worst
    if worst is None:
        if verdict.name == baseline:
            return Cell("–", note="what the others are held against")
        return Cell(WORDS[Feasibility.MISSING], note=verdict.criterion.absent)
    kind = verdict.criterion.kind
    lines = [worst.missing] if worst.missing else []
    if where := findings.name_condition(worst.condition):
        lines.append(f"condition: {where}")
    if worst.baseline and verdict.name != baseline and baseline:
        lines.append(f"{baseline}: {format_estimate(worst.baseline, kind)}")
    if len(verdict.findings) > 1:
        lines.append(_count_conditions(verdict))
    return Cell(
        write_number(worst.own, kind),
        verdict.standing.grade,
        WORDS[verdict.standing],
        "\n".join(lines),
        worst.own.mean if worst.own else None,
    )


def write_number(own: Estimate | None, kind: Kind) -> str:
    """Write a number with its interval; a dash where no run gave it.

    Examples
    --------
    >>> write_number(None, "time"), write_number(Estimate(5e6, 5e6, 5e6, 3), "time")
    ('–', '5 ms')
    """
    return format_estimate(own, kind) if own else "–"


def _count_conditions(verdict: Verdict) -> str:
    counts = [(verdict.count(own), WORDS[own]) for own in Feasibility]
    told = ", ".join(f"{word} in {count}" for count, word in counts if count)
    return f"{told} of {len(verdict.findings)} conditions"


def tabulate_conditions(findings: Findings, case: Case) -> Table:
    """Make the table of every condition of a case."""
    names = list(findings.request.every)
    rows: list[list[str | Cell | None]] = []
    for criterion in case.criteria:
        for condition in findings.list_conditions(case):
            found = [findings.estimate(case, condition, name, criterion) for name in names]
            judged = [_find_at(findings.find(name, case, criterion), condition) for name in names]
            if not any((*found, *judged)):
                continue
            cells = [
                Cell(
                    write_number(own, criterion.kind),
                    at.standing.grade if at else Grade.NONE,
                    note=at.missing if at else "",
                )
                for own, at in zip(found, judged, strict=True)
            ]
            rows.append([criterion.what, findings.name_condition(condition), *cells])
    return make_table("what", ["condition", *names], rows)


def _find_at(verdict: Verdict, condition: Condition) -> Finding | None:
    """Give what was found at a condition; None where the criterion does not apply there."""
    return next((own for own in verdict.findings if own.condition == condition), None)


def tabulate_untested(findings: Findings) -> Table:
    """Make the table of what is not run of the RFC, and why."""
    rows = [
        [f"{name_section(own.section)} {own.title}", own.why]
        for own in findings.request.family.untested
    ]
    return make_table("section", ["why"], rows)


def tabulate_verdicts(findings: Findings) -> pl.DataFrame:
    """Give a row for each name, criterion and condition, worst conditions first."""
    import polars as pl

    return pl.DataFrame(list(list_rows(findings)), infer_schema_length=None)


def list_rows(findings: Findings) -> Iterator[dict[str, Any]]:
    """Give a row for each name, criterion and condition, with plain values in base units."""
    for verdict in findings.verdicts:
        criterion = verdict.criterion
        for own in verdict.findings:
            yield {
                "name": verdict.name,
                "section": verdict.section,
                "case": verdict.case.id,
                "criterion": criterion.id,
                "measures": criterion.what,
                "unit": BASE_UNITS[criterion.kind],
                "variant": own.condition.variant,
                **dict(
                    zip(("rate", "rtt", "buffer"), own.condition.bottleneck.labels, strict=True)
                ),
                "standing": str(own.standing),
                **_spread("", own.own),
                "at_most": criterion.at_most,
                "bound": own.limit,
                "bound_of": str(criterion.bound.source),
                **_spread("baseline_", own.baseline),
                "seeds": own.own.count if own.own else 0,
                "missing": own.missing or None,
            }


def _spread(prefix: str, estimate: Estimate | None) -> dict[str, float | None]:
    def known(value: float) -> float | None:
        return None if math.isnan(value) else value

    if estimate is None:
        return {f"{prefix}{end}": None for end in ("mean", "low", "high")}
    ends = (estimate.mean, estimate.low, estimate.high)
    return {f"{prefix}{end}": known(own) for end, own in zip(("mean", "low", "high"), ends,
            strict=True)}  # fmt: skip


def describe_miss(findings: Findings, verdict: Verdict) -> str:
    """Say what is worst of a verdict: what was measured, against what, and where."""
    criterion, worst = verdict.criterion, verdict.worst
    assert worst, "a verdict that was missed has a condition"
    baseline, where = findings.request.family.baseline, findings.name_condition(worst.condition)
    told = [f"{criterion.what} is not known"]
    if worst.own:
        told = [f"{criterion.what} is {format_estimate(worst.own, criterion.kind)}"]
    if worst.limit is not None:
        sign = "at most" if criterion.at_most else "at least"
        of = ""
        if criterion.bound.factor is not None and worst.baseline:
            of = f" ({baseline}: {format_estimate(worst.baseline, criterion.kind)})"
        limit = format_quantity(worst.limit, criterion.kind)
        told.append(f"{sign} {limit} is required{of}")
    if worst.missing:
        told.append(worst.missing)
    if where:
        told.append(f"condition: {where}")
    return f"{verdict.case.title} ({name_section(verdict.case.section)}): {'; '.join(told)}"


def count_standings(counts: dict[Feasibility, int]) -> str:
    """Say how many criteria hold, fail and are undecided.

    Examples
    --------
    >>> count_standings({Feasibility.HOLDS: 20, Feasibility.FAILS: 3, Feasibility.UNDECIDED: 1})
    '20 of 24 criteria hold, 3 fail, 1 is undecided'
    """
    judged = sum(count for own, count in counts.items() if own is not Feasibility.MISSING)
    told = [f"{counts.get(Feasibility.HOLDS, 0)} of {judged} criteria hold"]
    others = (Feasibility.FAILS, Feasibility.UNDECIDED)
    told += [write_standing(counts[own], own) for own in others if counts.get(own)]
    return ", ".join(told)


def write_standing(count: int, standing: Feasibility) -> str:
    """Say how many criteria have a standing.

    Examples
    --------
    >>> write_standing(1, Feasibility.FAILS), write_standing(2, Feasibility.UNDECIDED)
    ('1 fails', '2 are undecided')
    """
    if standing is Feasibility.UNDECIDED:
        return f"{count} {'is' if count == 1 else 'are'} undecided"
    return f"{count} {'fails' if count == 1 else 'fail'}"


def list_misses(findings: Findings, names: Sequence[str]) -> list[Verdict]:
    """List what fails, then what is undecided, of some names, worst first."""
    wanted = (Feasibility.FAILS, Feasibility.UNDECIDED)
    found = [own for own in findings.verdicts if own.name in names and own.standing in wanted]
    return sorted(found, key=rank_verdict)
