"""Tests of which queue is likely, from features that were measured and simulated."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

import pytest

from headend.fitting.estimates import QueueKind
from headend.fitting.features import QUANTILES, name_quantile
from headend.fitting.identifying import Simulated, identify
from headend.fitting.reasons import list_reasons

RATE = 20e6


def show(median: float, spread: float, loss: float = 0.0) -> dict[str, float]:
    """Give the features of delays that are spread evenly in logarithms."""
    found = {name_quantile(share): median * math.exp(spread * (share - 0.5)) for share in QUANTILES}
    return found | {"loss.share": loss, "loss.probes": 500.0, "start.most": median * 2}


def simulate(name: str, kind: QueueKind, features: Mapping[str, float]) -> Simulated:
    """Give three runs near some features."""
    drawn = random.Random(name)
    runs = [
        {key: own * (1 + drawn.gauss(0, 0.02)) for key, own in features.items()} for _ in range(3)
    ]
    return Simulated(name, kind, 1.0, runs)


BUFFER = simulate("drop_tail", QueueKind.DROP_TAIL, show(180.0, 0.3, 0.01))
PIE = simulate("pie", QueueKind.PIE, show(15.0, 1.0, 0.002))
CODEL = simulate("codel", QueueKind.CODEL, show(6.0, 1.5, 0.002))
ALL = [BUFFER, PIE, CODEL]


@pytest.mark.parametrize(
    ("measured", "kind"),
    [
        (show(185.0, 0.28, 0.012), QueueKind.DROP_TAIL),
        (show(14.0, 1.05, 0.002), QueueKind.PIE),
        (show(6.3, 1.4, 0.002), QueueKind.CODEL),
    ],
)
def test_the_nearest_queue_is_sure_where_the_others_are_far(
    measured: dict[str, float], kind: QueueKind
) -> None:
    found = identify(measured, ALL, RATE)
    assert found.guess.kind is kind
    assert found.guess.is_sure
    assert sum(found.guess.likelihoods.values()) == pytest.approx(1.0)


def test_a_line_that_is_near_to_none_is_unknown() -> None:
    measured = show(60.0, 3.0, 0.08)
    found = identify(measured, ALL, RATE)
    assert found.guess.kind is QueueKind.UNKNOWN
    assert "No simulated queue comes near" in list_reasons(measured, ALL, found)[0]


def test_kinds_that_come_equally_near_are_unknown() -> None:
    twin = Simulated("codel", QueueKind.CODEL, 1.0, PIE.runs)
    measured = show(15.0, 1.0, 0.002)
    found = identify(measured, [PIE, twin, BUFFER], RATE)
    assert found.guess.kind is QueueKind.UNKNOWN
    assert "equally near" in list_reasons(measured, [PIE, twin, BUFFER], found)[0]


def test_two_candidates_of_one_kind_do_not_make_each_other_doubtful() -> None:
    twin = Simulated("docsis_pie", QueueKind.PIE, 1.0, PIE.runs)
    assert identify(show(15.0, 1.0, 0.002), [PIE, twin, BUFFER], RATE).guess.is_sure


def test_one_number_of_a_tool_without_samples_is_never_sure() -> None:
    found = identify({"delay.p50": 180.0}, ALL, RATE, has_samples=False)
    assert not found.guess.is_sure
    assert found.guess.likelihoods[QueueKind.UNKNOWN] == pytest.approx(0.3)
    assert found.guess.likelihoods[QueueKind.DROP_TAIL] == pytest.approx(0.7, abs=0.01)


def test_one_number_that_several_queues_make_is_mostly_unknown() -> None:
    twin = Simulated("codel", QueueKind.CODEL, 1.0, BUFFER.runs)
    found = identify({"delay.p50": 180.0}, [BUFFER, PIE, twin], RATE, has_samples=False)
    assert found.guess.likelihoods[QueueKind.UNKNOWN] >= 0.6
    assert found.best == "drop_tail"


def test_nothing_in_common_is_unknown() -> None:
    found = identify({"marked.p50": 1.0}, ALL, RATE)
    assert found.guess.likelihoods == {QueueKind.UNKNOWN: 1.0}
    assert list_reasons({}, ALL, found)


def test_delays_below_the_idle_line_s_own_spread_do_not_separate_queues() -> None:
    measured = show(6.3, 1.4, 0.002)
    sharp, blurred = (identify(measured, [PIE, CODEL], RATE, jitter) for jitter in (0.0, 300.0))
    assert sharp.guess.is_sure
    assert not blurred.guess.is_sure


def test_reasons_have_the_numbers() -> None:
    measured = show(185.0, 0.28, 0.012)
    reasons = " ".join(list_reasons(measured, ALL, identify(measured, ALL, RATE)))
    assert "185 ms" in reasons
    assert "with PIE" in reasons
    assert "1.2 %" in reasons
