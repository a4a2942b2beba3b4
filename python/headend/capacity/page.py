"""The page of a capacity: the answer, its figure, every number of homes, and the rule of thumb."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headend.capacity.sentences import describe_worst, list_facts, tabulate_rule, tabulate_shares
from headend.capacity.worst import name_street
from headend.pages.experiment import write_experiment_page
from headend.pages.section import Page, Section, text
from headend.sweeps.page import list_failures

if TYPE_CHECKING:
    from headend.capacity.result import Capacity


def render_capacity(result: Capacity) -> str:
    """Write the page as HTML."""
    from headend.pages.page import render_page

    answer, figures = result.present()
    found = result.findings
    known = sorted(number for number, trial in found.trials.items() if trial.share)
    sections = [
        Section("sections", [Section("table", tabulate_shares(found, known))], "Every number")
    ]
    facts = [list_facts(found)]
    if result.folder and (street := result.worst):
        facts.append(f"{describe_worst(street, name_street(street))}, in the folder of this page.")
    rule = tabulate_rule(found)
    if rule:
        sections.append(Section("sections", [Section("table", rule)], rule.title))
    return render_page(
        Page(
            result.title or result.name,
            answer,
            figures,
            [text(own, style="soft") for own in facts],
            sections,
            warnings=result.notes,
            failures=[told for _, told in list_failures(result.failures)],
            columns="choices",
        )
    )


def write_capacity_page(result: Capacity, path: Path | None = None) -> Path:
    """Write the page, by default to the folder of the results, unless it is there."""
    return write_experiment_page(result, lambda: render_capacity(result), path)
