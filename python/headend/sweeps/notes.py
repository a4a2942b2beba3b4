"""What to read before a sweep's results are trusted: what its scenarios are warned of, and what it sets in their place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headend.conflicts import is_name, note_replaced
from headend.scenario import read_scenario
from headend.sweeps.job import Job

if TYPE_CHECKING:
    from headend.sweeps.crew import Failure
    from headend.sweeps.definition import Axis, Point

#: Values of an axis that are named where a warning applies to these.
MOST_VALUES = 4


def take_notes(
    axes: Sequence[Axis], prepared: Sequence[tuple[Point, Job | Failure]]
) -> tuple[str, ...]:
    """Give the warnings of all points that can be run and what bare names replaced, each once, as sentences without full stop."""
    jobs = [(point, item) for point, item in prepared if isinstance(item, Job)]
    return tuple(dict.fromkeys([*_note_warnings(axes, jobs), *_note_replaced(jobs)]))


def _note_warnings(axes: Sequence[Axis], jobs: Sequence[tuple[Point, Job]]) -> list[str]:
    """Give the engine's warnings, with where they apply if that is not everywhere."""
    settings = {point.setting: point.place for point, _ in jobs}
    warned: dict[str, dict[int, tuple[Any, ...]]] = {}
    for point, job in jobs:
        for text in job.warnings:
            warned.setdefault(text, {})[point.setting] = point.place
    return [
        text if len(own) == len(settings) else f"{text} ({_tell_where(axes, own, settings)})"
        for text, own in warned.items()
    ]


def _tell_where(
    axes: Sequence[Axis], own: dict[int, tuple[Any, ...]], settings: dict[int, tuple[Any, ...]]
) -> str:
    """Name some settings: by the values of the one axis that tells them from the others, or by their number and the first."""
    for column, axis in enumerate(axes):
        values = dict.fromkeys(place[column] for place in own.values())
        there = {setting for setting, place in settings.items() if place[column] in values}
        if there == own.keys() and len(values) <= MOST_VALUES:
            return f"at {axis.name} = {', '.join(map(str, values))}"
    first = ", ".join(map(str, next(iter(own.values()))))
    if len(own) == 1:
        return f"at {first}"
    return f"in {len(own)} of {len(settings)} settings, the first {first}"


def _note_replaced(jobs: Sequence[tuple[Point, Job]]) -> list[str]:
    """Say once of each scenario where a bare name takes the place of values that it wrote, as `note_replaced` does."""
    seen: set[tuple[str, str, str]] = set()
    notes: list[str] = []
    for point, _ in jobs:
        pairs = {(str(point.scenario), *pair) for pair in point.overrides if is_name(pair[1])}
        if not pairs <= seen:
            seen |= pairs
            text = read_scenario(point.scenario)
            loaded = text.load(point.overrides)
            queue_path = loaded.scenario.queue_path or ""
            notes += note_replaced(text, loaded, point.overrides, queue_path)
    return notes
