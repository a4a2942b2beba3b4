"""`headend emulate` with a control law of one's own: it handles real programs' packets."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

import headend
from emulation.command import HEADEND, emulate, find_missing
from emulation.line import write_plain

find_missing = functools.cache(find_missing)

LAW = """\
from pathlib import Path

from headend import ControlLaw


class Drops(ControlLaw):
    \"\"\"Drops each third packet.\"\"\"

    seen = 0

    def enqueue(self, packet, backlog, line):
        self.seen += 1
        (backlog.discard if self.seen % 3 == 0 else backlog.push)(packet)


class Crash(ControlLaw):
    def dequeue(self, backlog, line):
        return 1 / 0


class Endless(ControlLaw):
    def dequeue(self, backlog, line):
        Path("started").touch()
        while True:
            pass
"""

#: Seconds after which a command that was interrupted must have ended.
PATIENCE = 30

PING = ("ping", "-4", "-i", "0.02", "-c", "30", "-W", "1", "server")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if missing := find_missing("ping"):
        pytest.skip(missing)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.py").write_text(LAW)
    return tmp_path


@pytest.mark.slow
def test_a_law_drops_packets_of_a_real_program_and_a_replay_repeats_it(folder: Path) -> None:
    line = write_plain("10 Mbit/s", "10 Mbit/s")
    run = emulate(line, PING, folder=folder, options=["--set", "queue=my.py:Drops"])
    assert list(run.result.manifest["code"]) == ["my.py:Drops"]
    queue = run.take_queue("line.up")
    assert queue["discarded_congested"] >= 10
    assert queue["discarded_congested"] == pytest.approx(30 / 3, abs=2)
    again = ["replay", str(run.record), "--out=again", "--no-report"]
    ended = subprocess.run([*HEADEND, *again], capture_output=True, text=True)
    assert "a file holds code" in ended.stderr
    again += ["--allow-files", str(run.record)]
    ended = subprocess.run([*HEADEND, *again], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    replayed = headend.load("again")
    assert isinstance(replayed, headend.Result)
    assert replayed.manifest["emulation"]["equal"] is True


def test_an_error_of_a_law_ends_the_run_and_is_said(folder: Path) -> None:
    line = write_plain("10 Mbit/s", "10 Mbit/s")
    run = emulate(line, PING, folder=folder, options=["--set", "queue=my.py:Crash"], expected=2)
    assert "my.py:Crash: ZeroDivisionError: division by zero (my.py, line 18" in run.stderr
    assert run.result.is_partial
    assert run.result.failure is not None


def test_a_law_that_does_not_return_is_interrupted_with_the_program(folder: Path) -> None:
    (folder / "line.toml").write_text(write_plain("10 Mbit/s", "10 Mbit/s"))
    words = ["emulate", "line.toml", "--set", "queue=my.py:Endless", "--out=out", "--no-report"]
    with subprocess.Popen(
        [*HEADEND, *words, "--", *PING],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            deadline = time.monotonic() + PATIENCE
            while not (folder / "started").exists():
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < deadline, "the law was not called"
                time.sleep(0.05)
            os.kill(process.pid, signal.SIGINT)
            _, told = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert "my.py:Endless: interrupted, since the call did not return (my.py, line" in told
    kept = headend.load(folder / "out")
    assert isinstance(kept, headend.Result)
    assert kept.is_partial


@pytest.mark.slow
def test_real_time_does_not_wait_for_a_law_that_does_not_return(folder: Path) -> None:
    line = write_plain("10 Mbit/s", "10 Mbit/s")
    options = ["--set", "queue=my.py:Endless"]
    run = emulate(line, PING, folder=folder, options=options, expected=2)
    assert "my.py:Endless: interrupted, since the call did not return (my.py, line" in run.stderr
    assert run.result.is_partial
