"""A stand-in for the process that emulates: real, with an engine that only starts commands.

It has no namespaces and no line. Words of the environment variable FAKE_EMULATION make it refuse,
stall or fall over.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import fake_engine

SECOND = 1_000_000_000


class EmulationError(RuntimeError):
    """What the engine's own says in one sentence."""


class Emulation:
    @staticmethod
    def enter(outside: bool) -> None:
        if "no tun" in os.environ.get("FAKE_EMULATION", ""):
            raise EmulationError("no /dev/net/tun: modprobe tun makes it")

    def __init__(self, scenario: Any, seed: int, options: str) -> None:
        self.scenario, self.options = scenario, json.loads(options)
        word, *more = os.environ.get("FAKE_EMULATION", "").split()[:3] or [""]
        if word == "hang":
            parent, until = os.getppid(), time.monotonic() + 60
            os.kill(int(more[0]), signal.SIGTERM)
            while time.monotonic() < until:
                time.sleep(0.05)
                if os.getppid() != parent:
                    os._exit(1)  # as the kernel ends the engine's own with its parent
        if word == "die" and more[0] == "within":
            os.kill(os.getpid(), int(more[1]))
        self.began, self.told = time.monotonic(), 0
        output = None
        if self.options["output"] != "inherit":
            output = Path(self.options["output"]).open("wb")  # noqa: SIM115
        if self.options["record"]:
            Path(self.options["record"]).write_text(scenario.resolved_json())
        self.started = {
            one["host"]: subprocess.Popen(
                one["argv"], stdout=output, cwd=self.options["cwd"], env=os.environ
            )
            for one in self.options["commands"]
        }
        self.main = self.started[self.options["main"]]
        self.stopped: list[str] = []

    @property
    def lateness(self) -> dict[str, Any]:
        known = {
            "frames": 10,
            "p50_ns": 12_000,
            "p99_ns": 80_000,
            "max_ns": 900_000,
            "mean_ns": 2e4,
        }
        return known | {"stalls": 0, "longest_stall_ns": 0, "overruns": 0}

    def next(self, timeout: float) -> tuple[str, dict[str, Any]] | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.main.wait(timeout)
        self.told += 1
        at_ns = self.told * SECOND // 10
        rows: dict[str, Any] = {
            "flow_series": {
                "time_ns": _whole(at_ns, at_ns),
                "flow": ["laptop", "laptop"],
                "direction": ["up", "down"],
                "throughput_bps": _real(1e6, 2e6),
                "goodput_bps": _real(1e6, 2e6),
                "delay_mean_ns": _real(1e7, 1e7),
                "delay_max_ns": _real(2e7, 2e7),
                "discarded": _whole(1, 0),
                "marked": _whole(0, 1),
            },
            "lateness": {
                name: _whole(value)
                for name, value in {
                    "time_ns": at_ns,
                    "frames": 10,
                    "p50_ns": 12_000,
                    "p99_ns": 80_000,
                    "max_ns": 900_000,
                    "stalls": 0,
                    "longest_stall_ns": 0,
                    "overruns": 0,
                }.items()
            },
        }
        over = self.main.poll() is not None
        state = {"at_ns": at_ns, "lateness": self.lateness, **self.ended, "over": over}
        return json.dumps(state), {name: fake_engine.Columns(own) for name, own in rows.items()}

    @property
    def ended(self) -> dict[str, Any]:
        codes = {host: one.poll() for host, one in self.started.items()}
        exited = {
            host: 128 - code if code < 0 else code
            for host, code in codes.items()
            if code is not None
        }
        return {"exited": exited, "stopped": self.stopped}

    def stop(self, number: int) -> None:
        for one in self.started.values():
            one.send_signal(number)

    def take_capture(self) -> dict[str, bytes]:
        return {}

    def finish(self) -> tuple[str, dict[str, Any]]:
        for host, one in self.started.items():
            if one.poll() is None:
                self.stopped.append(host)
                one.send_signal(signal.SIGTERM)
                one.wait()
        mode = os.environ.get("FAKE_EMULATION", "")
        bad = {
            "trustworthy": False,
            "why": "it stalled for 100 ms",
            "stalls": 1,
            "longest_stall_ns": 10**8,
        }
        verdict = bad if "stall" in mode else {"trustworthy": True, "why": None}
        bounds = {"bound_p99_ns": 1_000_000, "bound_stall_ns": 10_000_000}
        state: dict[str, Any] = {
            "simulated_ns": self.told * SECOND // 10,
            "lateness": {**self.lateness, **verdict, **bounds},
            "frames": {"entered": 20, "delivered": 19, "discarded": 1, "marked": 1, "digest": 7},
            "overruns": 0,
            "strays": 0,
            "scheduling": "other",
            "cpu_seconds": 0.1,
            **self.ended,
            "unrecorded": "cannot write the recording r: no space" if "full" in mode else None,
        }
        run = fake_engine.Run(self.scenario)
        run.now = state["simulated_ns"]
        tables = run.finish()
        # What came while it ran is taken out.
        drained = {name: fake_engine.Columns({}) for name in ("flow_series",)}
        real = {"real_flows": fake_engine.Columns(_real_flows())}
        return json.dumps(state), {**tables, **drained, **real}


def _whole(*values: int) -> tuple[str, bytes]:
    from array import array

    return "q", array("q", values).tobytes()


def _real(*values: float) -> tuple[str, bytes]:
    from array import array

    return "d", array("d", values).tobytes()


def _real_flows() -> dict[str, Any]:
    from headend.engine.columns import OPTIONAL_TABLES

    texts = {
        "flow": "laptop",
        "protocol": "tcp",
        "host_address": "10.0.0.1",
        "peer_address": "10.0.0.2",
        "name": "example.org",
    }
    numbers = {"host_port": 40_000, "peer_port": 443, "last_ns": SECOND, "bytes_up": 100_000}
    found: dict[str, Any] = {}
    for name, kind in OPTIONAL_TABLES["real_flows"].items():
        if name in texts:
            found[name] = [texts[name]]
        elif kind is int:
            found[name] = _whole(numbers.get(name, 0))
        else:
            found[name] = _real(2e7)
    return found


def main() -> None:
    """Let the real process find this engine."""
    import headend
    from headend.emulation import process

    vars(fake_engine).update(Emulation=Emulation, EmulationError=EmulationError)
    sys.modules["headend._engine"] = fake_engine
    headend.__dict__["_engine"] = fake_engine
    word, *more = os.environ.get("FAKE_EMULATION", "").split()[:3] or [""]
    if word == "die" and more[0] == "before":
        os.kill(os.getpid(), int(more[1]))
    process.main(sys.argv[1:])


if __name__ == "__main__":
    main()
