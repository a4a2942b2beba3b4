"""How a fitted line is told: what directions share is said once, and bounds are said as bounds."""

from __future__ import annotations

import pytest

from headend.errors import InputError
from headend.fitting.estimates import (
    Bound,
    DirectionEstimates,
    Estimate,
    LineEstimates,
    QueueGuess,
    QueueKind,
)
from headend.fitting.finding import Found
from headend.fitting.owner import tabulate_line
from headend.fitting.sentences import describe_line, list_guesses
from headend.measurement.by_hand import measure_by_hand
from headend.measurement.record import Direction


def _guess(*reasons: str) -> QueueGuess:
    return QueueGuess({QueueKind.UNKNOWN: 0.6, QueueKind.DROP_TAIL: 0.4}, reasons)


def test_a_reason_of_both_directions_is_said_once() -> None:
    told = dict(
        list_guesses({Direction.UP: _guess("A.", "B."), Direction.DOWN: _guess("B.", "C.")})
    )
    assert told["The queue of the upload"][1:] == ("A.",)
    assert told["The queue of the download"][1:] == ("C.",)
    assert told["Of both directions"] == ("B.",)


def test_directions_of_which_the_same_is_said_have_one_part() -> None:
    told = dict(list_guesses({Direction.UP: _guess("A."), Direction.DOWN: _guess("A.")}))
    assert list(told) == ["The queues of both directions"]


def test_one_direction_shares_nothing() -> None:
    assert len(list(list_guesses({Direction.UP: _guess("A.")}))) == 1


def test_no_loss_at_most_is_told_with_how_much_it_can_be() -> None:
    loss = Estimate(0.0, 0.0, 0.078, "probes", 50, Bound.AT_MOST)
    rate = Estimate(1e7, 9e6, 1.1e7, "rate", 50, Bound.AT_LEAST)
    estimates = LineEstimates(None, {Direction.UP: DirectionEstimates(rate=rate, loss=loss)}, {})
    found = Found(("flent",), estimates, "plain", "", {})
    cells = {row.heading.text: row.cells[0] for row in tabulate_line(found).rows}
    cell = cells["lost under load"]
    assert cell is not None
    assert cell.text == "0 % (up to 7.8 %)"
    assert "at least 10 Mbit/s up" in describe_line(estimates)


@pytest.mark.parametrize(
    ("written", "meant"), [("94 Mbps", "94 Mbit/s"), ("94,5", "94.5"), ("1gbps", "1 Gbit/s")]
)
def test_a_rate_as_web_tests_write_it_is_asked_about(written: str, meant: str) -> None:
    with pytest.raises(InputError, match=f'did you mean "{meant}"'):
        measure_by_hand(down=written)


def test_bytes_a_second_are_not_taken_for_bits() -> None:
    with pytest.raises(InputError) as caught:
        measure_by_hand(down="94 MB/s")
    assert "did you mean" not in str(caught.value)
