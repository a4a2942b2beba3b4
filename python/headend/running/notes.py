"""What to read before results of a sweep or study are trusted: warnings, replaced values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from headend.design.design import Point
from headend.running.job import Job
from headend.scenario.conflicts import is_name, note_replaced

if TYPE_CHECKING:
    from headend.running.executor import Failure

#: The values of a point on all axes.
Place = tuple[Any, ...]

#: Values of an axis that are named where a warning applies to these.
MOST_VALUES = 4


def take_notes(
    names: Sequence[str], prepared: Sequence[tuple[Point, Job | Failure]]
) -> tuple[str, ...]:
    """Give all warnings of points and replaced values once, as sentences without full stop."""
    jobs = [(point, item) for point, item in prepared if isinstance(item, Job)]
    warnings = note_warnings(names, [(point.factor_labels, job.warnings) for point, job in jobs])
    return tuple(dict.fromkeys([*warnings, *_note_replaced(jobs)]))


def note_warnings(
    axes: Sequence[str], warnings: Iterable[tuple[Place, Iterable[str]]]
) -> list[str]:
    """Give the engine's warnings, each with the settings that it applies to if not to all.

    Parameters
    ----------
    axes
        The names of the axes.
    warnings
        The values of each point on the axes, with the point's warnings.
    """
    settings: dict[Place, None] = {}
    warned: dict[str, dict[Place, None]] = {}
    for labels, texts in warnings:
        settings[labels] = None
        for text in texts:
            warned.setdefault(text, {})[labels] = None
    return [
        text
        if len(places) == len(settings)
        else f"{text} ({_describe_where(axes, places, settings)})"
        for text, places in warned.items()
    ]


def _describe_where(
    axes: Sequence[str], places: Collection[Place], settings: Collection[Place]
) -> str:
    """Name some settings: by the axis that sets them apart, or by number and first one."""
    for column, axis in enumerate(axes):
        values = dict.fromkeys(labels[column] for labels in places)
        matching = {labels for labels in settings if labels[column] in values}
        if matching == set(places) and len(values) <= MOST_VALUES:
            return f"at {axis} = {', '.join(map(str, values))}"
    first = ", ".join(map(str, next(iter(places))))
    if len(places) == 1:
        return f"at {first}"
    return f"in {len(places)} of {len(settings)} settings, the first {first}"


def _note_replaced(jobs: Sequence[tuple[Point, Job]]) -> list[str]:
    """Say once of each scenario where a bare name replaces values, as `note_replaced` does."""
    checked: set[tuple[str, str, str]] = set()
    notes: list[str] = []
    for point, job in jobs:
        pairs = {
            (str(point.setting.scenario), *pair)
            for pair in point.setting.overrides
            if is_name(pair[1])
        }
        if not pairs <= checked:
            checked |= pairs
            loaded = job.text.load(point.setting.overrides)
            queue_path = loaded.scenario.queue_path or ""
            notes += note_replaced(job.text, loaded, point.setting.overrides, queue_path)
    return notes
