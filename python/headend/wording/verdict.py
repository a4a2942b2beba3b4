"""All that was judged of a run: flows, the queue, and what is wrong, in numbers and in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from headend.analysis.channels import ChannelState
from headend.analysis.diagnosis import diagnose, open_case
from headend.analysis.facts import Diagnosis, Hops
from headend.analysis.flow_groups import FlowGroup, pair_groups
from headend.analysis.grading import ORDER
from headend.analysis.quality import FlowQuality, judge_flows
from headend.analysis.queue_state import QueueState, does_harm
from headend.analysis.trials import read_trials
from headend.results.record import Record, cached_on_record
from headend.scenario.groups import name_group
from headend.text.wording import join_names, list_names
from headend.wording.facts import describe_facts
from headend.wording.flows import describe_quality
from headend.wording.queue import MOST_NAMED


@dataclass(frozen=True)
class RunVerdict:
    """How every flow fared, and in what state the queue was.

    Parameters
    ----------
    findings
        One for each flow, the flow with the worst grade first.
    groups
        Flows, and groups of flows as one, those with the worst member first.
    queue
        The queue that did the harm, or the bottleneck that the scenario names.
    channels
        The channels that were full.
    are_tried
        Whether settings were tried for those who suffer; what they do stands in the answer.
    """

    findings: list[FlowQuality]
    groups: list[FlowGroup]
    queue: QueueState | None
    channels: list[ChannelState]
    diagnosis: Diagnosis
    are_tried: bool

    @property
    def notes(self) -> list[str]:
        """What is wrong, in sentences: what the answer and the table of people leave out."""
        return describe_facts(self.diagnosis.facts, are_tried=self.are_tried)

    @property
    def paragraph(self) -> str:
        """All notes, one after the other."""
        return " ".join(self.notes)

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON can hold it."""
        return {
            "findings": list(map(describe_quality, self.findings)),
            "queue": asdict(self.queue) if self.queue else None,
            "notes": self.notes,
            "channels": [_describe_channel(state) for state in self.channels],
            **({"hops": _describe_hops(hops)} if (hops := self.diagnosis.hops) else {}),
        }


def _describe_channel(state: ChannelState) -> dict[str, Any]:
    """Give a channel as JSON can hold it; what cells alone have is left out of others."""
    found = asdict(state)
    if not state.is_cell:
        del found["stations"], found["packet_bytes"]
    return found


def _describe_hops(fact: Hops) -> dict[str, Any]:
    """Give the links on the way of the flow that suffers most, and which are to blame."""
    return {
        "flow": fact.flow,
        "guilty": [hop.link for hop in fact.guilty],
        "links": [
            {
                "link": hop.link,
                "kind": str(hop.kind),
                "flow": hop.flow,
                "guilty": sorted(hop.guilty),
                "queues": list(map(asdict, hop.queues)),
                "channel": _describe_channel(hop.channel) if hop.channel else None,
            }
            for hop in fact.hops
        ],
    }


@cached_on_record
def judge(record: Record) -> RunVerdict:
    """Judge a run."""
    case = open_case(record)
    findings = sorted(judge_flows(record), key=lambda finding: -ORDER.index(finding.grade))
    return RunVerdict(
        findings,
        list(case.groups),
        case.queue,
        list(case.channels),
        diagnose(record),
        bool(read_trials(record)),
    )


def note_comparison(results: Sequence[Record], verdicts: Sequence[RunVerdict]) -> list[str]:
    """Say what a table of people by runs leaves out: harmful queues and full channels.

    Of one run, which is all that is left of some comparisons, it is the verdict's notes.

    Parameters
    ----------
    results, verdicts
        The runs, and what was judged of each.
    """
    if len(results) == 1:
        return verdicts[0].notes
    labels = [result.label for result in results]
    helpless = [
        f"some of {name}" if any(group.is_group for group in groups if group) else name
        for name, groups in pair_groups([verdict.groups for verdict in verdicts])
        if all(group and group.worst.suffers for group in groups)
    ]
    culprits = _name_culprits(labels, verdicts) if helpless else ""
    sentences = [f"Badly off in every run: {list_names(helpless, MOST_NAMED)}. {culprits}"]
    full: dict[str, list[str]] = {}
    for label, verdict in zip(labels, verdicts, strict=True):
        for state in verdict.channels:
            full.setdefault(state.title, []).append(label)
    channels = [f"The {name} is full under {join_names(where)}." for name, where in full.items()]
    return [*(sentences if culprits else []), *channels]


def _name_culprits(labels: Sequence[str], verdicts: Sequence[RunVerdict]) -> str:
    """Say which queue does the harm in each run, where one does."""
    names: dict[tuple[str, float], str] = {}
    blamed: dict[str, list[str]] = {}
    for label, verdict in zip(labels, verdicts, strict=True):
        queue = verdict.queue
        if queue and does_harm(queue):
            # Of the many of a tier it is now one, now another that is the worst.
            kind = (name_group(queue.queue) or queue.queue, queue.rate_bps)
            name = f"queues like {queue.queue}" if queue.alike > 1 else f"the queue {queue.queue}"
            blamed.setdefault(names.setdefault(kind, name), []).append(label)
    if not blamed:
        return ""
    if list(map(len, blamed.values())) == [len(labels)]:
        return f"The cause is {next(iter(blamed))}."
    clauses = [f"{name} under {join_names(where)}" for name, where in blamed.items()]
    return f"The cause is {join_names(clauses)}."
