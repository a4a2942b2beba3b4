"""What the benches read from the virtual kernel, and what they set on either side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import linux_qdiscs
import linux_tcp
from headend.scenario.source import read_scenario
from linux_qdiscs import CELLS, KEYS, WORDS, Cell, agrees, find_percentile, group_cells
from virtual.cells import Sample
from virtual.uploads import Run, read_run

#: A sample of HTB with CoDel under it, as tc writes it.
SAMPLE = """at {time}
qdisc htb 1: root refcnt 2 r2q 10 default 0x1 direct_packets_stat 0 direct_qlen 1000
 Sent {sent} bytes 7 pkt (dropped 99, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
qdisc codel 10: parent 1:1 limit 1000p target 5ms interval 100ms
 Sent {sent} bytes {packets} pkt (dropped {dropped}, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
  count 0 lastcount 0 ldelay 1us drop_next 0us
"""

NETSTAT = """\
TcpExt: TCPHystartTrainDetect TCPHystartTrainCwnd TCPHystartDelayDetect TCPHystartDelayCwnd
TcpExt: {} {} {} {}
IpExt: InNoRoutes
IpExt: 0
"""


def write_samples(*rows: tuple[float, int, int, int]) -> str:
    return "".join(
        SAMPLE.format(time=time, sent=sent, packets=packets, dropped=dropped)
        for time, sent, packets, dropped in rows
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    samples = write_samples((3.0, 98, 1, 0), (3.2, 15_140, 10, 0), (8.2, 6_000_000, 4000, 12))
    (tmp_path / "samples").write_text(samples)
    (tmp_path / "ping").write_text(
        "64 bytes from 10.3.0.1: icmp_seq=1 ttl=62 time=20.1 ms\n"
        "64 bytes from 10.3.0.1: icmp_seq=3 ttl=62 time=131 ms\n"
    )
    sums = [{"sum": {"start": start, "end": start + 1.00003, "bytes": 125_000}} for start in (0, 1)]
    (tmp_path / "server.json").write_text(json.dumps({"intervals": sums}))
    (tmp_path / "client.json").write_text('{"end": {"sender_tcp_congestion": "cubic"}}')
    (tmp_path / "netstat").write_text(NETSTAT.format(0, 0, 0, 0) + NETSTAT.format(0, 0, 1, 49))
    return tmp_path


def test_times_count_from_the_beginning_of_the_uploads(folder: Path) -> None:
    run = read_run(folder, 0.1, "cubic")
    assert [round(sample.time, 6) for sample in run.samples] == [-0.2, 0, 5]
    assert [round(time, 6) for time, _ in run.pings] == [-0.2, -0.1, 0]


def test_the_innermost_queue_is_counted(folder: Path) -> None:
    run = read_run(folder, 0.1, "cubic")
    assert run.take_sample(4.9).dropped == 12
    assert run.find_first_loss() == pytest.approx(5)


def test_a_ping_without_an_answer_is_lost(folder: Path) -> None:
    assert [took for _, took in read_run(folder, 0.1, "cubic").pings] == [20.1, None, 131]


def test_hystart_is_what_the_kernel_counted_last(folder: Path) -> None:
    assert read_run(folder, 0.1, "cubic").hystart == (1, 49)


def test_goodput_is_that_of_the_whole_intervals(folder: Path) -> None:
    run = read_run(folder, 0.1, "cubic")
    assert run.find_goodput(0, 2) == pytest.approx(1e6, rel=1e-3)
    assert run.find_goodput(1, 2) == pytest.approx(1e6, rel=1e-3)


def test_an_upload_that_failed_is_told(folder: Path) -> None:
    (folder / "server.json").write_text(json.dumps({"intervals": [], "error": "refused"}))
    with pytest.raises(ValueError, match="refused"):
        read_run(folder, 0.1, "cubic")


def test_uploads_of_another_congestion_control_are_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match="expected connections of dctcp, found cubic"):
        read_run(folder, 0.1, "dctcp")


def test_dctcp_is_set_by_routes_both_ways() -> None:
    words = linux_tcp.Case.read("10 Mbit/s 20 ms codel 1 dctcp").order(40).write()
    assert words.split(" codel ")[-1].count("congctl dctcp") == 2
    assert "congctl" not in linux_tcp.Case.read("10 Mbit/s 20 ms codel 1 reno").order(40).write()


def test_a_lost_ping_is_no_loss_of_an_upload() -> None:
    samples = [Sample(5, 100, 0, 3), Sample(40, 1100, 0, 13)]
    pings = [(1.0, None), (6.0, None), (7.0, 20.0)]
    run = Run(samples, pings, [(5, 40, 35e6)], (0, 0))
    case = linux_tcp.Case.read("10 Mbit/s 20 ms drop_tail 1 cubic")
    row = linux_tcp._measure_virtual(run, case, 40)
    assert row["drops"] == 2
    assert row["loss"] == pytest.approx(100 * 9 / (999 + 9))
    assert row["exit"] is None


def test_a_cell_is_in_one_guest_and_runs_on_both_sides(tmp_path: Path) -> None:
    cells = [Cell.read(name) for name in CELLS]
    assert len(cells) == len(set(CELLS)) >= 25
    assert [cell.name for cells in group_cells(cells) for cell in cells] == list(CELLS)
    assert set(WORDS) == set(KEYS) == {cell.queue for cell in cells}
    for cell in cells:
        file = tmp_path / "cell.toml"
        file.write_text(cell.write(20, "qdisc pie 10: target 15ms tupdate 16ms"))
        content = read_scenario(str(file)).load([]).resolved
        rate, unit = content["link"]["line"]["point_to_point"]["up"]["rate"].split()
        scaled = float(rate) * {"kbit/s": 1e3, "Mbit/s": 1e6}[unit]
        assert scaled == pytest.approx(cell.rate * 1500 / 1514)
        sending = 1514 * 8e3 / cell.rate
        assert float(content["host"]["server"]["rtt"].split()[0]) == pytest.approx(
            cell.rtt_ms - sending, abs=1e-3
        )
        assert content["flow"]["upload"]["count"] == cell.uploads
        assert f" {cell.rtt_ms} 20 {cell.uploads} {cell.congestion} " in cell.order(20).write()


def test_goodput_has_two_percent_and_a_delay_fifteen() -> None:
    def agree(name: str, factor: float) -> bool:
        return agrees(name, [{name: 10.0}], [{name: 10.0 * factor}])

    assert agree("goodput", 1.019)
    assert not agree("goodput", 0.979)
    assert agree("p95", 0.86)
    assert not agree("p50", 1.16)


def test_drops_agree_within_the_spread_of_either_side() -> None:
    def agree(real: list[int], simulated: list[int]) -> bool:
        rows = ([{"drops": float(value)} for value in values] for values in (real, simulated))
        return agrees("drops", *rows)

    assert agree([10], [8, 12])
    assert agree([8, 12], [10])
    assert not agree([13], [8, 12])
    assert not agree([14, 16], [8, 14, 8])


def test_a_percentile_is_a_value_that_was_measured() -> None:
    assert find_percentile([3.0, 1.0, 2.0, 4.0], 0.5) == 2.0
    assert find_percentile([1.0], 0.95) == 1.0


def test_a_bench_that_cannot_run_says_why_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["linux_qdiscs.py"])
    monkeypatch.setattr(linux_qdiscs, "find_missing", lambda: "needs Linux")
    linux_qdiscs.main()
    assert capsys.readouterr().out == "benches/linux_qdiscs.py: skipped: needs Linux\n"
