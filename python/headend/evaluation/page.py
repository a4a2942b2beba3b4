"""The page: the answer, a verdict for each criterion, charts, every condition, what is not run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headend.analysis.ranking import Feasibility
from headend.evaluation.sentences import describe_setup
from headend.evaluation.tables import (
    describe_miss,
    list_misses,
    name_section,
    tabulate_case,
    tabulate_conditions,
    tabulate_untested,
)
from headend.evaluation.worst import list_failing, write_command
from headend.pages.experiment import write_experiment_page
from headend.pages.section import Line, Page, Section, fold, text
from headend.sweeps.page import list_failures
from headend.text.wording import join_names

if TYPE_CHECKING:
    from headend.evaluation.case import Case
    from headend.evaluation.findings import Findings, Verdict
    from headend.evaluation.result import Evaluation


#: The template puts the chart beside a matrix of more rows.
_LONG = 9


def render_evaluation(result: Evaluation) -> str:
    """Write the page as HTML."""
    from headend.pages.page import render_page

    answer, figures = result.present()
    found = result.findings
    return render_page(
        Page(
            result.title,
            answer,
            figures,
            [_list_misses(found), *list_case_sections(found, has_files=result.folder is not None)],
            list_closing(found),
            remarks=[describe_setup(found)],
            warnings=result.notes,
            failures=[told for _, told in list_failures(result.failures)],
            # A long matrix stands beside the chart, where columns share the room that there is.
            columns="choices long" if len(found.cases) > _LONG else "long",
        )
    )


def list_case_sections(found: Findings, *, has_files: bool = False) -> list[Section]:
    """Make a section of each case, which may name the files of its worst conditions."""
    return [
        Section(
            "sections",
            _describe_case(found, case, has_files=has_files),
            f"{name_section(case.section)} {case.title}",
            anchor=case.id,
        )
        for case in found.cases
    ]


def list_closing(found: Findings) -> list[Section]:
    """Make the sections that close the page: every condition, and what is not run."""
    every = [
        fold(
            f"{name_section(case.section)} {case.title}",
            tabulate_conditions(found, case),
            is_minor=True,
        )
        for case in found.cases
    ]
    return [
        Section("sections", every, "Every condition"),
        Section(
            "sections",
            [Section("table", tabulate_untested(found))],
            f"What is not run of {found.request.family.document}",
        ),
    ]


def _describe_case(found: Findings, case: Case, *, has_files: bool) -> list[Section]:
    """Give what is run, how far the RFC wants it, the verdicts, and what to run to see more."""
    family = found.request.family
    about = case.about
    if need := family.needs.get(case.section):
        about += f" {family.document}, section 13: the scenario {need}."
    parts = [text(about, style="soft"), Section("table", tabulate_case(found, case))]
    commands = [write_command(own) for own in list_failing(found) if own.case.id == case.id]
    if commands and has_files:
        told = join_names([f"`{own}`" for own in commands])
        parts.append(
            text(f"The worst condition, in the folder of this page: {told}.", style="soft")
        )
    return parts


def _list_misses(found: Findings) -> Section:
    """List what fails and what is undecided, worst first."""
    names = found.request.names
    misses, several = list_misses(found, names), len(names) > 1
    parts = []
    for standing, title in (
        (Feasibility.FAILS, "What fails, worst first"),
        (Feasibility.UNDECIDED, "What is undecided"),
    ):
        lines = [_link(found, own, several=several) for own in misses if own.standing is standing]
        if lines:
            parts.append(Section("list", lines, title))
    if not parts:
        parts.append(text("Every criterion holds under all conditions."))
    return Section("sections", parts)


def _link(found: Findings, verdict: Verdict, *, several: bool) -> Line:
    """Write what is worst of a verdict, which leads to the table of its case."""
    who = f"{verdict.name}: " if several else ""
    title, _, rest = describe_miss(found, verdict).partition(": ")
    # No line ends within a number and its interval.
    rest = rest.replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")
    return (who, (title, f"#{verdict.case.id}"), f": {rest}.")


def write_evaluation_page(result: Evaluation, path: Path | None = None) -> Path:
    """Write the page, by default to the folder of the results, unless it is there."""
    return write_experiment_page(result, lambda: render_evaluation(result), path)
