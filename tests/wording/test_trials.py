"""What is said of settings that were tried."""

from __future__ import annotations

from headend.analysis.grading import Grade
from headend.analysis.trials import FlowChange, Trial
from headend.wording.trials import advise_as_tried

WORSE = (Grade.BAD, Grade.BAD)


def test_who_is_relieved_and_stays_bad_is_told_so() -> None:
    change = FlowChange("ping", "2.86 s", "550 ms", WORSE, "bad", is_relieved=True)
    calm = FlowChange("call", "MOS 4.2", "4.2", (Grade.GOOD, Grade.GOOD), "good")
    trial = Trial("queue=codel", (change, calm), 1.22)
    assert advise_as_tried([trial]) == (
        "Tried `--set queue=codel`: ping 2.86 s → 550 ms, still bad; transfers +22 %."
    )


def test_what_does_not_help_is_told_with_what_became_of_it() -> None:
    change = FlowChange("ping", "2.86 s", "2.5 s", WORSE, "bad")
    told = advise_as_tried([Trial("queue=codel", (change,), None)])
    assert told == "`codel` does not help (ping 2.86 s → 2.5 s)."
