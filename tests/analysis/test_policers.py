"""A policer is named with what it costs TCP, and with what would not."""

from __future__ import annotations

from typing import Any

import headend
from headend.analysis.facts import Action
from headend.analysis.policers import find_policed
from headend.wording.facts import advise, summarize_facts


def run(burst: str, flow: dict[str, Any]) -> headend.Result:
    """Run a flow down through a policer of 15 Mbit/s."""
    policer = {"rate": "15 Mbit/s", "burst": burst}
    line = {"up": {"rate": "1 Gbit/s"}, "down": {"rate": "1 Gbit/s", "policer": policer}}
    return headend.run(
        {
            "duration": "12 s",
            "warmup": "2 s",
            "link": {"line": {"point_to_point": line}},
            "flow": {"flow": {**flow, "direction": "down", "rtt": "20 ms"}},
        }
    )


def test_a_short_burst_holds_tcp_below_the_rate_and_a_longer_one_is_proposed() -> None:
    policed = find_policed(run("10 KiB", {"application": "bulk"}))
    assert policed is not None
    assert (policed.queue, policed.rate, policed.is_tcps) == ("line.down", "15 Mbit/s", True)
    assert policed.utilisation < 0.5
    (remedy,) = policed.remedies
    assert remedy.action is Action.RAISE_BURST
    assert remedy.setting.startswith("link.line.point_to_point.down.policer.burst='18")
    text = summarize_facts([policed])
    assert text.startswith("the policer before line.down (15 Mbit/s, bursts of 10 KiB) drops ")
    assert "TCP slows down for each loss" in text
    assert "or a shaper in its place" in advise(remedy)


def test_a_long_burst_lets_tcp_reach_the_rate_and_nothing_is_proposed() -> None:
    policed = find_policed(run("300 KiB", {"application": "bulk"}))
    assert policed is not None
    assert policed.utilisation > 0.9
    assert policed.remedies == ()


def test_what_exceeds_without_slowing_down_is_dropped_and_tcp_is_not_spoken_of() -> None:
    flood = {"application": {"cbr": {"rate": "20 Mbit/s", "size": "1200 B"}}}
    result = run("30 kB", flood)
    policed = find_policed(result, "flow")
    assert policed is not None
    assert not policed.is_tcps
    assert 0.2 < policed.lost_ratio < 0.3, "5 of 20 Mbit/s"
    assert "TCP" not in summarize_facts([policed])


def test_without_a_policer_there_is_none() -> None:
    result = headend.run(
        {
            "duration": "2 s",
            "link": {"line": {"point_to_point": {"up": {"rate": "10 Mbit/s"}}}},
            "flow": {"flow": {"application": "bulk"}},
        }
    )
    assert find_policed(result) is None
