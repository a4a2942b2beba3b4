"""`headend emulate` with real programs in real time: what they see is what the line is.

Each check runs beside a control, bare sleeps in the emulator's scheduling class, whose lateness
stands in what a failure says. A run that is late by its own verdict is repeated, and skipped with
the reason in the end: a busy machine is no error of ours. Each recorded run is replayed, and must
be equal.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import headend
from emulation.command import (
    HEADEND,
    Emulated,
    NotTrustworthyError,
    emulate,
    find_missing,
    repeat_until_trustworthy,
)
from emulation.line import PACKET, PAYLOAD, write_cable, write_plain
from emulation.machine import PROGRAMS, Control, Sleeps
from emulation.simulation import simulate
from emulation.tools import IPERF_SERVER, call_iperf, read_goodput, read_pings

find_missing = functools.cache(find_missing)

#: Which of a run's tables a replay must have again; lateness is of real time only.
REPLAYED = ("flows", "queues", "measures", "histograms", "real_flows")

Run = Callable[..., tuple[Emulated, Sleeps]]


@pytest.fixture
def need() -> Callable[..., None]:
    """Skip with the reason where emulation, or one of these tools, is missing."""

    def check(*tools: str) -> None:
        if missing := find_missing(*tools):
            pytest.skip(missing)

    return check


@pytest.fixture
def run(need: Callable[..., None], tmp_path: Path) -> Run:
    """Emulate, until the run is trustworthy, beside a control; then replay what was recorded."""

    def run(
        scenario: str, command: Sequence[str | Path], *tools: str, **options: Any
    ) -> tuple[Emulated, Sleeps]:
        need(*tools)
        try:
            with Control() as control:
                found = repeat_until_trustworthy(
                    lambda: emulate(scenario, command, folder=tmp_path, **options)
                )
        except NotTrustworthyError as error:
            pytest.skip(f"{error}; {control.sleeps}")
        assert_replay_is_equal(found)
        return found, control.sleeps

    return run


def assert_replay_is_equal(run: Emulated) -> None:
    folder = run.folder.with_name(f"{run.folder.name}-replay")
    words = [*HEADEND, "replay", str(run.record), "--out", str(folder), "--no-report"]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    replay = headend.load(folder)
    assert isinstance(replay, headend.Result)
    assert replay.manifest["emulation"]["equal"] is True
    for name in REPLAYED:
        if name in run.result.tables:
            assert replay.tables[name].equals(run.result.tables[name]), name


def call_shell(text: str) -> list[str]:
    return ["sh", "-c", text]


@pytest.mark.slow
def test_an_idle_ping_takes_what_the_path_takes(run: Run) -> None:
    command = ["ping", "-4", "-i", "0.01", "-c", "300", "server"]
    emulated, sleeps = run(write_plain("10 Mbit/s", "10 Mbit/s"), command, "ping")
    pings = read_pings(emulated.stdout)
    ideal = 20 + 2 * 84 * 8 / 10e6 * 1e3
    assert pings.received == 300
    assert pings.least >= ideal
    # A round trip waits for four wakes: two of the emulator, one of each end.
    assert pings.mean <= ideal + 0.15 + 4 * sleeps.p50_ns / 1e6, sleeps


@pytest.mark.slow
def test_a_full_buffer_delays_a_ping_by_its_size_over_the_rate(run: Run) -> None:
    scenario = write_plain("10 Mbit/s", queue='drop_tail.limit = "256 KiB"')
    upload = "iperf3 -4 -c server -t 14 >/dev/null"
    command = call_shell(f"{upload} & ping -4 -i 0.02 -w 14 server; wait")
    emulated, sleeps = run(scenario, command, "iperf3", "ping", server=IPERF_SERVER)
    full = 20 + 256 * 1024 * 8 / 10e6 * 1e3
    # Ping and its answer are two more programs that may be woken late.
    late = sleeps.max_ns / 1e6
    assert full - 2 <= read_pings(emulated.stdout).most <= full + 2 + late, sleeps
    assert emulated.take_queue("line.up")["delay_max_ns"] / 1e6 == pytest.approx(full - 20, abs=2)


@pytest.mark.slow
@pytest.mark.parametrize(("congestion", "seconds"), [("reno", 16), ("cubic", 16), ("bbr", 8)])
def test_a_transfer_gets_all_of_the_rate(run: Run, congestion: str, seconds: int) -> None:
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    if known.exists() and congestion not in known.read_text().split():
        pytest.skip(f"this kernel has no {congestion}")
    # A loss keeps up to a round trip of data from iperf3's receiver, and that may be before what is
    # omitted ends: of 60 ms in 16 s this is less than the tolerance. BBR is over before it probes
    # for its round trip, 10 s after its start.
    command = call_iperf(seconds, congestion=congestion)
    scenario = write_plain("10 Mbit/s", queue='drop_tail.limit = "40 ms"')
    emulated, sleeps = run(scenario, command, "iperf3", server=IPERF_SERVER, congestion=congestion)
    goodput, most = read_goodput(emulated.stdout), 10e6 * PAYLOAD / PACKET
    assert goodput == pytest.approx(most, rel=0.005), sleeps
    # The meter of the emulator has read it from the headers.
    assert emulated.take_flow("laptop", "up")["goodput_bytes"] >= seconds * most / 8


@pytest.mark.slow
def test_fq_codel_marks_and_drops_nothing(run: Run) -> None:
    scenario = write_plain("10 Mbit/s", queue="fq_codel = { ecn = true }")
    client = " ".join(call_iperf(6))
    command = call_shell(
        f"echo 1 > /proc/sys/net/ipv4/tcp_ecn && {client} && cat /proc/net/netstat"
    )
    emulated, sleeps = run(scenario, command, "iperf3", server=IPERF_SERVER)
    upload = emulated.take_flow("laptop", "up")
    assert upload["marked"] > 10, sleeps
    lost = [upload[column] for column in upload if column.startswith("discarded_")]
    assert sum(lost) == 0, sleeps
    # The sender has seen the echo of each mark's round trip.
    assert read_netstat(emulated.stdout)["TcpExt:TCPDeliveredCE"] > 0


def read_netstat(output: str) -> dict[str, int]:
    """Read /proc/net/netstat: a row of names and a row of values for each group."""
    rows = [row.split() for row in output.splitlines() if row.startswith(("TcpExt:", "IpExt:"))]
    pairs = zip(rows[::2], rows[1::2], strict=True)
    return {
        f"{names[0]}{name}": int(value)
        for names, values in pairs
        for name, value in zip(names[1:], values[1:], strict=True)
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["server.ip4", "server.ip6"])
def test_fragments_are_put_together_again(run: Run, name: str) -> None:
    command = ["ping", "-i", "0.05", "-c", "10", "-s", "3000", name]
    emulated, _ = run(write_plain("10 Mbit/s", "10 Mbit/s"), command, "ping")
    pings = read_pings(emulated.stdout)
    assert pings.received == 10
    # 3000 B and 8 B of ICMP in three packets, each with a header; IPv6 adds 8 B to each fragment.
    size = 3008 + (3 * 20 if name == "server.ip4" else 3 * 48)
    assert pings.least == pytest.approx(20 + 2 * size * 8 / 10e6 * 1e3, abs=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["server.ip4", "server.ip6"])
def test_curl_gets_a_file_whole(run: Run, tmp_path: Path, name: str) -> None:
    content = os.urandom(1_000_000)
    served = tmp_path / "served"
    served.mkdir()
    (served / "file").write_bytes(content)
    server = [sys.executable, "-m", "http.server", "8000", "--bind", "::", "--directory", served]
    got = tmp_path / "got"
    command = ["curl", "-sSf", "-o", got, f"http://{name}:8000/file"]
    emulated, _ = run(write_plain("10 Mbit/s", "10 Mbit/s"), command, "curl", server=server)
    assert hashlib.sha256(got.read_bytes()).digest() == hashlib.sha256(content).digest()
    flows = emulated.result.tables["real_flows"].filter(protocol="tcp", peer_port=8000)
    assert flows.height == 1
    assert flows["goodput_bytes_down"][0] > len(content)


@pytest.mark.slow
def test_a_simulated_neighbour_takes_its_share(run: Run) -> None:
    neighbour = """
[flow.neighbour]
application = "bulk"
direction = "up"
peer = "server"
tcp.ecn = "off"
"""
    scenario = write_cable("10 Mbit/s", "100 Mbit/s", more=neighbour)
    emulated, sleeps = run(scenario, call_iperf(20), "iperf3", server=IPERF_SERVER)
    own, other = (
        emulated.take_flow(flow, "up")["goodput_bytes"] for flow in ("laptop", "neighbour")
    )
    # Two simulated ones have from 47 to 57 % (twelve seeds).
    assert 0.4 <= other / (own + other) <= 0.6, sleeps
    flow = {"application": "bulk", "direction": "up", "peer": "server", "tcp": {"ecn": "off"}}
    control = simulate(scenario, duration="22 s", flow=flow).flows.filter(direction="up")
    alike = dict(zip(control["flow"], control["goodput_bytes"], strict=True))
    assert 0.4 <= alike["neighbour"] / sum(alike.values()) <= 0.6


@pytest.mark.slow
def test_thousands_of_short_flows_leak_nothing(run: Run) -> None:
    closing = """
[flow.laptop]
application = { real = { idle = "1 s", closed = "100 ms" } }
host = "laptop"
peers = ["server"]
"""
    program = PROGRAMS / "short_flows.py"
    scenario = write_plain("100 Mbit/s", "100 Mbit/s", rtt="1 ms", more=closing)
    server = [sys.executable, program, "serve"]
    few, _ = run(scenario, [sys.executable, program, "200"], server=server)
    many, sleeps = run(scenario, [sys.executable, program, "3000"], server=server)
    flows = many.result.tables["real_flows"].filter(protocol="tcp")
    assert flows.height >= 3000, sleeps
    assert many.emulation["overruns"] == 0
    ends = many.emulation["frames"]
    # What is on its way when the command ends is the last connection's end.
    assert 0 <= ends["entered"] - ends["delivered"] - ends["discarded"] < 10
    assert many.peak_mib - few.peak_mib < 20


@contextlib.contextmanager
def start(scenario: str, folder: Path, command: Sequence[str], *options: str) -> Iterator[Any]:
    """Start the command in the background, with a mark in the environment of all its processes."""
    file = folder / "line.toml"
    file.write_text(scenario)
    mark = uuid.uuid4().hex
    words = [*HEADEND, "emulate", str(file), "--out", str(folder / "out"), "--force", *options]
    process = subprocess.Popen(
        [*words, "--", *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "HEADEND_TEST_MARK": mark},
    )
    try:
        yield process, mark
    finally:
        process.kill()
        process.communicate()


def find_marked(mark: str) -> dict[int, str]:
    """Give the processes of a run and their command lines."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"HEADEND_TEST_MARK={mark}".encode() in (process / "environ").read_bytes():
                words = (process / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(process.name)] = words.decode(errors="replace")
    return found


def wait_for(condition: Callable[[], Any], seconds: float = 10) -> Any:
    """Wait until something is true, and give it."""
    until = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < until:
        time.sleep(0.05)
    return found


def find_command(mark: str, name: str) -> bool:
    return any(words.startswith(name) for words in find_marked(mark).values())


@pytest.mark.slow
@pytest.mark.parametrize("stop", [True, False])
def test_a_stall_of_100_ms_is_told(need: Callable[..., None], tmp_path: Path, stop: bool) -> None:
    need("ping")
    # The control is the same without the stall, and may be repeated.
    for _ in range(1 if stop else 3):
        command = ["ping", "-i", "0.05", "-c", "50", "server"]
        with start(write_plain("10 Mbit/s"), tmp_path, command, "--strict", "--json") as (
            process,
            mark,
        ):
            assert wait_for(lambda: find_command(mark, "ping"))
            time.sleep(1)
            if stop:
                emulators = [
                    number
                    for number, words in find_marked(mark).items()
                    if "headend" in words and number != process.pid
                ]
                assert emulators
                for number in emulators:
                    os.kill(number, signal.SIGSTOP)
                time.sleep(0.1)
                for number in emulators:
                    os.kill(number, signal.SIGCONT)
            process.wait(timeout=60)
        result = headend.load(tmp_path / "out")
        assert isinstance(result, headend.Result)
        late = result.manifest["emulation"]["lateness"]
        if late["trustworthy"]:
            break
    if not stop and not late["trustworthy"]:
        pytest.skip(f"three runs were not trustworthy: {late['why']}")
    assert late["trustworthy"] is not stop
    assert process.returncode == (1 if stop else 0)
    if stop:
        assert late["stalls"] >= 1
        assert late["longest_stall_ns"] >= 80e6
        assert "not trustworthy" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.slow
def test_the_exit_code_is_the_commands(need: Callable[..., None], tmp_path: Path) -> None:
    need()
    scenario = write_plain("10 Mbit/s")
    assert emulate(scenario, call_shell("exit 7"), folder=tmp_path, expected=7).exit == 7


def list_surroundings() -> list[str]:
    """Give interfaces and named namespaces of this machine."""
    shown = []
    for words in (["ip", "-o", "link"], ["ip", "netns", "list"]):
        shown.append(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    return shown


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_of_a_killed_run(
    need: Callable[..., None], tmp_path: Path, number: signal.Signals
) -> None:
    need()
    before = list_surroundings()
    server = ("--server", "sleep 300")
    with start(write_plain("10 Mbit/s"), tmp_path, ["sleep", "300"], *server) as (process, mark):
        assert wait_for(lambda: find_command(mark, "sleep"))
        process.send_signal(number)
        process.wait(timeout=20)
        assert wait_for(lambda: not find_marked(mark), seconds=5), find_marked(mark)
    assert list_surroundings() == before
    if number is signal.SIGTERM:
        assert json.loads((tmp_path / "out" / "manifest.json").read_text())["emulation"]
