"""When a tried setting helps: a better grade, or relief of one who stays bad; and nobody worse."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import headend
from headend.analysis import grading
from headend.analysis.grading import ORDER, Grade, Mark
from headend.analysis.key_figure import KeyFigure
from headend.analysis.quality import FlowQuality
from headend.analysis.trials import (
    FlowChange,
    Trial,
    choose_trial,
    compare_with,
    describe_trials,
    is_relieved,
    list_candidates,
    read_trials,
)
from headend.results.record import Record

SECOND = 1e9


def judge(
    numbers: Mapping[Mark, float | None], *, told: str = "", is_unusable: bool = False
) -> FlowQuality:
    """A flow that is graded by the worst of some numbers."""
    graded = sorted(
        ((mark.grade(value), mark.show(value)) for mark, value in numbers.items()),
        key=lambda item: -ORDER.index(item[0]),
    )
    grade = Grade.BAD if told else graded[0][0]
    figures = (KeyFigure("", told=told),) if told else tuple(figure for _, figure in graded)
    return FlowQuality(
        "it", "ping", grade, None, None, None, None, is_unusable=is_unusable, key_figures=figures
    )


@pytest.mark.parametrize(
    ("before", "after", "relief"),
    [
        # A ping's marks end at 400 ms; a half of what is beyond is as much as a grade.
        ({grading.PING: 3.0 * SECOND}, {grading.PING: 1.5 * SECOND}, True),
        ({grading.PING: 3.0 * SECOND}, {grading.PING: 1.51 * SECOND}, False),
        ({grading.PING: 1.5 * SECOND}, {grading.PING: 3.0 * SECOND}, False),
        # What is poor has a grade beyond it.
        ({grading.FRAMES: 0.19}, {grading.FRAMES: 0.06}, False),
        # More round trips a minute are better.
        ({grading.RPM: 50}, {grading.RPM: 100}, True),
        ({grading.RPM: 100}, {grading.RPM: 50}, False),
        # A MOS of 2 is not twice as good as one of 1.
        ({grading.MOS: 1.2}, {grading.MOS: 2.5}, False),
        # Another number that is bad must not double meanwhile, and may change a little.
        (
            {grading.PING: 3.0 * SECOND, grading.LOSS: 0.24},
            {grading.PING: SECOND, grading.LOSS: 0.25},
            True,
        ),
        (
            {grading.PING: 3.0 * SECOND, grading.LOSS: 0.0},
            {grading.PING: SECOND, grading.LOSS: 0.06},
            False,
        ),
        # Of one that is good it does not matter.
        (
            {grading.PING: 3.0 * SECOND, grading.LOSS: 0.001},
            {grading.PING: SECOND, grading.LOSS: 0.004},
            True,
        ),
    ],
)
def test_who_stays_bad_is_relieved_by_half_of_what_makes_it_bad(
    before: Mapping[Mark, float], after: Mapping[Mark, float], relief: bool
) -> None:
    assert is_relieved(judge(before), judge(after)) is relief


def test_something_that_comes_through_is_relief_and_silence_is_not() -> None:
    silence, slow = judge({}, told="no answer", is_unusable=True), judge({grading.PING: SECOND})
    assert is_relieved(silence, slow)
    assert not is_relieved(slow, silence)
    assert not is_relieved(silence, silence)


def test_a_call_is_relieved_where_it_is_unusable_no_longer() -> None:
    unusable, bad = judge({grading.MOS: 1.2}, is_unusable=True), judge({grading.MOS: 2.9})
    assert is_relieved(unusable, bad)
    assert not is_relieved(bad, unusable)


def make_change(before: Grade, after: Grade, *, relieved: bool = False) -> FlowChange:
    return FlowChange("it", "3 s", "1 s", (before, after), str(after), relieved)


def test_relief_helps_unless_somebody_has_a_worse_grade() -> None:
    relief = make_change(Grade.BAD, Grade.BAD, relieved=True)
    same = make_change(Grade.FAIR, Grade.FAIR)
    assert Trial(("queue=codel",), (relief, same), None).helps
    assert not Trial(("queue=codel",), (same,), None).helps
    harm = make_change(Grade.FAIR, Grade.POOR)
    assert not Trial(("queue=codel",), (relief, harm), None).helps


def test_a_better_grade_counts_for_more_than_relief() -> None:
    relief = Trial(("queue=pie",), (make_change(Grade.BAD, Grade.BAD, relieved=True),), None)
    grade = Trial(("queue=codel",), (make_change(Grade.BAD, Grade.POOR),), None)
    both = make_change(Grade.BAD, Grade.POOR), make_change(Grade.BAD, Grade.BAD, relieved=True)
    most = Trial(("queue=fq_codel",), both, None)
    assert choose_trial([relief, grade]) is grade
    assert choose_trial([relief, grade, most]) is most
    assert choose_trial([relief]) is relief


def run_both_ways(**directions: Mapping[str, object]) -> headend.Result:
    """A ping beside a transfer each way, over long queues."""
    line = {
        way: {"rate": "5 Mbit/s", "queue": {"drop_tail": {"limit": "700 ms"}}, **own}
        for way, own in {"up": {}, "down": {}, **directions}.items()
    }
    transfer = {"application": "bulk", "rtt": "20 ms"}
    flows = {
        "backup": {**transfer, "direction": "up"},
        "download": {**transfer, "direction": "down"},
        "ping": {"application": "ping", "rtt": "20 ms"},
    }
    scenario = {"duration": "30 s", "warmup": "10 s", "link": {"line": {"point_to_point": line}}}
    return headend.run({**scenario, "flow": flows})


def test_of_two_queues_that_stand_both_are_tried_together_first() -> None:
    up, down = ("queue", "fq_codel"), ("link.line.point_to_point.down.queue", "fq_codel")
    both, *alone = list_candidates(run_both_ways())
    assert set(both) == {up, down}
    assert alone == [(setting,) for setting in both]


def test_of_one_queue_that_stands_values_are_tried_in_turn() -> None:
    result = run_both_ways(down={"queue": "fq_codel"})
    candidates = list_candidates(result)
    assert candidates == [(("queue", "fq_codel"),), (("queue", "codel"),)]


def test_of_equals_a_single_setting_is_chosen() -> None:
    changes = (make_change(Grade.BAD, Grade.POOR),)
    both, alone = Trial(("queue=pie", "x=1"), changes, None), Trial(("queue=pie",), changes, None)
    assert choose_trial([both, alone]) is alone
    better = Trial(("queue=pie", "x=1"), (make_change(Grade.BAD, Grade.GOOD),), None)
    assert choose_trial([better, alone]) is better


def test_trials_are_kept_with_a_run_and_read_again() -> None:
    change = FlowChange("film", "3 s", "1 s", (Grade.BAD, Grade.POOR), "poor", False, (3e6, 1e6))
    trials = [
        Trial(("queue=pie", "flow.a.dscp=1"), (change, make_change(Grade.BAD, Grade.BAD)), 0.9)
    ]
    assert read_trials(Record({}, {"advice": describe_trials(trials)})) == trials
    (told,) = describe_trials(trials)
    old = {**told, "setting": "queue=pie"}
    del old["settings"]
    assert read_trials(Record({}, {"advice": [old]}))[0].settings == ("queue=pie",)


def test_the_picture_of_a_video_call_is_compared() -> None:
    scenario = {
        "duration": "30 s",
        "warmup": "10 s",
        "link": {"line": {"point_to_point": {"up": {"rate": "8 Mbit/s"}}}},
        "flow": {"video": {"application": "video_call", "rtt": "20 ms"}},
    }
    rate = "link.line.point_to_point.up.rate"
    wide, narrow = (headend.run(scenario, set={rate: own}) for own in ("8 Mbit/s", "600 kbit/s"))
    (change,) = compare_with(wide, narrow, [(rate, "600 kbit/s")]).changes
    assert change.pictures is not None
    before, after = change.pictures
    assert before > 1e6
    assert after < 0.6e6
