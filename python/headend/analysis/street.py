"""A street: the many homes of a run, each with its worst grade."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headend.analysis.flow_groups import order_worst_first
from headend.analysis.grading import Grade
from headend.analysis.quality import FlowQuality, judge_flows
from headend.results.record import cached_on_record
from headend.scenario.groups import find_groups, name_group, order_naturally

if TYPE_CHECKING:
    from headend.results.record import Record

#: From this number of homes on, pages draw a street; for fewer, the table is enough.
FEWEST_HOMES = 10


@dataclass(frozen=True)
class Home:
    """One home, or one member of a group of flows that belong to no home.

    Parameters
    ----------
    label
        The home's name: ``home 56``, or the name of its flow.
    kind
        ``home``, or the group of its flow.
    findings
        How its flows fared, the worst first.
    """

    label: str
    kind: str
    findings: tuple[FlowQuality, ...]

    @property
    def worst(self) -> FlowQuality:
        """The flow with the worst grade."""
        return self.findings[0]


def list_suffering(result: Record) -> list[Home]:
    """Give the homes where somebody suffers, the worst first: that with the flow worst off."""
    ranks = {flow.flow: rank for rank, flow in enumerate(order_worst_first(judge_flows(result)))}
    suffering = [home for home in gather_homes(result) if home.worst.suffers]
    return sorted(suffering, key=lambda home: ranks[home.worst.flow])


@cached_on_record
def gather_homes(result: Record) -> list[Home]:
    """Give the homes that have a graded flow, in the street's order; none if fewer than ten.

    The flows of one home are those of one host that have the same number.
    """
    findings = [
        finding
        for finding in order_worst_first(judge_flows(result))
        if finding.grade is not Grade.NONE
    ]
    groups = find_groups([finding.flow for finding in findings])
    kinds = _name_homes(result.manifest.get("scenario", {}))
    homes: dict[tuple[str, str], list[FlowQuality]] = {}
    for finding in findings:
        if finding.flow in groups:
            group = name_group(finding.flow)
            kind = kinds.get(group, group)
            homes.setdefault((kind, finding.flow.removeprefix(f"{group}.")), []).append(finding)
    if len(homes) < FEWEST_HOMES:
        return []
    return [
        Home(
            f"{kind} {number}" if kind in kinds.values() else f"{kind}.{number}",
            kind,
            tuple(members),
        )
        for (kind, number), members in sorted(
            homes.items(), key=lambda item: (item[0][0], order_naturally(item[0][1]))
        )
    ]


def _name_homes(scenario: Mapping[str, Any]) -> dict[str, str]:
    """Give the name of the modems before each flow's hosts, for modems with a count above one."""
    hosts, links = scenario.get("host", {}), scenario.get("link", {})
    names = {}
    for flow, definition in scenario.get("flow", {}).items():
        via = hosts.get(definition.get("host", ""), {}).get("via") or [""]
        link, _, modem = str(via[0]).partition(".")
        count = (
            links.get(link, {}).get("docsis", {}).get("modem", {}).get(modem, {}).get("count", 1)
        )
        if count > 1:
            names[flow] = modem
    return names


def name_homes(homes: list[Home]) -> str:
    """Give the plural of the homes' kind: ``homes``, or ``people`` if there are several kinds."""
    kinds = {home.kind for home in homes}
    return f"{kinds.pop()}s" if len(kinds) == 1 else "people"
