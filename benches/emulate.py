"""`make bench-emulate`: how exact and fast `headend emulate` is, beside tbf and rattan.

Measured are the delay of a path of 20 ms, rates of a plain and of a cable line as shares of what
they can carry at most, the highest rate, and the CPU that an idle line takes. Beside each stands a
control, how late bare sleeps end meanwhile, and how late frames were. Prints a table, and writes
`target/bench-emulate.json`. Figures of a busy machine say more of the machine than of what is
measured.

Needs Linux with TUN and namespaces, and iperf3 and ping. tbf is measured where the kernel has it,
rattan where `RATTAN=path of a release binary` is set; both need root.
`--only path,plain,cable,top,idle` chooses, `--seconds N` is the length of a transfer, `--rounds N`
repeats everything and keeps the run of each line whose control was best.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from emulation import peers
from emulation.command import Emulated, EmulationFailedError, emulate, find_missing
from emulation.line import MAC_PDU, PACKET, PAYLOAD, write_cable, write_plain
from emulation.machine import Control, Sleeps, describe_load, describe_machine
from emulation.simulation import simulate
from emulation.tools import IPERF_SERVER, OMITTED, Pings, call_iperf, read_goodput, read_pings

#: What the round trip of a ping of 84 B takes on the path of 20 ms, ms: 10 Mbit/s up and down.
PATH_MS = 20 + 2 * 84 * 8 / 10e6 * 1e3

#: Bytes that tbf counts of a full packet: the Ethernet header is one of them.
TBF_PACKET = PACKET + 14

PINGS = 300


@dataclass(frozen=True)
class Figure:
    """What was measured: ``value`` in ``unit``, the bound to keep, and a remark."""

    value: float
    unit: str
    bound: str = ""
    is_kept: bool | None = None
    note: str = ""
    is_trustworthy: bool = True


@dataclass(frozen=True)
class Line:
    """A line of the table: what is measured, of what, and how."""

    section: str
    name: str
    measure: Callable[[Path], list[tuple[str, Figure]]]


def main() -> None:
    """Measure, print, write down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="path,plain,cable,top,idle")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=1)
    arguments = parser.parse_args()
    if missing := find_missing("iperf3", "ping"):
        sys.exit(f"benches/emulate.py: {missing}")
    tbf, rattan = peers.find_missing_tbf(), peers.find_missing_rattan()
    print(describe_machine())
    print(f"tbf: {tbf or 'measured'}; rattan: {rattan or 'measured'}")
    print(f"{'what':<44}{'measured':>17}  {'bound':<14}")
    lines = [
        line
        for line in list_lines(arguments.seconds, has_tbf=tbf is None, has_rattan=rattan is None)
        if line.section in arguments.only.split(",")
    ]
    report = [_measure(line, arguments.rounds) for line in lines]
    target = Path(__file__).parent.parent / "target"
    target.mkdir(exist_ok=True)
    document = {"machine": describe_machine(), "lines": report}
    (target / "bench-emulate.json").write_text(json.dumps(document, indent=2) + "\n")


def _measure(line: Line, rounds: int) -> dict[str, object]:
    best: tuple[Sleeps, list[tuple[str, Figure]], str] | None = None
    for _ in range(rounds):
        load = describe_load()
        with tempfile.TemporaryDirectory() as folder, Control() as control:
            try:
                figures = line.measure(Path(folder))
            except (EmulationFailedError, RuntimeError, ValueError) as error:
                print(f"{line.name}: failed: {error}")
                figures = []
        if best is None or (figures and control.sleeps.p99_ns < best[0].p99_ns):
            best = control.sleeps, figures, load
    assert best is not None
    sleeps, figures, load = best
    for name, figure in figures:
        kept = {None: "", True: "  kept", False: "  missed"}[figure.is_kept]
        value = f"{figure.value:.3f} {figure.unit}"
        trust = "" if figure.is_trustworthy else "  not trustworthy"
        print(f"{name:<44}{value:>17}  {figure.bound:<14}{kept}{trust}  {figure.note}".rstrip())
    print(f"    {sleeps}; {load}", flush=True)
    return {
        "line": line.name,
        "figures": {name: asdict(figure) for name, figure in figures},
        "control": asdict(sleeps),
        "load": load,
    }


def list_lines(seconds: int, *, has_tbf: bool, has_rattan: bool) -> Iterator[Line]:
    """Give all lines of the table; ``seconds`` is the length of a transfer."""
    yield Line("path", "20 ms path", measure_path)
    if has_rattan:
        yield Line("path", "20 ms path, rattan", measure_rattan_path)
    for mbps, least, is_down in ((10, 99.5, False), (200, 99.5, True), (1000, 97.0, True)):
        way = "down" if is_down else "up"
        name = f"plain {mbps} Mbit/s {way}"
        measure = partial(measure_plain, mbps=mbps, least=least, is_down=is_down, seconds=seconds)
        yield Line("plain", name, partial(measure, name=name))
        up, down = (1e9, mbps * 1e6) if is_down else (mbps * 1e6, 1e9)
        if has_tbf:
            call = partial(call_iperf, seconds, down=is_down)
            run = partial(peers.run_tbf, call(to=peers.TBF_SERVER), up=up, down=down)
            ideal = mbps * 1e6 * PAYLOAD / TBF_PACKET
            yield Line("plain", f"{name}, tbf", partial(measure_peer, run, f"{name}, tbf", ideal))
        if has_rattan:
            call = partial(call_iperf, seconds, down=is_down)
            ideal = mbps * 1e6 * PAYLOAD / PACKET
            for is_fifo in (True, False):
                words = f"{name}, rattan ({'fifo' if is_fifo else 'other'})"
                run = partial(
                    peers.run_rattan,
                    call(to=peers.RATTAN_SERVER),
                    up=up,
                    down=down,
                    rtt=0.02,
                    is_fifo=is_fifo,
                )
                yield Line("plain", words, partial(measure_peer, run, words, ideal))
    for mbps, is_down, streams in (
        (10, False, 1),
        (50, False, 1),
        (200, False, 1),
        (50, True, 1),
        (200, True, 1),
        (500, True, 1),
        (1000, True, 1),
        (1000, True, 2),
    ):
        name = f"DOCSIS 3.1 {mbps} Mbit/s {'down' if is_down else 'up'}"
        name += f", {streams} senders" if streams > 1 else ""
        measure = partial(measure_cable, name=name, mbps=mbps, is_down=is_down, seconds=seconds)
        yield Line("cable", name, partial(measure, streams=streams))
    yield Line("top", "highest rate", partial(measure_top, seconds=seconds))
    yield Line("idle", "an idle line", measure_idle)


def measure_path(folder: Path) -> list[tuple[str, Figure]]:
    """Ping over 20 ms, with nothing else on the line."""
    run = emulate(
        write_plain("10 Mbit/s", "10 Mbit/s"),
        ["ping", "-4", "-i", "0.01", "-c", str(PINGS), "server"],
        folder=folder,
    )
    late = run.lateness["p99_ns"] / 1e3
    return [
        *_judge_path("20 ms path", read_pings(run.stdout), run),
        (
            "20 ms path: p99 lateness",
            Figure(late, "us", "<= 150 us", late <= 150, run.describe_lateness()),
        ),
    ]


def measure_rattan_path(folder: Path) -> list[tuple[str, Figure]]:
    """Do the same through rattan."""
    command = ["ping", "-4", "-i", "0.01", "-c", str(PINGS), peers.RATTAN_SERVER]
    return _judge_path(
        "20 ms path, rattan", read_pings(peers.run_rattan(command, up=10e6, down=10e6, rtt=0.02))
    )


def _judge_path(name: str, pings: Pings, run: Emulated | None = None) -> list[tuple[str, Figure]]:
    more = pings.mean - PATH_MS
    trusted = run is None or run.is_trustworthy
    own = run is not None
    note = f"mean {pings.mean:.3f} ms, {pings.received} of {pings.sent}; stretch 0.05"
    first = Figure(
        more, "ms", "<= 0.15 ms" if own else "", abs(more) <= 0.15 if own else None, note, trusted
    )
    note = f"most {pings.most:.2f} ms; stretch 0.02"
    deviation = pings.deviation
    second = Figure(
        deviation,
        "ms",
        "<= 0.05 ms" if own else "",
        deviation <= 0.05 if own else None,
        note,
        trusted,
    )
    return [
        (f"{name}: mean beyond {PATH_MS:.3f} ms", first),
        (f"{name}: standard deviation", second),
    ]


def measure_plain(
    folder: Path, *, name: str, mbps: int, least: float, is_down: bool, seconds: int
) -> list[tuple[str, Figure]]:
    """One CUBIC transfer over a plain line, as a share of rate x 1448/1500."""
    rate, other = f"{mbps} Mbit/s", "1 Gbit/s"
    scenario = write_plain(*((other, rate) if is_down else (rate, other)))
    run = _transfer(scenario, folder, is_down=is_down, seconds=seconds)
    return [(name, _judge_share(run, mbps * 1e6 * PAYLOAD / PACKET, least))]


def measure_cable(
    folder: Path, *, name: str, mbps: int, is_down: bool, seconds: int, streams: int
) -> list[tuple[str, Figure]]:
    """CUBIC over a cable line, as a share of rate x 1448/1518; and the same simulated.

    The queues are of 250 ms without AQM: what is measured is the line, not what an AQM makes a
    sender give up. At 1 Gbit/s one sender may not fill it, real or simulated: 20 ms and the 7 ms of
    request and grant take 2260 segments, and Linux's send buffer of 4 MiB holds 1850 to 2700, by
    how a program writes.
    """
    rate = f"{mbps} Mbit/s"
    up, down = ("50 Mbit/s", rate) if is_down else (rate, "1 Gbit/s")
    queue = 'drop_tail.limit = "250 ms"'
    scenario = write_cable(up, down, queue=queue)
    run = _transfer(scenario, folder, is_down=is_down, seconds=seconds, streams=streams)
    most = mbps * 1e6 * PAYLOAD / MAC_PDU
    flow = {
        "application": "bulk",
        "direction": "down" if is_down else "up",
        "peer": "server",
        "count": streams,
        "tcp": {"ecn": "off"},
    }
    simulated = simulate(
        scenario, duration=f"{seconds + OMITTED} s", warmup=f"{OMITTED} s", flow=flow
    )
    goodput = sum(simulated.flows["goodput_bps"].to_list())
    can_fill = mbps < 1000 or streams > 1
    return [
        (name, _judge_share(run, most, 99.0 if can_fill else None)),
        (f"{name}, simulated", Figure(100 * goodput / most, "%")),
    ]


def measure_peer(
    run: Callable[[], str], name: str, ideal: float, folder: Path
) -> list[tuple[str, Figure]]:
    """One CUBIC transfer through another shaper."""
    goodput = read_goodput(run())
    return [(name, Figure(100 * goodput / ideal, "%", note=f"{goodput / 1e6:.2f} Mbit/s"))]


def measure_top(folder: Path, *, seconds: int) -> list[tuple[str, Figure]]:
    """Two transfers over a line that is faster than this machine."""
    found = []
    for is_down in (False, True):
        queue = 'drop_tail.limit = "10 ms"'
        scenario = write_plain("10 Gbit/s", "10 Gbit/s", rtt="2 ms", queue=queue)
        run = _transfer(scenario, folder, is_down=is_down, seconds=seconds)
        goodput = read_goodput(run.stdout) / 1e9
        figure = Figure(
            goodput, "Gbit/s", ">= 2 Gbit/s", goodput >= 2, _tell(run), run.is_trustworthy
        )
        found.append((f"highest rate {'down' if is_down else 'up'}", figure))
    return found


def measure_idle(folder: Path) -> list[tuple[str, Figure]]:
    """CPU of all processes of the command, without what its start and its end take."""
    found = []
    for name, scenario in (
        ("plain", write_plain("10 Mbit/s")),
        ("DOCSIS 3.1", write_cable("10 Mbit/s", "100 Mbit/s")),
    ):
        short, long = (_take_cpu(scenario, folder, seconds) for seconds in (2, 22))
        share = 100 * (long - short) / 20
        found.append((f"an idle line, {name}", Figure(share, "% CPU", "< 1 %", share < 1)))
    return found


def _take_cpu(scenario: str, folder: Path, seconds: int) -> float:
    before = os.times()
    emulate(scenario, ["sleep", str(seconds)], folder=folder)
    after = os.times()
    return (
        after.children_user + after.children_system - before.children_user - before.children_system
    )


def _transfer(
    scenario: str, folder: Path, *, is_down: bool, seconds: int, streams: int = 1
) -> Emulated:
    command = call_iperf(seconds, down=is_down, streams=streams)
    return emulate(scenario, command, folder=folder, server=IPERF_SERVER, is_recorded=False)


def _judge_share(run: Emulated, most: float, least: float | None) -> Figure:
    goodput = read_goodput(run.stdout)
    share = 100 * goodput / most
    note = f"{goodput / 1e6:.2f} Mbit/s; {_tell(run)}"
    bound, kept = ("", None) if least is None else (f">= {least} %", share >= least)
    return Figure(share, "%", bound, kept, note, run.is_trustworthy)


def _tell(run: Emulated) -> str:
    return f"{run.describe_lateness()}, {run.emulation['overruns']} overruns"


if __name__ == "__main__":
    main()
