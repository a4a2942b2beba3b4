"""What fails, as scenarios of their own: ``headend run`` runs the worst condition of a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from headend.analysis.ranking import Feasibility
from headend.errors import InputError
from headend.evaluation.naming import is_code, make_safe, write_name
from headend.evaluation.tables import describe_miss
from headend.scenario.applying import apply_overrides
from headend.scenario.file_access import FileAccess
from headend.scenario.source import Overrides, Text, read_scenario, write_toml

if TYPE_CHECKING:
    from headend.evaluation.case import Bottleneck, Case
    from headend.evaluation.findings import Findings, Verdict


def read_case(
    case: Case, variant: str, bottleneck: Bottleneck, typed: Overrides, allowed: tuple[Path, ...]
) -> Text:
    """Give the text of a case, which may read the files that what was typed names."""
    scenario = case.build(bottleneck, variant)
    scenario["title"] = f"{case.title} (section {case.section})"
    access = FileAccess(typed=frozenset(f"{path}={own}" for path, own in typed), allowed=allowed)
    return read_scenario(scenario, access)


def list_failing(findings: Findings) -> Iterator[Verdict]:
    """Give of each case that fails, for each name that is evaluated, the verdict furthest off."""
    for case in findings.cases:
        for name in findings.request.names:
            own = [
                verdict
                for verdict in findings.verdicts
                if verdict.case.id == case.id
                and verdict.name == name
                and verdict.standing is Feasibility.FAILS
            ]
            if own:
                yield max(own, key=lambda verdict: verdict.worst.excess if verdict.worst else 0.0)


def name_scenario(verdict: Verdict) -> str:
    """Name the file of a verdict's worst condition."""
    return f"worst-{verdict.case.id}-{make_safe(verdict.name)}.toml"


def write_command(verdict: Verdict) -> str:
    """Write the command that runs it: code that a file holds is executed only where allowed."""
    name = name_scenario(verdict)
    return f"headend run {name}{f' --allow-files {name}' if is_code(verdict.name) else ''}"


def write_scenarios(findings: Findings, allowed: tuple[Path, ...]) -> dict[str, bytes]:
    """Write the worst condition of each case that fails, by the name of its file."""
    found = {}
    for verdict in list_failing(findings):
        case, worst = verdict.case, verdict.worst
        assert worst, "a verdict that fails has a condition"
        condition = worst.condition
        scenario = case.build(condition.bottleneck, condition.variant)
        overrides = write_name(case, condition.variant, scenario, verdict.name)
        text = read_case(case, condition.variant, condition.bottleneck, overrides, allowed)
        try:
            content = apply_overrides(text, overrides)
        except InputError:
            continue  # a file that it names is there no more
        document = findings.request.family.document
        words = {
            "title": f"{document}, section {verdict.section}: {case.title}, {verdict.name}",
            "description": f"{case.about} {describe_miss(findings, verdict)}.",
            "seed": findings.request.seeds[0],
        }
        rest = {key: own for key, own in content.items() if key not in words}
        found[name_scenario(verdict)] = write_toml({**words, **rest}).encode()
    return found
