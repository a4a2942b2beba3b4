"""What limits a transfer is on its own way: the line of its host, and who shares that."""

from __future__ import annotations

from typing import Any

import headend
from headend.analysis.transfer_limits import Limit, find_control_shares, find_transfer_limits
from headend.wording.verdict import judge


def run(first: dict[str, Any], second: dict[str, Any]) -> headend.Result:
    """Two homes with a line and a download each; a third host has the first line behind a plug."""
    line = {"up": {"rate": "100 Mbit/s"}}
    return headend.run(
        {
            "duration": "8 s",
            "warmup": "3 s",
            "link": {
                "slow": {"point_to_point": {**line, "down": {"rate": "4 Mbit/s"}}},
                "fast": {"point_to_point": {**line, "down": {"rate": "20 Mbit/s"}}},
                "plug": {"point_to_point": {**line, "down": {"rate": "10 Mbit/s"}}},
            },
            "host": {
                "one": {"via": ["slow"]},
                "two": {"via": ["fast"]},
                "three": {"via": ["plug", "fast"]},
            },
            "flow": {
                name: {"application": "bulk", "direction": "down", "rtt": "20 ms", **own}
                for name, own in {"first": first, "second": second}.items()
            },
        }
    )


def test_the_line_of_a_transfer_is_that_of_its_host() -> None:
    limits = find_transfer_limits(run({"host": "one"}, {"host": "two"}))
    assert [(limit.flow, limit.kind) for limit in limits] == [
        ("first", Limit.LINE),
        ("second", Limit.LINE),
    ]
    assert [limit.line and limit.line.name for limit in limits] == ["slow.down", "fast.down"]
    assert [limit.links for limit in limits] == [1, 1]


def test_of_a_chain_the_full_line_limits() -> None:
    (limit, _) = find_transfer_limits(run({"host": "three"}, {"host": "one"}))
    assert limit.line is not None
    assert (limit.line.name, limit.line.rate_bps, limit.links) == ("plug.down", 10e6, 2)


def test_controls_are_compared_on_one_line_only() -> None:
    bbr = {"host": "two", "tcp": {"congestion": "bbr"}}
    assert find_control_shares(run({"host": "one"}, bbr)) is None
    assert find_control_shares(run({"host": "two"}, bbr)) is not None


def test_notes_name_the_line_and_who_yields() -> None:
    ledbat = {"host": "two", "tcp": {"congestion": "ledbat"}}
    notes = " ".join(judge(run({"host": "two"}, ledbat)).notes)
    assert "first has its share of fast.down (20 Mbit/s)" in notes
    assert "Second (LEDBAT) yields to first, as it is meant to" in notes
