"""Advice is tried before it is given: proposed settings run with the same seed, in limited time."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from headend.analysis.trials import Setting, Trial, compare_with, list_candidates
from headend.custom.interruption import CodeInterrupted
from headend.errors import InputError

if TYPE_CHECKING:
    from headend.running.experiment import Plan
    from headend.running.result import Result

#: All trials together take this many times what the run took, and this many seconds at least.
TIMES, LEAST_SECONDS = 2.0, 1.0


def try_advice(plan: Plan, result: Result, stop: threading.Event) -> list[Trial]:
    """Run what a run's diagnosis proposes, and say what each setting, or two together, do.

    What the scenario does not take, or what does not end in time, is left out.
    """
    if plan.text is None:
        return []
    trials = []
    ends = time.monotonic() + max(TIMES * (result.wall_seconds or 0.0), LEAST_SECONDS)
    for settings in list_candidates(result):
        tried = _try_one(plan, settings, stop, ends - time.monotonic())
        if tried is not None:
            trials.append(compare_with(result, tried, settings))
    return trials


def _try_one(
    plan: Plan, settings: Sequence[Setting], stop: threading.Event, seconds: float
) -> Result | None:
    """Run a plan with settings more, or in place of the same; None if it does not end."""
    if seconds <= 0 or stop.is_set() or plan.text is None:
        return None
    replaced = {path for path, _ in settings}
    overrides = [pair for pair in plan.overrides if pair[0] not in replaced]
    try:
        loaded = plan.text.load([*overrides, *settings])
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
