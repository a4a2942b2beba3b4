"""Code that fails in the middle of a run: what is said, and what is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import headend
from headend.cli.main import app
from headend.errors import InputError

CODE = """\
from headend import CongestionControl, ControlLaw


class Crash(ControlLaw):
    calls = 0

    def dequeue(self, backlog, line):
        self.calls += 1
        if self.calls > 500:
            self.divide()
        return backlog.pop()

    def divide(self):
        return 1 / (self.calls - 501)


class Leave(ControlLaw):
    def enqueue(self, packet, backlog, line):
        pass


class Keep(ControlLaw):
    def dequeue(self, backlog, line):
        backlog.pop()
        return backlog.pop()


class Idle(ControlLaw):
    def dequeue(self, backlog, line):
        return None


class Twice(ControlLaw):
    def enqueue(self, packet, backlog, line):
        backlog.push(packet)
        backlog.push(packet)


class Text(ControlLaw):
    def dequeue(self, backlog, line):
        return "packet"


class Past(ControlLaw):
    next_update = 1_000_000

    def update(self, backlog, line):
        self.next_update = line.now - 1


class Unset(ControlLaw):
    next_update = 1_000_000

    def update(self, backlog, line):
        pass


class Unclear(ControlLaw):
    def enqueue(self, packet, backlog, line):
        backlog.push(packet)

    def internals(self):
        return {"drop_probability": float("nan")}


class Started(CongestionControl):
    def __init__(self):
        self.cwnd = 1

    def on_ack(self, ack):
        pass


class Takes(ControlLaw):
    next_update = 1_000_000

    def update(self, backlog, line):
        backlog.pop()


class Figures(ControlLaw):
    def dequeue(self, backlog, line):
        return backlog.pop()

    def internals(self):
        return {"drop_probabilty": 0.5}


class Later(ControlLaw):
    def enqueue(self, packet, backlog, line):
        self.kept = getattr(self, "kept", backlog)
        self.old = getattr(self, "old", packet)
        if self.old is not packet:
            backlog.discard(self.old)
        backlog.push(packet)


class Small(CongestionControl):
    def on_ack(self, ack):
        self.cwnd = 3


class Float(CongestionControl):
    def on_ack(self, ack):
        self.cwnd *= 1.01


class Rate(CongestionControl):
    def on_ack(self, ack):
        self.pacing_rate = 0


class Timer(CongestionControl):
    def on_ack(self, ack):
        self.next_timer = ack.now

    def on_timer(self, now):
        pass
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text(CODE)
    return tmp_path


@pytest.mark.parametrize(
    ("key", "name", "expected"),
    [
        (
            "queue",
            "Crash",
            "ZeroDivisionError: division by zero (bad.py, line 14, in divide: return 1 /"
            " (self.calls - 501); called in line 10, in dequeue)",
        ),
        (
            "queue",
            "Leave",
            "enqueue neither pushed nor discarded the packet that arrived (bad.py, line 18, in"
            " enqueue)",
        ),
        ("queue", "Keep", "taken out of the backlog, and neither returned, pushed nor discarded"),
        ("queue", "Idle", "dequeue returned None while packets wait: 2"),
        ("queue", "Twice", "this packet is not in the law's hands"),
        ("queue", "Text", "dequeue: expected a packet or None, found <class 'str'>"),
        ("queue", "Past", "next_update: expected a time after now, 1000000 ns, found 999999"),
        (
            "queue",
            "Unset",
            "update has not set next_update again, which is still 1000000 ns: expected a time after"
            " now, 1000000 ns, or None (bad.py, line 54, in update)",
        ),
        (
            "queue",
            "Unclear",
            "internals: drop_probability: expected a finite number, found NaN (bad.py, line 62, in"
            " internals)",
        ),
        ("queue", "Takes", "can be taken, pushed, marked and discarded in enqueue and dequeue"),
        ("queue", "Figures", 'internals: no figure is called "drop_probabilty"'),
        ("queue", "Later", "this packet is not in the law's hands"),
        ("tcp.congestion", "Small", "cwnd: expected one segment of 1448 bytes at least, found 3"),
        ("tcp.congestion", "Float", "cwnd: expected whole bytes, found 14624.8"),
        ("tcp.congestion", "Rate", "pacing_rate: expected more than 0 bit/s, or None, found 0"),
        ("tcp.congestion", "Timer", "next_timer: expected a time after now, "),
    ],
)
def test_a_failure_is_one_line_with_the_time_and_the_code(
    key: str, name: str, expected: str
) -> None:
    with pytest.raises(InputError) as caught:
        headend.run("upload-and-call", set={key: f"bad.py:{name}", "duration": "11 s"})
    said = str(caught.value)
    assert f"bad.py:{name}: " in said
    assert said.startswith("at ")
    assert expected in said
    assert "\n" not in said


def test_what_an_object_begins_with_is_refused_with_the_line_of_its_init() -> None:
    expected = (
        r"bad\.py:Started: cwnd: expected one segment of \d+ bytes at least, found 1"
        r" \(bad\.py, line 67, in __init__\)"
    )
    with pytest.raises(InputError, match=expected):
        headend.run("upload-and-call", set={"tcp.congestion": "bad.py:Started"})


@pytest.mark.parametrize("option", ["--quiet", "--json"])
def test_the_error_comes_before_what_is_kept_and_nothing_is_missed(option: str) -> None:
    arguments = ["run", "upload-and-call", "--set", "queue=bad.py:Crash", "--out=o", option]
    ended = CliRunner().invoke(app, arguments)
    assert ended.exit_code == 2
    first, *others = ended.stderr.splitlines()
    assert first.startswith("error: at ")
    assert "ZeroDivisionError" in first
    if option == "--json":
        assert not others
        assert "ZeroDivisionError" in json.loads(ended.stdout)["error"]
    else:
        assert len(others) == 1
        assert others[0].startswith("what was simulated is kept in o, ")


def test_the_error_comes_before_what_other_runs_missed() -> None:
    arguments = ["compare", "upload-and-call", "--vary", "queue=drop_tail,bad.py:Crash"]
    arguments += ["--set", "duration=11 s", "--set", "expect.never=ping.rtt.p5 < 1 ms", "--quiet"]
    ended = CliRunner().invoke(app, arguments)
    assert ended.exit_code == 2
    starts = [line.partition(":")[0] for line in ended.stderr.splitlines()]
    assert starts[0] == "error"
    assert "missed" in starts[1:]
    assert "missed: bad.py:Crash" not in ended.stderr


def test_what_was_simulated_is_kept_as_partial(folder: Path) -> None:
    out = folder / "out"
    arguments = ["run", "upload-and-call", "--set", "queue=bad.py:Crash", "--out", str(out)]
    assert CliRunner().invoke(app, arguments).exit_code == 2
    kept = headend.load(out)
    assert isinstance(kept, headend.Result)
    assert kept.is_partial
    assert kept.failure is not None
    assert "ZeroDivisionError" in kept.failure
    assert kept.manifest["simulated_ns"] < kept.manifest["duration_ns"]


def test_the_other_runs_of_a_comparison_are_kept(folder: Path) -> None:
    out = folder / "out"
    arguments = ["compare", "upload-and-call", "--vary", "queue=codel,bad.py:Crash"]
    arguments += ["--set", "duration=20 s", "--out", str(out)]
    assert CliRunner().invoke(app, arguments).exit_code == 2
    kept = headend.load(out)
    assert isinstance(kept, headend.Comparison)
    assert [result.is_partial for result in kept.results] == [False, True]


def test_a_run_after_a_failure_is_as_any_other() -> None:
    with pytest.raises(InputError):
        headend.run("upload-and-call", set={"queue": "bad.py:Crash", "duration": "11 s"})
    result = headend.run("upload-and-call", set={"queue": "codel", "duration": "11 s"})
    assert not result.is_partial
