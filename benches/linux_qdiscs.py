"""Queue disciplines of a real Linux beside headend's, under the same uploads and pings.

Prints a row for each cell: real, simulated and a verdict, of goodput, the ping's median and 95th
percentile, and the packets that the queue dropped. Writes `target/linux-qdiscs.json`. The kernel is
Debian's, and runs in qemu with a clock that counts instructions (`benches/kernel-lab`): its figures
are the same on every machine, however busy it is.

**What is set.** A queue discipline of the kernel stands under an HTB class of the cell's rate
(`tbf` shapes by itself). tc counts 14 bytes of Ethernet header with each packet, a plain link of
headend counts IP bytes: headend's rates and sizes are the kernel's times 1500/1514. Linux's
defaults that are not the RFC's are written out in `QUEUES`. Senders are the kernel's and headend's
(`system = "linux"`), without ECN. HTB hands a packet on at the beginning of the time that it is
given, headend's link at its end: the simulated way is shorter by that time. iperf3 begins all
uploads together, and so do they here. Cells of a home's router (CAKE, several hosts, ECN,
downloads) and of policers are in `home_cells.py`.

**What is held.** Goodput within 2 %, that of each host where there are two, the median and the 95th
percentile of the ping within 15 %. Drops and marks agree where the real mean lies within the
simulated seeds' least and most, or the simulated mean within the real ones'; ACKs that a filter
discards are drops. The first 5 s of 20 do not count.

Needs Debian 12 on amd64, root, apt and qemu; without them it says so and ends. `--only TEXT`
chooses cells that contain it, `--seeds N` is the number of runs of the kernel (those after the
first of the chosen cells alone), `--seconds N` their length, `--kernel` one of 6.1 and 6.12.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import headend
from emulation.line import PACKET
from home_cells import HOME_CELLS, TOGETHER, HomeCell
from virtual.cells import COUNTED
from virtual.flows import FlowsRun, read_flows
from virtual.guest import KERNELS, GuestFailedError, find_missing, run_guest
from virtual.uploads import Order, Run, read_run

TARGET = Path(__file__).parent.parent / "target" / "linux-qdiscs.json"

#: What is left out at the start, the time between two pings, and how long samples are fine, s.
START, PING, FINE = 5, 0.05, 1

#: IP bytes of a ping.
PING_PACKET = 84

#: Seeds of the simulation.
SEEDS = range(1, 11)

#: How far a simulated figure may be from the real one, as a share of that.
WITHIN = {"goodput": 0.02, "second": 0.02, "p50": 0.15, "p95": 0.15}


def scale(size: float) -> str:
    """Give a size of tc's as headend counts it."""
    return f"{round(size * PACKET / COUNTED)} B"


def count_packets(rate: int) -> int:
    """Give the packets of a buffer of about a quarter of a second."""
    return rate // 50_000


def choose_red(rate: int) -> tuple[int, int, int, int]:
    """Give RED's thresholds and limit at a rate, B, and the burst in packets for tc's weight."""
    low = 15_000 if rate >= 10_000_000 else 5_000
    return low, 3 * low, 27 * low, 25 if rate >= 10_000_000 else 9


def call_red(rate: int) -> str:
    """Give the kernel's words for RED."""
    low, high, limit, burst = choose_red(rate)
    sizes = f"limit {limit} min {low} max {high} avpkt 1000 burst {burst}"
    return f"red {sizes} probability 0.1 bandwidth {rate}bit"


def choose_tbf(rate: int) -> tuple[str, str, int]:
    """Give the token bucket's burst and latency in tc's words at a rate, and its limit, B."""
    burst, latency = (32, 50) if rate >= 10_000_000 else (5, 200)
    return f"{burst}kb", f"{latency}ms", rate * latency // 8000 + burst * 1024


def call_tbf(rate: int) -> str:
    """Give the kernel's words for a token bucket."""
    burst, latency, _ = choose_tbf(rate)
    return f"tbf rate {rate}bit burst {burst} latency {latency}"


#: The kernel's words for a queue discipline at a rate in bit/s.
WORDS: dict[str, Callable[[int], str]] = {
    "bfifo": lambda rate: f"bfifo limit {COUNTED * count_packets(rate)}",
    "codel": lambda _: "codel",
    "fq": lambda _: "fq",
    "fq_codel": lambda _: "fq_codel",
    "fq_pie": lambda _: "fq_pie",
    "pfifo": lambda rate: f"pfifo limit {count_packets(rate)}",
    "pie": lambda _: "pie",
    "red": call_red,
    "red_adaptive": lambda rate: f"{call_red(rate)} adaptive",
    "sfq": lambda _: "sfq",
    "tbf": call_tbf,
}

#: What Linux has that is not headend's default, the RFC's or the paper's. CoDel's inverse root is
#: computed by a step of Newton's method. PIE and RED are Linux's by name (`system`). None marks: no
#: packet is ECN-capable here.
CODEL = (
    'limit = "1000 packets", target = "5 ms", interval = "100 ms", inverse_sqrt = "newton", ecn ='
    " false"
)
FQ = f'limit = "10240 packets", queues = 1024, quantum = "{PACKET} B", ecn = false'


def write_pie(_: Cell, settings: str) -> str:
    """Give headend's PIE with the update interval that tc shows, rounded to Linux's ticks."""
    found = re.search(r"tupdate (\d+)ms", settings)
    assert found is not None
    return (
        'pie = { system = "linux", limit = "1000 packets", target = "15 ms", '
        f'update_interval = "{found[1]} ms", ecn = false }}'
    )


def write_red(cell: Cell, more: str = "") -> str:
    """Give headend's RED."""
    low, high, limit, _ = choose_red(cell.rate)
    return (
        f'red = {{ system = "linux", limit = "{scale(limit)}", min_threshold = "{scale(low)}",'
        f' max_threshold = "{scale(high)}", max_probability = 0.1, mean_packet = "1 kB", ecn ='
        f" false{more} }}"
    )


def write_fq(cell: Cell, _: str) -> str:
    """Give what comes nearest to fq: FQ-CoDel whose law never acts, 100 packets per upload."""
    limit = f"{100 * cell.uploads} packets"
    law = 'target = "60 s", interval = "60 s", ecn = false, drop_batch = 1'
    return f'fq_codel = {{ limit = "{limit}", quantum = "{2 * PACKET} B", {law} }}'


#: headend's queue in a cell, with what tc shows of the real one.
KEYS: dict[str, Callable[[Cell, str], str]] = {
    "bfifo": lambda cell, _: f'drop_tail.limit = "{PACKET * count_packets(cell.rate)} B"',
    "codel": lambda _, __: f"codel = {{ {CODEL} }}",
    "fq": write_fq,
    "fq_codel": lambda _, __: f"fq_codel = {{ {FQ}, drop_batch = 64 }}",
    "fq_pie": lambda _, __: f"fq_pie = {{ {FQ} }}",
    "pfifo": lambda cell, _: f'drop_tail.limit = "{count_packets(cell.rate)} packets"',
    "pie": write_pie,
    "red": lambda cell, _: write_red(cell),
    "red_adaptive": lambda cell, _: write_red(cell, ", adaptive = {}"),
    "sfq": lambda _, __: (
        f'sfq = {{ limit = "127 packets", queues = 1024, quantum = "{PACKET} B" }}'
    ),
    "tbf": lambda cell, _: f'drop_tail.limit = "{scale(choose_tbf(cell.rate)[2])}"',
}

#: What a guest is started for: the cells of these queue disciplines up to this rate, one after
#: another, and all above it.
SLOW = 10_000_000
GROUPS = (
    ("codel", "fq_codel"),
    ("pie", "fq_pie"),
    ("red", "red_adaptive"),
    ("pfifo", "bfifo", "tbf"),
    ("sfq", "fq"),
)

#: Rate and round-trip time, queue discipline, uploads and their congestion control.
CELLS = (
    "10 Mbit/s 20 ms codel 4 cubic",
    "10 Mbit/s 80 ms codel 1 reno",
    "1 Mbit/s 20 ms codel 1 cubic",
    "10 Mbit/s 20 ms fq_codel 4 cubic",
    "10 Mbit/s 80 ms fq_codel 1 cubic",
    "1 Mbit/s 20 ms fq_codel 4 cubic",
    "10 Mbit/s 20 ms pie 4 cubic",
    "10 Mbit/s 80 ms pie 1 reno",
    "1 Mbit/s 20 ms pie 1 cubic",
    "10 Mbit/s 20 ms fq_pie 4 cubic",
    "1 Mbit/s 20 ms fq_pie 1 reno",
    "10 Mbit/s 20 ms red 4 cubic",
    "10 Mbit/s 80 ms red 1 reno",
    "1 Mbit/s 20 ms red 1 cubic",
    "10 Mbit/s 20 ms red_adaptive 4 cubic",
    "1 Mbit/s 20 ms red_adaptive 4 cubic",
    "10 Mbit/s 20 ms pfifo 1 cubic",
    "1 Mbit/s 20 ms pfifo 4 reno",
    "10 Mbit/s 20 ms pfifo 1 bbr",
    "10 Mbit/s 80 ms bfifo 1 reno",
    "1 Mbit/s 20 ms bfifo 1 cubic",
    "10 Mbit/s 20 ms tbf 1 cubic",
    "1 Mbit/s 20 ms tbf 4 cubic",
    "10 Mbit/s 20 ms sfq 4 cubic",
    "1 Mbit/s 20 ms sfq 1 reno",
    "10 Mbit/s 20 ms fq 4 cubic",
    "1 Mbit/s 20 ms fq 1 cubic",
    "50 Mbit/s 20 ms codel 4 cubic",
    "50 Mbit/s 20 ms pfifo 1 cubic",
)


@dataclass(frozen=True)
class Cell:
    """A line, a queue discipline, and who uploads through it; the rate is tc's, bit/s."""

    name: str
    rate: int
    rtt_ms: int
    queue: str
    uploads: int
    congestion: str

    @classmethod
    def read(cls, name: str) -> Cell:
        """Read a name such as ``"10 Mbit/s 20 ms codel 4 cubic"``."""
        rate, _, rtt, _, queue, uploads, congestion = name.split()
        return cls(name, int(rate) * 1_000_000, int(rtt), queue, int(uploads), congestion)

    def order(self, seconds: int) -> Order:
        """Give what the guest is to do."""
        words = WORDS[self.queue](self.rate)
        queue = f"up {words}" if self.queue == "tbf" else f"shaped rd {self.rate}bit {words}"
        name, rtt_ms = self.name, self.rtt_ms
        return Order(name, rtt_ms, seconds, self.uploads, self.congestion, PING, FINE, queue)

    def shorten(self, size: int) -> str:
        """Give the round-trip time less what a packet of so many IP bytes takes to be sent.

        HTB hands a packet on at the beginning of that time, and a link of headend at its end.
        """
        sending = (size + COUNTED - PACKET) * 8e3 / self.rate
        return f"{self.rtt_ms - sending:.4f} ms"

    def write(self, seconds: int, settings: str) -> str:
        """Give headend's scenario; ``settings`` is what tc shows of the real queue discipline."""
        return f"""{write_head(self.name, seconds)}
[link.line.point_to_point]
up.rate = "{round(self.rate * PACKET / COUNTED)} bit/s"
up.queue.{KEYS[self.queue](self, settings)}
down.rate = "1 Gbit/s"

[host.server]
rtt = "{self.shorten(PACKET)}"

[host.pinged]
rtt = "{self.shorten(PING_PACKET)}"

[flow.upload]
application = "bulk"
peer = "server"
count = {self.uploads}
path.jitter = "100 us"
tcp = {{ system = "linux", congestion = "{self.congestion}", ecn = "off" }}

[flow.ping]
application.ping.interval = "{round(1000 * PING)} ms"
peer = "pinged"
path.jitter = "100 us"
"""


def write_head(name: str, seconds: int) -> str:
    """Give the head of a scenario."""
    return f"""format = 1
title = "{name}"
duration = "{seconds} s"
warmup = "{START} s"
bottleneck = "line.up"
"""


def write_scenario(cell: Cell | HomeCell, seconds: int, settings: str) -> str:
    """Give headend's scenario of a cell; ``settings`` is what tc shows of the real queue."""
    if isinstance(cell, Cell):
        return cell.write(seconds, settings)
    name, queue = cell.discipline, ""
    if name in KEYS:
        # Of a flow queue nothing but ECN depends on the cell.
        queue = KEYS[name](Cell.read(f"1 Mbit/s 20 ms {name} 1 cubic"), settings)
        queue = queue.replace("ecn = false", f"ecn = {str(cell.has_ecn).lower()}")
    return f"{write_head(cell.name, seconds)}\n{cell.write_line(queue)}"


@dataclass(frozen=True)
class Measure:
    """A figure: its key, and how it is called and printed."""

    name: str
    title: str
    form: str


MEASURES = (
    Measure("goodput", "goodput Mbit/s", "{:.3f}"),
    Measure("second", "second host's", "{:.2f}"),
    Measure("p50", "ping p50 ms", "{:.1f}"),
    Measure("p95", "ping p95 ms", "{:.1f}"),
    Measure("drops", "drops", "{:.0f}"),
    Measure("marks", "marks", "{:.0f}"),
)

#: Measures that are counts, whose spread is told.
COUNTS = ("drops", "marks")

#: Of a printed column.
WIDTH = 26

Row = dict[str, float]


def main() -> None:
    """Measure, print, write down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="cells that contain this")
    parser.add_argument("--seeds", type=int, default=1, help="runs of the kernel")
    parser.add_argument("--seconds", type=int, default=20, help="length of a run")
    parser.add_argument("--kernel", choices=KERNELS, default="6.12")
    arguments = parser.parse_args()
    if missing := find_missing():
        print(f"benches/linux_qdiscs.py: skipped: {missing}")
        return
    seeds = range(1, arguments.seeds + 1)
    report: dict[str, Any] = {"kernel": arguments.kernel, "seconds": arguments.seconds, "cells": {}}
    titles = "".join(f"{measure.title:>{WIDTH}}" for measure in MEASURES)
    print(f"{'Linux ' + arguments.kernel + ' / headend':<40}{titles}")
    TARGET.parent.mkdir(exist_ok=True)
    verdicts: list[bool] = []
    groups: list[Sequence[Cell | HomeCell]] = [*group_cells(map(Cell.read, CELLS))]
    for cells in [*groups, *group_home_cells()]:
        chosen = [cell for cell in cells if arguments.only in cell.name]
        if not chosen:
            continue
        try:
            folders = [
                run_guest(
                    # A second run is of the chosen cells alone.
                    [cell.order(arguments.seconds) for cell in (cells if seed == 1 else chosen)],
                    kernel=arguments.kernel,
                    seed=seed,
                )
                for seed in seeds
            ]
        except GuestFailedError as error:
            sys.exit(f"benches/linux_qdiscs.py: {error}")
        for cell in chosen:
            found = measure_cell(cell, folders, arguments.seconds)
            report["cells"][cell.name] = found
            verdicts.append(not found["differs"])
            print_row(cell, found)
            TARGET.write_text(json.dumps(report, indent=2) + "\n")
    print(f"{sum(verdicts)} of {len(verdicts)} cells agree in all")


def group_home_cells() -> list[list[HomeCell]]:
    """Give the cells of a home's router and of policers, those of each guest together."""
    cells = list(map(HomeCell.read, HOME_CELLS))
    return [cells[first : first + TOGETHER] for first in range(0, len(cells), TOGETHER)]


def group_cells(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Give the cells of each guest, few starts as they cost; ``--only`` changes no first run."""
    groups: dict[int, list[Cell]] = {}
    for cell in cells:
        slow = next(number for number, queues in enumerate(GROUPS) if cell.queue in queues)
        groups.setdefault(slow if cell.rate <= SLOW else len(GROUPS), []).append(cell)
    return [groups[number] for number in sorted(groups)]


def measure_cell(cell: Cell | HomeCell, folders: Sequence[Path], seconds: int) -> dict[str, Any]:
    """Read a cell's real runs, simulate it, and say what differs."""
    name = cell.order(seconds).folder
    real = [read_real(cell, folder / name, seconds) for folder in folders]
    scenario = write_scenario(cell, seconds, (folders[0] / name / "settings").read_text())
    simulated = [read_simulated(scenario, seed) for seed in SEEDS]
    differs = [own for own in real[0] if not agrees(own, real, simulated)]
    return {"real": real, "simulated": simulated, "differs": differs}


def read_real(cell: Cell | HomeCell, folder: Path, seconds: int) -> Row:
    """Take the figures of a run of the kernel."""
    run: Run | FlowsRun
    if isinstance(cell, Cell):
        run = read_run(folder, PING, cell.congestion)
        goodputs = [run.find_goodput(START, seconds)]
    else:
        run = read_flows(folder, cell.order(seconds))
        goodputs = run.find_goodputs(START, seconds)
    answered = [took for took in run.list_pings(START, seconds) if took is not None]
    early, late = run.take_sample(START), run.take_sample(seconds)
    return {
        "goodput": sum(goodputs) / 1e6,
        **({"second": goodputs[1] / 1e6} if len(goodputs) > 1 else {}),
        "p50": find_percentile(answered, 0.5),
        "p95": find_percentile(answered, 0.95),
        "drops": late.dropped - early.dropped,
        "marks": late.marked - early.marked,
    }


def read_simulated(scenario: str, seed: int) -> Row:
    """Run the scenario, and take the same figures."""
    content = tomllib.loads(scenario)
    result = headend.run(content, seed=seed)
    assert isinstance(result, headend.Result)
    goodputs = [find_goodput(result, name) for name in content["flow"] if name != "ping"]
    queue = result.tables["queues"].filter(queue="line.up")
    discarded = [name for name in queue.columns if name.startswith("discarded_")]
    pings = result.samples.filter(flow="ping", measure="rtt")["value"]
    answered = [took / 1e6 for took in pings.drop_nans().drop_nulls().to_list()]
    return {
        "goodput": sum(goodputs) / 1e6,
        **({"second": goodputs[1] / 1e6} if len(goodputs) > 1 else {}),
        "p50": find_percentile(answered, 0.5),
        "p95": find_percentile(answered, 0.95),
        "drops": sum(int(queue[name][0]) for name in discarded),
        "marks": int(queue["marked"][0]),
    }


def find_goodput(result: headend.Result, name: str) -> float:
    """Give what the members of a flow get together, bit/s."""
    rows = result.flows.filter(application="bulk").rows(named=True)
    return math.fsum(row["goodput_bps"] for row in rows if row["flow"].split(".")[0] == name)


def find_percentile(values: Sequence[float], share: float) -> float:
    """Give the least value that so large a share of them is not above."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else math.nan


def agrees(name: str, real: Sequence[Row], simulated: Sequence[Row]) -> bool:
    """Say whether the simulated figure is the real one, within its bound."""
    own, other = ([row[name] for row in rows] for rows in (real, simulated))
    if name in WITHIN:
        return abs(fmean(other) / fmean(own) - 1) <= WITHIN[name]
    return min(other) <= fmean(own) <= max(other) or min(own) <= fmean(other) <= max(own)


def print_row(cell: Cell | HomeCell, found: dict[str, Any]) -> None:
    """Print a cell's row: real and simulated means, the spread of drops, and the verdict."""
    cells = []
    for measure in MEASURES:
        if measure.name not in found["real"][0]:
            cells.append(f"{'-':>{WIDTH}}")
            continue
        own, other = ([row[measure.name] for row in found[kind]] for kind in ("real", "simulated"))
        texts = [measure.form.format(fmean(values)) for values in (own, other)]
        if measure.name in COUNTS:
            spreads = (f" ({min(v):.0f}-{max(v):.0f})" if len(v) > 1 else "" for v in (own, other))
            texts = [text + spread for text, spread in zip(texts, spreads, strict=True)]
        cells.append(f"{'/'.join(texts):>{WIDTH}}")
    differs = ", ".join(own.title for own in MEASURES if own.name in found["differs"])
    verdict = f"differs: {differs}" if differs else "agrees"
    print(f"{cell.name:<40}{''.join(cells)}  {verdict}", flush=True)


if __name__ == "__main__":
    main()
