"""A real browser beside headend's: pages and a call on a cable line, under three buffers.

Chromium loads a page of 100 objects through `headend emulate` while a simulated neighbour uploads;
beside it stands the `web` application on the same line, with a page of the same shape. Then two
Chromium hold a WebRTC call, one behind the line: round trips of a data channel stand beside the
`ping` application. Controls are an idle line, and no line at all: 10 Gbit/s and 0.2 ms, over which
a browser takes what it takes by itself. Writes `target/real-pages.json`.

Needs Linux with TUN and namespaces, Chromium, and Playwright for Python. `--only pages` or
`--only call`; `--loads N`, `--seconds N`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from emulation.command import (
    Emulated,
    EmulationFailedError,
    NotTrustworthyError,
    emulate,
    find_missing,
    repeat_until_trustworthy,
)
from emulation.line import write_cable, write_plain
from emulation.machine import PROGRAMS, Control, describe_machine
from emulation.simulation import simulate

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

#: The page of the Buffer Control measurements (CM-GL-Buffer, 2011), over HTTP/1.1; a request of
#: Chromium is of this size.
PAGE, HTML, REQUEST = 354_780, 20_480, 420

#: When the upload has filled its buffer, and the time between two loads, s.
WAIT, PAUSE = 10, 1

UPLOAD = """
[flow.upload]
application = "bulk"
direction = "up"
peer = "server"
tcp = { system = "linux", congestion = "cubic", ecn = "off" }
"""

#: The line's upstream queue by name; the first two are without an upload.
QUEUES = {
    "no line": "",
    "idle line": "docsis_pie = {}",
    "bufferbloat (250 ms)": 'drop_tail.limit = "250 ms"',
    "Buffer Control (32 KiB)": 'buffer_control.target = "32 KiB"',
    "DOCSIS-PIE": "docsis_pie = {}",
}


@dataclass(frozen=True)
class Spread:
    """Quantiles of times in ms."""

    count: int
    p50: float
    p95: float
    most: float

    @classmethod
    def of(cls, times: Sequence[float]) -> Spread:
        """Take them from all times."""
        ordered = sorted(times)
        last = len(ordered) - 1
        at = [ordered[round(last * share)] for share in (0.5, 0.95, 1)]
        return cls(len(ordered), *at)

    def __str__(self) -> str:
        return f"{self.p50:8.1f}{self.p95:9.1f}{self.most:9.1f}{self.count:6}"


def main() -> None:
    """Measure, print, write down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=["pages", "call"])
    parser.add_argument("--loads", type=int, default=15)
    parser.add_argument("--seconds", type=int, default=40)
    arguments = parser.parse_args()
    found = (shutil.which(name) for name in BROWSERS)
    chromium = next((path for path in found if path is not None), None)
    if missing := find_missing():
        sys.exit(f"benches/real_pages.py: {missing}")
    if chromium is None or importlib.util.find_spec("playwright") is None:
        sys.exit("benches/real_pages.py: needs Chromium, and Playwright for Python")
    print(describe_machine())
    report: dict[str, Any] = {"machine": describe_machine()}
    tries: dict[str, Callable[[str, Path], dict[str, Any]]] = {
        "pages": partial(load_pages, chromium=chromium, loads=arguments.loads),
        "call": partial(call, chromium=chromium, seconds=arguments.seconds),
    }
    for kind, measure in tries.items():
        if arguments.only not in (None, kind):
            continue
        print(f"{kind:<44}{'p50 ms':>8}{'p95':>9}{'most':>9}{'n':>6}")
        for name in QUEUES:
            with tempfile.TemporaryDirectory() as folder, Control() as control:
                try:
                    measured = measure(name, Path(folder))
                except (EmulationFailedError, NotTrustworthyError) as error:
                    print(f"{name}: {error}")
                    continue
            print(f"    {control.sleeps}", flush=True)
            report.setdefault(kind, {})[name] = measured
    target = Path(__file__).parent.parent / "target"
    target.mkdir(exist_ok=True)
    (target / "real-pages.json").write_text(json.dumps(report, indent=2) + "\n")


def _write(name: str) -> str:
    if name == "no line":
        return write_plain("10 Gbit/s", "10 Gbit/s", rtt="200 us")
    more = "" if name == "idle line" else UPLOAD
    return write_cable("10 Mbit/s", "100 Mbit/s", queue=QUEUES[name], more=more)


def _emulate(
    name: str, command: Sequence[str | Path], server: Sequence[str | Path], folder: Path
) -> Emulated:
    return repeat_until_trustworthy(
        lambda: emulate(_write(name), command, folder=folder, server=server, is_recorded=False)
    )


def load_pages(name: str, folder: Path, *, chromium: str, loads: int) -> dict[str, Any]:
    """Load pages behind a line, real and simulated, and print both."""
    loader = [
        sys.executable,
        str(PROGRAMS / "load_page.py"),
        chromium,
        str(loads),
        str(WAIT),
        str(PAUSE),
    ]
    server = [sys.executable, "-S", str(PROGRAMS / "serve_page.py"), str(PAGE), str(HTML)]
    run = _emulate(name, loader, server, folder)
    seen = json.loads(run.stdout)
    web = {
        "site": "buffer_control",
        "connections": 6,
        "request": f"{REQUEST} B",
        "pause": f"{PAUSE} s",
        "loads": loads,
    }
    flow = {"application": {"web": web}, "peers": ["server"], "start": f"{WAIT} s"}
    times: list[float] = []
    for seed in (1, 2, 3):
        result = simulate(_write(name), duration=f"{WAIT + 10 * loads} s", seed=seed, flow=flow)
        samples = result.samples.filter(flow="laptop", measure="page_load_time")
        times += [value / 1e6 for value in samples["value"]]
    return _compare(name, "Chromium", seen["times"], times, run) | {"resources": seen["resources"]}


def call(name: str, folder: Path, *, chromium: str, seconds: int) -> dict[str, Any]:
    """Hold a call across a line, real; and ping it, simulated; print both."""
    # Each run has files of its own for what the two sides hand over.
    program = [sys.executable, str(PROGRAMS / "web_call.py"), chromium]

    def run_once() -> Emulated:
        own = Path(tempfile.mkdtemp(dir=folder))
        words = [[*program, str(own), role, str(seconds)] for role in ("call", "answer")]
        return emulate(_write(name), words[0], folder=folder, server=words[1], is_recorded=False)

    run = repeat_until_trustworthy(run_once)
    seen = json.loads(run.stdout)
    flow = {
        "application": {"ping": {"interval": "20 ms"}},
        "peer": "server",
        "start": f"{WAIT} s",
    }
    result = simulate(_write(name), duration=f"{WAIT + seconds} s", flow=flow)
    samples = result.samples.filter(flow="laptop", measure="rtt")
    times = [value / 1e6 for value in samples["value"]]
    found = _compare(name, "WebRTC data", seen["times"], times, run)
    lost = 1 - len(seen["times"]) / max(1, seen["sent"])
    for side, audio in (("here", seen["audio"]), ("there", seen["far"]["audio"])):
        print(
            f"    audio heard {side}: {audio['lost']} of {audio['received']} lost, jitter"
            f" {audio['jitter_ms']:.1f} ms, {audio['concealed']:.1%} concealed"
        )
    print(f"    {lost:.1%} of the data's round trips lost")
    return found | {"lost": lost, "audio": [seen["audio"], seen["far"]["audio"]]}


def _compare(
    name: str, real: str, seen: Sequence[float], simulated: Sequence[float], run: Emulated
) -> dict[str, Any]:
    spreads = {real: Spread.of(seen), "simulated": Spread.of(simulated)}
    for who, spread in spreads.items():
        print(f"{f'{name}, {who}':<44}{spread}")
    print(f"    {run.describe_lateness()}")
    return {"real": list(seen), "simulated": list(simulated), "lateness": run.lateness}


if __name__ == "__main__":
    main()
