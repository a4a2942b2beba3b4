"""The queues on a flow's way, in the order in which its packets meet them."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import headend
from headend.analysis.bottleneck import find_bottleneck
from headend.analysis.causes import DelaySource, find_causes, list_flow_causes
from headend.analysis.queues import FULL, OWN_RATE
from headend.analysis.routes import list_queues, read_path
from headend.analysis.transfer_limits import find_transfer_limits
from headend.engine.columns import TABLES
from headend.results.record import Record
from headend.wording.run import answer_run


def make_record(queues: list[str], scenario: dict[str, Any]) -> Record:
    """Give a record whose queues all had packets, and waited longer the later they stand."""
    rows = []
    for number, queue in enumerate(queues):
        row: dict[str, Any] = dict.fromkeys(TABLES["queues"], 0)
        way = "down" if queue.endswith(("down", "down_low_latency", "slow")) else "up"
        row |= {"queue": queue, "link": queue.partition(".")[0], "direction": way}
        row |= {"packets_enqueued": 1, "packets_dequeued": 1, "delay_p95_ns": 1e6 * number}
        row["rate_bps"] = row["capacity_bps"] = 1e6
        rows.append(row)
    return Record({"queues": pl.DataFrame(rows)}, {"scenario": scenario})


def name_queues(record: Record, flow: str, direction: str) -> list[str]:
    return [row["queue"] for row in list_queues(record, flow, direction)]


HOME = {
    "link": {"wifi": {"dot11b": {}}, "router": {"point_to_point": {}}, "cable": {"docsis": {}}},
    "host": {
        "me": {"via": ["wifi.me", "router", "cable"]},
        "kids": {"via": ["wifi.kids", "router", "cable"]},
    },
    "flow": {"game": {"host": "me"}, "call": {"host": "me", "peer": "kids"}},
}
HOMES_QUEUES = [
    *("cable.up", "cable.down", "router.up", "router.down"),
    *("wifi.down", "wifi.kids.up", "wifi.me.up"),
]


def test_a_station_has_its_own_queue_up_and_the_access_points_down() -> None:
    record = make_record(HOMES_QUEUES, HOME)
    assert name_queues(record, "game", "up") == ["wifi.me.up", "router.up", "cable.up"]
    assert name_queues(record, "game", "down") == ["cable.down", "router.down", "wifi.down"]


def test_a_peer_behind_links_is_entered_from_outside() -> None:
    record = make_record(HOMES_QUEUES, HOME)
    out = ["wifi.me.up", "router.up", "cable.up"]
    assert name_queues(record, "call", "up") == [*out, "cable.down", "router.down", "wifi.down"]
    back = ["wifi.kids.up", "router.up", "cable.up"]
    assert name_queues(record, "call", "down") == [*back, "cable.down", "router.down", "wifi.down"]


@pytest.mark.parametrize("flow", ["web.2", "web.2.3"])
def test_a_member_has_the_modem_of_its_host(flow: str) -> None:
    scenario = {
        "link": {"cable": {"docsis": {}}, "core": {"point_to_point": {}}},
        "host": {"family": {"via": ["cable.home", "core"]}},
        "flow": {"web": {"host": "family", "count": 3}},
    }
    record = make_record(
        ["cable.home.1.up", "cable.home.2.up", "cable.home.3.up", "core.up"], scenario
    )
    assert name_queues(record, flow, "up") == ["cable.home.2.up", "core.up"]


def test_a_flow_without_a_host_is_behind_the_only_link() -> None:
    scenario = {"link": {"line": {"point_to_point": {}}}, "flow": {"ping": {}}}
    assert name_queues(make_record(["line.up", "line.down"], scenario), "ping", "up") == ["line.up"]


def test_of_an_aggregate_it_is_the_queue_that_sent_the_flow() -> None:
    scenario = {"link": {"cable": {"docsis": {}}}, "flow": {"game": {}, "upload": {}}}
    record = make_record(["cable.up", "cable.up_low_latency"], scenario)
    rows = [("cable.up_low_latency", "game", 9), ("cable.up", "game", 1), ("cable.up", "upload", 9)]
    record.tables["low_latency"] = pl.DataFrame(
        [
            {"queue": queue, "flow": flow, "direction": "up", "packets": packets}
            for queue, flow, packets in rows
        ]
    )
    assert name_queues(record, "game", "up") == ["cable.up_low_latency"]
    assert name_queues(record, "upload", "up") == ["cable.up"]


def test_of_service_flows_it_is_the_one_that_delays_as_much_as_the_flow_waits() -> None:
    scenario = {
        "link": {"cable": {"docsis": {}}},
        "flow": {"photos": {"rtt": "40 ms"}, "clip": {"rtt": "0 s"}},
    }
    record = make_record(["cable.up", "cable.game"], scenario)
    rows = record.tables["queues"].with_columns(delay_p95_ns=pl.Series([48e6, 62e6]))
    # Of 72 ms the path takes 20.
    flows = [("photos", 72e6), ("clip", 72e6)]
    delays = [{"flow": flow, "direction": "up", "delay_p95_ns": delay} for flow, delay in flows]
    record = Record({"queues": rows, "flows": pl.DataFrame(delays)}, record.manifest)
    assert name_queues(record, "photos", "up") == ["cable.up"]
    assert name_queues(record, "clip", "up") == ["cable.game"]


@pytest.mark.parametrize("drawn", [False, True])
def test_the_path_is_half_of_the_round_trip_or_the_least_delay(drawn: bool) -> None:
    rtt = {"sites": "boston"} if drawn else "40 ms"
    flows = pl.DataFrame([{"flow": "web.1.2", "direction": "down", "delay_min_ns": 33e6}])
    record = Record({"flows": flows}, {"scenario": {"flow": {"web": {"rtt": rtt}}}})
    assert read_path(record, "web.1.2", "down") == (33e6 if drawn else 20e6)


def run_home(cable: str) -> headend.Result:
    """Children load up and down over Wi-Fi, a router and a cable line; a ping is beside them."""
    bulk = {"host": "kids", "application": "bulk", "rtt": "30 ms"}
    return headend.run(
        {
            "duration": "20 s",
            "warmup": "5 s",
            "router": {"queue": "drop_tail", "rate": "unlimited"},
            "link": {
                "wifi": {"dot11b": {"station": {"kids": {}, "me": {}}}},
                "cable": {
                    "docsis": {
                        "preset": "docsis30",
                        "upstream": {"rate": cable},
                        "downstream": {"rate": "50 Mbit/s"},
                    }
                },
            },
            "host": {"kids": {"via": ["wifi.kids", "cable"]}, "me": {"via": ["wifi.me", "cable"]}},
            "flow": {
                "download": {**bulk, "direction": "down"},
                "upload": {**bulk, "direction": "up"},
                "ping": {"host": "me", "application": "ping", "rtt": "20 ms"},
            },
        }
    )


def test_a_station_waits_in_the_access_points_queue_and_not_in_its_neighbours() -> None:
    result = run_home("5 Mbit/s")
    ((_, cause),) = list_flow_causes(result)
    assert cause is not None
    assert (cause.flow, cause.source, cause.queue) == ("ping", DelaySource.CHANNEL, "wifi.down")
    assert find_bottleneck(result) == "wifi.down"
    assert "in wifi.down" in answer_run(result).sentences[0]


def test_a_full_cell_limits_a_transfer_before_a_line_that_has_room() -> None:
    # The line is used enough to be called full, but packets wait in the cell.
    result = run_home("3100 kbit/s")
    use = {row["queue"]: row["utilisation"] for row in result.rows("queues")}
    assert FULL < use["cable.up"] < OWN_RATE
    lines = {limit.flow: limit.line and limit.line.name for limit in find_transfer_limits(result)}
    assert lines == {"download": "channel of wifi", "upload": "channel of wifi"}


def test_a_line_below_the_cell_limits_what_waits_in_it() -> None:
    lines = {
        limit.flow: limit.line and limit.line.name
        for limit in find_transfer_limits(run_home("2 Mbit/s"))
    }
    assert lines["upload"] == "cable.up"


def test_who_waits_for_a_cell_has_one_cause_in_both_directions() -> None:
    stations: dict[str, dict[str, str]] = {name: {} for name in ("kids", "me", "you")}
    camera = {"cbr": {"rate": "80 kbit/s", "size": "200 B"}}
    hosts = {name: {"via": [f"wifi.{name}", "fibre"]} for name in stations}
    bulk = {"application": "bulk", "rtt": "30 ms"}
    result = headend.run(
        {
            "duration": "20 s",
            "warmup": "5 s",
            "link": {
                "wifi": {"dot11b": {"station": stations}},
                "fibre": {"point_to_point": {way: {"rate": "1 Gbit/s"} for way in ("up", "down")}},
            },
            "host": hosts,
            "flow": {
                "backup": {**bulk, "host": "you", "direction": "up"},
                "download": {**bulk, "host": "kids", "direction": "down"},
                "ping": {"host": "me", "application": "ping"},
                "camera": {"host": "you", "application": camera, "direction": "up"},
            },
        }
    )
    waits = {cause.queue for _, cause in list_flow_causes(result) if cause}
    assert waits == {"wifi.down", "wifi.you.up"}
    (group,) = find_causes(result).groups
    assert (group.source, group.link, group.direction) == (DelaySource.CHANNEL, "wifi", "")
