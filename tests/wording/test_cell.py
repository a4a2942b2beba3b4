"""What is said of a cell of Wi-Fi: the figure on which a verdict rests, and advice in words."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import headend
from headend.analysis import facts
from headend.analysis.air import find_fastest_rate
from headend.analysis.diagnosis import diagnose
from headend.analysis.queues import LONG_WAIT
from headend.results.record import Record
from headend.wording.facts import summarize_facts
from headend.wording.hops import full_hops
from headend.wording.quantities import rate, share, time
from headend.wording.run import answer_run

PRINTER = {"standard": "dot11n", "mcs": 0, "streams": 1, "width": 20}


def make_home(**point: Any) -> dict[str, Any]:
    """Make a home with a call, a download and an old printer, on 802.11ax behind a modem."""
    stations = {"laptop": {"mcs": 9}, "phone": {"mcs": 5}, "printer": PRINTER}
    line = {
        "preset": "docsis31",
        "upstream": {"rate": "50 Mbit/s"},
        "downstream": {"rate": "1 Gbit/s"},
    }
    bulk = {"host": "laptop", "application": "bulk"}
    return {
        "duration": "15 s",
        "warmup": "5 s",
        "link": {
            "wifi": {"dot11ax": {"station": stations, "access_point": point}},
            "cable": {"docsis": line},
        },
        "host": {
            **{name: {"via": [f"wifi.{name}", "cable"]} for name in ("laptop", "phone")},
            "printer": {"via": ["wifi.printer"]},
        },
        "flow": {
            "call": {"host": "phone", "application": "video_call", "rtt": "30 ms"},
            "download": {**bulk, "direction": "up", "rtt": "30 ms"},
            "print": {**bulk, "peer": "printer"},
        },
    }


@functools.cache
def find_full_air() -> tuple[Record, facts.WaitsForChannel]:
    """Run a home whose air is full: one station's packets stand, and those of others pass."""
    record = headend.run(make_home(queues="by_station", queue="drop_tail"))
    [cause] = diagnose(record).causes
    assert isinstance(cause, facts.WaitsForChannel)
    return record, cause


def test_a_queue_that_stands_with_a_short_median_is_told_by_the_time_in_which_it_stands() -> None:
    record, cause = find_full_air()
    median = cause.queue.delay_p50_ns
    assert cause.stands
    assert median is not None
    assert median <= LONG_WAIT
    told = " ".join(answer_run(record).sentences)
    assert f"wait more than 50 ms in wifi.down {share(cause.queue.standing_ratio)} of" in told
    assert time(median) not in told


def test_a_queue_that_stands_with_a_long_median_is_told_by_it() -> None:
    _, cause = find_full_air()
    queue = replace(cause.queue, delay_p50_ns=124e6)
    full = summarize_facts([replace(cause, queue=queue)])
    assert full.endswith("and packets wait 124 ms in wifi.down")
    standing = facts.StandingQueue(queue, "", True, "", 0.0, True)
    assert summarize_facts([standing]) == "packets wait 124 ms in the standing queue wifi.down"
    late = facts.StandingQueue(queue, "", True, "call", 0.4, True)
    assert summarize_facts([late]).endswith("behind the standing queue wifi.down (124 ms)")
    short = facts.StandingQueue(cause.queue, "", True, "call", 0.4, True)
    assert summarize_facts([short]).endswith("behind the standing queue wifi.down")


def test_a_queue_that_seldom_stands_is_told_by_its_median_where_that_is_what_is_long() -> None:
    queue = replace(find_full_air()[1].queue, delay_p50_ns=124e6, standing_ratio=0.02)
    told = summarize_facts([facts.QueueAtTimes(queue, "", True, False)])
    assert told == "half of the packets in the queue wifi.down wait more than 124 ms"


def test_of_each_link_the_slowest_packets_are_told_beside_the_median() -> None:
    record, _ = find_full_air()
    hops = diagnose(record).hops
    assert hops
    [row] = (row for row in record.rows("queues") if row["queue"] == "wifi.down")
    both = f"{time(row['delay_p50_ns'])} ({time(row['delay_p99_ns'])}) in wifi.down"
    assert both in " ".join(full_hops(hops))


def test_a_question_about_wifi_says_whose_rate_it_gives() -> None:
    record, _ = find_full_air()
    rates = {
        row["queue"]: row["rate_bps"] for row in record.rows("queues") if row["link"] == "wifi"
    }
    fastest = rate(rates["wifi.laptop.up"])
    assert answer_run(record).question.endswith(f" over Wi-Fi at up to {fastest}?")


def test_the_rate_in_a_question_is_that_of_the_stations_in_use() -> None:
    home = make_home(queues="by_station")
    home["link"]["wifi"]["dot11ax"]["station"] |= {"idle": {}, "laptop": {"snr": "12 dB"}}
    del home["flow"]["print"]
    record = headend.run(home)
    fastest = find_fastest_rate(record, "wifi")
    mcs_5 = max(row["rate_bps"] for row in record.rows("queues") if "phone" in row["queue"])
    assert fastest == mcs_5
    assert find_fastest_rate(record, "cable") is None
