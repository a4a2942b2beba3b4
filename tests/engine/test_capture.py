"""Captures of runs, read by other programs, and captures of others, replayed."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import dpkt
import pytest
from click.testing import CliRunner

import headend
from headend.cli.main import app
from headend.errors import InputError

LINE = """\
format = 1
title = "A busy line"
duration = "4 s"

[link.cable.docsis]
preset = "docsis31"
upstream.rate = "5 Mbit/s"
upstream.queue = "codel"
downstream.rate = "20 Mbit/s"

[flow.upload]
application = "bulk"
direction = "up"

[flow.marked]
application = "bulk"
tcp.congestion = "prague"
dscp = 10

[flow.call]
application.voice = { signalling = "sip", length = "2 s", pause = "1 s",\
 scoring = { period = "2 s", grace = "500 ms" } }

[flow.ping]
application.ping.interval = "100 ms"
"""

REPLAY = """\
format = 1
duration = "5 s"

[link.wire.point_to_point]
up.rate = "1 Gbit/s"

[flow.again]
application.replay = {{ capture = "{name}"{more} }}
"""


@pytest.fixture
def line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "line.toml"
    path.write_text(LINE, encoding="utf-8")
    return path


def capture(line: Path, *points: str, snaplen: str = "65535 B") -> dict[str, Path]:
    options = [part for point in points for part in ("--capture", point)]
    settings = ["--set", f"results.capture.snaplen={snaplen}"]
    run = CliRunner().invoke(app, ["run", str(line), "--out", "out", *options, *settings])
    assert run.exit_code == 0, run.output
    assert "out/capture" in run.output
    return {path.stem: path for path in Path("out/capture").iterdir()}


def read(path: Path) -> list[tuple[float, bytes]]:
    with path.open("rb") as file:
        return list(dpkt.pcapng.Reader(file))


def test_an_independent_reader_finds_the_checksums_right(line: Path) -> None:
    files = capture(line, "upload.host", "marked", "call", "ping", "cable.up")
    assert set(files) == {
        "upload.host", "marked.host", "marked.peer", "call.host", "call.peer", "ping.host",
        "ping.peer", "cable.up.enqueue", "cable.up.dequeue", "cable.up.drop",
    }  # fmt: skip
    protocols = set()
    for path in files.values():
        packets = read(path)
        assert packets, path
        for _, frame in packets:
            packet = dpkt.ip.IP(frame)
            assert packet.len == len(frame)
            found = packet.sum, packet.data.sum
            packet.sum = packet.data.sum = 0
            again = dpkt.ip.IP(bytes(packet))  # dpkt computes what is 0
            assert (again.sum, again.data.sum) == found
            protocols.add(type(packet.data).__name__)
    assert protocols == {"ICMP", "TCP", "UDP"}
    times = [at for at, _ in read(files["upload.host"])]
    assert times == sorted(times)
    assert 3.9 < times[-1] <= 4.0


def test_headers_say_what_the_scenario_says(line: Path) -> None:
    files = capture(line, "marked.host", "ping.host")
    packets = [dpkt.ip.IP(frame) for _, frame in read(files["marked.host"])]
    sent = [packet for packet in packets if packet.data.dport == 443]
    assert {packet.tos >> 2 for packet in packets} == {10}
    options = dict(dpkt.tcp.parse_opts(sent[0].data.opts))
    assert sent[0].data.flags & dpkt.tcp.TH_SYN
    assert struct.unpack(">H", options[dpkt.tcp.TCP_OPT_MSS]) == (1460,)
    assert options[dpkt.tcp.TCP_OPT_WSCALE] == b"\x0a"
    # L4S data is ECT(1); the first byte of data follows the SYN, and each new segment the one
    # before.
    data = [packet for packet in sent if packet.data.data]
    assert {packet.tos & 3 for packet in data} <= {0, 1, 3}
    assert sum(packet.tos & 3 == 1 for packet in data) > len(data) / 2
    first, second = data[0].data, data[1].data
    assert first.seq == sent[0].data.seq + 1
    assert second.seq == first.seq + len(first.data)
    pings = [dpkt.ip.IP(frame).data for _, frame in read(files["ping.host"])]
    requests = [ping.data.seq for ping in pings if ping.type == dpkt.icmp.ICMP_ECHO]
    answers = [ping.data.seq for ping in pings if ping.type == dpkt.icmp.ICMP_ECHOREPLY]
    assert requests == list(range(len(requests)))
    assert answers
    assert set(answers) <= set(requests)


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_tshark_has_no_complaints(line: Path) -> None:
    files = capture(line, "upload.host", "call.peer", "ping.host", "cable.up")
    for path in files.values():
        assert ask_tshark(path, "frame.number")
        wrong = ask_tshark(
            path,
            "frame.number",
            "_ws.malformed || _ws.expert.severity >= 0x800000 || ip.checksum.status == 0"
            " || tcp.checksum.status == 0 || udp.checksum.status == 0 || icmp.checksum.status == 0",
        )
        assert wrong == [], path
    # Not checked is not right: every checksum was looked at.
    tcp = ask_tshark(files["upload.host"], "frame.number", "tcp && tcp.checksum.status != 1")
    assert tcp == []
    reasons = set(ask_tshark(files["cable.up.drop"], "frame.comment"))
    assert "dropped by the AQM (congested)" in reasons
    assert set(ask_tshark(files["ping.host"], "frame.interface_name")) == {"ping.host"}


def ask_tshark(path: Path, field: str, display_filter: str = "") -> list[str]:
    checks = ("ip", "tcp", "udp")
    options = [part for name in checks for part in ("-o", f"{name}.check_checksum:TRUE")]
    wanted = ["-Y", display_filter] if display_filter else []
    command = ["tshark", "-r", str(path), *options, *wanted, "-T", "fields", "-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_what_is_kept_of_a_packet_is_its_headers_by_default(line: Path) -> None:
    files = capture(line, "upload.host", snaplen="80 B")
    frames = [frame for _, frame in read(files["upload.host"])]
    assert max(map(len, frames)) == 80
    assert max(dpkt.ip.IP(frame).len for frame in frames) == 1500


def test_a_result_brings_its_capture_into_whatever_folder_it_is_saved_in(line: Path) -> None:
    result = headend.run(line, set={"results.capture.points": ["call.host"]})
    assert result.capture
    held = result.capture.folder
    result.save("kept", report=False)
    assert Path("kept/capture/call.host.pcapng").stat().st_size > 1000
    # Whoever may read the results may read the capture, though it grew in a folder of its owner's.
    assert Path("kept/capture").stat().st_mode == Path("kept").stat().st_mode
    del result
    assert not held.exists()


def test_a_point_that_does_not_exist_is_one_line(line: Path) -> None:
    run = CliRunner().invoke(app, ["run", str(line), "--capture", "uplod.host"])
    assert run.exit_code == 2
    assert "--capture uplod.host: no flow, host or queue is called" in run.output
    run = CliRunner().invoke(app, ["run", str(line), "--capture", "cable.*"])
    assert '("*" stands for a number only, as in cable.home.*.up)' in " ".join(run.output.split())


def write_ethernet(path: Path, packets: Sequence[tuple[float, bytes]], *, nano: bool) -> None:
    with path.open("wb") as file:
        writer = dpkt.pcap.Writer(file, nano=nano)
        for at, frame in packets:
            writer.writepkt(frame, at)


def ethernet(source: str, destination: str, size: int) -> bytes:
    """Give a frame with a UDP datagram of this many IP bytes."""
    udp = dpkt.udp.UDP(sport=5004, dport=5004, data=bytes(size - 28))
    udp.ulen = len(udp)
    packet = dpkt.ip.IP(src=pack(source), dst=pack(destination), p=17, data=udp)
    packet.len = len(packet)
    return bytes(dpkt.ethernet.Ethernet(type=0x0800, data=packet))


def pack(address: str) -> bytes:
    return bytes(int(part) for part in address.split("."))


@pytest.mark.parametrize("nano", [False, True])
def test_a_capture_of_somebody_else_is_replayed(line: Path, nano: bool) -> None:
    home, server = "192.168.1.2", "198.51.100.1"
    packets = [
        (1000.0, ethernet(home, server, 200)),
        (1000.25, ethernet(server, home, 1000)),
        (1000.5, ethernet(home, server, 300)),
    ]
    write_ethernet(line.parent / "lan.pcap", packets, nano=nano)
    scenario = line.parent / "replay.toml"
    scenario.write_text(REPLAY.format(name="lan.pcap", more=""), encoding="utf-8")
    result = headend.run(scenario, set={"results.capture.points": ["again"]}, out="out")
    rows = {row["direction"]: row for row in result.flows.to_dicts()}
    assert rows["up"]["bytes_sent"] == 500
    assert rows["down"]["bytes_sent"] == 1000
    sent = [(at, len(frame)) for at, frame in read(Path("out/capture/again.peer.pcapng"))]
    assert sent[1][0] == pytest.approx(0.25)
    # And once more from the results alone: they need no file.
    resolved = result.manifest["scenario"]
    assert headend.run(resolved).flows["bytes_sent"].sum() == 1500


def test_a_bad_capture_is_one_line_with_file_and_packet(line: Path) -> None:
    write_ethernet(
        line.parent / "lan.pcap", [(1.0, ethernet("10.0.0.1", "10.0.0.2", 90))] * 3, nano=False
    )
    content = (line.parent / "lan.pcap").read_bytes()
    (line.parent / "cut.pcap").write_bytes(content[:-5])
    (line.parent / "text.pcap").write_text("no capture\n", encoding="utf-8")
    (line.parent / "empty.pcap").touch()
    cases = {
        "cut.pcap": "packet 3: cut off",
        "text.pcap": "neither pcap nor pcapng",
        "empty.pcap": "the file is empty",
        "none.pcap": "no such file",
    }
    for name, expected in cases.items():
        scenario = line.parent / "replay.toml"
        scenario.write_text(REPLAY.format(name=name, more=""), encoding="utf-8")
        with pytest.raises(InputError) as caught:
            headend.run(scenario)
        message = str(caught.value)
        assert expected in message
        assert name in message
        assert "flow.again.application.replay.capture" in message
        assert "line 8" in message
        assert "\n" not in message
