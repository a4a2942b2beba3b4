"""What laws and controls in Python cost, beside the same ones in the engine.

Each pair is the same run, once with the engine's law or control and once with that of
``examples/python``; the pairs take turns, and the medians are compared. Times are of the engine
alone, without Python's start and without pages.
"""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path
from typing import Any

from headend.running.execution import execute
from headend.running.experiment import plan_run

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples" / "python"
REPETITIONS = 5

#: The key, the engine's own, and the example.
PAIRS = (
    ("link.line.point_to_point.up.queue", "codel", "codel.py:CoDel"),
    ("link.line.point_to_point.up.queue", "pie", "pie.py:Pie"),
    ("tcp.congestion", "cubic", "cubic.py:Cubic"),
)


def write_scenario(rate: str) -> dict[str, Any]:
    """Give a minute of two uploads and a call on a plain line."""
    upload = {"application": "bulk", "direction": "up", "rtt": "40 ms"}
    return {
        "duration": "60 s",
        "link": {"line": {"point_to_point": {"up": {"rate": rate}, "down": {"rate": rate}}}},
        "flow": {
            "first": upload,
            "second": {**upload, "start": "1 s"},
            "call": {"application": "voice", "rtt": "40 ms"},
        },
    }


def measure(rate: str, key: str, values: tuple[str, str]) -> list[float]:
    """Give the median seconds of a run with each of two values."""
    seconds: list[list[float]] = [[], []]
    plans = [
        plan_run(write_scenario(rate), [(key, value)], allow_files=[EXAMPLES]) for value in values
    ]
    for _ in range(REPETITIONS):
        for plan, own in zip(plans, seconds, strict=True):
            began = time.perf_counter()
            assert execute(plan.loaded.scenario, seed=1).finished
            own.append(time.perf_counter() - began)
    return [statistics.median(own) for own in seconds]


def main() -> None:
    """Measure all pairs at two rates, print them, and write them to target/bench-own-code.json."""
    rows = []
    print(f"{'rate':<12} {'code':<16} {'engine':>9} {'Python':>9} {'ratio':>7}")
    for rate in ("10 Mbit/s", "200 Mbit/s"):
        for key, built_in, code in PAIRS:
            engine, own = measure(rate, key, (built_in, f"{EXAMPLES}/{code}"))
            rows.append({"rate": rate, "code": code, "engine_s": engine, "python_s": own})
            print(f"{rate:<12} {code:<16} {engine:>7.3f} s {own:>7.3f} s {own / engine:>6.1f}×")
    target = ROOT / "target" / "bench-own-code.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
