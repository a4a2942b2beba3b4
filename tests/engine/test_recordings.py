"""``headend replay`` with the real engine, of recordings cut off, damaged, or of others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import headend
from headend.cli.main import app
from headend.scenario.source import read_scenario
from recorded import SEGMENTS, write_end, write_packets, write_start

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
