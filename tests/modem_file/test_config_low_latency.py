"""Tests of the words for low latency in modems' files, and for changes of it."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import headend
from headend.modem_file.diff import diff
from headend.modem_file.document import read_document
from headend.modem_file.settings import read_settings
from headend.modem_file.show import describe
from modem_files import SECRET, buffer, build, classifier, flow, tlv, u8, u16, u32

ECT1 = classifier(22, 1, 2, tlv(9, tlv(1, b"\x01\x01\x01")))


def low(*more: bytes) -> bytes:
    """A low-latency flow without limits of its own."""
    return flow(24, u16(36, 5), *more, reference=2, rate=None)


def aggregate(*more: bytes, rate: int | None = 50_000_000, name: bool = True) -> bytes:
    """An aggregate with low latency, which names its low-latency flow or is named by it."""
    limit = b"" if rate is None else u32(8, rate)
    return tlv(70, u16(1, 5), limit, tlv(42, u16(1, 2) if name else b"", *more))


def pair(*settings: bytes, of: bytes | None = None, joins: bytes | None = None) -> bytes:
    """A file with a classic and a low-latency flow."""
    up = flow(24, u16(36, 5), buffer(62_500)) + (of or low())
    return build(*settings, ECT1, joins or aggregate(), up=up)


def texts(old: bytes, new: bytes) -> list[str]:
    """What changed, without the MICs."""
    return [change.text for change in diff(old, new) if change.kind != "integrity"]


def test_an_aggregate_says_what_its_settings_do() -> None:
    assert describe(pair(), SECRET).low_latency == (
        "Upstream aggregate service flow 5: Service flow 2 is the low-latency one, 1 the classic"
        " one. They share 50 Mbit/s. While both flows have packets, the low-latency one gets 89.8 %"
        " of the rate, 44.9 Mbit/s. From 640 µs of delay on some packets are marked, from 1.16 ms"
        " on every packet. The base probability of the classic flow's AQM, times 2, marks them too."
        " Queue protection moves packets to the classic queue while the delay is above 1.16 ms, if"
        " their flow has a score above 4 ms, or above less at a longer delay; scores decay at 3.91"
        " Mbit/s of marked packets.",
    )


def test_what_is_off_is_said_to_be_off() -> None:
    def told(data: bytes) -> str:
        (found,) = describe(data, SECRET).low_latency
        return found

    assert "Low latency is off (91)." in told(pair(u8(91, 1)))
    assert "The AQM of the low-latency flow is off (24[2].40.1)." in told(
        pair(of=low(tlv(40, u8(1, 1))))
    )
    assert "the coupling factor is 0" in told(pair(joins=aggregate(u8(5, 0))))
    assert "Queue protection is off: a flow that ignores marks" in told(
        pair(joins=aggregate(u8(7, 0)))
    )
    assert "Without a rate its delay counts as 0" in told(pair(joins=aggregate(rate=None)))
    assert describe(build(), SECRET).low_latency == ()


def test_a_rate_of_the_low_latency_flow_bounds_its_share() -> None:
    own = flow(24, u16(36, 5), reference=2, rate=20_000_000)
    assert "gets 89.8 % of the rate, 20 Mbit/s" in describe(pair(of=own), SECRET).low_latency[0]


# facts §2: rate of the aggregate, the two thresholds in ns.
@pytest.mark.parametrize(
    ("rate", "least", "most"),
    [
        (1_000_000, 32_000_000, 32_524_288),
        (20_000_000, 1_600_000, 2_124_288),
        (50_000_000, 640_000, 1_164_288),
        (100_000_000, 475_712, 1_000_000),
        (None, 475_712, 1_000_000),
    ],
)
def test_thresholds_are_those_of_the_specification(
    rate: int | None, least: float, most: float
) -> None:
    settings = read_settings(read_document(pair(joins=aggregate(rate=rate))))
    ((one, flow_of_it),) = settings.list_low_latency()
    assert (flow_of_it.ramp.low, flow_of_it.ramp.high) == (least, most)
    protection = one.queue_protection
    assert protection is not None
    assert (protection.latency, protection.score) == (most, 4e6)
    assert protection.drain == pytest.approx(3_906_250)


def test_the_flow_that_names_an_aggregate_beside_the_first_is_its_low_latency_one() -> None:
    settings = read_settings(read_document(pair(joins=aggregate(name=False))))
    (one,) = settings.aggregates
    found, classic = settings.find_low(one), settings.find_classic(one)
    assert found is not None
    assert classic is not None
    assert (found.path, classic.path) == ("24[2]", "24[1]")


def test_what_changes_for_packets_is_told() -> None:
    assert texts(pair(), pair(of=low(tlv(40, u16(4, 2000))))) == [
        "Upstream service flow 2: maximum threshold of the immediate AQM none → 2 ms (TLV"
        " 24[2].40.4).",
        "Upstream service flow 2: from 1.48 ms of delay on some packets are marked, from 2 ms on"
        " every packet; before from 640 µs and 1.16 ms on.",
    ]
    slower = texts(pair(), pair(joins=aggregate(rate=20_000_000)))
    assert (
        "Upstream service flow 2: from 1.6 ms of delay on some packets are marked, from 2.12 ms on"
        " every packet; before from 640 µs and 1.16 ms on." in slower
    )
    assert texts(pair(), pair(joins=aggregate(u8(6, 128)))) == [
        "Upstream aggregate service flow 5: scheduling weight none → 128 (TLV 70.42.6): while both"
        " flows have packets, the low-latency one gets 50 % of the rate, 25 Mbit/s."
    ]
    (coupling,) = texts(pair(), pair(joins=aggregate(u8(5, 10))))
    assert coupling.endswith(
        "a low-latency packet is marked with 1 times the base probability of the classic flow's"
        " AQM, before 2 times."
    )
    (protection,) = texts(pair(), pair(joins=aggregate(u8(7, 0))))
    assert "queue protection is off: a flow that ignores marks delays all others" in protection


def test_a_new_aggregate_is_told_with_what_it_does() -> None:
    up = flow(24, u16(36, 5), buffer(62_500)) + low()
    added = texts(build(ECT1, up=up), pair())
    assert any(
        "is new (TLV 70). Service flow 2 is the low-latency one" in text for text in added
    ), added


def test_a_file_with_an_aggregate_runs(tmp_path: Path) -> None:
    file = tmp_path / "low.cm"
    file.write_bytes(pair(joins=aggregate(u8(6, 200), u16(9, 3000))))
    short = {"duration": "6 s", "warmup": "1 s", "flow.upload.tcp.congestion": "prague"}
    folder = tmp_path / "results"
    result = headend.run("upload-and-call", set=short, modem=file, out=folder, report=False)
    low = result.queues.row(by_predicate=pl.col("queue") == "cable.up_low_latency", named=True)
    assert low["discipline"] == "immediate_aqm"
    assert low["packets_dequeued"] > 0
    assert low["marked"] > 0


def test_the_immediate_aqm_stands_in_the_table_where_the_file_says_nothing_of_it() -> None:
    rows = {row.flow: row.aqm for row in describe(pair()).flows}
    assert rows["up 2"] == "immediate, 1.16 ms (default)"
    off = {row.flow: row.aqm for row in describe(pair(u8(91, 1))).flows}
    assert off["up 2"] != rows["up 2"]
