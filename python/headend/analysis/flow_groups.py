"""Flows, and groups of flows as one: how their members fared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from headend.analysis.grading import ORDER, Grade
from headend.analysis.quality import FlowQuality
from headend.scenario.groups import find_groups, label_member, order_naturally


@dataclass(frozen=True)
class FlowGroup:
    """A flow, or all members of a group of flows as one.

    Parameters
    ----------
    name
        Of the flow, or what the members have in common.
    label
        What to call it: ``call``, or ``web ×100``.
    findings
        How each member fared, from the worst to the best.
    """

    name: str
    label: str
    findings: tuple[FlowQuality, ...]

    @property
    def is_group(self) -> bool:
        """Whether it stands for several flows."""
        return len(self.findings) > 1

    @property
    def worst(self) -> FlowQuality:
        """The member that suffers most."""
        return self.findings[0]

    @property
    def middle(self) -> FlowQuality:
        """The member in the middle; of two, the one that fares worse."""
        return self.findings[(len(self.findings) - 1) // 2]

    @property
    def grades(self) -> dict[Grade, int]:
        """How many members have each grade that there is to have, the worst first."""
        counts = dict.fromkeys(reversed(ORDER), 0)
        for finding in self.findings:
            counts[finding.grade] += 1
        return {grade: count for grade, count in counts.items() if count and grade != Grade.NONE}

    @property
    def words(self) -> dict[str, tuple[int, Grade]]:
        """How many members each word is said of, with the word's grade, the worst first."""
        ordered = sorted(
            (finding for finding in self.findings if finding.word),
            key=lambda finding: (-ORDER.index(finding.grade), not finding.is_unusable),
        )
        counts = Counter(finding.word for finding in ordered)
        grades = {finding.word: finding.grade for finding in ordered}
        return {word: (count, grades[word]) for word, count in counts.items()}

    @property
    def lacking_ns(self) -> float:
        """How much longer the run must be for all members to be judged, ns."""
        return max(finding.lacking_ns for finding in self.findings)

    @property
    def has_limits(self) -> bool:
        """Whether it is known of a member what held its TCP senders back."""
        return any(finding.limit for finding in self.findings)

    @property
    def suffering(self) -> int:
        """How many members are poorly or badly off."""
        return sum(finding.suffers for finding in self.findings)

    @property
    def goodput_bps(self) -> float:
        """What all members get together."""
        return sum(finding.goodput_bps or 0.0 for finding in self.findings)


def gather_groups(
    findings: Sequence[FlowQuality],
    *,
    worst_first: bool = False,
    beside: Sequence[Sequence[str]] = (),
) -> list[FlowGroup]:
    """Put members of a group together, each with the worst first; in the order of the flows.

    Parameters
    ----------
    worst_first
        Whether those with the worst grade come first.
    beside
        The flows of the runs that this one is compared with: what is a group there is one here too,
        however few are left of it.
    """
    if worst_first:
        findings = sorted(
            findings, key=lambda finding: (-ORDER.index(finding.grade), not finding.is_unusable)
        )
    groups = find_groups([finding.flow for finding in findings], *beside)
    gathered: dict[str, list[FlowQuality]] = {}
    for finding in findings:
        gathered.setdefault(label_member(finding.flow, groups), []).append(finding)
    return [
        FlowGroup(
            groups[members[0].flow].name if members[0].flow in groups else members[0].flow,
            label,
            tuple(sorted(members, key=_rank)),
        )
        for label, members in gathered.items()
    ]


def order_worst_first(findings: Sequence[FlowQuality]) -> list[FlowQuality]:
    """Give flows by their grades, the worst first; of one grade, group by group."""
    groups = gather_groups(findings, worst_first=True)
    flows = [flow for group in groups for flow in group.findings]
    return sorted(flows, key=lambda flow: -ORDER.index(flow.grade))


def _rank(member: FlowQuality) -> tuple[object, ...]:
    """Order the members of a group, the worst first."""
    # A scale has an end: among those at it, who loses more is worse off.
    loss = member.loss_ratio or 0.0
    return -ORDER.index(member.grade), -member.severity, -loss, order_naturally(member.flow)


def pair_groups(
    runs: Sequence[Sequence[FlowGroup]],
) -> list[tuple[str, list[FlowGroup | None]]]:
    """Give each flow or group, by what to call it, with how it fared in each run, or None."""
    named = [{group.name: group for group in groups} for groups in runs]
    pairs = []
    for name in dict.fromkeys(name for groups in named for name in groups):
        per_run = [groups.get(name) for groups in named]
        labels = {group.label for group in per_run if group}
        pairs.append((labels.pop() if len(labels) == 1 else name, per_run))
    return pairs
