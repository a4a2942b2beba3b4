"""Numbers are read in the digits 0 to 9: those of other scripts are refused."""

from __future__ import annotations

import click
import pytest

from headend.cli.options import read_number, read_seeds
from headend.design.factor import NUMBER
from headend.errors import InputError
from headend.recommendation.conditions import _SHARE
from headend.recommendation.people import _TO, count_people
from headend.recommendation.rates import read_rate
from headend.running.memory import _SIZE
from headend.text.quantity import parse_quantity

#: 3 in Arabic-Indic, Devanagari, fullwidth and mathematical bold digits.
THREES = ["\u0663", "\u0969", "\uff13", "\U0001d7d1"]


@pytest.mark.parametrize("three", THREES)
def test_a_quantity_in_other_digits_is_none(three: str) -> None:
    for text in (f"{three} Mbit/s", f"1{three} Mbit/s", f"1.{three} Mbit/s", f"1e{three} Mbit/s"):
        with pytest.raises(ValueError, match="expected"):
            parse_quantity(text, "rate")
        with pytest.raises(InputError, match="expected"):
            read_rate(text, "upstream", "docsis31")


@pytest.mark.parametrize("three", THREES)
def test_a_number_in_other_digits_is_none(three: str) -> None:
    with pytest.raises(click.BadParameter, match="expected a whole number"):
        read_number(three)
    with pytest.raises(InputError, match="expected how many"):
        read_seeds(three)
    for pattern in (_SHARE, _SIZE, NUMBER):
        assert pattern.fullmatch("3 %"), pattern
        assert not pattern.fullmatch(f"{three} %"), pattern


@pytest.mark.parametrize("text", ["1_000", "1" * 31, "1" * 5000, "0x10", "1e3"])
def test_what_only_python_takes_for_a_number_is_none(text: str) -> None:
    with pytest.raises(click.BadParameter, match="expected a whole number"):
        read_number(text)
    with pytest.raises(InputError, match=r"^--seeds .{1,60}: expected how many"):
        read_seeds(text)


def test_more_people_than_any_line_has_are_refused() -> None:
    assert count_people("2 uploads") == {"upload": 2}
    with pytest.raises(InputError, match=r"expected fewer than 10\^9 of upload, found more"):
        count_people(f"{10**9} uploads")


def test_a_round_trip_of_other_digits_is_no_range() -> None:
    assert len(_TO.split("10-20 ms")) == 2
    assert len(_TO.split("10-\u0663 ms")) == 1


def test_the_usual_digits_are_read() -> None:
    assert parse_quantity("3 Mbit/s", "rate").value == 3e6
    assert read_number("3") == read_seeds("3") == 3
    assert read_number("-1") == -1
