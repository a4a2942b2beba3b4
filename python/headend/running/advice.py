"""Advice is tried before it is given: proposed settings run with the same seed, in limited time."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from headend.analysis.trials import Setting, Trial, compare_with, list_candidates
from headend.custom.interruption import CodeInterrupted
from headend.errors import InputError
from headend.files import parse_toml
from headend.scenario.cells import BY_STATION, STATION_QUEUE_KEYS, write_station_queues
from headend.scenario.parameters import find_value
from headend.scenario.source import Overrides, write_value

if TYPE_CHECKING:
    from headend.running.experiment import Plan
    from headend.running.result import Result

#: All trials together take at most this many times what the run took, or this many seconds where
#: that is more: one that lets more packets through takes longer than the run.
TIMES, LEAST_SECONDS = 5.0, 3.0


def try_advice(plan: Plan, result: Result, stop: threading.Event) -> list[Trial]:
    """Run what a run's diagnosis proposes, and say what each setting, or two together, do.

    What the scenario does not take, or what does not end in time, is left out.
    """
    if plan.text is None:
        return []
    trials = []
    ends = time.monotonic() + max(TIMES * (result.wall_seconds or 0.0), LEAST_SECONDS)
    for proposed in list_candidates(result):
        settings = tuple(_leave_out_ahead(plan, own) for own in proposed)
        tried = _try_one(plan, settings, stop, ends - time.monotonic())
        if tried is not None:
            trials.append(compare_with(result, tried, settings))
    return trials


def _leave_out_ahead(plan: Plan, setting: Setting) -> Setting:
    """Write a queue for each station without the key ``ahead``, which does not go with it.

    Where the key is written, the setting is the whole table of the access point without it.
    """
    path, value = setting
    place = path.removesuffix(".queues")
    if value != BY_STATION or place == path or plan.text is None:
        return setting
    table = find_value(plan.text.parse(), place)
    for name, text in plan.overrides:
        if name == place:
            table = parse_toml(f"value = {text}")["value"]
    point = table if isinstance(table, Mapping) else {}
    if "ahead" not in point and not any(name == f"{place}.ahead" for name, _ in plan.overrides):
        return setting
    return place, write_value(write_station_queues(point), "access_point")


def _add_settings(overrides: Overrides, settings: Sequence[Setting]) -> list[Setting]:
    """Add settings to what a run was given, in place of the same and of what is below them.

    Of the table of an access point only those keys are replaced that it is there for: what else a
    run was given of it comes after the table, and stays.
    """
    tables = [own for own in settings if own[0].endswith(".access_point")]
    gone = {path for path, _ in settings}
    gone |= {f"{path}.{key}" for path, _ in tables for key in STATION_QUEUE_KEYS}
    above = {path for path, _ in tables}
    kept = [
        (name, value)
        for name, value in overrides
        if name not in gone and not any(name.startswith(f"{path}.") for path in gone - above)
    ]
    # What holds the table itself comes before it.
    holding = [own for own in kept if any(path.startswith(f"{own[0]}.") for path in above)]
    rest = [own for own in kept if own not in holding]
    return [*holding, *tables, *rest, *(own for own in settings if own not in tables)]


def _try_one(
    plan: Plan, settings: Sequence[Setting], stop: threading.Event, seconds: float
) -> Result | None:
    """Run a plan with settings more, or in place of the same; None if it does not end."""
    if seconds <= 0 or stop.is_set() or plan.text is None:
        return None
    try:
        loaded = plan.text.load(_add_settings(plan.overrides, settings))
    except (InputError, CodeInterrupted):
        return None
    from headend.engine.columns import Frames

    trial = replace(plan, loaded=loaded, expectations=[], follow=None)
    ended = threading.Event()
    clock = threading.Timer(seconds, ended.set)
    clock.start()
    try:
        execution = trial.execute(stop=_Either(stop, ended))
    finally:
        clock.cancel()
    return trial.complete(execution, Frames(execution.tables)) if execution.finished else None


class _Either(threading.Event):
    """An event that is set once one of two is."""

    def __init__(self, first: threading.Event, second: threading.Event) -> None:
        super().__init__()
        self._events = (first, second)

    def is_set(self) -> bool:
        """Say whether one of them is set."""
        return any(event.is_set() for event in self._events)
