"""What figures say of a dip, a step or a burst: in made-up courses, and in runs."""

from __future__ import annotations

import dataclasses

import headend
from headend.figures.catalogue import draw_figures
from headend.figures.remarks import Course, describe_levels, remark_on_queue, remark_on_rate

COUNT = 200


def make(**columns: list[float]) -> Course:
    """Make a course of 200 points 0.4 s apart, of a full 10 Mbit/s line and standing queue."""
    course = Course(
        times=[0.4 * (number + 1) for number in range(COUNT)],
        rates=[10e6] * COUNT,
        backlogs=[50_000.0] * COUNT,
        delays=[40e6] * COUNT,
        drops=[0.0] * COUNT,
        tokens=[None] * COUNT,
        warmup=4.0,
    )
    return dataclasses.replace(course, **columns)  # type: ignore[arg-type]


def put(base: float, **at: float) -> list[float]:
    """Give a column of one value with others at some places."""
    column = [base] * COUNT
    for place, value in at.items():
        column[int(place[1:])] = value
    return column


def test_nothing_is_said_of_a_line_that_stays_full() -> None:
    assert remark_on_rate([("", make())], 10e6) == ""
    assert remark_on_queue(make(), 10e6) == ""


def test_a_dip_after_drops_is_explained_by_them() -> None:
    rates, backlogs = put(10e6, p50=6e6, p100=7e6), put(50_000, p50=0, p100=0)
    course = make(rates=rates, backlogs=backlogs, drops=put(0, p48=3, p97=1))
    assert remark_on_rate([("", course)], 10e6) == (
        " 2 short dips, the deepest to 6 Mbit/s at 20.4 s: after drops or marks the senders slowed"
        " down, and the queue ran empty before they sent more."
    )


def test_a_dip_without_drops_is_told_by_what_waits() -> None:
    rates = put(10e6, p50=6e6)
    empty = make(rates=rates, backlogs=put(50_000, p50=0))
    assert "One short dip" in remark_on_rate([("", empty)], 10e6)
    assert "the queue was empty, as nobody sent enough" in remark_on_rate([("", empty)], 10e6)
    waiting = remark_on_rate([("", make(rates=rates))], 10e6)
    assert "packets waited, but the line did not carry them" in waiting


def test_dips_of_the_warm_up_and_long_ones_are_none() -> None:
    early = make(rates=put(10e6, p5=6e6))
    assert remark_on_rate([("", early)], 10e6) == ""
    long = make(rates=[10e6] * 50 + [3e6] * 40 + [10e6] * 110, backlogs=[0.0] * COUNT)
    assert remark_on_rate([("", long)], 10e6) == ""


def test_side_by_side_a_cause_is_told_once_with_the_runs() -> None:
    course = make(rates=put(10e6, p50=6e6), backlogs=put(50_000, p50=0), drops=put(0, p50=1))
    told = remark_on_rate([("codel", course), ("pie", course), ("drop_tail", make())], 10e6)
    assert told.count("senders slowed down") == 1
    assert "at 20.4 s under codel, one short dip, to 6 Mbit/s at 20.4 s under pie: " in told
    assert "drop_tail" not in told


def test_a_line_that_is_filled_late_is_told() -> None:
    rates = [0.0] * 10 + [10e6] * (COUNT - 10)
    assert remark_on_rate([("", make(rates=rates))], 10e6) == " Until 4.4 s nothing fills the line."


def test_a_rate_that_changes_is_told_with_its_ends() -> None:
    rates = [12e6] * 50 + [4e6] * 50 + [2e6] * 50 + [8e6] * 50
    course = make(rates=rates, delays=[60e6] * 50 + [200e6] * 50 + [500e6] * 50 + [90e6] * 50)
    assert describe_levels(course, 6.5e6) == (
        "The line does not always give the same: while packets waited, from 2 Mbit/s to 12"
        " Mbit/s left the queue."
    )
    assert "the longer a backlog takes" in remark_on_queue(course, 6.5e6)


def test_a_burst_ends_where_its_tokens_do() -> None:
    tokens = [10e6 * (1 - number / 30) for number in range(30)] + [0.0] * (COUNT - 30)
    rates = [50e6] * 30 + [20e6] * (COUNT - 30)
    assert describe_levels(make(rates=rates, tokens=tokens), 20e6) == (
        "A burst passes at up to 50 Mbit/s while the bucket of the sustained rate holds tokens."
        " They are used up at 12.4 s; then the line has 20 Mbit/s."
    )
    untouched = make(rates=rates, tokens=[10e6] * COUNT)
    assert "burst" not in describe_levels(untouched, 20e6)


def test_falls_of_a_queue_after_drops_are_told() -> None:
    delays = [40e6, 42e6, 44e6, 46e6, 48e6, 20e6, 25e6, 30e6, 34e6, 37e6] * (COUNT // 10)
    drops = [0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0] * (COUNT // 10)
    assert "falls after packets are dropped" in remark_on_queue(
        make(delays=delays, drops=drops), 10e6
    )
    assert remark_on_queue(make(delays=delays), 10e6) == ""


def test_shipped_scenarios_are_explained_by_their_data() -> None:
    result = headend.run("power-boost", set={"duration": "80 s"})
    texts = {figure.name: figure.explanation for figure in draw_figures([result], ["line-rate"])}
    assert "A burst passes at up to 4" in texts["line-rate"] or "at up to 5" in texts["line-rate"]
    assert "They are used up at 6" in texts["line-rate"]
    result = headend.run("varying-rate", set={"duration": "60 s"})
    texts = {figure.name: figure.explanation for figure in draw_figures([result], ["line-rate"])}
    assert "from 2 Mbit/s to 12 Mbit/s" in texts["line-rate"]
