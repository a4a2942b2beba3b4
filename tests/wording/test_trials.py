"""What is said of settings that were tried."""

from __future__ import annotations

from typing import Any

import pytest

from headend.analysis.grading import Grade
from headend.analysis.trials import FlowChange, Trial
from headend.wording.trials import advise_as_tried, tabulate_trials

WORSE = (Grade.BAD, Grade.BAD)


def test_who_is_relieved_and_stays_bad_is_told_so() -> None:
    change = FlowChange("ping", "2.86 s", "550 ms", WORSE, "bad", is_relieved=True)
    calm = FlowChange("call", "MOS 4.2", "4.2", (Grade.GOOD, Grade.GOOD), "good")
    trial = Trial(("queue=codel",), (change, calm), 1.22)
    assert advise_as_tried([trial]) == (
        "Tried `--set queue=codel`: ping 2.86 s → 550 ms, still bad; transfers +22 %."
    )


def test_what_does_not_help_is_told_with_what_became_of_it() -> None:
    change = FlowChange("ping", "2.86 s", "2.5 s", WORSE, "bad")
    told = advise_as_tried([Trial(("queue=codel",), (change,), None)])
    assert told == "`codel` does not help as `--set queue=…` (ping 2.86 s → 2.5 s)."


def make_trial(*settings: str, after: Grade = Grade.BAD, **more: Any) -> Trial:
    change = FlowChange("ping", "1 s", "900 ms", (Grade.BAD, after), str(after), **more)
    return Trial(settings, (change,), None)


UP, DOWN = "queue=fq_codel", "link.line.point_to_point.down.queue=fq_codel"
PING = "ping 1 s → 900 ms"


def test_values_of_one_key_that_do_not_help_name_it_once() -> None:
    first, second = make_trial("queue=codel"), make_trial("queue=pie")
    told = advise_as_tried([first, second])
    assert told == f"Neither `codel` nor `pie` helps as `--set queue=…` ({PING})."
    told = advise_as_tried([first, make_trial("flow.game.dscp=45")])
    assert told == f"Neither `--set queue=codel` nor `--set flow.game.dscp=45` helps ({PING})."


@pytest.mark.parametrize("value", ["7", "'500 B'", "true"])
def test_a_value_that_is_no_word_is_told_with_its_key(value: str) -> None:
    setting = f"link.wifi.dot11ax.station.printer.mcs={value}"
    assert advise_as_tried([make_trial(setting)]) == f"`--set {setting}` does not help ({PING})."
    other = "link.wifi.dot11ax.station.printer.mcs=5"
    told = advise_as_tried([make_trial(setting), make_trial(other)])
    assert told == f"Neither `--set {setting}` nor `--set {other}` helps ({PING})."


def test_what_helps_together_names_the_key_of_each() -> None:
    both = make_trial(UP, DOWN, after=Grade.GOOD)
    named = f"Tried `--set {UP}` and `--set {DOWN}` together: {PING}"
    assert advise_as_tried([both]) == f"{named}."
    up, down = make_trial(UP), make_trial(DOWN)
    assert advise_as_tried([both, up]) == f"{named}."
    assert advise_as_tried([both, up, down]) == f"{named}; neither alone helps."
    some = make_trial(DOWN, after=Grade.POOR)
    assert advise_as_tried([both, up, some]) == f"{named}."
    same = make_trial(DOWN, after=Grade.GOOD)
    assert advise_as_tried([both, up, same]) == f"Tried `--set {DOWN}`: {PING}."


def test_what_does_not_help_together_either_is_told() -> None:
    both, up, down = make_trial(UP, DOWN), make_trial(UP), make_trial(DOWN)
    names = f"`--set {UP}`", f"`--set {DOWN}`"
    assert advise_as_tried([both]) == f"{names[0]} and {names[1]} together do not help ({PING})."
    told = f"Neither {names[0]} nor {names[1]} helps, nor do both together ({PING})."
    assert advise_as_tried([both, up, down]) == told
    told = f"{names[0]} does not help, nor together with {names[1]} ({PING})."
    assert advise_as_tried([both, up]) == told


@pytest.mark.parametrize(("after", "told"), [(1.2e6, True), (2.96e6, False), (3.4e6, False)])
def test_what_advice_costs_a_picture_is_told(after: float, told: bool) -> None:
    trial = make_trial("queue=codel", after=Grade.GOOD, pictures=(3e6, after))
    cost = "; picture of ping 3 Mbit/s → 1.2 Mbit/s" if told else ""
    assert advise_as_tried([trial]) == f"Tried `--set queue=codel`: {PING}{cost}."


def test_the_table_names_both_settings() -> None:
    table = tabulate_trials([make_trial(UP, DOWN)])
    assert [row.label for row in table.rows] == ["as it is", f"`{UP}` and `{DOWN}`"]
