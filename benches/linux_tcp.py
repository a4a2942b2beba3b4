"""Real Linux TCP beside simulated: the same uploads by `headend emulate` and headend's senders.

Each case is a line, a queue, a congestion control and a number of uploads, of those that
`studies/validation/linux` is about. A simulated ping goes the same way in both. Prints a row for
each case: real, simulated and their ratio, of goodput, losses, the ping, the drops of the first 5
s, and the threshold at which the first slow start of a single upload ends. At the end a real CUBIC
shares a line with a simulated one, beside two simulated and two real ones. Writes
`target/linux-tcp.json`.

**In virtual time** (`--kernel 6.1` or `6.12`) the real side is Debian's kernel in qemu, with a
clock that counts instructions (`benches/kernel-lab`): its figures are the same on every machine,
however busy it is. The line is then the kernel's own as well: an HTB class of the line's rate with
bfifo, codel or pie below it, and netem for the way. tc counts 14 bytes of Ethernet header with each
packet, so the class has the line's rate times 1514/1500, and the buffer likewise. The kernel's
codel and pie are Linux's, not headend's. There is no cable link in the kernel: cases of DOCSIS
cannot be run. HyStart's exit comes from the kernel's counters. The controls are set as the
namespaces' defaults before any connection is made, DCTCP by routes. Needs Debian 12 on amd64, root,
apt and qemu; without them it says so and ends.

In real time it needs Linux with TUN and namespaces, iperf3 and ss. The simulated senders are those
of Linux 6.18; another kernel may differ, and differs by what it does. `--only TEXT` chooses cases
that contain it, `--rounds N` repeats real runs, `--seconds N` shortens all. Figures of runs that
were late by their own verdict are not taken: such a run is repeated.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl

import headend
from emulation.command import (
    Emulated,
    EmulationFailedError,
    NotTrustworthyError,
    emulate,
    find_missing,
    repeat_until_trustworthy,
)
from emulation.line import PACKET, PAYLOAD, write_cable, write_plain
from emulation.machine import PROGRAMS, Control, describe_machine
from emulation.simulation import simulate
from emulation.tools import IPERF_SERVER
from virtual import guest
from virtual.cells import COUNTED
from virtual.uploads import Order, Run, read_run

ROOT = Path(__file__).parent.parent
STUDY = ROOT / "studies" / "validation" / "linux" / "study.toml"

#: The kernel whose TCP headend's Linux senders are written after.
KERNEL = "6.18"

SEEDS = range(1, 6)

#: What is run in virtual time only: controls that the study has on a cable line or not at all.
VIRTUAL = ("10 Mbit/s 20 ms drop_tail 1 bbr", "10 Mbit/s 20 ms codel 1 dctcp")

#: In virtual time: seconds between two pings, and for how long a drop's time is known to 50 ms, s.
PING_S, FINE_S = 0.1, 7

#: The buffer of drop-tail, s.
BUFFER = 0.25

#: What is left out at the start, and the length of an interval of the series, s.
START, INTERVAL = 5, 0.05

#: How far a ratio may be from 1 before it is said to differ.
ALIKE = 0.1

#: A ping in both, and results fine enough to see the first loss.
PING = """
[flow.ping]
application.ping.interval = "100 ms"
peer = "server"
path.jitter = "100 us"

[results]
interval = "50 ms"
"""

#: Of a case and a figure that differ: why, as far as it was tested.
CAUSES: dict[tuple[str, str], str] = {
    ("50 Mbit/s 80 ms drop_tail 1 reno", "drops"): (
        "how full the send buffer is when slow start overflows the queue: with tcp.send_buffer ="
        " 3.8 MiB headend has 1239"
    ),
}

#: A first loss between these, in s, is in the first 5 s or is not, and its drops with it.
NEAR_THE_END = (4, 6)


@dataclass(frozen=True)
class Case:
    """A line, and who uploads through it."""

    name: str
    rate: str
    rtt: str
    queue: str
    uploads: int
    congestion: str

    @classmethod
    def read(cls, name: str) -> Case:
        """Read a name such as ``"10 Mbit/s 20 ms drop_tail 4 cubic"``."""
        rate, unit, rtt, of_rtt, queue, uploads, congestion = name.split()
        return cls(name, f"{rate} {unit}", f"{rtt} {of_rtt}", queue, int(uploads), congestion)

    def write(self, more: str = PING) -> str:
        """Give the scenario."""
        if self.queue == "docsis_pie":
            return write_cable(self.rate, "1 Gbit/s", rtt=self.rtt, more=more)
        marks = str(self.marks).lower()
        queue = f"{self.queue} = {{ ecn = {marks} }}"
        if self.queue == "drop_tail":
            queue = 'drop_tail.limit = "250 ms"'
        return write_plain(self.rate, rtt=self.rtt, queue=queue, more=more)

    @property
    def marks(self) -> bool:
        """Whether the senders are ECN-capable, and the queue marks: for a control that needs it."""
        return self.congestion == "dctcp"

    def order(self, seconds: int) -> Order:
        """Give what the kernel is to do in virtual time."""
        rate = int(self.rate.split()[0]) * 1_000_000 * COUNTED / PACKET
        queue = f"{self.queue} {'ecn' if self.marks else 'noecn'}"
        if self.queue == "drop_tail":
            queue = f"bfifo limit {round(BUFFER * rate / 8)}"
        words = f"shaped rd {round(rate)}bit {queue}"
        if self.marks:
            # The kernel refuses DCTCP as a namespace's default; a route takes it, and asks for ECN
            # with it.
            for at, to, via in (("A", "10.3.0.1", "10.1.0.254"), ("B", "10.1.0.1", "10.3.0.254")):
                words += f" ; ip -n {at} route add {to}/32 via {via} congctl {self.congestion}"
            words = f"eval {words}"
        rtt_ms = int(self.rtt.split()[0])
        return Order(
            self.name, rtt_ms, seconds, self.uploads, self.congestion, PING_S, FINE_S, words
        )


@dataclass(frozen=True)
class Measure:
    """A figure of a run: how it is called and printed, and from where a ratio counts."""

    name: str
    title: str
    form: str
    least: float


MEASURES = (
    Measure("goodput", "goodput Mbit/s", "{:.2f}", 0),
    Measure("loss", "loss %", "{:.3f}", 0.005),
    Measure("mean", "ping mean ms", "{:.1f}", 0),
    Measure("p99", "p99 ms", "{:.0f}", 0),
    Measure("drops", "drops in 5 s", "{:.0f}", 10),
    Measure("first_loss", "first loss s", "{:.1f}", 0.3),
    Measure("exit", "exit segments", "{:.0f}", 4),
)

Row = dict[str, float | None]


def main() -> None:
    """Measure, print, write down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, help="real runs of a case: 2, in virtual time 1")
    parser.add_argument("--seconds", type=int, default=40)
    parser.add_argument("--kernel", choices=guest.KERNELS, help="in virtual time, with this kernel")
    arguments = parser.parse_args()
    names: list[str] = tomllib.loads(STUDY.read_text())["grid"]["case"]["values"]
    target = ROOT / "target" / "linux-tcp.json"
    target.parent.mkdir(exist_ok=True)
    if arguments.kernel:
        if missing := guest.find_missing():
            print(f"benches/linux_tcp.py: skipped: {missing}")
            return
        target = target.with_stem(f"linux-tcp-{arguments.kernel}")
        run_in_virtual_time(
            names,
            arguments.only,
            arguments.kernel,
            arguments.rounds or 1,
            arguments.seconds,
            target,
        )
        return
    if missing := find_missing("iperf3", "ss"):
        sys.exit(f"benches/linux_tcp.py: {missing}")
    print(describe_machine())
    if not platform.release().startswith(KERNEL):
        print(f"headend's senders are those of Linux {KERNEL}; this is {platform.release()}")
    rounds = arguments.rounds or 2
    report: dict[str, Any] = {"machine": describe_machine(), "cases": {}}
    _print_titles()
    with tempfile.TemporaryDirectory() as folder, Control() as control:
        for case in map(Case.read, names):
            if arguments.only in case.name:
                found = measure_case(case, rounds, arguments.seconds, Path(folder))
                report["cases"][case.name] = found
                target.write_text(json.dumps(report, indent=2) + "\n")
        if arguments.only in "shares":
            report["shares"] = measure_shares(rounds, Path(folder))
    report["control"] = str(control.sleeps)
    print(control.sleeps)
    target.write_text(json.dumps(report, indent=2) + "\n")


def run_in_virtual_time(
    names: Sequence[str], only: str, kernel: str, rounds: int, seconds: int, target: Path
) -> None:
    """Run the cases in a real kernel in virtual time, and simulated."""
    cases = [Case.read(name) for name in (*names, *VIRTUAL)]
    cable = [case.name for case in cases if case.queue == "docsis_pie"]
    print(
        f"Linux {kernel} in virtual time; not there, as the kernel has no cable link:"
        f" {', '.join(cable)}"
    )
    report: dict[str, Any] = {"kernel": kernel, "seconds": seconds, "cases": {}}
    _print_titles()
    for own in _group([case for case in cases if case.name not in cable]):
        if not any(only in case.name for case in own):
            continue
        orders = [case.order(seconds) for case in own]
        try:
            folders = [
                guest.run_guest(orders, kernel=kernel, seed=seed) for seed in range(1, rounds + 1)
            ]
        except guest.GuestFailedError as error:
            sys.exit(f"benches/linux_tcp.py: {error}")
        for case, order in zip(own, orders, strict=True):
            if only in case.name:
                runs = [
                    read_run(folder / order.folder, PING_S, case.congestion) for folder in folders
                ]
                real = [_measure_virtual(run, case, seconds) for run in runs]
                simulated = _simulate(case, seconds)
                _print_row(case, real, simulated, {})
                report["cases"][case.name] = {"real": real, "simulated": simulated}
                target.write_text(json.dumps(report, indent=2) + "\n")


def _group(cases: Sequence[Case]) -> list[list[Case]]:
    """Give the cases of each guest: the study's with its rate and RTT, and the others."""
    groups: dict[tuple[str, ...], list[Case]] = {}
    for case in cases:
        key = () if case.name in VIRTUAL else (case.rate, case.rtt)
        groups.setdefault(key, []).append(case)
    return list(groups.values())


def _measure_virtual(run: Run, case: Case, seconds: int) -> Row:
    """Take the figures of a run in virtual time; lost pings are no upload's drops."""
    early, late = run.take_sample(START), run.take_sample(seconds)
    pings = run.list_pings(START, seconds)
    answered = pl.Series([took for took in pings if took is not None], dtype=pl.Float64)
    discarded = late.dropped - early.dropped - (len(pings) - len(answered))
    sent = late.sent - early.sent - len(answered)
    first = run.find_first_loss()
    ends, segments = run.hystart
    early_pings = run.list_pings(-math.inf, START)
    return {
        "goodput": run.find_goodput(START, seconds) / 1e6,
        "loss": 100 * discarded / (sent + discarded),
        "mean": _average(answered),
        "p99": float(answered.quantile(0.99) or math.nan),
        "drops": early.dropped - early_pings.count(None),
        "first_loss": first,
        "exit": segments if ends == 1 and case.uploads == 1 else None,
    }


def _print_titles() -> None:
    titles = "".join(f"{measure.title:>24}" for measure in MEASURES)
    print(f"{'real / simulated':<36}{titles}")


def measure_case(case: Case, rounds: int, seconds: int, folder: Path) -> dict[str, Any]:
    """Run a case for real, so many times, and simulated with each seed; print its row."""
    simulated = _simulate(case, seconds)
    real = []
    for _ in range(rounds):
        try:
            real.append(_run_real(case, seconds, folder))
        except (EmulationFailedError, NotTrustworthyError) as error:
            print(f"{case.name}: {error}")
    if real:
        _print_row(case, real, simulated, CAUSES)
    return {"real": real, "simulated": simulated}


def _simulate(case: Case, seconds: int) -> list[Row]:
    flow = {
        "application": "bulk",
        "direction": "up",
        "peer": "server",
        "count": case.uploads,
        "path": {"jitter": "100 us"},
        "tcp": {
            "system": "linux",
            "congestion": case.congestion,
            # RFC 8257's echo tells every mark, as here only Accurate ECN does; with RFC 3168's echo
            # a mark halves.
            "ecn": "accurate" if case.marks else "off",
        },
    }
    runs = (simulate(case.write(), duration=f"{seconds} s", seed=seed, flow=flow) for seed in SEEDS)
    return [_read_simulated(result, case.uploads) for result in runs]


def _run_real(case: Case, seconds: int, folder: Path) -> Row:
    scenario = f'duration = "{seconds} s"\n{case.write()}'
    # The run ends by its duration, in the middle of the upload.
    run = repeat_until_trustworthy(
        lambda: _upload(scenario, 2 * seconds, case.uploads, case.congestion, folder)
    )
    flows = run.result.tables["real_flows"].sort("packets_up", descending=True)
    seen = json.loads(run.stdout.splitlines()[0]) if run.stdout.strip() else None
    # The uploads begin when the server listens; drops are counted from then on.
    found = _measure(run.result, ["laptop"], began_ns=flows["opened_ns"][0])
    first = found["first_loss"]
    if case.uploads > 1 or seen is None or (first is not None and seen["at"] > first):
        return {**found, "exit": None}
    return {**found, "exit": seen["segments"]}


def _upload(scenario: str, seconds: int, streams: int, congestion: str, folder: Path) -> Emulated:
    program = [sys.executable, "-S", str(PROGRAMS / "upload.py")]
    return emulate(
        scenario,
        [*program, str(seconds), str(streams), congestion],
        folder=folder,
        server=IPERF_SERVER,
        congestion=congestion,
        expected=None,
        is_recorded=False,
    )


def _read_simulated(result: headend.Result, uploads: int) -> Row:
    names = [name for name in result.flows["flow"].unique() if name.split(".")[0] == "laptop"]
    found = _measure(result, names)
    first = found["first_loss"]
    windows = result.connection_series.filter(
        pl.col("ssthresh_bytes").is_finite()
        & (pl.col("time_ns") <= (math.inf if first is None else first * 1e9))
    )
    has_left = uploads == 1 and windows.height > 0
    return {**found, "exit": windows["ssthresh_bytes"][0] / PAYLOAD if has_left else None}


def _measure(result: headend.Result, names: Sequence[str], began_ns: int = 0) -> Row:
    """Take the figures of a run whose uploads are these flows, and began then.

    Goodput, losses and the ping are those of after the start. A warm-up of the scenario would not
    do: it is over before a real program starts.
    """
    series = result.flow_series.filter(pl.col("flow").is_in(names), pl.col("direction") == "up")
    groups = series.with_columns(pl.col("time_ns") - began_ns).group_by("time_ns")
    series = groups.agg(pl.col("discarded", "goodput_bps", "throughput_bps").sum()).sort("time_ns")
    late, early = _split(series)
    packets = _add(late["throughput_bps"]) * INTERVAL / 8 / PACKET
    discarded = _add(late["discarded"])
    samples = result.samples.filter(flow="ping", measure="rtt")
    late_samples = _split(samples.with_columns(pl.col("time_ns") - began_ns))[0]
    # A lost ping has no time.
    pings = late_samples["value"].drop_nans().drop_nulls() / 1e6
    lossy = series.filter(pl.col("discarded") > 0)["time_ns"]
    return {
        "goodput": _average(late["goodput_bps"]) / 1e6,
        "loss": 100 * discarded / (packets + discarded),
        "mean": _average(pings),
        "p99": float(pings.quantile(0.99) or math.nan),
        "drops": _add(early["discarded"]),
        "first_loss": lossy[0] / 1e9 if len(lossy) else None,
    }


def _split(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Give the rows of after the start, and those of the start."""
    is_late = pl.col("time_ns") > START * 10**9
    return rows.filter(is_late), rows.filter(~is_late)


def _add(values: pl.Series) -> float:
    return float(sum(values.to_list()))


def _average(values: pl.Series) -> float:
    return fmean(values.to_list())


def _print_row(
    case: Case,
    real: Sequence[Row],
    simulated: Sequence[Row],
    causes: Mapping[tuple[str, str], str],
) -> None:
    cells: list[str] = []
    words: dict[str, list[str]] = {}
    for measure in MEASURES:
        pairs = [_take(rows, measure.name) for rows in (real, simulated)]
        (own, _, _), (other, low, high) = pairs
        if own is None or other is None:
            shown = "/".join(
                "-" if one is None else measure.form.format(one) for one in (own, other)
            )
            cells.append(f"{shown:>24}")
            continue
        ratio = f" ({own / other:.2f})" if other else ""
        cells.append(f"{measure.form.format(own)}/{measure.form.format(other)}{ratio}".rjust(24))
        if abs(own - other) > max(ALIKE * other, measure.least):
            cause = causes.get((case.name, measure.name)) or _explain(measure, real, simulated)
            within = low is not None and high is not None and low <= own <= high
            why = cause or ("within the seeds' spread" if within else "differs, cause not known")
            words.setdefault(why, []).append(measure.title)
    told = "; ".join(f"{', '.join(titles)}: {why}" for why, titles in words.items())
    print(f"{case.name:<36}{''.join(cells)}  {told}".rstrip(), flush=True)


def _explain(measure: Measure, real: Sequence[Row], simulated: Sequence[Row]) -> str | None:
    """Say what a difference of any case comes from by itself."""
    firsts = [_take(rows, "first_loss")[0] for rows in (real, simulated)]
    low, high = NEAR_THE_END
    if measure.name == "drops" and any(first and low <= first <= high for first in firsts):
        return "the first loss falls near the end of these 5 s"
    return None


def _take(rows: Sequence[Row], name: str) -> tuple[float | None, float | None, float | None]:
    """Give mean, least and most of a figure over runs; None where most of them have none."""
    values = [value for row in rows if (value := row[name]) is not None]
    if 2 * len(values) < len(rows) or not values:
        return None, None, None
    return fmean(values), min(values), max(values)


def measure_shares(rounds: int, folder: Path) -> dict[str, list[float]]:
    """Let two CUBIC uploads share a line, real, simulated or one each; print the first's share.

    On a cable line of 10 Mbit/s with DOCSIS-PIE and 20 ms, for 60 s without the first 5 s.
    """
    tcp = 'tcp = { system = "linux", congestion = "cubic", ecn = "off" }'
    neighbour = (
        f'\n[flow.neighbour]\napplication = "bulk"\ndirection = "up"\npeer = "server"\n{tcp}\n'
    )
    case = Case.read("10 Mbit/s 20 ms docsis_pie 1 cubic")
    top = 'duration = "60 s"\n'

    def run(more: str) -> float:
        scenario = top + case.write(more)
        found = repeat_until_trustworthy(lambda: _upload(scenario, 120, 1, "cubic", folder))
        return share(found.result)

    def run_two() -> float:
        scenario = case.write("")
        found = repeat_until_trustworthy(lambda: _upload(scenario, 55, 2, "cubic", folder))
        streams = json.loads(found.stdout.splitlines()[-1])["streams"]
        return float(streams[0] / sum(streams))

    def share(result: headend.Result) -> float:
        ups = _split(result.flow_series.filter(direction="up"))[0]
        own, other = (
            float(ups.filter(flow=name)["goodput_bps"].sum()) for name in ("laptop", "neighbour")
        )
        return own / (own + other)

    flow = tomllib.loads(f'application = "bulk"\ndirection = "up"\npeer = "server"\n{tcp}')
    found: dict[str, list[float]] = {
        "two simulated": [
            share(
                simulate(
                    case.write(neighbour),
                    duration="60 s",
                    seed=seed,
                    flow=flow,
                )
            )
            for seed in range(1, 11)
        ]
    }
    tries: tuple[tuple[str, Callable[[], float]], ...] = (
        ("real beside simulated", lambda: run(neighbour)),
        ("two real", run_two),
    )
    for name, measure in tries:
        found[name] = []
        for _ in range(max(3, rounds)):
            try:
                found[name].append(measure())
            except (EmulationFailedError, NotTrustworthyError, ValueError) as error:
                print(f"{name}: {error}")
    for name, shares in found.items():
        if shares:
            print(
                f"{name}: the first has {fmean(shares):.1%} ({min(shares):.1%} to"
                f" {max(shares):.1%}, {len(shares)} runs)"
            )
    return found


if __name__ == "__main__":
    main()
