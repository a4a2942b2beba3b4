"""``headend replay`` with the real engine, of recordings cut off, damaged, or of others."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import headend
from headend.cli.main import app
from headend.scenario.source import read_scenario

LINE = """
duration = "5 s"
[link.line.point_to_point]
up = { rate = "2 Mbit/s" }
[host.laptop]
via = ["line"]
real = true
[host.server]
real = true
[flow.laptop]
host = "laptop"
application = "real"
"""

SEGMENTS = 50


def write_block(kind: int, body: bytes) -> bytes:
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


def write_option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def write_start(scenario: str, hosts: list[str]) -> bytes:
    """Write the blocks before the packets."""
    comment = f'{{"headend":"0.1.0","recording":2,"seed":1,"scenario":{scenario}}}'
    parts = [comment.encode()[at : at + 60_000] for at in range(0, len(comment), 60_000)]
    header = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
    section = header + b"".join(write_option(1, part) for part in parts) + write_option(0, b"")
    names = [write_option(2, host.encode()) + write_option(9, b"\x09") for host in hosts]
    interfaces = [
        write_block(1, struct.pack("<HHI", 101, 0, 0) + name + write_option(0, b""))
        for name in names
    ]
    return write_block(0x0A0D0D0A, section) + b"".join(interfaces)


def write_packets(addresses: list[bytes], *, other: bool = False) -> bytes:
    """Write segments of one connection; with ``other``, one of them has another sequence number."""
    blocks = []
    for number in range(SEGMENTS):
        seq = 1000 * number + (7 if other and number == 20 else 0)
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 1040, number, 0, 64, 6, 0) + b"".join(addresses)
        tcp = struct.pack(">HHIIBBHHH", 40_000, 80, seq, 1, 0x50, 0x10, 1000, 0, 0)
        frame = ip + tcp + bytes(1000)
        at = 1_000_000 * (number + 1)
        head = struct.pack("<IIIII", 0, at >> 32, at & 0xFFFFFFFF, len(frame), len(frame))
        blocks.append(write_block(6, head + frame + bytes(-len(frame) % 4)))
    return b"".join(blocks)


def write_end(before: bytes, frames: dict[str, Any]) -> bytes:
    checksum = 0xCBF29CE484222325
    for (word,) in struct.iter_unpack("<I", before):
        checksum = (checksum ^ word) * 0x100000001B3 % 2**64
    told = {key: frames[key] for key in ("entered", "delivered", "discarded", "marked", "digest")}
    end = {"end_ns": 5_000_000_000, "frames": told, "blocks": f"{checksum:016x}"}
    body = struct.pack("<III", 0, 1, 705_032_704) + write_option(1, json.dumps(end).encode())
    return write_block(5, body + write_option(0, b""))


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, list[bytes]]:
    """The resolved scenario as JSON, and the addresses of its two hosts."""
    monkeypatch.chdir(tmp_path)
    Path("line.toml").write_text(LINE)
    scenario = read_scenario("line.toml").load().scenario
    addresses = [bytes(map(int, host[2].split("."))) for host in scenario.real_hosts]
    return scenario.resolved_json(), addresses


def replay(content: bytes) -> tuple[int, str]:
    Path("r.pcapng").write_bytes(content)
    words = ["replay", "r.pcapng", "--out", "out", "--force", "--no-report", "-q"]
    answer = CliRunner().invoke(app, words)
    assert answer.stdout == ""
    return answer.exit_code, answer.stderr


def take_frames() -> dict[str, Any]:
    frames: dict[str, Any] = headend.load("out").manifest["emulation"]["frames"]  # type: ignore[union-attr]
    return frames


def test_a_recording_is_replayed_equally_and_with_other_headers_not(
    parts: tuple[str, list[bytes]],
) -> None:
    scenario, addresses = parts
    start = write_start(scenario, ["laptop", "server"])
    before = start + write_packets(addresses)
    nothing = {"entered": 50, "delivered": 50, "discarded": 0, "marked": 0, "digest": "0" * 16}
    assert replay(before + write_end(before, nothing))[0] == 1
    frames = take_frames()
    assert frames["delivered"] == SEGMENTS
    assert replay(before + write_end(before, frames)) == (0, "")
    changed = start + write_packets(addresses, other=True)
    code, told = replay(changed + write_end(changed, frames))
    assert (code, "not as recorded: as many frames of each fate" in told) == (1, True)
    assert {**take_frames(), "digest": ""} == {**frames, "digest": ""}


def test_any_damage_before_the_end_of_a_recording_is_refused(
    parts: tuple[str, list[bytes]],
) -> None:
    scenario, addresses = parts
    start = write_start(scenario, ["laptop", "server"])
    before = start + write_packets(addresses)
    frames = {"entered": 50, "delivered": 50, "discarded": 0, "marked": 0, "digest": "0" * 16}
    whole = before + write_end(before, frames)
    for at in (40, len(start) // 2, len(start) + 30, len(start) + 60, len(before) - 500):
        damaged = bytearray(whole)
        damaged[at] ^= 1
        code, told = replay(bytes(damaged))
        assert (code, len(told.splitlines())) == (2, 1), (at, told)
    code, told = replay(whole + whole[len(start) : len(start) + 1072])
    assert (code, "damaged" in told or "packet" in told) == (2, True)


def test_a_recording_without_all_real_hosts_of_its_scenario_is_refused_in_one_line(
    parts: tuple[str, list[bytes]],
) -> None:
    scenario, addresses = parts
    whole = write_start(scenario, ["laptop", "server"])
    section = len(write_start(scenario, []))
    first = len(write_start(scenario, ["laptop"]))
    for length in (section, section + 9, first - 1, first, first + 8):
        code, told = replay(whole[:length])
        expected = "error: r.pcapng: cut off before the interfaces of all real hosts"
        assert (code, told.startswith(expected), len(told.splitlines())) == (2, True, 1), told
    for hosts in (["laptop"], ["server", "laptop"], ["laptop", "server", "tv"]):
        code, told = replay(write_start(scenario, hosts) + write_packets(addresses))
        assert (code, "real host" in told, len(told.splitlines())) == (2, True, 1), told
