"""The line of the estimates, as tables of a scenario: a plain link, a cable line, or a cell."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from headend.errors import InputError
from headend.fitting.candidate import Candidate, list_candidates, write_rate
from headend.fitting.estimates import DirectionEstimates, Flag, LineEstimates
from headend.fitting.intervals import find_quantile
from headend.fitting.varying import Steps, find_steps
from headend.measurement.record import Direction, Measurement
from headend.recommendation.rates import find_capacities
from headend.scenario.source import read_scenario
from headend.text.quantity import format_quantity

#: How the link is called.
LINE = "line"

#: The generation of a cable line.
PRESET = "docsis31"

#: DOCSIS counts Ethernet frames, estimates IP packets (MULPI, facts of TLV 24.8): 18 B more of each
#: full packet.
FRAME_SHARE = 1518 / 1500

#: The spread of request and grant of a cable line, ms (RFC 8034 section 4.2: 4 to 8; LLD white
#: paper: 2 to 8 for media acquisition). From the 5th to the 95th percentile that is 5.4 at most.
REQUEST_GRANT_MS = (1.5, 7.0)

#: What 802.11b cells carry at most of full packets, by data rate, in bit/s: a packet of 1500 B with
#: preamble, gaps, mean backoff and acknowledgement (IEEE 802.11b-1999 section 18).
CELL_RATES = {"11 Mbit/s": 6.1e6, "5.5 Mbit/s": 3.8e6, "2 Mbit/s": 1.65e6, "1 Mbit/s": 0.88e6}


class Medium(StrEnum):
    """What the line is written as."""

    PLAIN = "plain"
    CABLE = "cable"
    WIFI = "wifi"


@dataclass(frozen=True)
class FittedDirection:
    """A direction of the line.

    Parameters
    ----------
    rate
        Of IP packets, bit/s.
    buffer
        How long a full queue takes to empty, ms.
    is_measured
        Whether the rate is an estimate; else it is supposed.
    is_full
        Whether the buffer was seen to be full.
    peak, burst
        The rate of a burst, bit/s, and its bytes; None without.
    steps, period
        Of a rate that varies: when each begins, s, with its rate, bit/s; and after how many seconds
        they repeat. Empty of a constant one.
    loss
        The share of packets that the line loses by itself; 0 where none is known.
    """

    rate: float
    buffer: float
    is_measured: bool = True
    is_full: bool = True
    peak: float | None = None
    burst: float | None = None
    steps: Steps = ()
    period: float = 0.0
    loss: float = 0.0

    def list_candidates(self, *, has_marked: bool = True) -> tuple[Candidate, ...]:
        """List the queues that it may have."""
        slowest = min((rate for _, rate in self.steps), default=None)
        return list_candidates(
            self.buffer, self.rate, is_full=self.is_full, has_marked=has_marked, slowest=slowest
        )


@dataclass(frozen=True)
class FittedLine:
    """The line, without its queues.

    Parameters
    ----------
    medium, why
        What it is written as, and why that.
    base_delay
        There and back on the idle line, ms.
    directions
        Each with a rate.
    """

    medium: Medium
    why: str
    base_delay: float
    directions: Mapping[Direction, FittedDirection] = field(default_factory=dict)


#: The buffer where nothing tells it, ms: a quarter of a second, as many modems have (CM-GL-Buffer).
SUPPOSED_BUFFER_MS = 250.0

#: Random loss is written where the low end of its interval is this share of it at least: of one
#: probe or two that were lost, nobody knows the share.
KNOWN_LOSS = 0.25

#: The base delay where nothing tells it, ms.
SUPPOSED_DELAY_MS = 20.0


def fit_line_to(
    estimates: LineEstimates,
    measurement: Measurement,
    wanted: Medium | None = None,
    idle: Sequence[float] = (),
) -> FittedLine:
    """Make the line of the estimates.

    Parameters
    ----------
    estimates
        With the rate of one direction at least.
    measurement
        Of which they are.
    wanted
        What it is written as; None chooses.
    idle
        What the idle line adds to its least delay, as quantiles in even steps, ms.

    Raises
    ------
    InputError
        Where no rate is known, or the line cannot be written as is wanted.
    """
    rates = {
        way: own.rate.value
        for way, own in estimates.directions.items()
        if own.rate is not None and own.rate.value > 0
    }
    if not rates:
        raise InputError(
            "the measurement has no rate of the loaded line in either direction, and a line needs"
            " one; expected a measurement that fills the line, or --down or --up beside it"
        )
    directions = {
        way: _fit_direction(estimates.directions.get(way), rates, way) for way in Direction
    }
    medium, why = _choose_medium(estimates, measurement, directions, wanted, idle)
    # A modem's rate is constant; what varies on a cable line is its channel, which nobody saw.
    if medium is not Medium.CABLE and Flag.RATE_VARIES in estimates.flags:
        directions = {way: _vary(own, measurement, way) for way, own in directions.items()}
    base = estimates.base_delay.value if estimates.base_delay else SUPPOSED_DELAY_MS
    return FittedLine(medium, why, base, directions)


def write_link(
    line: FittedLine, queues: Mapping[Direction, Candidate], start: float = 0.0
) -> dict[str, Any]:
    """Give the tables of the line: ``link``, and ``host`` where flows must name one.

    Parameters
    ----------
    line
        Without queues.
    queues
        The queue of each direction.
    start
        When the load begins, s, with which the steps of a rate that varies do.

    Examples
    --------
    >>> way = FittedDirection(20e6, 100.0)
    >>> line = FittedLine(Medium.PLAIN, "", 20.0, {own: way for own in Direction})
    >>> queue = way.list_candidates()[0]
    >>> write_link(line, {own: queue for own in Direction})["link"]["line"]["point_to_point"]["up"]
    {'rate': '20 Mbit/s', 'queue': {'drop_tail': {'limit': '100 ms'}}}
    """
    if line.medium is Medium.CABLE:
        return {"link": {LINE: {"docsis": _write_cable(line, queues)}}}
    plain = {way.value: _write_plain(line.directions[way], queues[way], start) for way in Direction}
    link: dict[str, Any] = {LINE: {"point_to_point": plain}}
    if line.medium is Medium.WIFI:
        fastest = max(own.rate for own in line.directions.values())
        rate = next(rate for rate, most in reversed(CELL_RATES.items()) if most >= fastest)
        link["wifi"] = {"dot11b": {"rate": rate, "station": {"laptop": {}}}}
        return {"link": link, "host": {"laptop": {"via": ["wifi.laptop", LINE]}}}
    return {"link": link}


@functools.lru_cache(maxsize=64)
def _find_own_delay(tables: str, host: str) -> float:
    """Simulate the idle line without a wide area; give the least round trip of its pings, ms."""
    from headend.engine.columns import Frames
    from headend.running.execution import execute

    flow: dict[str, Any] = {
        "application": {"ping": {"interval": "50 ms", "size": "64 B", "random_phase": True}},
        "rtt": "0 ms",
    }
    if host:
        flow["host"] = host
    content = {"duration": "5 s", **json.loads(tables), "flow": {"ping": flow}}
    loaded = read_scenario(content).load()
    samples = Frames(execute(loaded.scenario, seed=1).tables).lists("samples").rows
    delays = [row["value"] for row in samples if row["measure"] == "rtt"]
    return min(delays) / 1e6 if delays else 0.0


def find_wide_area(line: FittedLine, queues: Mapping[Direction, Candidate]) -> float:
    """Give the round trip of the wide area: what the line itself takes is left out, ms."""
    tables = write_link(line, queues)
    own = _find_own_delay(json.dumps(tables, sort_keys=True), name_host(line))
    return max(line.base_delay - own, 0.1)


def name_host(line: FittedLine) -> str:
    """Name the customer's host where flows must; else nothing."""
    return "laptop" if line.medium is Medium.WIFI else ""


def is_even(idle: Sequence[float]) -> bool:
    """Whether delays spread evenly: the upper half takes about as much room as the lower half.

    Of an exponential tail, as Wi-Fi has, the upper half takes 3.6 times as much between the 5th,
    50th and 95th percentile.

    Examples
    --------
    >>> is_even([0, 1, 2, 3, 4]), is_even([0, 0.1, 0.3, 1, 9]), is_even([])
    (True, False, False)
    """
    if not idle:
        return False
    low, middle, high = (find_quantile(idle, share) for share in (0.05, 0.5, 0.95))
    return middle > low and high - middle <= 2 * (middle - low)


def _fit_direction(
    own: DirectionEstimates | None, rates: Mapping[Direction, float], way: Direction
) -> FittedDirection:
    measured = way in rates
    # What was not measured must not be the bottleneck of what was: as fast as the other direction.
    rate = rates[way] if measured else max(rates.values())
    if own is None:
        return FittedDirection(rate, SUPPOSED_BUFFER_MS, is_measured=measured, is_full=False)
    buffer, full = SUPPOSED_BUFFER_MS, False
    if own.buffer is not None:
        buffer, full = own.buffer.value, own.buffer.bound is None
    elif own.loaded_delay is not None:
        buffer = max(own.loaded_delay.value, 1.0)
    peak = own.peak.value if own.peak and own.burst and own.peak.value > rate else None
    burst = own.burst.value if own.peak and own.burst and peak else None
    return FittedDirection(rate, buffer, measured, full, peak, burst, loss=_find_loss(own))


def _find_loss(own: DirectionEstimates) -> float:
    """Give what a direction loses by itself: where its interval excludes zero by enough."""
    loss = own.random_loss
    # A bound is of round trips, of which no direction is known.
    is_known = loss is not None and loss.bound is None and loss.low > 0
    return loss.value if loss and is_known and loss.low >= KNOWN_LOSS * loss.value else 0.0


def _vary(own: FittedDirection, measurement: Measurement, way: Direction) -> FittedDirection:
    """Give a direction its steps, if its rate varies: then no burst can be told from them."""
    if not own.is_measured:
        return own
    steps, period = find_steps(measurement, way)
    return replace(own, steps=steps, period=period, peak=None, burst=None) if steps else own


def _choose_medium(
    estimates: LineEstimates,
    measurement: Measurement,
    directions: Mapping[Direction, FittedDirection],
    wanted: Medium | None,
    idle: Sequence[float],
) -> tuple[Medium, str]:
    if wanted is not None:
        _check_medium(wanted, directions)
        return wanted, "it was asked for"
    up = estimates.directions.get(Direction.UP)
    jitter = up.jitter if up else None
    if measurement.medium == "wifi" or Flag.WIFI_SUSPECTED in estimates.flags:
        return Medium.PLAIN, (
            "the computer was connected by Wi-Fi, whose delays vary by themselves, so that those of"
            " a cable line cannot be told from them"
        )
    least, most = REQUEST_GRANT_MS
    if jitter and least <= jitter.value and jitter.high <= most and is_even(idle):
        spread = format_quantity(jitter.value * 1e6, "time")
        try:
            _check_medium(Medium.CABLE, directions)
        except InputError:
            return Medium.PLAIN, "it is faster than the cable channels that are simulated"
        return Medium.CABLE, (
            f"delays of the idle line spread evenly over {spread}, as the requests and grants of a"
            " cable line make them"
        )
    if jitter is None:
        return Medium.PLAIN, "nothing tells what the line is made of"
    spread = format_quantity(jitter.value * 1e6, "time")
    return Medium.PLAIN, (
        f"delays of the idle line spread over {spread}; requests and grants of a cable line would"
        f" make it {least:g} to {most:g} ms"
    )


def _check_medium(wanted: Medium, directions: Mapping[Direction, FittedDirection]) -> None:
    """Refuse a line that cannot carry what was measured."""
    fastest = max(own.rate for own in directions.values())
    if wanted is Medium.WIFI and fastest > max(CELL_RATES.values()):
        most = format_quantity(max(CELL_RATES.values()), "rate")
        raise InputError(
            f"--line wifi: a cell of 802.11b carries {most} at most, and the measured line"
            f" {format_quantity(fastest, 'rate')}; expected --line plain"
        )
    if wanted is Medium.CABLE:
        capacities = find_capacities(PRESET)
        for way, name in ((Direction.UP, "upstream"), (Direction.DOWN, "downstream")):
            own = directions[way]
            if own.is_measured and own.rate * FRAME_SHARE > capacities[name]:
                raise InputError(
                    f"--line cable: the {name} channel of {PRESET} carries"
                    f" {format_quantity(capacities[name], 'rate')}, and the measured line"
                    f" {format_quantity(own.rate, 'rate')}; expected --line plain"
                )


def _write_plain(own: FittedDirection, queue: Candidate, start: float) -> dict[str, Any]:
    tables: dict[str, Any] = {"rate": write_rate(own.rate)}
    if own.steps:
        steps = [[f"{at + start if at else 0:g} s", write_rate(rate)] for at, rate in own.steps]
        tables = {"rate": {"steps": steps, "period": f"{own.period + start:g} s"}}
    if own.peak and own.burst:
        bucket = {"rate": write_rate(own.rate), "burst": f"{max(round(own.burst), 1500)} B"}
        tables = {"rate": write_rate(own.peak), "shaper": bucket}
    loss = {"loss": f"{own.loss * 100:.3g} %"} if own.loss else {}
    return {**tables, **loss, "queue": queue.queue}


def _write_cable(line: FittedLine, queues: Mapping[Direction, Candidate]) -> dict[str, Any]:
    capacities = find_capacities(PRESET)
    tables: dict[str, Any] = {"preset": PRESET}
    for way, name in ((Direction.UP, "upstream"), (Direction.DOWN, "downstream")):
        own = line.directions[way]
        rate = own.rate * FRAME_SHARE
        if not own.is_measured:
            rate = min(rate, capacities[name])
        direction: dict[str, Any] = {"rate": write_rate(rate)}
        if own.peak and own.burst:
            direction["peak"] = write_rate(own.peak * FRAME_SHARE)
            direction["burst"] = f"{max(round(own.burst * FRAME_SHARE), 1522)} B"
        tables[name] = {**direction, **queues[way].cable}
    return tables


def replace_buffer(line: FittedLine, way: Direction, buffer: float, *, is_full: bool) -> FittedLine:
    """Give the line with another buffer in a direction, ms."""
    own = replace(line.directions[way], buffer=buffer, is_full=is_full)
    return replace(line, directions={**line.directions, way: own})
