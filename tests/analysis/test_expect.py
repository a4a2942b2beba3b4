"""The language of [expect]: what is understood, what is refused and how, what is measured."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest

from fake_engine import Scenario
from headend.analysis.expect import parse_expectation, parse_quantity_name
from headend.errors import InputError
from headend.scenario.shipped import list_scenarios
from headend.scenario.source import read_scenario
from headend.scenario.subjects import Vocabulary

VOCABULARY = Vocabulary(
    {
        "call": "voice",
        "upload": "bulk",
        "ping": "ping",
        "cable": "bulk",
        "test": "responsiveness",
        "cloud": "cloud_gaming",
    },
    ["cable.up", "cable.down", "cable.attic.up"],
    channels=["cable.up", "cable.down"],
)

TABLES: dict[str, pl.DataFrame] = {
    "flows": pl.DataFrame(
        {
            "flow": ["call", "call", "upload", "upload"],
            "direction": ["up", "down", "up", "down"],
            "carries": ["data", "data", "data", "control"],
            "application": ["voice", "voice", "bulk", "bulk"],
            "packets_sent": [1, 1, 1, 1],
            "packets_delivered": [99, 2000, 98, 0],
            "goodput_bps": [80e3, 80e3, 9e6, float("nan")],
            "loss_ratio": [0.02, 0.001, 0.01, 0.5],
            "delay_p99_ns": [120e6, 40e6, 900e6, float("nan")],
            "rwnd_limited_ratio": [float("nan"), float("nan"), 0.97, float("nan")],
            "discarded_overlimit": [3, 0, 5, 0],
            "discarded_congested": [1, 0, 7, 0],
        }
    ),
    "queues": pl.DataFrame(
        {
            "queue": ["cable.up", "cable.down"],
            "delay_p99_ns": [18e6, 1e6],
            "packets_dequeued": [99, 98],
            "utilisation": [0.97, 0.1],
        }
    ),
    "measures": pl.DataFrame(
        [
            ("call", "mos", 3.9, 4.4, 0.01, 12),
            ("call", "mos_down", 3.2, 4.3, 0.03, 11),
            ("call", "late", 0.0, 0.1, 0.02, 12),
            ("call", "late_down", 0.0, 0.2, 0.01, 11),
            ("ping", "rtt", 11e6, 99e6, 50e6, 100),
            ("test", "rpm", math.nan, math.nan, math.nan, 1),
            ("test", "rpm_down", 500.0, 500.0, 500.0, 1),
        ],
        schema=["flow", "measure", "p5", "p95", "mean", "count"],
        orient="row",
    ),
    "channels": pl.DataFrame(
        {
            "channel": ["cable.up", "cable.down"],
            "utilisation": [0.8, 0.2],
            "full_ratio": [0.4, 0.0],
            "used_bps": [24e6, 10e6],
        }
    ),
    "summary": pl.DataFrame({"jain_index": [0.93]}),
}


def check(text: str) -> tuple[bool, Any]:
    outcome = parse_expectation("it", text, VOCABULARY).check(TABLES)
    return outcome.met, outcome.measured


@pytest.mark.parametrize(
    ("text", "met", "measured"),
    [
        ("call.mos.p5 >= 4.0", False, 3.2),
        ("call.mos.p5 > 3.0", True, 3.2),
        ("call.mos.p5 < 3.5", True, 3.2),
        ("call.up.mos.p5 >= 3.5", True, 3.9),
        ("call.down.mos.p5 >= 3.5", False, 3.2),
        ("call.mos_down.p5 >= 3.5", False, 3.2),
        ("call.late.mean <= 3 %", True, 0.02),
        ("call.down.late.mean <= 3 %", True, 0.01),
        ("call.mos.count >= 12", False, 11),
        ("cable.up.channel.utilisation < 90 %", True, 0.8),
        ("cable.up.channel.full < 50 %", True, 0.4),
        ("cable.down.channel.used < 5 Mbit/s", False, 10e6),
        ("upload.goodput >= 8 Mbit/s", True, 9e6),
        ("upload.goodput>=10Mbit/s", False, 9e6),
        ("ping.rtt.p95 < 100 ms", True, 99e6),
        ("cable.up.delay.p99 < 20 ms", True, 18e6),
        ("cable.up.utilisation > 95 %", True, 0.97),
        ("cable.up.utilisation <= 100 %", True, 0.97),
        ("call.up.loss <= 1 %", False, 0.02),
        ("call.down.loss <= 1 %", True, 0.001),
        ("upload.discarded <= 12", True, 12),
        ("upload.rwnd_limited < 5 %", False, 0.97),
        ("run.jain_index >= 0.9", True, 0.93),
    ],
)
def test_an_expectation_is_held_against_what_was_measured(
    text: str, met: bool, measured: float
) -> None:
    assert check(text) == (met, pytest.approx(measured))


def test_of_two_directions_the_worse_counts() -> None:
    assert check("call.loss <= 1 %") == (False, pytest.approx(0.02))
    assert check("call.delay.p99 < 100 ms") == (False, pytest.approx(120e6))


def test_a_direction_in_which_nothing_succeeded_is_the_worse() -> None:
    assert check("test.rpm.mean > 200") == (False, None)
    assert check("test.down.rpm.mean > 200") == (True, 500)


@pytest.mark.parametrize(
    ("text", "lack"),
    [
        # The largest of 100 is beyond the 99th percentile in the mean, that of 98 is not.
        ("cable.up.delay.p99 < 20 ms", ""),
        ("cable.down.delay.p99 < 20 ms", "of 98 values: too few to judge p99, which needs 99"),
        ("cable.down.delay.p99 > 0.5 ms", ""),
        ("call.delay.p99 < 1 s", ""),
        ("upload.delay.p99 < 1 s", "of 98 values: too few to judge p99, which needs 99"),
        ("ping.rtt.p95 < 100 ms", ""),
        ("test.down.rpm.p5 > 200", "of 1 value: too few to judge p5, which needs 19"),
        ("test.down.rpm.p95 > 200", ""),
        ("test.down.rpm.p5 < 900", ""),
        ("test.down.rpm.mean > 200", ""),
        # Periods are of the whole time, not samples of it.
        ("call.mos.p5 >= 3", ""),
        ("call.late.p95 <= 20 %", ""),
        # A ratio is small where its divisor is large.
        ("upload.delay.p99 / call.delay.p99 < 30", "of 98 values: too few to judge p99"),
        ("call.delay.p99 / upload.delay.p99 > 1 %", "of 98 values: too few to judge p99"),
        ("call.delay.p99 / upload.delay.p99 < 10", ""),
    ],
)
def test_a_percentile_of_too_few_values_meets_nothing(text: str, lack: str) -> None:
    outcome = parse_expectation("it", text, VOCABULARY).check(TABLES)
    assert outcome.met is not bool(lack)
    assert outcome.measured is not None
    assert lack in outcome.measured_text
    assert ("too few" in outcome.measured_text) is bool(lack)


def test_what_few_values_miss_already_is_missed_as_it_is() -> None:
    outcome = parse_expectation("it", "cable.down.delay.p99 < 0.5 ms", VOCABULARY).check(TABLES)
    assert (outcome.met, outcome.measured_text) == (False, "1 ms")


def test_acknowledgements_do_not_count_for_a_flow_without_direction() -> None:
    assert check("upload.loss <= 2 %") == (True, pytest.approx(0.01))


def test_what_was_not_measured_misses() -> None:
    assert check("upload.down.delay.p99 < 1 s") == (False, None)
    assert check("cable.attic.up.delay.p99 < 1 s") == (False, None)
    assert check("call.rwnd_limited < 5 %") == (False, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "cal.mos.p5 >= 4.0",
            'expect.it: no flow or queue is called "cal"; did you mean "call"?',
        ),
        (
            "call.mso.p5 >= 4.0",
            'expect.it: "call.mso.p5": call has no metric "mso"; did you mean "mos"?',
        ),
        (
            "call.mos >= 4.0",
            'expect.it: "call.mos": expected a statistic of mos (mean, min, p5, p25, p50, p75, p90,'
            " p95, p99, max,"
            " count), such as call.mos.p50",
        ),
        (
            "call.mos.p55 >= 4.0",
            'expect.it: "call.mos.p55": expected a statistic of mos (mean, min, p5, p25, p50, p75,'
            ' p90, p95, p99, max, count), found "p55"; did you mean "p5"?',
        ),
        (
            "cloud.up.frames_late.mean < 1 %",
            'expect.it: "cloud.up.frames_late.mean": cloud has no metric "frames_late"; there are'
            " delay, delivered,"
            " discarded, goodput, jain_index, jitter, loss, marked, mean_goodput, missed,"
            " reordered, retransmitted, sanctioned, sent, throughput",
        ),
        (
            "cable.up.chanel.utilisation < 1 %",
            'expect.it: "cable.up.chanel.utilisation": cable.up has no metric "chanel"; did you'
            ' mean "channel"?',
        ),
        (
            "ping.rtt.p95 < 100 Mbit/s",
            'expect.it: expected a time such as "100 ms" (ns, us, µs, ms, s, min), found "100'
            ' Mbit/s"',
        ),
        (
            "ping.rtt.p95 < 100",
            'expect.it: expected a time such as "100 ms" (ns, us, µs, ms, s, min), found "100"',
        ),
        (
            "ping.rtt.p95 = 100 ms",
            'expect.it: expected QUANTITY, one of >= > <= <, and a bound, such as "call.mos.p5 >='
            ' 4.0", found "ping.rtt.p95 = 100 ms"',
        ),
        (
            "upload.goodput.p5 > 1 bit/s",
            'expect.it: "upload.goodput.p5": goodput has no statistic called "p5"',
        ),
        (
            "call.loss < 1",
            'expect.it: expected a share below 1 or one with %, such as "1 %", found "1"',
        ),
        (
            "cable.up.utilisation >= 90",
            'expect.it: expected a share below 1 or one with %, such as "90 %", found "90"',
        ),
        (
            "call.loss <= 120 %",
            'expect.it: every value meets "<= 120 %": loss is from 0 % to 100 %',
        ),
        (
            "cable.up.utilisation > 100 %",
            'expect.it: no value meets "> 100 %": utilisation is from 0 % to 100 %',
        ),
        (
            "cable.up.channel.full < 0 %",
            'expect.it: no value meets "< 0 %": full is from 0 % to 100 %',
        ),
        ("ping.rtt.p95 < -5 ms", 'expect.it: no value meets "< -5 ms": rtt is 0 ms or more'),
        ("ping.rtt.p95 >= 0 ms", 'expect.it: every value meets ">= 0 ms": rtt is 0 ms or more'),
        (
            "upload.goodput > -1 bit/s",
            'expect.it: every value meets "> -1 bit/s": goodput is 0 bit/s or more',
        ),
        ("upload.discarded >= -1", 'expect.it: every value meets ">= -1": discarded is 0 or more'),
        ("call.mos.p5 >= 4.6", 'expect.it: no value meets ">= 4.6": mos is from 1 to 4.5'),
        ("call.mos.p5 > 0.5", 'expect.it: every value meets "> 0.5": mos is from 1 to 4.5'),
        ("call.late.count >= 0", 'expect.it: every value meets ">= 0": a count is 0 or more'),
        ("run.jain_index >= 1.1", 'expect.it: no value meets ">= 1.1": jain_index is from 0 to 1'),
        (
            "upload.mos.p5 > 1",
            'expect.it: "upload.mos.p5": upload has no metric "mos"; there are completion_time,'
            " delay, delivered,"
            " discarded, goodput, jain_index, jitter, loss, marked, mean_goodput, reordered,"
            " retransmitted, sanctioned, sent, throughput",
        ),
    ],
)
def test_what_is_not_understood_is_said_in_one_line(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_expectation("it", text, VOCABULARY)
    assert str(caught.value) == message


def test_the_longest_known_name_is_the_subject() -> None:
    assert parse_quantity_name("cable.attic.up.delay.p50", VOCABULARY).subject == "cable.attic.up"
    assert parse_quantity_name("cable.up.delay.p50", VOCABULARY).table == "queues"
    assert parse_quantity_name("cable.goodput", VOCABULARY).table == "flows"


def test_an_application_has_what_it_reports_and_nothing_else() -> None:
    vocabulary = Vocabulary({"flood": "cbr", "play": "cloud_gaming", "film": "streaming"}, [])

    def find(text: str) -> tuple[str, str | None]:
        quantity = parse_quantity_name(text, vocabulary)
        return quantity.metric, quantity.direction

    assert find("play.missed.mean") == ("missed", None)
    assert find("play.up.missed.mean") == ("missed", "up")
    assert find("play.frame_delay_down.p95") == ("frame_delay", "down")
    assert find("film.stall.max") == ("stall", None)
    for text in (
        "flood.mos.p5",
        "play.missed_down.mean",
        "play.up.frame_delay.p95",
        "film.up.stall.max",
    ):
        with pytest.raises(InputError, match=r'has no metric "'):
            parse_quantity_name(text, vocabulary)


def test_names_come_from_the_scenario() -> None:
    content: dict[str, Any] = {
        "flow": {"a": {"application": "bulk"}, "b": {"application": {"voice": {"codec": "g711"}}}},
        "link": {"cable": {"docsis": {}}, "wire": {"point_to_point": {}}},
    }
    vocabulary = Vocabulary.from_scenario(Scenario(content))  # type: ignore[arg-type]
    assert vocabulary.flows == {"a": "bulk", "b": "voice"}
    assert set(vocabulary.queues) == {"cable.up", "cable.down", "wire.up", "wire.down"}
    assert vocabulary.channels == ["cable.up", "cable.down"]


def test_members_come_from_the_hosts_of_many_modems_too() -> None:
    street = {
        "link": {"cable": {"docsis": {"preset": "docsis31", "modem": {"home": {"count": 3}}}}},
        "host": {"family": {"via": ["cable.home"]}},
        "flow": {"call": {"application": "voice", "host": "family"}},
    }
    vocabulary = Vocabulary.from_scenario(read_scenario(street).load().scenario)
    assert vocabulary.members["call"] == ["call.1", "call.2", "call.3"]
    assert "cable.home.3.up" in vocabulary.queues
    assert vocabulary.members["cable.home.*.up"] == [f"cable.home.{n}.up" for n in (1, 2, 3)]


def test_counters_of_many_modems_add_up_and_of_their_delays_the_worst_counts() -> None:
    names = ["cable.home.1.up", "cable.home.2.up"]
    group = "cable.home.*.up"
    vocabulary = Vocabulary({}, [*names, group, "cable.home.1.down"], {group: names})
    queues = pl.DataFrame(
        {
            "queue": [*names, "cable.home.1.down"],
            "collisions": [3, 4, 0],
            "unused_grant_bytes": [100, 0, 0],
            "delay_p99_ns": [5e6, 7e6, 99e6],
            "packets_dequeued": [60, 39, 1000],
        }
    )

    def measure(text: str) -> float | None:
        return parse_expectation("it", text, vocabulary).check({"queues": queues}).measured

    assert measure(f"{group}.collisions < 10") == 7
    assert measure("cable.home.2.up.collisions < 10") == 4
    assert measure(f"{group}.unused_grants < 1 kB") == 100
    assert measure(f"{group}.delay.p99 < 10 ms") == 7e6


def test_members_of_a_flow_add_up_or_the_worst_counts() -> None:
    content = {"flow": {"upload": {"application": "bulk", "count": 2}}}
    vocabulary = Vocabulary.from_scenario(Scenario(content))  # type: ignore[arg-type]
    assert set(vocabulary.flows) == {"upload", "upload.1", "upload.2"}
    flows = TABLES["flows"].with_columns(
        flow=pl.Series(["upload.1", "upload.2", "x", "x"]), direction=pl.lit("up")
    )
    tables = {**TABLES, "flows": flows}
    together = parse_expectation("it", "upload.goodput >= 160 kbit/s", vocabulary).check(tables)
    assert together.met
    assert together.measured == pytest.approx(160e3)
    worst = parse_expectation("it", "upload.loss < 1 %", vocabulary).check(tables)
    assert not worst.met
    assert worst.measured == pytest.approx(0.02)
    one = parse_expectation("it", "upload.2.loss < 1 %", vocabulary).check(tables)
    assert one.met


FAMILY = Vocabulary(
    {"near": "bulk", "near.1": "bulk", "near.2": "bulk", "far": "bulk", "upload": "bulk"},
    ["cable.up"],
    {"near": ["near.1", "near.2"]},
)
FAMILY_TABLES = {
    "flows": pl.DataFrame(
        {
            "flow": ["near.1", "near.2", "far"],
            "direction": ["up"] * 3,
            "carries": ["data"] * 3,
            "application": ["bulk"] * 3,
            "packets_sent": [1, 1, 1],
            "goodput_bps": [6e6, 2e6, 3e6],
        }
    )
}


@pytest.mark.parametrize(
    ("text", "met", "measured"),
    [
        ("near.goodput >= 8 Mbit/s", True, 8e6),
        ("near.mean_goodput >= 5 Mbit/s", False, 4e6),
        ("near.jain_index >= 0.9", False, 0.8),
        ("far.goodput / near.mean_goodput >= 50 %", True, 0.75),
        ("near.goodput / far.goodput < 2.5", False, 8 / 3),
    ],
)
def test_members_of_a_group_are_compared_and_groups_with_each_other(
    text: str, met: bool, measured: float
) -> None:
    outcome = parse_expectation("it", text, FAMILY).check(FAMILY_TABLES)
    assert outcome.met == met
    assert outcome.measured == pytest.approx(measured)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("far.jain_index > 0.9", "far has no members"),
        (
            "far.goodput / near.loss > 1",
            "expected two quantities of one kind, found a rate and a ratio",
        ),
        ("far.goodput / nera.goodput > 1", 'called "nera"; did you mean "near"'),
        ("far.goodput / near.goodput > 1 Mbit/s", "1 Mbit/s"),
    ],
)
def test_ratios_and_groups_that_cannot_be_are_refused(text: str, expected: str) -> None:
    with pytest.raises(InputError, match="it") as caught:
        parse_expectation("it", text, FAMILY)
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "call.loss <= 0",
        "call.loss > 0 %",
        "cable.up.utilisation >= 100 %",
        "cable.up.utilisation < 100 %",
        "call.late.count >= 12",
        "call.mos.p5 > 1",
        "upload.loss / call.loss >= 2",
    ],
)
def test_a_bound_at_the_edge_that_values_can_meet_and_miss_is_taken(text: str) -> None:
    assert parse_expectation("it", text, VOCABULARY).text == text


def test_every_shipped_expectation_has_a_bound_that_can_be_met_and_missed() -> None:
    for name in list_scenarios():
        scenario = read_scenario(name).load().scenario
        vocabulary = Vocabulary.from_scenario(scenario)
        for own, text in scenario.expect:
            assert parse_expectation(own, text, vocabulary)


def test_the_alias_of_the_bottleneck_is_no_subject_and_the_error_names_the_bottleneck() -> None:
    vocabulary = Vocabulary({"call": "voice"}, ["cable.up"], bottleneck="cable.up")
    with pytest.raises(InputError, match=r'called "queue"; the bottleneck is cable\.up$'):
        parse_expectation("short", "queue.delay.p99 < 20 ms", vocabulary)
    # A flow may have the name.
    vocabulary = Vocabulary({"queue": "voice"}, ["cable.up"], bottleneck="cable.up")
    assert parse_expectation("short", "queue.mos.p5 > 4", vocabulary).quantity.subject == "queue"


def test_a_share_is_called_a_share() -> None:
    vocabulary = Vocabulary({"call": "voice"}, ["cable.up"])
    with pytest.raises(InputError, match=r'expected a share such as "1 %" \(%\), found "5 ms"'):
        parse_expectation("loss", "call.loss < 5 ms", vocabulary)
