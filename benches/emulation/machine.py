"""The machine that is measured on: what it is, how busy, and how late sleeps end."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

PROGRAMS = Path(__file__).parent / "programs"


def describe_machine() -> str:
    """Give processor, cores, kernel and load in a line."""
    model = "unknown processor"
    for row in Path("/proc/cpuinfo").read_text().splitlines():
        if row.startswith("model name"):
            model = row.split(":", 1)[1].strip()
            break
    return f"{model}, {os.cpu_count()} cores, Linux {platform.release()}, {describe_load()}"


def describe_load() -> str:
    """Give the load of the last minute."""
    return f"load {os.getloadavg()[0]:.2f}"


@dataclass(frozen=True)
class Sleeps:
    """How late sleeps ended, in ns, and in which scheduling class."""

    scheduling: str
    count: int
    p50_ns: float
    p99_ns: float
    max_ns: float

    def __str__(self) -> str:
        return (
            f"control: {self.count} bare sleeps of 10 ms ({self.scheduling}) late by p50"
            f" {self.p50_ns / 1e3:.0f} us, p99 {self.p99_ns / 1e3:.0f} us, max"
            f" {self.max_ns / 1e6:.2f} ms"
        )


class Control:
    """Bare sleeps in a process of its own, during a measurement: ``with Control() as control``.

    It asks for the scheduling class that the emulator has, SCHED_FIFO; ``sleeps`` is there after
    the block.
    """

    def __enter__(self) -> Self:
        """Start to sleep."""
        self._process = subprocess.Popen(
            [sys.executable, "-S", str(PROGRAMS / "sleeper.py")], stdout=subprocess.PIPE
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it and read what it found."""
        self._process.send_signal(signal.SIGTERM)
        output, _ = self._process.communicate(timeout=10)
        # A measurement that was not trustworthy wants to know most; Ctrl-C ends the sleeper first.
        if output:
            self.sleeps = Sleeps(**json.loads(output))
