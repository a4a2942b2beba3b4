"""Verdicts as JUnit XML: a suite for each name, a test case for each criterion."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headend.analysis.junit import add_properties, clean_text, finish_suites, save_suites
from headend.analysis.ranking import Feasibility
from headend.evaluation.tables import describe_miss, name_section

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from headend.evaluation.findings import Findings, Verdict


def write_verdicts(path: Path, findings: Findings) -> Path:
    """Write what fails as failures, and what is undecided or does not apply as skipped."""
    suites = [_make_suite(findings, name) for name in findings.request.names]
    return save_suites(finish_suites(suites), path)


def _make_suite(findings: Findings, name: str) -> Element:
    from xml.etree import ElementTree

    from headend.version import read_version

    family = findings.request.family
    suite = ElementTree.Element("testsuite", name=clean_text(name))
    seeds = ", ".join(map(str, findings.request.seeds))
    add_properties(
        suite,
        {"document": family.document, family.noun: name, "seeds": seeds, "version": read_version()},
    )
    for verdict in findings.verdicts:
        if verdict.name == name:
            suite.append(_make_case(findings, verdict))
    return suite


def _make_case(findings: Findings, verdict: Verdict) -> Element:
    from xml.etree import ElementTree

    family = findings.request.family
    section = f"{family.document} {name_section(verdict.section)}"
    title = f"{verdict.case.title}: {verdict.criterion.statement}"
    case = ElementTree.Element("testcase", classname=section, name=clean_text(title))
    if verdict.standing is Feasibility.FAILS:
        message = clean_text(describe_miss(findings, verdict))
        ElementTree.SubElement(case, "failure", type="missed", message=message).text = message
    elif verdict.standing is Feasibility.UNDECIDED:
        message = f"undecided: {describe_miss(findings, verdict)}"
        ElementTree.SubElement(case, "skipped", message=clean_text(message))
    elif verdict.standing is Feasibility.MISSING:
        message = f"does not apply: {verdict.criterion.absent}"
        ElementTree.SubElement(case, "skipped", message=message)
    return case
