"""The answer: which criteria hold for each name, and what is worst."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headend.analysis.ranking import Feasibility
from headend.evaluation.tables import (
    count_standings,
    describe_miss,
    list_misses,
    name_section,
    tabulate_matrix,
)
from headend.text.wording import join_names, write_count
from headend.wording.answer import Answer

if TYPE_CHECKING:
    from headend.evaluation.findings import Findings


def answer_evaluation(findings: Findings) -> Answer:
    """Give question, sentences and matrix."""
    request = findings.request
    family = request.family
    question = f"How does {join_names(list(request.names))} fare in the tests of {family.document}?"
    if len(request.names) > 1:
        question = (
            f"How do {join_names(list(request.names))} fare in the tests of {family.document}?"
        )
    counted = "; ".join(
        f"{name}: {count_standings(findings.count(name))}" for name in request.names
    )
    told = [f"{counted}."]
    told += filter(None, (describe_missing(findings, name) for name in request.names))
    if worst := describe_worst(findings):
        told.append(worst)
    names = [*(own.name for own in family.trades), *(own.name for own in family.curves)]
    why = names[0] if names else ""
    return Answer(question, tuple(told), tabulate_matrix(findings), why)


def describe_missing(findings: Findings, name: str) -> str:
    """Say how many criteria of a name lack numbers of runs, and why; nothing where none does."""
    judged = [own for own in findings.verdicts if own.name == name and own.worst]
    lacking = [(own, one) for own in judged for one in own.findings if one.missing]
    if not lacking:
        return ""
    count = len({(own.case.id, own.criterion.id) for own, _ in lacking})
    verdict, first = lacking[0]
    where = findings.name_condition(first.condition)
    return (
        f"{count} of {len(judged)} criteria of {name} lack runs:"
        f" {first.missing}, in {verdict.case.title}"
        f" ({name_section(verdict.case.section)}){f'; condition: {where}' if where else ''}."
    )


def describe_worst(findings: Findings) -> str:
    """Say what is worst; nothing where everything holds."""
    misses = list_misses(findings, findings.request.names)
    if not misses:
        return ""
    worst = misses[0]
    who = f" of {worst.name}" if len(findings.request.names) > 1 else ""
    open_ = "" if worst.standing is Feasibility.FAILS else ", and undecided"
    return f"Furthest off{who}{open_}: {describe_miss(findings, worst)}."


def describe_setup(findings: Findings) -> str:
    """Say at which conditions everything was run, and with how many seeds."""
    request = findings.request
    conditions = {
        str(condition.bottleneck)
        for case in findings.cases
        for condition in findings.list_conditions(case)
    }
    runs = sum(1 for _ in request.list_settings()) * len(request.seeds)
    beside = f" Baseline: {join_names(list(request.against))}." if request.against else ""
    return (
        f"{write_count(len(findings.cases), 'test')} at {write_count(len(conditions), 'condition')}"
        f" (rate, round trip, buffer) with {write_count(len(request.seeds), 'seed')}:"
        f" {write_count(runs, 'run')}.{beside}"
    )
