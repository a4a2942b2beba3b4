"""Framing, shapers and policers of a plain link: what a scenario may say, and what it is told."""

from __future__ import annotations

from typing import Any

import pytest

import headend
from headend.errors import InputError

UP = "link.line.point_to_point.up"


def run(set: dict[str, Any], **tcp: Any) -> headend.Result:
    """Run a transfer over 10 Mbit/s, with settings."""
    scenario = {
        "duration": "12 s",
        "warmup": "2 s",
        "link": {"line": {"point_to_point": {"up": {"rate": "10 Mbit/s"}}}},
        "flow": {"upload": {"application": "bulk", "rtt": "10 ms"}},
        "tcp": tcp,
    }
    return headend.run(scenario, set=set)


def read_goodput(result: headend.Result) -> float:
    """Give what the transfer gets, as a share of 10 Mbit/s."""
    (goodput,) = (row["goodput_bps"] for row in result.rows("flows") if row["direction"] == "up")
    return float(goodput) / 10e6


@pytest.mark.parametrize(
    ("framing", "share"),
    [
        ("ip", 1448 / 1500),
        ("ethernet", 1448 / 1538),
        ("pppoe-vcmux", 1448 / 1696),
        ("bridged_ptm", 1448 / 1546),
        ({"keyword": "docsis", "vlan_tags": 1}, 1448 / 1522),
        ({"overhead": "-10 B"}, 1448 / 1490),
    ],
)
def test_a_transfer_gets_what_its_frames_leave(framing: object, share: float) -> None:
    # Ten seconds hold some 800 packets; at each edge a few of them wait for a repair.
    assert read_goodput(run({f"{UP}.framing": framing})) == pytest.approx(share, rel=0.005)


def test_a_shaper_holds_the_rate_of_the_link_and_lets_a_queue_stand_before_it() -> None:
    shaper = {"rate": "4 Mbit/s", "burst": "20 kB", "peak": "8 Mbit/s"}
    result = run({f"{UP}.shaper": shaper})
    assert read_goodput(result) == pytest.approx(0.4 * 1448 / 1500, rel=0.005)
    (queue,) = (row for row in result.rows("queues") if row["direction"] == "up")
    assert queue["rate_bps"] == 4e6
    assert queue["utilisation"] > 0.99
    assert queue["delay_p50_ns"] > 20e6


def test_the_framing_of_up_is_that_of_down_unless_it_is_written() -> None:
    scenario = run({f"{UP}.framing": "docsis"}).manifest["scenario"]
    assert scenario["link"]["line"]["point_to_point"]["down"]["framing"] == "docsis"


def test_bursts_of_a_sender_fill_the_line_too() -> None:
    assert read_goodput(run({}, gso="64 KiB")) == pytest.approx(1448 / 1500, rel=0.005)


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("framing", "pppoe-vcmx", 'unknown name "pppoe-vcmx"; did you mean "pppoe-vcmux"?'),
        ("framing", {"vlan_tags": 9}, r"framing\.vlan_tags: expected at most 4 tags, found 9"),
        ("framing", {"mpu": "9 kB"}, r"framing\.mpu: expected at most 1500 B, found 9 kB"),
        ("framing", {"overhead": "-70 B"}, r"framing\.overhead: expected an overhead from -64 B"),
        ("framing", {"overhead": 44}, r'expected an overhead such as "44 B"'),
        ("overhead", "44 B", r"overhead: unknown key.*; headend calls it framing\.overhead"),
        ("shaper", {"rate": "1 Mbit/s"}, "burst"),
        (
            "shaper",
            {"rate": "1 Mbit/s", "burst": "1 kB"},
            r"shaper\.burst: expected room for one packet of 1500 B at least \(1500 B\)",
        ),
        (
            "policer",
            {"rate": "5 Mbit/s", "burst": "9 kB", "peak": "4 Mbit/s"},
            r"policer\.peak: a peak rate of 4 Mbit/s is below the rate of 5 Mbit/s",
        ),
        (
            "policer",
            {"rate": "5 Mbit/s", "burst": "9 kB", "peak_burst": "2 kB"},
            r"policer\.peak_burst: the bucket of a peak rate that is not written",
        ),
        ("policer", {"rate": "0 Mbit/s", "burst": "9 kB"}, r"policer\.rate: tokens at rate 0"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_place(key: str, value: object, told: str) -> None:
    with pytest.raises(InputError, match=told):
        run({f"{UP}.{key}": value})
