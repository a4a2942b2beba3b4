"""A street: the many homes of a run, each with its worst grade."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headend.judging.grading import ORDER, Finding, Grade, judge_flows
from headend.results.record import once
from headend.scenario.groups import find_groups, name_group, order_naturally

if TYPE_CHECKING:
    from headend.results.record import Record

#: So many homes make a street; of fewer, a table says as much.
FEWEST_HOMES = 10


@dataclass(frozen=True)
class Home:
    """One home, or one member of a group of flows that belong to no home.

    Parameters
    ----------
    label
        What to call it: ``home 56``, or the name of its flow.
    kind
        What it is one of: ``home``, or the group of its flow.
    findings
        How its flows fared, the worst first.
    """

    label: str
    kind: str
    findings: tuple[Finding, ...]

    @property
    def worst(self) -> Finding:
        """The flow that fares worst."""
        return self.findings[0]


@once
def gather_homes(result: Record) -> list[Home]:
    """Give the homes with something to judge, in the order of the street; none where they are few.

    The flows of one home are those of one host that have the same number.
    """
    findings = [own for own in judge_flows(result) if own.grade is not Grade.NONE]
    groups = find_groups([own.flow for own in findings])
    kinds = _name_homes(result.manifest.get("scenario", {}))
    homes: dict[tuple[str, str], list[Finding]] = {}
    for own in findings:
        if own.flow in groups:
            group = name_group(own.flow)
            kind = kinds.get(group, group)
            homes.setdefault((kind, own.flow.removeprefix(f"{group}.")), []).append(own)
    if len(homes) < FEWEST_HOMES:
        return []
    return [
        Home(
            f"{kind} {number}" if kind in kinds.values() else f"{kind}.{number}",
            kind,
            tuple(sorted(own, key=lambda own: (-ORDER.index(own.grade), -own.strain))),
        )
        for (kind, number), own in sorted(
            homes.items(), key=lambda item: (item[0][0], order_naturally(item[0][1]))
        )
    ]


def _name_homes(scenario: Mapping[str, Any]) -> dict[str, str]:
    """Say of each flow of the scenario which modems its hosts are behind, where those are many."""
    hosts, links = scenario.get("host", {}), scenario.get("link", {})
    names = {}
    for flow, own in scenario.get("flow", {}).items():
        via = hosts.get(own.get("host", ""), {}).get("via") or [""]
        link, _, modem = str(via[0]).partition(".")
        count = (
            links.get(link, {}).get("docsis", {}).get("modem", {}).get(modem, {}).get("count", 1)
        )
        if count > 1:
            names[flow] = modem
    return names


def name_homes(homes: list[Home]) -> str:
    """Name what the homes of a street are, in the plural: ``homes``, or ``people`` where they are of several kinds."""
    kinds = {home.kind for home in homes}
    return f"{kinds.pop()}s" if len(kinds) == 1 else "people"
