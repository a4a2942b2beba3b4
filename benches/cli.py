"""`make bench-cli`: what a command costs, beside its goal and the engine's own share.

CPU is user and system time of the process and its children, the least of several rounds; the
commands take turns, so that a busy moment hits all alike. Memory is the largest resident size.
Prints a table and writes `target/bench-cli.json`.

With another program as argument, such as that of an environment in which a wheel is installed, that
one is measured: `python benches/cli.py ENVIRONMENT/bin/headend`. `--rounds N` changes how often.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

SCENARIO = "upload-and-call"
ROUNDS = 9

#: CPU in s and memory in MiB that each is to keep below, where the design says so.
COMMANDS: dict[str, tuple[list[str], float | None, float | None]] = {
    "headend --help": (["--help"], 0.2, None),
    "headend --version": (["--version"], None, None),
    "run --no-report": (["run", SCENARIO, "--no-report", "--no-advice", "--force"], 0.25, None),
    "run": (["run", SCENARIO, "--no-advice", "--force"], 0.5, 90),
    "run, advice tried": (["run", SCENARIO, "--force"], None, None),
    "report": (["report", f"results/{SCENARIO}"], None, None),
    "compare, three queues": (
        ["compare", SCENARIO, "--vary", "queue=drop_tail,codel,docsis_pie", "--force"],
        0.8,
        None,
    ),
}

#: In an interpreter of its own: what the engine alone takes of a run, and what the libraries take
#: that no run can do without.
ENGINE = f"""
import time
from headend import _engine
from headend.scenario.library import find_scenario
_, path = find_scenario("{SCENARIO}")
began = time.process_time()
run = _engine.Run(_engine.parse(path.read_text()))
while not run.advance(1.0)[1]:
    pass
run.finish()
print(time.process_time() - began)
"""
#: Users keep the compiled code of modules.
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
}
POLARS = (
    "import time; began = time.process_time(); import polars; print(time.process_time() - began)"
)


@dataclass
class Cost:
    """What the rounds of one command took."""

    seconds: list[float] = field(default_factory=list)
    mebibytes: list[float] = field(default_factory=list)

    @property
    def cpu(self) -> float:
        """The least CPU, in s."""
        return min(self.seconds)

    @property
    def memory(self) -> float:
        """The largest resident size, in MiB."""
        return max(self.mebibytes)


def main() -> None:
    """Measure, print, write down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "program", nargs="?", type=Path, default=Path(sys.executable).parent / "headend"
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    program = arguments.program.absolute()
    costs = {name: Cost() for name in COMMANDS}
    shares: dict[str, list[float]] = {"the engine's own share": [], "import polars": []}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(arguments.rounds):
            for name, (words, _, _) in COMMANDS.items():
                _measure([str(program), *words], folder, costs[name])
            for share, text in zip(shares.values(), (ENGINE, POLARS), strict=True):
                python = program.with_name("python")
                answer = subprocess.run(
                    [python, "-c", text], capture_output=True, check=True, env=ENVIRONMENT
                )
                share.append(float(answer.stdout))
    print(f"{'command':<24}{'CPU':>8}{'goal':>8}{'memory':>10}{'goal':>8}")
    for name, (_, seconds, mebibytes) in COMMANDS.items():
        cost = costs[name]
        goals = (f"{seconds:.2f} s" if seconds else "", f"{mebibytes} MiB" if mebibytes else "")
        kept = cost.cpu <= (seconds or math.inf) and cost.memory <= (mebibytes or math.inf)
        print(
            f"{name:<24}{cost.cpu:>6.2f} s{goals[0]:>8}{cost.memory:>6.0f} MiB{goals[1]:>8}"
            + ("" if kept else "  missed")
        )
    for name, share in shares.items():
        print(f"{name:<24}{min(share):>6.2f} s")
    report = {
        "commands": {
            name: {"cpu_s": cost.cpu, "peak_mib": cost.memory} for name, cost in costs.items()
        },
        "shares": {name: min(share) for name, share in shares.items()},
    }
    target = Path(__file__).parent.parent / "target"
    target.mkdir(exist_ok=True)
    (target / "bench-cli.json").write_text(json.dumps(report, indent=2) + "\n")


def _measure(command: list[str], folder: str, cost: Cost) -> None:
    with Path(folder, "output").open("wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, stdout=output, stderr=output, env=ENVIRONMENT
        )
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(
            f"{' '.join(command)}: exit code {process.returncode}:\n"
            f"{Path(folder, 'output').read_text()}"
        )
    cost.seconds.append(usage.ru_utime + usage.ru_stime)
    cost.mebibytes.append(usage.ru_maxrss / 1024)


if __name__ == "__main__":
    main()
