"""Cells of a home's router and of policers: what the virtual kernel and headend are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headend.scenario.source import read_scenario
from home_cells import HOME_CELLS, HomeCell
from linux_qdiscs import CELLS, group_home_cells, write_scenario
from virtual.cells import read_samples
from virtual.flows import Group, read_flows

#: A sample of CAKE with two tins, as tc writes it.
CAKE = """at {time}
qdisc cake 8001: root refcnt 2 bandwidth 10Mbit diffserv4 triple-isolate rtt 100ms raw overhead 0
 Sent {sent} bytes 900 pkt (dropped {dropped}, overlimits 11741 requeues 0)
 backlog 0b 0p requeues 0
                   Bulk  Best Effort
  pkts                0         5805
  drops               0            2
  marks               {marks}          146
  ack_drop            0           30
  sp_flows            0            4
"""


def load(cell: HomeCell, folder: Path) -> dict[str, Any]:
    """Give a cell's scenario as the engine reads it."""
    file = folder / "cell.toml"
    file.write_text(write_scenario(cell, 20, ""))
    content: dict[str, Any] = read_scenario(str(file)).load([]).resolved
    return content


def test_each_cell_is_in_one_guest_and_is_no_cell_of_the_other_kind() -> None:
    grouped = [cell.name for cells in group_home_cells() for cell in cells]
    assert grouped == list(HOME_CELLS)
    assert len(set(grouped + list(CELLS))) == len(grouped) + len(CELLS)


@pytest.mark.parametrize("name", HOME_CELLS)
def test_a_cell_runs_on_both_sides(name: str, tmp_path: Path) -> None:
    cell = HomeCell.read(name)
    content = load(cell, tmp_path)
    groups = [own for flow, own in content["flow"].items() if flow != "ping"]
    assert [(own["count"], own["dscp"]) for own in groups] == [
        (group.count, group.dscp) for group in cell.groups
    ]
    words = cell.order(20).write().split()
    assert words[1:4] == [str(cell.rtt_ms), "20", groups[0]["direction"]]
    assert words[6] == str(int(groups[0]["tcp"]["ecn"] == "on"))
    assert words[7] == str(content["flow"]["ping"]["dscp"] << 2)


def test_cake_has_the_kernels_rate_and_its_link_none(tmp_path: Path) -> None:
    cell = HomeCell.read("100/1 Mbit/s 20 ms cake_ack_filter 1 cubic")
    line = load(cell, tmp_path)["link"]["line"]["point_to_point"]
    assert line["up"]["rate"] == line["down"]["rate"] == "1 Gbit/s"
    up, down = (line[way]["queue"]["cake"] for way in ("up", "down"))
    assert (up["rate"], up["ack_filter"]) == ("1 Mbit/s", "normal")
    assert (down["rate"], down["ack_filter"]) == ("100 Mbit/s", "off")
    setup = cell.order(20).setup
    assert setup == "both 100000000bit cake bandwidth 1000000bit besteffort ack-filter"


def test_a_queue_under_htb_is_scaled_and_its_round_trip_shortened(tmp_path: Path) -> None:
    content = load(HomeCell.read("50 Mbit/s 20 ms fq_codel_ecn 4 cubic"), tmp_path)
    up = content["link"]["line"]["point_to_point"]["up"]
    assert float(up["rate"].split()[0]) == pytest.approx(50 * 1500 / 1514, abs=0.01)
    assert up["queue"]["fq_codel"]["ecn"] is True
    rtt = content["host"]["server"]["rtt"]
    assert float(rtt.split()[0]) == pytest.approx(20 - 1514 * 8 / 50e3, abs=1e-3)


@pytest.mark.parametrize(
    ("queue", "framing", "setup", "device"),
    [("police_10k", "ip", "police_in", "ra"), ("police_out_10k", "raw", "police_out", "rd")],
)
def test_a_policer_counts_the_header_where_packets_go_out(
    queue: str, framing: str, setup: str, device: str, tmp_path: Path
) -> None:
    cell = HomeCell.read(f"15 Mbit/s 20 ms {queue} 1 cubic")
    up = load(cell, tmp_path)["link"]["line"]["point_to_point"]["up"]
    assert up["framing"] == framing
    assert up["policer"]["burst"] == "10 KiB"
    assert cell.order(20).write().endswith(f" {device} {setup} 15000000bit 10k")


def test_hosts_and_classes_are_written_as_the_guest_reads_them() -> None:
    cell = HomeCell.read("50 Mbit/s 20 ms cake_diffserv4 1+1le cubic")
    assert cell.groups == (Group(1), Group(1, 1))
    words = cell.order(20).write().split()
    assert words[:8] == [cell.order(20).folder, "20", "20", "up", "1:0+1:4", "cubic", "0", "184"]


def test_marks_and_filtered_acknowledgements_are_those_of_all_tins() -> None:
    (sample,) = read_samples(CAKE.format(time=1.5, sent=10, dropped=32, marks=4))
    assert (sample.time, sample.dropped, sample.marked, sample.thinned) == (1.5, 32, 150, 30)
    text = " Sent 10 bytes 1 pkt (dropped 0, overlimits 0 requeues 0)\n  count 0 ecn_mark 7\n"
    assert read_samples(f"at 1\n{text}")[0].marked == 7


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [CAKE.format(time=3 + n, sent=20_000 * n, dropped=n, marks=0) for n in range(3)]
    (tmp_path / "samples").write_text("".join(rows))
    (tmp_path / "ping").write_text("64 bytes from 10.3.0.1: icmp_seq=1 ttl=62 time=20.1 ms\n")
    for number in (1, 2):
        for end, size in (("client", 1_000_000), ("server", 125_000 * number)):
            content = {
                "intervals": [{"sum": {"start": 0, "end": 1, "bytes": size}}],
                "end": {"sender_tcp_congestion": "cubic"},
            }
            (tmp_path / f"{end}-{number}.json").write_text(json.dumps(content))
    return tmp_path


def test_a_receivers_goodput_is_read_for_each_host(folder: Path) -> None:
    up = HomeCell.read("50 Mbit/s 20 ms cake 8+1 cubic").order(20)
    assert read_flows(folder, up).find_goodputs(0, 1) == [1e6, 2e6]
    down = HomeCell.read("100/1 Mbit/s 20 ms cake 1 cubic").order(20)
    run = read_flows(folder, down)
    assert run.find_goodputs(0, 1) == [8e6]
    assert [sample.time for sample in run.samples] == [-1, 0, 1]
    assert run.pings == [(-1, 20.1)]


def test_a_connection_that_failed_is_told(folder: Path) -> None:
    order = HomeCell.read("10 Mbit/s 20 ms cake 4 cubic").order(20)
    (folder / "server-1.json").write_text(json.dumps({"intervals": [], "error": "refused"}))
    with pytest.raises(ValueError, match="refused"):
        read_flows(folder, order)


def test_connections_of_another_congestion_control_are_refused(folder: Path) -> None:
    order = HomeCell.read("47 Mbit/s 20 ms cake 1 bbr").order(20)
    with pytest.raises(ValueError, match="expected connections of bbr, found cubic"):
        read_flows(folder, order)
