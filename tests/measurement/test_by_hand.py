"""Tests of what a web test shows, typed by a person."""

from __future__ import annotations

from typing import Any

import pytest

from headend.errors import InputError
from headend.measurement.by_hand import measure_by_hand
from headend.measurement.record import Direction, Load, Quantity, Statistic, Summary


def refuse(**values: Any) -> str:
    with pytest.raises(InputError) as error:
        measure_by_hand(**values)
    return str(error.value)


def read_one(**value: Any) -> Summary:
    (summary,) = measure_by_hand(**value).summaries
    return summary


def test_every_number_becomes_a_summary_with_its_load_and_direction() -> None:
    measured = measure_by_hand(
        down="300",
        up="20",
        idle="12",
        loaded_down="90",
        loaded_up="180",
        loaded="140",
        jitter="3",
        loss="1",
        medium="wifi",
    )
    rate, delay = Quantity.RATE, Quantity.DELAY
    assert measured.tools == ("by hand",)
    assert measured.medium == "wifi"
    assert measured.notes == ()
    assert measured.summaries == (
        Summary(rate, Statistic.MEAN, 300e6, Load.DOWN, Direction.DOWN),
        Summary(rate, Statistic.MEAN, 20e6, Load.UP, Direction.UP),
        Summary(delay, Statistic.MEDIAN, 12, Load.IDLE),
        Summary(delay, Statistic.MEDIAN, 90, Load.DOWN),
        Summary(delay, Statistic.MEDIAN, 180, Load.UP),
        Summary(delay, Statistic.MEDIAN, 140, Load.BOTH),
        Summary(delay, Statistic.JITTER, 3, Load.IDLE),
        Summary(Quantity.LOSS, Statistic.MEAN, 0.01, Load.BOTH),
    )


@pytest.mark.parametrize(
    ("name", "written", "value"),
    [
        ("down", "1.2 Gbit/s", 1.2e9),
        ("down", " 300 Mbit/s ", 300e6),
        ("down", 300, 300e6),
        ("up", 0.5, 0.5e6),
        ("idle", "0.012 s", 12),
        ("idle", "300 us", 0.3),
        ("loss", "0.5 %", 0.005),
        ("loss", "0", 0),
        ("jitter", 0, 0),
    ],
)
def test_a_unit_may_be_written(name: str, written: str | float, value: float) -> None:
    assert read_one(**{name: written}).value == pytest.approx(value)


@pytest.mark.parametrize(
    ("values", "line"),
    [
        (
            {"down": "12 ms"},
            'down: expected a rate such as "8 Mbit/s" (bit/s, kbit/s, Mbit/s, Gbit/s),'
            ' found "12 ms"',
        ),
        (
            {"idle": "300 Mbit/s"},
            'idle: expected a time such as "100 ms" (ns, us, µs, ms, s, min), found "300 Mbit/s"',
        ),
        ({"loss": "-1"}, "loss: expected 0 or more, found -1"),
        ({"loss": "101"}, "loss: expected at most 100 %, found 101 % (a number without a unit is"),
        ({"up": "0"}, "up: expected more than 0, found 0"),
        ({"loaded": "-5 ms"}, "loaded: expected more than 0, found -5 ms"),
        (
            {"down": 300e6},
            "down: expected at most 1,000 Gbit/s, found 300,000 Gbit/s (a number without a unit is"
            " in Mbit/s)",
        ),
        ({"idle": "2 min"}, "idle: expected at most 60 s, found 120 s"),
        ({"down": True}, 'down: expected a text such as "8 Mbit/s" or a number, found True'),
        ({"down": float("nan")}, 'down: expected a rate such as "8 Mbit/s" (bit/s, kbit/s,'),
        ({"down": float("inf")}, 'down: expected a rate such as "8 Mbit/s" (bit/s, kbit/s,'),
        ({"down": "1e999"}, 'down: expected a rate such as "8 Mbit/s"'),
        ({"down": ""}, 'down: expected a rate such as "8 Mbit/s"'),
        (
            {"down": "300", "medium": "wlan"},
            'medium: expected "ethernet" or "wifi", found \'wlan\'',
        ),
        ({}, "expected one of down, up, idle, loaded_down, loaded_up, loaded, jitter, loss, found"),
    ],
)
def test_nonsense_is_refused_in_one_line(values: dict[str, Any], line: str) -> None:
    refused = refuse(**values)
    assert refused.startswith(line)
    assert "\n" not in refused


def test_a_delay_under_load_below_the_idle_one_gets_a_note() -> None:
    (note,) = measure_by_hand(idle="20", loaded_up="12").notes
    assert note.startswith("loaded_up (12 ms) is less than idle (20 ms)")


def test_a_delay_under_load_within_the_noise_of_the_idle_one_gets_none() -> None:
    assert measure_by_hand(idle="20", loaded_up="19").notes == ()
    assert measure_by_hand(idle="20", loaded_up="12", jitter="8").notes == ()


def test_errors_and_notes_take_the_names_of_the_commands_options() -> None:
    def name(parameter: str) -> str:
        return f"--{parameter.replace('_', '-')}"

    assert refuse(loaded_down="x", name=name).startswith("--loaded-down: expected a time")
    (note,) = measure_by_hand(idle="20", loaded_up="12", name=name).notes
    assert note.startswith("--loaded-up (12 ms) is less than --idle (20 ms)")
