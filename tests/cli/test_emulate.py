"""``headend emulate`` and ``replay`` beside a stand-in engine: options, errors, JSON, rows."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import fake_engine
import headend
from conftest import HOME_LINE
from headend.cli.main import app
from headend.emulation import session
from headend.emulation.messages import receive, send
from headend.emulation.programs import Host, choose_programs
from headend.emulation.rows import Rows
from headend.emulation.session import Update
from headend.emulation.state import State
from headend.errors import InputError
from headend.running.result import Result as RunResult

TESTS = Path(__file__).parents[1]

REAL_HOSTS = """
[host.laptop]
via = ["cable"]
real = true

[host.server]
real = true

[flow.laptop]
application = "real"
"""

HOSTS = [
    Host("laptop", True, "10.0.0.1", "fd00::1"),
    Host("server", False, "10.0.0.2", "fd00::2"),
]

#: What a program of these tests writes to standard output.
SAID = "said by the program"


@pytest.fixture
def line(fake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    command = (sys.executable, str(TESTS / "fake_emulation.py"))
    monkeypatch.setattr(session, "COMMAND", command)
    monkeypatch.setenv("PYTHONPATH", str(Path(headend.__file__).parents[1]))
    path = tmp_path / "home.toml"
    path.write_text(HOME_LINE.replace('"60 s"', '"unlimited"') + REAL_HOSTS, encoding="utf-8")
    return path


def call(*words: str, **environment: str) -> Result:
    return CliRunner().invoke(app, ["emulate", *words], env=environment)


def fails_with(message: str, *words: str, code: int = 2, **environment: str) -> None:
    answer = call(*words, **environment)
    assert answer.stderr == f"error: {message}\n"
    assert (answer.exit_code, answer.stdout) == (code, "")


def load(folder: str = "results/home") -> RunResult:
    return RunResult.load(folder)


def test_the_exit_code_is_that_of_the_program(line: Path) -> None:
    assert call("home.toml", "--", "sh", "-c", "exit 7").exit_code == 7
    assert call("home.toml", "--", "true").exit_code == 0
    assert call("home.toml", "--", "sh", "-c", "kill -9 $$").exit_code == 137
    assert load().manifest["emulation"]["hosts"]["laptop"] == {
        "command": ["sh", "-c", "exit 7"],
        "exit": 7,
        "ended": "exited",
    }


def test_a_missed_expectation_is_1_where_the_program_is_content(line: Path) -> None:
    with line.open("a") as file:
        file.write('[expect]\nfast = "laptop.up.goodput >= 1 bit/s"\n')
    missed = ("--set", "expect.fast=laptop.up.goodput >= 5 Gbit/s")
    assert call("home.toml", *missed, "--", "true").exit_code == 1
    assert call("home.toml", *missed, "--", "sh", "-c", "exit 7").exit_code == 7
    assert call("home.toml", "--junit", "a.xml", "--", "true").exit_code == 0
    assert b"testsuites" in Path("a.xml").read_bytes()


def test_a_run_that_fell_behind_is_marked_everywhere_and_strict_exits_1(line: Path) -> None:
    words = ("home.toml", "--", "true")
    answer = call(*words, FAKE_EMULATION="stall")
    assert answer.exit_code == 0
    assert "not trustworthy" in answer.stderr.lower()
    assert "not trustworthy" in Path("results/home/report.html").read_text().lower()
    assert call("--strict", *words).exit_code == 0
    strict = call("--strict", "-q", *words, FAKE_EMULATION="stall")
    assert strict.exit_code == 1
    assert "--strict: lateness p50 12 µs" in strict.stderr
    document = json.loads(call("--json", *words, FAKE_EMULATION="stall").stdout)
    assert document["emulation"]["lateness"]["trustworthy"] is False
    assert document["emulation"]["lateness"]["why"] == "it stalled for 100 ms"
    assert "ot trustworthy" in document["answer"]["sentences"][0]


def test_json_alone_is_on_standard_output_and_the_programs_words_on_standard_error(
    line: Path,
) -> None:
    # Started as the shell does: the program's own output passes by Python.
    code = f"""
import sys
sys.path[:0] = {[str(TESTS)]!r}
import fake_engine, headend
sys.modules["headend._engine"] = fake_engine
headend.__dict__["_engine"] = fake_engine
from headend.emulation import session
session.COMMAND = {session.COMMAND!r}
import headend.version
headend.version._ask_installation = lambda: "0.0.0"
from headend.cli.main import start
start()
"""
    for extra in ([], ["--json"]):
        words = ["emulate", "home.toml", *extra, "--", "echo", SAID]
        answer = subprocess.run(
            [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
        )
        if extra:
            assert json.loads(answer.stdout)["exit"] == 0
            assert SAID in answer.stderr
        else:
            assert answer.stdout == f"{SAID}\n"
            assert (
                "laptop 10.0.0.1 behind cable, server 10.0.0.2 (server.ip6: fd00:" in answer.stderr
            )


def test_the_programs_have_no_files_of_ours(line: Path) -> None:
    assert call("home.toml", "-q", "--", "sh", "-c", "ls /proc/self/fd > files").exit_code == 0
    # The last one is the folder that ls reads.
    assert Path("files").read_text().split() == ["0", "1", "2", "3"]


def test_a_closed_standard_stream_is_no_file_of_ours() -> None:
    code = (
        "from headend.emulation.process import open_standard_streams as own; own(); import os;"
        " print(os.open('/', 0))"
    )
    package = str(Path(headend.__file__).parents[1])
    for closing, lowest in (("<&-", "3\n"), ("2>&-", "3\n"), ("<&- 2>&-", "3\n")):
        words = ["sh", "-c", f'exec "$0" -c "$1" {closing}', sys.executable, code]
        environment = {**os.environ, "PYTHONPATH": package}
        assert subprocess.check_output(words, text=True, env=environment) == lowest


def test_the_session_is_imported_where_the_platform_lacks_a_signal() -> None:
    code = (
        "import signal; del signal.SIGHUP; from headend.emulation import process, session; "
        "print(*(number.name for number in process.HANDLED_SIGNALS))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(headend.__file__).parents[1])}
    words = [sys.executable, "-c", code]
    assert subprocess.check_output(words, text=True, env=environment) == "SIGINT SIGTERM\n"


def test_results_hold_the_rows_that_came_and_say_how_they_came_about(line: Path) -> None:
    assert call("home.toml", "--seed", "5", "--", "sleep", "0.35").exit_code == 0
    result = load()
    manifest = result.manifest
    assert (manifest["seed"], manifest["partial"]) == (5, False)
    assert manifest["duration_ns"] == manifest["simulated_ns"] >= 300_000_000
    emulation = manifest["emulation"]
    assert (emulation["kind"], emulation["recording"], emulation["equal"]) == (
        "emulated",
        None,
        None,
    )
    assert emulation["frames"]["digest"] == 7
    rows = result.flow_series.filter(direction="up")
    assert rows["time_ns"].to_list() == sorted(rows["time_ns"].to_list())
    assert len(rows) == len(result.lateness) >= 4
    assert result.real_flows["name"].to_list() == ["example.org"]
    assert isinstance(headend.load("results/home"), RunResult)
    assert not headend.verify("results/home").damage


def test_the_program_is_checked_before_anything_is_run(line: Path) -> None:
    fails_with("no-such-program: command not found", "home.toml", "--", "no-such-program", code=127)
    Path("notes").touch()
    message = "./notes: cannot be run: it is no executable file"
    fails_with(message, "home.toml", "--", "./notes", code=126)
    fails_with(
        "iperf9: command not found", "home.toml", "--server", "iperf9 -s", "--", "true", code=127
    )
    assert not Path("results").exists()


def test_words_that_make_no_sense_are_refused_in_one_line(line: Path) -> None:
    nothing = (
        "headend emulate: expected -- COMMAND after SCENARIO, found nothing; --shell opens a shell"
    )
    fails_with(nothing, "home.toml")
    fails_with(
        '--shell: a shell stands in the place of the command, found "true"; leave out one of them',
        "home.toml", "--shell", "--", "true",
    )  # fmt: skip
    fails_with(
        '--host lptop=true: no real host is called "lptop"; did you mean "laptop"?',
        "home.toml", "--host", "lptop=true", "--", "true",
    )  # fmt: skip
    fails_with(
        '--host laptop: expected NAME=COMMAND, such as --host "server=iperf3 -s"',
        "home.toml", "--host", "laptop", "--", "true",
    )  # fmt: skip
    fails_with(
        "server: two commands for one host; leave out one",
        "home.toml", "--server", "true", "--host", "server=true", "--", "true",
    )  # fmt: skip
    fails_with(
        "--snaplen: has no effect without --record FILE",
        "home.toml",
        "--snaplen",
        "128",
        "--",
        "true",
    )
    for words in (["sh", "-q", "-c", "exit 3"], ["ping", "-c", "3"]):
        fails_with(
            "headend emulate: expected -- before the command, whose options headend takes for its"
            f" own without it: headend emulate -q home.toml -- {shlex.join(words)}",
            "-q", "home.toml", *words,
        )  # fmt: skip
    fails_with(
        "--snaplen: expected 0 for all bytes, or from 128 to 65535 of them, found 10",
        "home.toml", "--snaplen", "10", "--record", "r", "--", "true",
    )  # fmt: skip


def test_a_scenario_without_a_real_host_is_told_how_to_get_one(line: Path) -> None:
    Path("plain.toml").write_text(HOME_LINE)
    fails_with(
        "plain.toml: no customer's host is real: expected a [host.NAME] with via and real = true,"
        " as in the shipped scenario real-program",
        "plain.toml", "--", "true",
    )  # fmt: skip


def test_a_recording_is_refused_where_it_cannot_be_written(line: Path) -> None:
    words = ("home.toml", "-q", "--", "true")
    missing = "nowhere/r.pcapng: cannot be written: no such file or directory"
    fails_with(missing, "--record", "nowhere/r.pcapng", *words)
    assert call("--record", "r.pcapng", *words).exit_code == 0
    assert load().manifest["emulation"]["recording"] == "r.pcapng"
    fails_with("r.pcapng: exists already; --force replaces it", "--record", "r.pcapng", *words)
    assert call("--record", "r.pcapng", "--force", *words).exit_code == 0
    full = call("--record", "r2", "--out", "full", *words, FAKE_EMULATION="full")
    assert full.exit_code == 2
    kept = "cannot write the recording r: no space; the results are kept in full"
    assert full.stderr == f"error: {kept}\n"
    assert load("full").manifest["emulation"]["recording"] is None


def test_the_outside_needs_root(line: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    fails_with(
        "--outside: needs root, since the kernel translates addresses for it; without it, --server"
        " COMMAND runs the other side here",
        "home.toml", "--outside", "--", "true",
    )  # fmt: skip
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    fails_with(
        "--outside: the world outside stands in the place of server, which has a command; leave out"
        " one of them",
        "home.toml", "--outside", "--server", "true", "--", "true",
    )  # fmt: skip


def test_other_systems_are_told_what_to_do(line: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    fails_with(
        "headend emulate needs Linux, for its network namespaces; headend run simulates the same"
        " line anywhere",
        "home.toml", "--", "true",
    )  # fmt: skip


def test_what_the_machine_refuses_is_one_line(line: Path) -> None:
    message = "no /dev/net/tun: modprobe tun makes it"
    fails_with(message, "home.toml", "-q", "--", "true", FAKE_EMULATION="no tun")
    assert not any(Path("results").iterdir())


@pytest.mark.parametrize("place", ["before", "within"])
def test_an_emulation_that_is_killed_from_outside_is_no_fault_of_headend(
    line: Path, place: str
) -> None:
    answer = call("home.toml", "-q", "--", "true", FAKE_EMULATION=f"die {place} 9")
    told = (
        "error: the process that emulates was killed by SIGKILL (9), as Linux does when memory is"
        " short, and the programs with it"
    )
    assert (answer.exit_code, answer.stderr.startswith(told)) == (2, True), answer.stderr
    assert len(answer.stderr.splitlines()) == 1
    assert not any(Path("results").iterdir())
    crashed = call("home.toml", "-q", "--", "true", FAKE_EMULATION=f"die {place} 11")
    assert crashed.exit_code == 70
    assert "the emulation ended before the run was over (signal 11)" in crashed.stderr


def test_a_signal_is_answered_though_the_emulation_does_not_begin(line: Path) -> None:
    began = time.monotonic()
    answer = call("home.toml", "-q", "--", "true", FAKE_EMULATION=f"hang {os.getpid()}")
    assert (answer.exit_code, answer.stderr) == (130, "interrupted\n")
    assert time.monotonic() - began < 25  # it hangs for 60 s
    assert not any(Path("results").iterdir())


def test_a_signal_or_the_end_of_headend_while_the_process_starts_prints_nothing(
    line: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    started = session.Session({"text": "[", "format": "toml", "overrides": [], "files": {}})
    for _ in range(20):
        started._process.send_signal(signal.SIGINT)
        started._process.send_signal(signal.SIGTERM)
        time.sleep(0.02)
    with pytest.raises(InputError):
        list(started.follow())
    started.close()
    # One that nobody gives a request to any more.
    pipes = [*os.pipe(), *os.pipe()]
    given = (pipes[0], pipes[3])
    process = subprocess.Popen([*session.COMMAND, *map(str, given)], pass_fds=given)
    for pipe in pipes:
        os.close(pipe)
    assert process.wait(timeout=60) == 0
    assert capfd.readouterr().err == ""


def test_an_interruption_ends_the_program_and_keeps_the_results(line: Path) -> None:
    began = time.monotonic()
    answer = call("home.toml", "-q", "--", "sh", "-c", f"kill -TERM {os.getpid()}; sleep 30")
    assert answer.exit_code == 128 + signal.SIGTERM
    assert time.monotonic() - began < 20
    assert load().manifest["emulation"]["hosts"]["laptop"]["exit"] == 143


def test_a_second_signal_kills_a_program_that_ignores_the_first(line: Path) -> None:
    # The program itself sends the signals, so that they come while it runs.
    twice = f"kill -INT {os.getpid()}; sleep 0.3; kill -INT {os.getpid()}"
    program = f"trap '' INT; {twice}; while :; do sleep 0.1; done"
    answer = call("home.toml", "-q", "--", "sh", "-c", program)
    assert answer.exit_code == 128 + signal.SIGKILL
    assert load().manifest["emulation"]["hosts"]["laptop"]["exit"] == 137


def test_a_server_that_fails_early_is_told_at_once_and_one_that_is_stopped_is_not(
    line: Path,
) -> None:
    words = ("home.toml", "--server", "sh -c 'exit 3'", "--", "sleep", "0.5")
    answer = call(*words)
    told = r"server: ended with exit code 3 after \S+ m?s, before the command was over"
    assert re.search(f"Warning: {told}", answer.stderr)
    manifest = load().manifest
    assert any(re.fullmatch(told, text) for text in manifest["warnings"])
    assert manifest["emulation"]["hosts"]["server"]["exit"] == 3
    answer = call("home.toml", "--force", "--server", "sleep 30", "--", "true")
    assert "server: sleep 30 (stopped at the end)" in " ".join(answer.stderr.split())
    manifest = load().manifest
    assert not any("server" in text for text in manifest["warnings"])
    ended = {"command": ["sleep", "30"], "exit": None, "ended": "stopped"}
    assert manifest["emulation"]["hosts"]["server"] == ended


def test_a_short_run_beside_neighbours_that_had_no_warm_up_is_told(line: Path) -> None:
    told = "4 neighbours started together with the programs, and the run was over after"
    call("home.toml", "--set", "warmup=0 s", "--", "true")
    assert any(text.startswith(told) for text in load().manifest["warnings"])
    call("home.toml", "--force", "--set", "warmup=1 s", "--", "true")
    assert not any(text.startswith(told) for text in load().manifest["warnings"])


def test_a_run_during_which_headend_was_stopped_is_not_trustworthy(line: Path) -> None:
    timer = f"sleep 0.5; kill -CONT {os.getpid()}"
    waker = subprocess.Popen(["sh", "-c", timer])
    answer = call("home.toml", "-q", "--strict", "--", "sleep", "1")
    waker.wait()
    assert answer.exit_code == 1
    assert answer.stderr.endswith("not trustworthy, headend was stopped while the program ran\n")
    # As the command timeout ends a program.
    timer = f"sleep 0.5; kill -TERM {os.getpid()}; sleep 0.05; kill -CONT {os.getpid()}"
    waker = subprocess.Popen(["sh", "-c", timer])
    call("home.toml", "--force", "--out", "results/home", "-q", "--", "sleep", "30")
    waker.wait()
    assert load().manifest["emulation"]["lateness"]["trustworthy"]


def test_a_program_that_the_duration_ends_is_no_failure(line: Path) -> None:
    timer = f"sleep 0.5; kill -TERM {os.getpid()}"
    waker = subprocess.Popen(["sh", "-c", timer])
    words = ("home.toml", "--set", "duration=0.1 s", "--set", "warmup=0 s")
    answer = call(*words, "--", "sh", "-c", "trap 'exit 3' TERM; while :; do sleep 0.1; done")
    waker.wait()
    assert answer.exit_code == 0
    assert "note: the scenario's duration ended the program" in answer.stderr


def test_the_first_free_customer_has_the_main_command() -> None:
    hosts = [*HOSTS, Host("tablet", True, "10.0.0.3", "fd00::3")]
    found = choose_programs("home", hosts, ["true"], "sleep 1", ["laptop=sh -c 'exit 3'"])
    assert found.main == "tablet"
    assert found.find("laptop") == ("sh", "-c", "exit 3")
    assert found.find("server") == ("sleep", "1")
    two = [HOSTS[0], *(Host(name, False, "10.0.0.4", "fd00::4") for name in ("game", "web"))]
    told = '--server: home has no host called server, but game and web; write --host "game=COMMAND"'
    with pytest.raises(InputError, match=re.escape(told)):
        choose_programs("home", two, ["true"], "sleep 1")
    with pytest.raises(InputError, match="no customer's host is left for the command"):
        choose_programs("home", HOSTS, ["true"], None, ["laptop=true"])


@pytest.mark.parametrize("held", [1, 10_000_000])
def test_rows_are_the_same_whether_they_are_held_or_written(held: int) -> None:
    rows = Rows(held)
    for number in range(5):
        moment = fake_engine._column([number, number])
        values = fake_engine._column([0.5, 1.5])
        rows.append(
            {
                "samples": {
                    "flow": ["a", "b"],
                    "measure": ["rtt"] * 2,
                    "time_ns": moment,
                    "value": values,
                }
            }
        )
    last = {
        "flow": ["c"],
        "measure": ["rtt"],
        "time_ns": fake_engine._column([9]),
        "value": fake_engine._column([2.5]),
    }
    frames = rows.complete({"samples": last})
    assert frames["samples"]["time_ns"].to_list() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 9]
    assert frames["samples"]["flow"].to_list() == ["a", "b"] * 5 + ["c"]
    assert frames["queues"].is_empty()


def test_the_live_view_shows_rates_queues_and_lateness() -> None:
    from headend.cli.console import PlainConsole
    from headend.cli.live import draw_state

    state = State([("laptop", "real"), ("call.1", "voice"), ("call.2", "voice")], ["cable.up"])
    whole, real = fake_engine._column([100_000_000]), fake_engine._column([2e6])
    series = {
        "time_ns": whole, "flow": ["laptop"], "direction": ["up"], "throughput_bps": real,
        "discarded": fake_engine._column([3]), "marked": fake_engine._column([0]),
    }  # fmt: skip
    queue = {
        "time_ns": whole, "queue": ["cable.up"], "backlog_bytes": fake_engine._column([2048.0]),
        "delay_mean_ns": fake_engine._column([2e7]), "discarded": fake_engine._column([3]),
        "marked": fake_engine._column([0]),
    }  # fmt: skip
    trips = {
        "flow": ["laptop"],
        "measure": ["rtt"],
        "time_ns": whole,
        "value": fake_engine._column([3e7]),
    }
    lateness = {"frames": 4, "p50_ns": 1e4, "p99_ns": 2e4, "max_ns": 3e4, "stalls": 0}
    rows: Any = {"flow_series": series, "queue_series": queue, "samples": trips}
    state.take(Update({"at_ns": 100_000_000, "lateness": lateness}, rows, {}, False))
    console = PlainConsole()
    console.width = 120
    with console.capture() as capture:
        console.print(draw_state(state, (1_000_000, 10_000_000)))
    shown = [" ".join(line.split()) for line in capture.get().splitlines()]
    assert shown == [
        "laptop ↓ 0 bit/s ↑ 2 Mbit/s RTT 30 ms, 3 dropped",
        "cable.up backlog 2 KiB delay 20 ms 3 dropped",
        "call ↓ 0 bit/s ↑ 0 bit/s",
        "0 s, lateness now: p50 10 µs, p99 20 µs, max 30 µs",
        "so far: no stalls: trustworthy",
    ]
    stall = {**lateness, "stalls": 1, "longest_stall_ns": 1e8}
    state.take(Update({"at_ns": 200_000_000, "lateness": stall}, {}, {}, False))
    with console.capture() as capture:
        console.print(draw_state(state, (1_000_000, 10_000_000)))
    assert "so far: 1 stall: not trustworthy" in capture.get()
    nothing = {"frames": 0, "p50_ns": 0, "stalls": 0, "longest_stall_ns": 0}
    state.take(Update({"at_ns": 300_000_000, "lateness": nothing}, {}, {}, False))
    assert (state.lateness["p50_ns"], state.lateness["stalls"], state.stalls) == (1e4, 0, 1)


def test_a_message_that_is_larger_than_its_pipe_comes_whole() -> None:
    reader, writer = os.pipe()
    sent = {"files": {"trace.csv": bytes(1_000_000)}}
    with os.fdopen(writer, "wb") as ours, os.fdopen(reader, "rb", buffering=0) as theirs:
        sender = threading.Thread(target=send, args=(ours, sent))
        sender.start()
        assert receive(theirs) == sent
        sender.join()


def test_the_process_imports_nothing_heavy() -> None:
    code = """
import sys
from headend.emulation import process
from headend.emulation.messages import receive, send
print([name for name in ("polars", "click", "rich", "numpy", "threading") if name in sys.modules])
"""
    package = str(Path(headend.__file__).parents[1])
    answer = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": package},
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout == "[]\n"


FRAMES = {"entered": 20, "delivered": 19, "discarded": 1, "marked": 1, "strays": 0, "digest": 7}


def record(path: str = "r.pcapng", *, killed: bool = False, **other: int) -> str:
    """Write a recording as the stand-in engine reads it, whose replay gives other numbers."""
    content = {
        "seed": 9,
        "hosts": ["laptop", "server"],
        "scenario": tomllib.loads(Path("home.toml").read_text()),
        "end": None if killed else {"end_ns": 10_000_000_000, "frames": FRAMES},
        "replayed": FRAMES | other,
    }
    Path(path).write_text(json.dumps(content))
    return path


def replay(*words: str) -> Result:
    return CliRunner().invoke(app, ["replay", *words])


def test_a_replay_says_that_every_departure_is_equal(line: Path) -> None:
    answer = replay(record())
    assert answer.exit_code == 0, answer.output
    assert "As recorded: 20 frames, every departure equal" in answer.stdout
    result = load("results/r")
    emulation = result.manifest["emulation"]
    assert (emulation["kind"], emulation["equal"], emulation["changed"]) == ("replayed", True, [])
    assert (result.manifest["seed"], result.manifest["duration_ns"]) == (9, 10_000_000_000)
    assert emulation["frames"] == emulation["recorded"] == FRAMES


def test_a_replay_that_differs_says_in_what_and_exits_1(line: Path) -> None:
    answer = replay(record(delivered=18, discarded=2, digest=8))
    assert answer.exit_code == 1
    told = "Not as recorded: delivered 18, recorded 19; discarded 2, recorded 1"
    assert told in answer.stdout
    document = json.loads(replay(record(digest=8), "--json").stdout)
    assert document["emulation"]["equal"] is False
    assert "Not equal" in document["answer"]["sentences"][0]
    quiet = replay("r.pcapng", "-q").stderr
    assert quiet.startswith("error: r.pcapng: not as recorded: as many frames of each fate")


def test_a_replay_under_other_settings_is_open_loop_wherever_it_is_shown(line: Path) -> None:
    answer = replay(record(digest=8), "--set", "queue=docsis_pie")
    assert answer.exit_code == 0
    open_loop = "Open loop: the recorded senders do not react to this queue."
    assert open_loop in answer.stdout
    assert open_loop in Path("results/r/report.html").read_text()
    emulation = load("results/r").manifest["emulation"]
    assert (emulation["kind"], emulation["changed"], emulation["equal"]) == (
        "open_loop",
        ["queue"],
        None,
    )
    # Another seed changes what the neighbours do; what is measured changes nothing.
    seeded = headend.replay("r.pcapng", seed=10)
    assert seeded.manifest["emulation"]["changed"] == ["seed"]
    titled = headend.replay(record(), set={"title": "other"}, out="titled")
    assert titled.manifest["emulation"]["equal"] is True
    assert RunResult.load("titled").title == "other"


def test_a_recording_whose_run_was_killed_is_replayed_to_its_last_arrival(line: Path) -> None:
    answer = replay(record(killed=True), "--no-report")
    assert answer.exit_code == 0
    told = "The recorded run was killed: replayed to its last arrival, 20 frames"
    assert told in answer.stdout
    assert load("results/r").manifest["emulation"]["equal"] is None


def test_what_is_no_recording_is_refused_in_one_line(line: Path) -> None:
    answer = replay("home.toml")
    told = "home.toml: expected a recording of headend emulate, found no pcapng file"
    assert (answer.exit_code, answer.stderr) == (2, f"error: {told}\n")
    told = "host.laptop.real: expected true, since the recording has packets of laptop; found false"
    left_out = replay(record(), "--set", "host.laptop.real=false")
    assert (left_out.exit_code, left_out.stderr) == (2, f"error: {told}\n")
    assert replay("none.pcapng").stderr == "error: none.pcapng: no such file or directory\n"
    with pytest.raises(InputError, match="path: expected a path"):
        headend.replay(3)  # type: ignore[arg-type]


def test_other_commands_take_results_with_real_programs(line: Path) -> None:
    for name in ("one", "two"):
        words = ["emulate", "home.toml", "--out", name, "-q", "--no-report", "--", "true"]
        assert CliRunner().invoke(app, words).exit_code == 0
    for words in (
        ["compare", "one", "two", "--out", "both"],
        ["export", "one", "--csv", "tables"],
        ["verify", "one"],
        ["report", "one"],
        ["figures", "both", "--format", "svg"],
    ):
        answer = CliRunner().invoke(app, words)
        assert answer.exit_code == 0, answer.output
    assert "example.org" in Path("tables/real_flows.csv").read_text()
    assert isinstance(headend.load("both"), headend.Comparison)
