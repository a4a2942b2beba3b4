"""Measurements of made lines, whose truth is known exactly; and of simulated ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import headend
from headend.measurement.record import (
    Counted,
    DelaySeries,
    Direction,
    Load,
    Measurement,
    Phase,
    Probe,
    RateSeries,
    Senders,
    Trip,
)

#: Payload in a full packet of 1500 bytes, over IPv4 with time stamps.
PAYLOAD = 1448 / 1500

Function = Callable[[float], float]


def make_phases(*parts: tuple[Load, float]) -> tuple[Phase, ...]:
    """Make phases one behind the other, from their loads and lengths, s."""
    phases, time = [], 0.0
    for load, length in parts:
        phases.append(Phase(load, time, time + length))
        time += length
    return tuple(phases)


def make_rates(
    direction: Direction,
    phases: Iterable[Phase],
    rate: Function,
    *,
    length: float = 0.2,
    flow: str = "",
    counted: Counted = Counted.PAYLOAD,
) -> RateSeries:
    """Make the rates of transfers that run in some phases: payload, or IP packets, bit/s.

    The function gives the rate of IP packets by the time since the phase began.
    """
    starts, rates = [], []
    share = PAYLOAD if counted is Counted.PAYLOAD else 1.0
    for phase in phases:
        for k in range(round((phase.end - phase.start) / length)):
            starts.append(phase.start + k * length)
            rates.append(rate(k * length) * share)
    ends = [start + length for start in starts]
    return RateSeries(direction, starts, ends, rates, counted, flow)


def make_delays(
    phases: Sequence[Phase],
    delay: Callable[[Phase, float], float],
    *,
    gap: float = 0.2,
    trip: Trip = Trip.ROUND,
    probe: Probe = Probe.ICMP,
    marking: str = "",
    is_lost: Callable[[Phase, float], bool] = lambda _phase, _time: False,
) -> DelaySeries:
    """Make probes over all phases: their delays by phase and by the time since it began, ms."""
    times, delays, lost = [], [], []
    for phase in phases:
        for k in range(math.floor((phase.end - phase.start) / gap + 1e-9)):
            since = k * gap
            if is_lost(phase, since):
                lost.append(phase.start + since)
            else:
                times.append(phase.start + since)
                delays.append(delay(phase, since))
    return DelaySeries(trip, probe, times, delays, lost, len(lost), marking=marking)


def sawtooth(top: float, period: float = 3.0, bottom: float = 0.5) -> Function:
    """Give a delay that grows from a share of the top to the top, again and again."""

    def delay(time: float) -> float:
        return top * (bottom + (1 - bottom) * (time % period) / period)

    return delay


def under(load: Load, function: Function, base: float = 20.0) -> Callable[[Phase, float], float]:
    """Give a delay that is the base, and more by a function under one load."""
    return lambda phase, time: base + (function(time) if phase.load is load else 0.0)


#: Five seconds of an idle line, a download of 20 s, and as long again for an upload.
SEPARATE = make_phases((Load.IDLE, 5.0), (Load.DOWN, 20.0), (Load.IDLE, 5.0), (Load.UP, 20.0))

#: Both directions at once.
TOGETHER = make_phases((Load.IDLE, 5.0), (Load.BOTH, 20.0))


@dataclass(frozen=True)
class Line:
    """A line that is simulated: Mbit/s, and ms."""

    down: float
    up: float
    round_trip: float
    queue: dict[str, Any]
    congestion: str = "cubic"
    flows: int = 4


def simulate(line: Line, phases: Sequence[Phase] = SEPARATE, seed: int = 1) -> Measurement:
    """Simulate a line under load, and give what a tool records: rates and pings, 5 a second."""
    step = 0.2
    flows: dict[str, Any] = {
        "ping": {
            "application": {"ping": {"interval": f"{step} s", "random_phase": True}},
            "rtt": f"{line.round_trip} ms",
        }
    }
    for number, phase in enumerate(phases):
        for direction in Direction:
            if phase.load in {Load.BOTH, Load(direction.value)}:
                flows[f"{direction}-{number}"] = {
                    "application": "bulk",
                    "direction": direction.value,
                    "count": line.flows,
                    "rtt": f"{line.round_trip} ms",
                    "start": f"{phase.start} s",
                    "stop": f"{phase.end} s",
                    "tcp": {"congestion": line.congestion},
                }
    result = headend.run(
        {
            "duration": f"{phases[-1].end} s",
            "warmup": "0 s",
            "seed": seed,
            "results": {"interval": f"{step} s"},
            "link": {
                "line": {
                    "point_to_point": {
                        "up": {"rate": f"{line.up} Mbit/s", "queue": line.queue},
                        "down": {"rate": f"{line.down} Mbit/s", "queue": line.queue},
                    }
                }
            },
            "flow": flows,
        }
    )
    return Measurement(
        ("headend",),
        phases=tuple(phases),
        rates=tuple(_read_rates(result, phases[-1].end, step)),
        delays=(_read_pings(result),),
        senders=Senders(line.flows, line.flows, line.congestion),
    )


def _read_pings(result: Any) -> DelaySeries:
    times, delays, lost = [], [], []
    samples = result.samples.filter(flow="ping", measure="rtt")
    for at, value in samples.select("time_ns", "value").iter_rows():
        if math.isnan(value):
            lost.append(at / 1e9 - 5)  # a ping is given up after five seconds
        else:
            times.append((at - value) / 1e9)
            delays.append(value / 1e6)
    return DelaySeries(Trip.ROUND, Probe.ICMP, times, delays, lost, len(lost))


def _read_rates(result: Any, end: float, step: float) -> Iterable[RateSeries]:
    count = round(end / step)
    starts = [k * step for k in range(count)]
    ends = [(k + 1) * step for k in range(count)]
    series = result.flow_series
    for direction in Direction:
        names = {name for name in series["flow"] if name.startswith(direction.value)}
        for name in sorted(names):
            rows = series.filter(flow=name, direction=direction.value)
            found = {
                round(at / 1e9 / step): rate
                for at, rate in rows.select("time_ns", "goodput_bps").iter_rows()
            }
            # An interval that is like the one before has no row.
            rates, last = [], 0.0
            for k in range(1, count + 1):
                last = found.get(k, last)
                rates.append(last)
            yield RateSeries(direction, starts, ends, rates, flow=name)
