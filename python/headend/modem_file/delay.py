"""Computes the delay of a full buffer of a service flow, and the one that its AQM keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from headend.modem_file.settings import IMMEDIATE, Aggregate, ServiceFlow, Settings

#: Default upstream target buffer of a classic flow without TLV 68, ms (MULPI C.1.2.17 as docsis-ns3
#: restates it).
DEFAULT_BUFFER = 100

#: Classic AQM latency target where the file sets none, ms (RFC 8034 §4).
DEFAULT_TARGET = 10

#: Largest frame of the low-latency formulas, B.
LARGEST_FRAME = 2000

#: Maximum threshold of the immediate AQM where the file sets none, µs; and its ramp range exponent,
#: log2 ns.
DEFAULT_THRESHOLD = 1000
DEFAULT_EXPONENT = 19

#: The largest threshold of the immediate AQM, ns.
LARGEST_THRESHOLD = 65_535_000

#: Score threshold of queue protection where the file sets none, µs; and its drain rate exponent.
DEFAULT_SCORE = 4000
DEFAULT_DRAIN = 19


@dataclass(frozen=True)
class Buffer:
    """The buffer of a service flow, as a modem that follows file and specification makes it.

    Parameters
    ----------
    size
        In bytes.
    rate
        The rate that empties it, in bit/s: the one that limits the flow; None without a limit.
    peak
        The rate that empties it while the burst lasts, in bit/s; None where that is no more than
        ``rate``.
    path
        The TLV that sets its size, or None where the device chooses and the size is the
        specification's default.
    """

    size: int
    rate: int | None
    peak: int | None
    path: str | None

    @property
    def delay(self) -> float | None:
        """The time that the last packet of a full buffer waits, ns; None without a rate."""
        return None if self.rate is None else find_delay(self.size, self.rate)

    @property
    def peak_delay(self) -> float | None:
        """The same while the burst lasts, ns."""
        return None if self.peak is None else find_delay(self.size, self.peak)


@dataclass(frozen=True)
class Aqm:
    """The AQM of a service flow.

    Parameters
    ----------
    state
        ``off`` where the file turns it off, ``on`` where the file configures it or explicitly
        leaves it on, ``unsaid`` where the file has nothing about it: a DOCSIS 3.1 modem then runs
        it, an older one may have none.
    paths
        The TLVs that decide the state.
    is_immediate
        Whether it is the immediate AQM of a low-latency flow, not DOCSIS-PIE.
    target
        The delay that it keeps, ns: the latency target, or the maximum threshold of the immediate
        AQM.
    """

    state: Literal["on", "off", "unsaid"]
    paths: tuple[str, ...]
    is_immediate: bool
    target: float


@dataclass(frozen=True)
class Ramp:
    """Thresholds of the immediate AQM, ns: some marks between, all above the upper one.

    Parameters
    ----------
    low, high
        The thresholds.
    floor
        The least value of the lower threshold at the flow's rate: the time of two large frames.
    """

    low: float
    high: float
    floor: float


@dataclass(frozen=True)
class Protection:
    """Queue protection of an aggregate.

    Parameters
    ----------
    is_on
        Whether it is on.
    latency, score
        The thresholds, ns. Packets of a flow go to the classic queue where the queue delay is above
        ``latency``, and the product of delay and score above that of the two thresholds.
    drain
        The rate at which scores decay, in bit/s of marked packets.
    """

    is_on: bool
    latency: float
    score: float
    drain: float


def find_delay(size: int, rate: int) -> float:
    """Give the time that a rate in bit/s takes for so many bytes, in ns.

    Examples
    --------
    >>> find_delay(62500, 10_000_000)
    50000000.0
    """
    return size * 8e9 / rate


def find_size(delay: float, rate: int) -> int:
    """Give the bytes that a rate in bit/s takes so many ns for.

    Examples
    --------
    >>> find_size(50e6, 10_000_000)
    62500
    """
    return round(delay * rate / 8e9)


def find_rate(flow: ServiceFlow, settings: Settings) -> int | None:
    """Give the rate that empties a flow's buffer, in bit/s: its own or its aggregate's; or None."""
    aggregate = settings.find_aggregate(flow)
    limits = (flow.sustained, aggregate.sustained if aggregate else None)
    return min((rate for rate in limits if rate), default=None)


def find_buffer(flow: ServiceFlow, settings: Settings) -> Buffer | None:
    """Find the buffer of a flow.

    A device chooses a size within minimum and maximum that is near the target. Where the file sets
    no target, an upstream flow has the default of TLV 68 at the larger of its sustained and its
    peak rate, or at that of its aggregate without either; a low-latency one has 10 ms at the rate
    of its aggregate. The specification has no default for downstream flows.

    Returns
    -------
    Buffer or None
        None where neither the file nor a default gives its size.
    """
    rate = find_rate(flow, settings)
    fastest = _find_fastest(flow, settings)
    peak = fastest if rate and fastest and fastest > rate else None
    target = flow.target_buffer
    path: str | None
    if target and target.value:
        size, path = target.value, target.path
    elif (chosen := _find_default(flow, settings, rate)) is not None:
        size, path = chosen
    else:
        least = flow.minimum_buffer
        return Buffer(least.value, rate, peak, least.path) if least and least.value else None
    if (most := flow.maximum_buffer) and most.value < size:
        size, path = most.value, most.path
    if (least := flow.minimum_buffer) and least.value > size:
        size, path = least.value, least.path
    return Buffer(size, rate, peak, path)


def find_aqm(flow: ServiceFlow, settings: Settings) -> Aqm:
    """Find the state of a flow's AQM, and the delay that it keeps."""
    is_immediate = is_immediate_aqm(flow, settings)
    if is_immediate:
        ramp = find_ramp(flow, settings)
        target = ramp.high
    else:
        own = flow.aqm_target
        target = 1e6 * (own.value if own and own.value else DEFAULT_TARGET)
    off = [
        setting.path
        for setting in (
            settings.upstream_aqm_disabled if flow.direction == "up" else None,
            flow.aqm_disabled,
        )
        if setting and setting.value == 1
    ]
    if off:
        return Aqm("off", tuple(off), is_immediate, target)
    said = flow.tlv.get(40)
    if said:
        return Aqm("on", (said.path,), is_immediate, target)
    return Aqm("unsaid", (), is_immediate, target)


def is_immediate_aqm(flow: ServiceFlow, settings: Settings) -> bool:
    """Whether a flow's AQM is the immediate one: selected, or by default as low-latency flow."""
    algorithm = flow.aqm_algorithm
    if algorithm and algorithm.value:
        return algorithm.value == IMMEDIATE
    return settings.is_low_latency(flow)


def find_ramp(flow: ServiceFlow, settings: Settings) -> Ramp:
    """Compute a flow's immediate AQM thresholds at its rate (MULPI Annex N, as in docsis-ns3)."""
    most = flow.maximum_threshold
    exponent = flow.ramp_exponent
    wanted = 1e3 * (most.value if most and most.value else DEFAULT_THRESHOLD)
    width = float(2 ** min(exponent.value if exponent else DEFAULT_EXPONENT, 63))
    rate = find_rate(flow, settings)
    floor = min(find_delay(2 * LARGEST_FRAME, rate), LARGEST_THRESHOLD) if rate else 0.0
    low = max(wanted - width, floor, 0.0)
    return Ramp(low, min(low + width, LARGEST_THRESHOLD), floor)


def find_protection(aggregate: Aggregate, flow: ServiceFlow, settings: Settings) -> Protection:
    """Compute an aggregate's queue protection thresholds (MULPI Annex P, as in docsis-ns3).

    Parameters
    ----------
    aggregate, flow
        The aggregate and its low-latency flow.
    settings
        All settings of the file.
    """
    enabled, latency = aggregate.protection, aggregate.protection_threshold
    score, exponent = aggregate.protection_score, aggregate.drain_exponent
    return Protection(
        is_on=enabled is None or bool(enabled.value & 1),
        latency=1e3 * latency.value
        if latency and latency.value
        else find_ramp(flow, settings).high,
        score=1e3 * (score.value if score else DEFAULT_SCORE),
        drain=find_drain(exponent.value if exponent else DEFAULT_DRAIN),
    )


def find_drain(exponent: int) -> float:
    """Give the decay rate of scores, in bit/s: 2 to the exponent, in 2^30ths of a byte per ns.

    Examples
    --------
    >>> round(find_drain(19))
    3906250
    """
    return 8e9 * 2.0 ** (min(exponent, 63) - 30)


def _find_fastest(flow: ServiceFlow, settings: Settings) -> int | None:
    """Give the larger of a flow's sustained and peak rates, or of its aggregate's."""
    aggregate = settings.find_aggregate(flow)
    return flow.fastest or (aggregate.fastest if aggregate else None)


def _find_default(
    flow: ServiceFlow, settings: Settings, rate: int | None
) -> tuple[int, str | None] | None:
    """Give the default size of an upstream buffer without a target, in bytes, and its TLV."""
    if flow.direction != "up" or not rate:
        return None
    if settings.is_low_latency(flow):
        return max(find_size(10e6, rate), 20 * LARGEST_FRAME), None
    default = settings.default_buffer
    time = 1e6 * (default.value if default else DEFAULT_BUFFER)
    return find_size(time, flow.fastest or rate), default.path if default else None
