"""Tests of what the probes of a loaded line show."""

from __future__ import annotations

import random

from headend.fitting.features import SETTLING, Samples, find_features


def make_samples(delays: list[float], lost: list[float] | None = None) -> Samples:
    """Make probes ten times a second, which begin once the queue has settled."""
    times = [SETTLING + place / 10 for place in range(len(delays))]
    return Samples(times, delays, lost or [])


def test_what_comes_before_the_queue_has_settled_is_the_start() -> None:
    settled = make_samples([20.0] * 50)
    times = [0.5, *settled.times]
    found = find_features(Samples(times, [80.0, *settled.added]))
    assert found["start.most"] == 80.0
    assert found["delay.p99"] == 20.0


def test_losses_at_a_ceiling_rank_high_and_come_together() -> None:
    delays = [100.0 + place % 50 for place in range(500)]
    tops = [SETTLING + place / 10 for place in range(500) if place % 50 == 49]
    at_top = find_features(make_samples(delays, [at + 0.02 for at in tops]))
    drawn = random.Random(1)
    spread = find_features(
        make_samples(delays, sorted(SETTLING + drawn.random() * 50 for _ in range(10)))
    )
    assert at_top["loss.rank"] > 0.95
    assert spread["loss.rank"] < 0.8
    pairs = find_features(
        make_samples(delays, sorted(at + own for at in tops for own in (0.02, 0.04)))
    )
    assert pairs["loss.together"] > 0.9
    assert at_top["loss.together"] < 0.1


def test_a_saw_tooth_of_a_second_looks_like_itself_a_second_later() -> None:
    found = find_features(make_samples([place % 10 * 5.0 for place in range(300)]))
    assert found["echo.long"] > 0.9
    assert found["echo.short"] < found["echo.long"]


def test_too_few_samples_show_nothing() -> None:
    assert find_features(make_samples([10.0] * 5)) == {}


def test_samples_without_times_show_their_distribution_only() -> None:
    found = find_features(Samples((), [float(place) for place in range(100)]))
    assert {name.partition(".")[0] for name in found} == {"delay"}
