"""What a proposed setting did to a run's flows: better, worse, or no help.

A trial is a run of the same scenario with the same seed and one setting more. It helps if somebody
who suffered has a better grade and nobody a worse one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headend.analysis.diagnosis import diagnose
from headend.analysis.facts import Action
from headend.analysis.flow_groups import FlowGroup, gather_groups, pair_groups
from headend.analysis.grading import ORDER, Grade
from headend.analysis.key_figure import write_value
from headend.analysis.quality import judge_flows
from headend.results.record import Record

#: Settings that are tried of one run.
MOST_TRIALS = 2

#: Laws that are tried where a queue has none, after the one that is proposed.
LAWS = ("fq_codel", "codel")


@dataclass(frozen=True)
class FlowChange:
    """What became of a flow or group: what it got before and after, as written, and its grades."""

    label: str
    before: str
    after: str
    grades: tuple[Grade, Grade]

    @property
    def gain(self) -> int:
        """How many grades it gained; negative if it lost some."""
        before, after = (ORDER.index(grade) for grade in self.grades)
        return before - after


@dataclass(frozen=True)
class Trial:
    """What a setting did.

    Parameters
    ----------
    setting
        As after ``--set``.
    changes
        Of those with a grade, the worst first.
    transfers_ratio
        What all transfers got together, of what they got before; None where there were none.
    """

    setting: str
    changes: tuple[FlowChange, ...]
    transfers_ratio: float | None

    @property
    def helps(self) -> bool:
        """Whether somebody is better off and nobody worse."""
        gains = [change.gain for change in self.changes]
        return bool(gains) and max(gains) > 0 and min(gains) >= 0

    def to_dict(self) -> dict[str, Any]:
        """Give it as a manifest keeps it."""
        return {
            "setting": self.setting,
            "helps": self.helps,
            "transfers_ratio": self.transfers_ratio,
            "changes": [
                {
                    "label": change.label,
                    "before": change.before,
                    "after": change.after,
                    "grades": [str(grade) for grade in change.grades],
                }
                for change in self.changes
            ],
        }


def read_trials(record: Record) -> list[Trial]:
    """Give the trials that a run was kept with; none where nothing was tried."""
    return [
        Trial(
            kept["setting"],
            tuple(
                FlowChange(
                    change["label"],
                    change["before"],
                    change["after"],
                    (Grade(change["grades"][0]), Grade(change["grades"][1])),
                )
                for change in kept["changes"]
            ),
            kept["transfers_ratio"],
        )
        for kept in record.manifest.get("advice", ())
    ]


def list_candidates(record: Record) -> list[tuple[str, str]]:
    """List the settings to try for those who suffer in a run: path and value, the best first."""
    diagnosis = diagnose(record)
    if record.is_partial or diagnosis.remedy is None:
        return []
    if not any(flow.suffers or flow.grade is Grade.FAIR for flow in judge_flows(record)):
        return []
    candidates: dict[tuple[str, str], None] = {}
    for cause in diagnosis.causes:
        for remedy in cause.remedies:
            if remedy.setting:
                candidates[remedy.path, remedy.value] = None
            if remedy.action is Action.ADD_AQM and remedy.path:
                candidates |= dict.fromkeys((remedy.path, law) for law in LAWS)
    return list(candidates)[:MOST_TRIALS]


def compare_with(before: Record, after: Record, setting: str) -> Trial:
    """Compare a run with the trial of a setting."""
    runs = [gather_groups(judge_flows(record), worst_first=True) for record in (before, after)]
    pairs = [(first, then) for _, (first, then) in pair_groups(runs) if first and then]
    changes = [_compare(first, then) for first, then in pairs if first.grades and then.grades]
    sums = [
        sum(groups[place].goodput_bps for groups in pairs if not groups[0].grades)
        for place in (0, 1)
    ]
    return Trial(setting, tuple(changes), sums[1] / sums[0] if sums[0] else None)


def _compare(before: FlowGroup, after: FlowGroup) -> FlowChange:
    return FlowChange(
        before.label,
        before.worst.number,
        _write(after),
        (before.worst.grade, after.worst.grade),
    )


def _write(group: FlowGroup) -> str:
    figure = group.worst.key_figures[0]
    return figure.told if figure.value is None else write_value(figure.value, figure.kind)


def choose_trial(trials: Sequence[Trial]) -> Trial | None:
    """Choose the trial that helps most, by grades gained; of equal ones the first."""
    helpful = [trial for trial in trials if trial.helps]
    return max(
        helpful, key=lambda trial: sum(change.gain for change in trial.changes), default=None
    )


def list_felt(trial: Trial) -> Iterator[FlowChange]:
    """List those whose grade a trial changed."""
    return (change for change in trial.changes if change.gain)


def describe_trials(trials: Sequence[Trial]) -> list[Mapping[str, Any]]:
    """Give trials as JSON has them."""
    return [trial.to_dict() for trial in trials]
