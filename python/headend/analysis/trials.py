"""What a proposed setting did to a run's flows: better, worse, or no help.

A trial is a run of the same scenario with the same seed and one setting more, or with two where two
queues stand: shortening one of them leaves who waits in both with the other. It helps if somebody
has a better grade, or is relieved, and nobody has a worse grade.

Grades end at bad, and bad has no end: a round trip of 600 ms is bad, and so is one of 6 s. Who
stays bad is relieved by a change as large as a grade. Of the marks of a number, one is mostly about
twice the one before it (`grading.py`); so a number that makes a flow bad has to halve, or to
double where more is better, and no such number may do the contrary. Of a score, whose scale has an
end, only the words count: who was unusable no longer is. Where nothing came through, and now
something does, that is relief as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headend.analysis.diagnosis import diagnose
from headend.analysis.facts import Action, Diagnosis, SeveralCauses, write_setting
from headend.analysis.flow_groups import FlowGroup, gather_groups, pair_groups
from headend.analysis.grading import ORDER, Grade
from headend.analysis.key_figure import KeyFigure, write_value
from headend.analysis.quality import FlowQuality, judge_flows
from headend.results.record import Record

#: A setting: its path and its value.
Setting = tuple[str, str]

#: Most settings tried for one queue, unless more are proposed; other queue disciplines fill up to
#: this number.
MOST_TRIALS = 2

#: Laws that are tried where a queue has none, after the one that is proposed. What a modem's file
#: cannot hold is not tried where there is one.
LAWS = ("fq_codel", "codel")


@dataclass(frozen=True)
class FlowChange:
    """What became of a flow or group: what it got before and after, as written, and its grades.

    Parameters
    ----------
    word
        The word for how it fares after, from ``good`` to ``unusable``.
    is_relieved
        Whether it stays bad, and is much less so.
    pictures
        The mean rate of its picture before and after, bit/s, of a group that of its worst member;
        None of what shows none.
    """

    label: str
    before: str
    after: str
    grades: tuple[Grade, Grade]
    word: str = ""
    is_relieved: bool = False
    pictures: tuple[float, float] | None = None

    @property
    def gain(self) -> int:
        """How many grades it gained; negative if it lost some."""
        before, after = (ORDER.index(grade) for grade in self.grades)
        return before - after

    @property
    def is_better(self) -> bool:
        """Whether it has a better grade, or is relieved."""
        return self.gain > 0 or self.is_relieved


@dataclass(frozen=True)
class Trial:
    """What a setting did, or several together.

    Parameters
    ----------
    settings
        Each as after ``--set``.
    changes
        Of those with a grade, the worst first.
    transfers_ratio
        What all transfers got together, of what they got before; None where there were none.
    """

    settings: tuple[str, ...]
    changes: tuple[FlowChange, ...]
    transfers_ratio: float | None

    @property
    def helps(self) -> bool:
        """Whether somebody is better off and nobody worse."""
        is_harmless = all(change.gain >= 0 for change in self.changes)
        return is_harmless and any(change.is_better for change in self.changes)

    def to_dict(self) -> dict[str, Any]:
        """Give it as a manifest keeps it."""
        return {
            "settings": list(self.settings),
            "helps": self.helps,
            "transfers_ratio": self.transfers_ratio,
            "changes": [
                {
                    "label": change.label,
                    "before": change.before,
                    "after": change.after,
                    "grades": [str(grade) for grade in change.grades],
                    "word": change.word,
                    "relieved": change.is_relieved,
                    **({"pictures_bps": list(change.pictures)} if change.pictures else {}),
                }
                for change in self.changes
            ],
        }


def read_trials(record: Record) -> list[Trial]:
    """Give the trials that a run was kept with; none where nothing was tried."""
    return [
        Trial(
            # Runs that were kept before two settings were tried together have one.
            tuple(kept.get("settings") or (kept["setting"],)),
            tuple(
                FlowChange(
                    change["label"],
                    change["before"],
                    change["after"],
                    (Grade(change["grades"][0]), Grade(change["grades"][1])),
                    change.get("word", ""),
                    change.get("relieved", False),
                    tuple(change["pictures_bps"]) if "pictures_bps" in change else None,
                )
                for change in kept["changes"]
            ),
            kept["transfers_ratio"],
        )
        for kept in record.manifest.get("advice", ())
    ]


def list_candidates(record: Record) -> list[tuple[Setting, ...]]:
    """List what to try for those who suffer in a run, the best first; of two causes both together.

    Each is the settings of one trial. Both together come before each alone, so that they are tried
    however short the time is.
    """
    diagnosis = diagnose(record)
    if record.is_partial or diagnosis.remedy is None:
        return []
    if not any(flow.suffers or flow.grade is Grade.FAIR for flow in judge_flows(record)):
        return []
    causes = _list_by_cause(diagnosis)
    singles: list[tuple[Setting, ...]]
    singles = [(own,) for own in dict.fromkeys(own for settings in causes for own in settings)]
    firsts = {path: (path, value) for (path, value), *_ in reversed(causes)}
    if len(firsts) < 2:
        return singles
    both = list(reversed(firsts.values()))[:2]
    return [tuple(both), *((setting,) for setting in both)]


def _list_by_cause(diagnosis: Diagnosis) -> list[list[Setting]]:
    """List the settings that shorten each queue that is a cause, those of the main cause first."""
    found = []
    for cause in diagnosis.causes:
        main = [cause.main.remedies] if isinstance(cause, SeveralCauses) else []
        for remedies in (*main, cause.remedies):
            settings: dict[Setting, None] = {}
            others: dict[Setting, None] = {}
            for remedy in remedies:
                if remedy.setting:
                    settings[remedy.path, remedy.value] = None
                if remedy.tlv_settings:
                    settings |= dict.fromkeys(remedy.tlv_settings)
                elif remedy.action is Action.ADD_AQM and remedy.path:
                    others |= dict.fromkeys((remedy.path, law) for law in LAWS)
            # Another remedy tells more than another law for the same queue.
            most = max(MOST_TRIALS, len(settings))
            found += [list(settings | others)[:most]] if settings else []
    return found


def compare_with(before: Record, after: Record, settings: Sequence[Setting]) -> Trial:
    """Compare a run with the trial of one setting, or of several together."""
    runs = [gather_groups(judge_flows(record), worst_first=True) for record in (before, after)]
    pairs = [(first, then) for _, (first, then) in pair_groups(runs) if first and then]
    changes = [_compare(first, then) for first, then in pairs if first.grades and then.grades]
    sums = [
        sum(groups[place].goodput_bps for groups in pairs if not groups[0].grades)
        for place in (0, 1)
    ]
    written = tuple(write_setting(path, value) for path, value in settings)
    return Trial(written, tuple(changes), sums[1] / sums[0] if sums[0] else None)


def _compare(before: FlowGroup, after: FlowGroup) -> FlowChange:
    first, then = before.worst.picture_bps, after.worst.picture_bps
    return FlowChange(
        before.label,
        before.worst.number,
        _write(before, after),
        (before.worst.grade, after.worst.grade),
        after.worst.word,
        is_relieved(before.worst, after.worst),
        None if first is None or then is None else (first, then),
    )


def is_relieved(before: FlowQuality, after: FlowQuality) -> bool:
    """Say whether a flow stays bad and is much less so: see the first lines of this file."""
    is_worse_off = after.is_unusable and not before.is_unusable
    if not before.grade is after.grade is Grade.BAD or is_worse_off:
        return False
    if before.key_figures[0].value is None:
        return after.key_figures[0].value is not None
    then = {figure.about: figure for figure in after.key_figures}
    steps = [
        _compare_figures(figure, then[figure.about])
        for figure in before.key_figures
        if figure.about in then and (figure.is_bad or then[figure.about].is_bad)
    ]
    leaves_unusable = before.is_unusable and not after.is_unusable
    return min(steps, default=0) >= 0 and (leaves_unusable or max(steps, default=0) > 0)


def _compare_figures(before: KeyFigure, after: KeyFigure) -> int:
    """Give 1 where a number got better by a factor of two or more, -1 where worse, else 0."""
    if before.is_score or None in (before.value, after.value) or before.value == after.value:
        return 0
    less, more = sorted((before.value or 0.0, after.value or 0.0))
    if more < 2 * less:
        return 0
    return 1 if (after.value == more) is before.higher_is_better else -1


def _write(before: FlowGroup, after: FlowGroup) -> str:
    """Write what a flow got after; with the words around it, where it is another number."""
    figure = after.worst.key_figures[0]
    if figure.value is None:
        return figure.told
    is_same = figure.about == before.worst.key_figures[0].about
    return write_value(figure.value, figure.kind) if is_same else figure.write()


def choose_trial(trials: Sequence[Trial]) -> Trial | None:
    """Choose the trial that helps most: by grades gained, then by relief.

    Of equals it is one of a single setting, and of these the first.
    """

    def weigh(trial: Trial) -> tuple[int, int, int]:
        gains, relieved = zip(*((one.gain, one.is_relieved) for one in trial.changes), strict=True)
        return sum(gains), sum(relieved), -len(trial.settings)

    return max((trial for trial in trials if trial.helps), key=weigh, default=None)


def list_felt(trial: Trial) -> Iterator[FlowChange]:
    """List those whose grade a trial changed, or whom it relieved."""
    return (change for change in trial.changes if change.gain or change.is_relieved)


def describe_trials(trials: Sequence[Trial]) -> list[Mapping[str, Any]]:
    """Give trials as JSON has them."""
    return [trial.to_dict() for trial in trials]
