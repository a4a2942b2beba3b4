"""Ctrl-C while code of one's own does not return: the command ends, and what finished is kept."""

from __future__ import annotations

import _thread
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import headend

#: The first call after half a second of simulated time creates a file and does not return.
LAW = """\
from pathlib import Path

from headend import ControlLaw


class Endless(ControlLaw):
    def dequeue(self, backlog, line):
        if line.now > 500_000_000:
            Path("started").touch()
            while True:
                pass
        return backlog.pop()


class Stubborn(ControlLaw):
    def dequeue(self, backlog, line):
        Path("started").touch()
        for _ in range(2):
            try:
                while True:
                    pass
            except BaseException:
                continue
        return backlog.pop()
"""

LOADED = LAW + "\n\nPath('started').touch()\nwhile True:\n    pass\n"

#: Seconds after which a command that was interrupted must have ended.
PATIENCE = 30


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.py").write_text(LAW)
    (tmp_path / "loaded.py").write_text(LOADED)
    return tmp_path


def interrupt(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command, and interrupt it once the code does not return."""
    command = [sys.executable, "-m", "headend", *arguments]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            deadline = time.monotonic() + PATIENCE
            while not (folder / "started").exists():
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < deadline, "the code was not called"
                time.sleep(0.05)
            os.kill(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def test_a_run_is_kept_as_partial_up_to_the_call(folder: Path) -> None:
    ended = interrupt(folder, "run", "upload-and-call", "--set", "queue=my.py:Endless", "--out=o")
    assert ended.returncode == 130, ended.stderr
    result = headend.load(folder / "o")
    assert isinstance(result, headend.Result)
    assert result.is_partial
    assert result.failure is None
    assert result.manifest["simulated_ns"] > 500_000_000


def test_the_other_runs_of_a_comparison_are_kept(folder: Path) -> None:
    vary = "queue=drop_tail,my.py:Endless"
    arguments = ["--vary", vary, "--set", "duration=11 s", "--out=o", "--quiet"]
    ended = interrupt(folder, "compare", "upload-and-call", *arguments)
    assert ended.returncode == 130, ended.stderr
    compared = headend.load(folder / "o")
    assert isinstance(compared, headend.Comparison)
    assert "my.py:Endless" in compared.unfinished
    assert "my.py:Endless" in ended.stderr


def test_code_that_does_not_return_when_it_is_loaded_ends_the_command(folder: Path) -> None:
    ended = interrupt(folder, "run", "upload-and-call", "--set", "queue=loaded.py:Endless")
    assert ended.returncode == 130, ended.stderr
    assert "interrupted" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_from_python_an_interruption_is_raised(folder: Path) -> None:
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        headend.run("upload-and-call", set={"queue": "my.py:Endless"})
    timer.join()


def test_code_that_catches_the_interruption_is_interrupted_again(folder: Path) -> None:
    ended = interrupt(folder, "run", "upload-and-call", "--set", "queue=my.py:Stubborn", "--out=o")
    assert ended.returncode == 130, ended.stderr
