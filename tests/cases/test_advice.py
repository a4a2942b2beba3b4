"""Advice that was tried must help with another seed too: all shipped scenarios under ten queues."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from headend.analysis.trials import Trial, choose_trial, compare_with
from headend.errors import InputError
from headend.running.advice import try_advice
from headend.running.experiment import Plan, plan_run
from headend.scenario.conflicts import spell_out
from simulated import list_simulated

QUEUES = (
    'drop_tail={limit="500 ms"}',
    'buffer_control={target="64 KiB"}',
    "codel",
    "docsis_pie",
    "drop_tail",
    "fq_codel",
    "pie",
    "red",
    "sfq",
    "strict_priority",
)

#: Longer scenarios are cut to this.
DURATION = "40 s"

#: Share of the advice that must help the one whom it is given for.
MOST = 0.95


def plan_all(name: str) -> Iterator[Plan]:
    """Plan a scenario under each queue that it takes."""
    for queue in QUEUES:
        overrides = [("queue", f"{{{queue}}}" if "=" in queue else queue), ("duration", DURATION)]
        try:
            yield plan_run(name, overrides)
        except InputError:
            continue


def check(plan: Plan) -> tuple[tuple[str, ...], bool, bool] | None:
    """Say what was advised, whether it helps with another seed, and whether it harms somebody."""
    stop = threading.Event()
    trials = try_advice(plan, plan.carry_out(), stop)
    best = choose_trial(trials)
    if best is None:
        return None
    split = [setting.partition("=") for setting in best.settings]
    settings = [(path, value.strip("'")) for path, _, value in split]
    assert plan.text is not None
    queue_path = plan.loaded.scenario.queue_path or ""
    advised = {spell_out(path, queue_path) for path, _ in settings}
    pairs = [pair for pair in plan.overrides if spell_out(pair[0], queue_path) not in advised]
    before, after = (
        plan_run(plan.text, overrides, seed=plan.seed + 1).carry_out()
        for overrides in (plan.overrides, [*pairs, *settings])
    )
    again: Trial = compare_with(before, after, settings)
    helped = {change.label for change in best.changes if change.is_better}
    gains = {change.label: change.gain for change in again.changes}
    better = {change.label for change in again.changes if change.is_better}
    return (
        best.settings,
        bool(helped & better),
        min(gains.values(), default=0) < 0,
    )


@pytest.mark.slow
def test_what_is_advised_helps_with_another_seed() -> None:
    advised = [
        (plan.label, plan.overrides, found)
        for name in list_simulated()
        for plan in plan_all(name)
        if (found := check(plan))
    ]
    assert len(advised) > 50
    wrong = [one for one in advised if not one[2][1]]
    assert len(wrong) <= (1 - MOST) * len(advised), wrong
