"""What the workbench shares with pages: marks of grades, units, figures and the look of series."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from definitions import define_figures, describe_rules, run_sample

from headend.analysis import grading
from headend.analysis.grading import Mark, list_marks
from headend.engine.description import describe
from headend.figures.figure import MOST_SERIES
from headend.figures.selection import RANKS, REQUESTS
from headend.figures.theme import DASHES, QUEUE_TONES, QUEUES, configure
from headend.scenario.groups import FEW
from headend.text import quantity


def list_for_workbench() -> dict[str, Any]:
    """List what the workbench shares with pages, beside the palette."""
    return {
        "grading": describe_grading(),
        "units": describe_units(),
        "figures": define_figures(run_sample()),
        "rules": describe_rules(),
        "series": describe_series(),
        "themes": {"light": configure(), "dark": configure(dark=True)},
    }


def describe_grading() -> dict[str, Any]:
    """Give the words of grades, the marks of each application and measure, and what is unusable."""
    names = [application.name for application in describe().applications.values()]
    return {
        "words": [str(grade) for grade in grading.ORDER[1:]],
        "unusable": grading.UNUSABLE,
        "unusable_score": grading.UNUSABLE_SCORE,
        "unusable_share": grading.UNUSABLE_SHARE,
        "marks": {
            name: [describe_mark(mark) for mark in _name_input(list_marks(name))] for name in names
        },
        "measures": {name: describe_mark(mark) for name, mark in _list_measures().items()},
        "picture": describe_mark(grading.PICTURE),
        "wait": describe_mark(grading.PAGES),
    }


def _list_measures() -> dict[str, Mark]:
    """List the marks by what they are of: a measure, or a flow's delay and loss."""
    return {**grading.MARKS_OF_MEASURES, "delay": grading.DELAY, "loss": grading.LOSS}


def _name_input(marks: Sequence[Mark]) -> list[Mark]:
    """Of what has frames and packets with a deadline, the packets are input, as of a cloud game."""
    has_frames = grading.FRAMES in marks
    return [grading.INPUT if has_frames and mark is grading.MISSED else mark for mark in marks]


def describe_mark(mark: Mark) -> dict[str, Any]:
    """Give what a mark says, and whether more is better."""
    return {**dataclasses.asdict(mark), "higher_is_better": mark.higher_is_better}


def describe_units() -> dict[str, Any]:
    """Give the units that numbers are written in, by what they measure, the largest first."""
    return {
        kind: [{"name": unit.name, "size": unit.size} for unit in steps]
        for kind, steps in quantity.STEPS.items()
    }


def describe_series() -> dict[str, Any]:
    """Give what flows and queues look like in figures, and which of them are drawn."""
    found = describe()
    return {
        "dashes": DASHES,
        "queue_tones": QUEUE_TONES,
        "queues_from": QUEUES,
        "most": MOST_SERIES,
        "few": FEW,
        "requests": REQUESTS,
        "ranks": {
            name: RANKS.get(kind.felt, 3) for kind in found.measures.values() for name in kind.names
        },
        "probes": [one.name for one in found.applications.values() if "probe" in one.properties],
    }
