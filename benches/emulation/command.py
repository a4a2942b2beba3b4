"""Run `headend emulate` and read what it leaves."""

from __future__ import annotations

import itertools
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import headend

HEADEND = [sys.executable, "-m", "headend"]

_NUMBERS = itertools.count(1)


class EmulationFailedError(Exception):
    """The command ended with an unexpected exit code; the message has what it printed."""


class NotTrustworthyError(Exception):
    """Each of several runs was beyond its bounds of lateness; the message says by how much."""


@dataclass(frozen=True)
class Emulated:
    """An emulated run: exit code, output, results folder, and the memory of a process."""

    exit: int
    stdout: str
    stderr: str
    folder: Path
    record: Path
    peak_mib: float
    result: headend.Result

    @property
    def emulation(self) -> dict[str, Any]:
        """What the manifest says of the emulation."""
        found: dict[str, Any] = self.result.manifest["emulation"]
        return found

    @property
    def lateness(self) -> dict[str, Any]:
        """The verdict on its lateness, and the figures behind it."""
        found: dict[str, Any] = self.emulation["lateness"]
        return found

    @property
    def is_trustworthy(self) -> bool:
        """Whether it kept its bounds."""
        return bool(self.lateness["trustworthy"])

    def take_flow(self, flow: str, direction: str) -> dict[str, Any]:
        """Give the row of a flow in the table of flows."""
        return self._take("flows", {"flow": flow, "direction": direction})

    def take_queue(self, queue: str) -> dict[str, Any]:
        """Give the row of a queue in the table of queues."""
        return self._take("queues", {"queue": queue})

    def _take(self, table: str, wanted: Mapping[str, str]) -> dict[str, Any]:
        rows = self.result.tables[table].iter_rows(named=True)
        return next(row for row in rows if all(row[key] == own for key, own in wanted.items()))

    def describe_lateness(self) -> str:
        """Give lateness and scheduling class in a line."""
        late = self.lateness
        return (
            f"late p50 {late['p50_ns'] / 1e3:.0f} us, p99 {late['p99_ns'] / 1e3:.0f} us, max"
            f" {late['max_ns'] / 1e6:.2f} ms, {late['stalls']} stalls"
            f" ({self.emulation['scheduling']})"
        )


def emulate(
    scenario: str,
    command: Sequence[str | Path],
    *,
    folder: Path,
    server: Sequence[str | Path] | None = None,
    congestion: str = "cubic",
    options: Sequence[str] = (),
    expected: int | None = 0,
    environment: Mapping[str, str] | None = None,
    is_recorded: bool = True,
) -> Emulated:
    """Run a command behind a line.

    Parameters
    ----------
    scenario
        The text of a scenario whose real hosts are ``laptop`` and ``server``.
    command
        What runs on the laptop.
    folder
        Where scenario, recording and results are written, each under a name of its own.
    server
        What runs on the server.
    congestion
        Congestion control of both hosts.
    options
        Further options of ``headend emulate``.
    expected
        The exit code; None for any.
    environment
        Variables in addition to those of this process.
    is_recorded
        Whether arrivals are recorded.

    Raises
    ------
    EmulationFailedError
        If it ended with another exit code.
    """
    number = next(_NUMBERS)
    file, out, record = (folder / f"{number}{end}" for end in (".toml", "", ".pcapng"))
    file.write_text(scenario)
    words = [*HEADEND, "emulate", str(file), "--out", str(out), "--no-report", "--quiet", *options]
    words += ["--congestion", congestion]
    if is_recorded:
        words += ["--record", str(record)]
    if server is not None:
        words += ["--server", shlex.join(map(str, server))]
    printed = [folder / f"{number}{end}" for end in (".stdout", ".stderr")]
    with printed[0].open("wb") as stdout, printed[1].open("wb") as stderr:
        process = subprocess.Popen(
            [*words, "--", *map(str, command)],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env={**os.environ, **(environment or {})},
        )
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    said = [file.read_text(errors="replace") for file in printed]
    if expected is not None and process.returncode != expected:
        raise EmulationFailedError(
            f"exit code {process.returncode}, expected {expected}: {shlex.join(words)} -- …\n"
            f"{said[0][-2000:]}\n{said[1][-2000:]}"
        )
    result = headend.load(out)
    assert isinstance(result, headend.Result)
    peak = usage.ru_maxrss / 1024
    return Emulated(process.returncode, said[0], said[1], out, record, peak, result)


def repeat_until_trustworthy(run: Callable[[], Emulated], times: int = 3) -> Emulated:
    """Run until the run keeps its bounds of lateness.

    Raises
    ------
    NotTrustworthyError
        If none of so many did.
    """
    for _ in range(times):
        emulated = run()
        if emulated.is_trustworthy:
            return emulated
    raise NotTrustworthyError(f"{times} runs were not trustworthy: {emulated.lateness['why']}")


def find_missing(*tools: str) -> str | None:
    """Say what this machine lacks to emulate and to run these tools, or None."""
    if sys.platform != "linux":
        return "needs Linux"
    if not Path("/dev/net/tun").exists():
        return "there is no /dev/net/tun"
    for tool in ("ip", *tools):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "line.toml")
        file.write_text(_SMALLEST)
        words = [
            *HEADEND,
            "emulate",
            str(file),
            "--no-report",
            "--out",
            f"{folder}/out",
            "--",
            "true",
        ]
        ended = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return None if ended.returncode == 0 else (ended.stderr.strip().splitlines() or ["?"])[-1]


_SMALLEST = """format = 1
[link.line.point_to_point]
up.rate = "10 Mbit/s"
down.rate = "10 Mbit/s"
[host.laptop]
via = ["line"]
real = true
"""
