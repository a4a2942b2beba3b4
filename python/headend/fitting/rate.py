"""How fast a direction of the line is: the sustained rate, and a token bucket's peak and burst.

A link that has packets waiting sends at its rate. So the sustained rate is the median of those
seconds of load in which the probes show a queue. Where they show none, since the queue is short or
the probes do not wait in it, it is the 75th percentile of all seconds, and the 90th where both
directions were loaded, but not above the largest mean over three seconds. While both directions are
loaded, either may wait for the acknowledgements of the other, so that rate is a lower bound.

Where a tool tells what the sender's sockets took, it is the mean of the seconds that show a queue:
sockets take lumps, so that the median of a few seconds may be a lump too high, and what one second
has too much the next has too little.

What limits it: where no queue is seen, nobody knows in how many of the seconds the line was full.
The interval reaches from the 75th percentile to the largest mean over three seconds, and the rate
of one connection alone is a lower bound. Besides, tools count payload, and the line carries
headers, acknowledgements of the other direction and probes. Receivers read what waited behind a
loss all at once, so single seconds are too high or too low, and the median of many is neither.
"""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from headend.fitting.estimates import Bound, Estimate
from headend.fitting.intervals import BLOCK, draw_again, find_quantile
from headend.fitting.samples import (
    ACKNOWLEDGING,
    HEADERS,
    PROBE_SIZE,
    SETTLING,
    TRIP_OF,
    find_least_queue,
    gather,
    list_idle_phases,
    list_loading_phases,
    list_phases,
    rank_series,
)
from headend.measurement.record import (
    Counted,
    Direction,
    Load,
    Measurement,
    Phase,
    Probe,
    RateSeries,
    Trip,
)

#: The bounds of HEADERS: over IPv4 without time stamps, and over IPv6 with them.
LEAST_HEADERS = 1500 / 1460
MOST_HEADERS = 1500 / 1428

#: The facts' range is from the 75th to the 90th percentile.
ALONE, AMONG_BOTH = 0.75, 0.90

#: So many seconds with a queue are enough to look at no others, or this share of a short load.
ENOUGH_BUSY, BUSY_SHARE = 5, 0.5

#: The first seconds are a burst's when they are this much faster than the sustained rate, on the
#: whole.
FASTER = 1.1

#: A tool that misses a value misses a bin or two, s. In a longer gap nothing was sent.
LONGEST_GAP = 1.0

#: Transfers are still growing where each third of the seconds is this much faster than that before.
RISING = 1.05

#: A burst has ended when this share of the surplus has come: later the surplus stays, but for the
#: error of the sustained rate.
REACHED = 0.97

#: A burst ends in this share of its load: what follows must show the sustained rate.
LATEST_KNEE = 0.5

#: And it is more than the sustained rate brings in this time, s: what is counted where it is sent
#: includes what fills the sockets and the queue.
LEAST_BURST = 0.5

#: A burst is looked for in bins of this length, s, or of the series' own.
BURST_BIN = 0.2

#: A transfer slows down when a bin is below this share of the mean of the two before it. Data
#: behind a loss waits a round trip, most of a short bin; bins must be no longer than this, s.
DIP, LONGEST_DIP_BIN = 0.8, 0.25

#: At the end of a phase transfers stop, perhaps not all at once, s.
ENDING = 0.5


@dataclass(frozen=True)
class RateEstimates:
    """The rates of a direction.

    Parameters
    ----------
    rate, peak, burst
        As in DirectionEstimates.
    seconds
        The rate of IP packets in each second of load that counts, bit/s.
    queued
        Of these, those in which packets waited all along.
    timed
        Of the same, when each began, s, and its rate.
    """

    rate: Estimate
    peak: Estimate | None
    burst: Estimate | None
    seconds: tuple[float, ...]
    queued: tuple[float, ...]
    timed: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class _Knee:
    """Where a burst of a load ended, and the bits that came until then beyond the level."""

    phase: Phase
    end: float
    surplus: float


@dataclass(frozen=True)
class _Total:
    """The bits of a direction up to any time, as a function in pieces."""

    times: tuple[float, ...]
    bits: tuple[float, ...]

    def at(self, time: float) -> float:
        after = bisect_right(self.times, time)
        if after == 0:
            return 0.0
        if after == len(self.times):
            return self.bits[-1]
        start, end = self.times[after - 1], self.times[after]
        share = (time - start) / (end - start)
        return self.bits[after - 1] + share * (self.bits[after] - self.bits[after - 1])


def estimate_rates(
    measurement: Measurement, direction: Direction, *, has_burst: bool = True
) -> RateEstimates | None:
    """Estimate the rates of a direction from the series of its transfers.

    A rate that varies by itself may begin fast as a burst does: without ``has_burst`` all seconds
    count.

    None where no transfer of this direction was recorded for two seconds of load.
    """
    phases = list_phases(measurement)
    loaded = list_loading_phases(phases, direction)
    totals = _add_up(measurement.rates, direction)
    if not totals or not loaded:
        return None
    bins = [
        _list_bins(totals, phase, 1.0, min(SETTLING, (phase.end - phase.start) / 3))
        for phase in loaded
    ]
    seconds = [each for some in bins for each in some]
    if len(seconds) < 2:
        return None
    level = _find_later_level(bins)
    if level <= 0:
        return None
    knees = [_find_knee(totals, phase, level) if has_burst else None for phase in loaded]
    kept = [
        (second, rate)
        for some, knee in zip(bins, knees, strict=True)
        for second, rate in some
        if knee is None or second.start >= knee.end
    ]
    kept = kept or seconds
    besides = _measure_besides(measurement, direction, loaded)
    rate, timed = _estimate_sustained(measurement, direction, phases, kept, besides)
    peak, burst = _estimate_burst(totals, [knee for knee in knees if knee is not None], rate)
    busy = tuple(rate for _, rate in timed)
    return RateEstimates(rate, peak, burst, tuple(rate for _, rate in kept), busy, timed)


def find_dips(measurement: Measurement, direction: Direction) -> list[float] | None:
    """Find when transfers slowed down from one moment to the next, as they do after a loss.

    Returns
    -------
    The times, s; None where bins are too long to show it, or where only the sum over several
    transfers is known.
    """
    own = [
        series
        for series in measurement.rates
        if series.direction is direction and len(series.rates) > 0
    ]
    flows = [series for series in own if series.flow]
    if not flows and count_senders(measurement, direction) == 1:
        flows = own
    rows = [sorted(zip(series.starts, series.ends, series.rates, strict=True)) for series in flows]
    lengths = [end - start for row in rows for start, end, _ in row]
    if not lengths or statistics.median(lengths) > LONGEST_DIP_BIN:
        return None
    phases = list_loading_phases(list_phases(measurement), direction)
    return sorted(
        row[k][0]
        for row in rows
        for k in range(2, len(row))
        if row[k][2] < DIP * (row[k - 1][2] + row[k - 2][2]) / 2
        and any(phase.start < row[k][0] < phase.end - ENDING for phase in phases)
    )


def count_senders(measurement: Measurement, direction: Direction) -> int | None:
    """Give how many connections filled a direction; None where the tool does not say."""
    return measurement.senders.up if direction is Direction.UP else measurement.senders.down


def _estimate_sustained(
    measurement: Measurement,
    direction: Direction,
    phases: Sequence[Phase],
    seconds: Sequence[tuple[Phase, float]],
    besides: tuple[float, float],
) -> tuple[Estimate, tuple[tuple[float, float], ...]]:
    both = all(second.load is Load.BOTH for second, _ in seconds)
    queued = _have_queue(measurement, direction, phases, seconds, both)
    timed = [
        (second.start, rate) for (second, rate), waits in zip(seconds, queued, strict=True) if waits
    ]
    busy = [rate for _, rate in timed]
    bound = None
    if len(busy) >= ENOUGH_BUSY or len(busy) >= max(2, BUSY_SHARE * len(seconds)):
        values = busy
        middle = statistics.fmean if _is_of_sockets(measurement, direction) else statistics.median
        value = middle(values)
        low, high = draw_again(values, round(BLOCK), middle)
        basis = f"{len(busy)} seconds of load in which packets waited"
    else:
        values, share = [rate for _, rate in seconds], AMONG_BOTH if both else ALONE
        most = _find_largest_mean(values)
        value = min(find_quantile(sorted(values), share), most)
        low, _ = draw_again(values, round(BLOCK), lambda drawn: find_quantile(drawn, ALONE))
        _, high = draw_again(values, round(BLOCK), lambda drawn: find_quantile(drawn, share))
        low, high = min(low, value), max(high, most)
        basis = f"the {share * 100:.0f}th percentile of {len(values)} seconds of load"
        if is_rising(values):
            value = most
            basis = f"the fastest {BLOCK:.0f} of {len(values)} seconds of load, still rising"
        if both or is_rising(values) or count_senders(measurement, direction) == 1:
            bound = Bound.AT_LEAST
    probes, acknowledgements = besides
    estimate = Estimate(
        value + probes + acknowledgements,
        max(0.0, low * LEAST_HEADERS / HEADERS + probes),
        high * MOST_HEADERS / HEADERS + probes + acknowledgements,
        basis,
        len(values),
        bound,
    )
    return estimate, tuple(timed)


def _is_of_sockets(measurement: Measurement, direction: Direction) -> bool:
    return any(series.sent for series in measurement.rates if series.direction is direction)


def is_rising(seconds: Sequence[float]) -> bool:
    """Say whether transfers were still growing as the load ended: thirds of it are ever faster."""
    third = len(seconds) // 3
    if third < 1:
        return False
    parts = (seconds[:third], seconds[third:-third], seconds[-third:])
    first, middle, last = (sum(part) / len(part) for part in parts)
    return middle > RISING * first and last > RISING * middle


def _find_largest_mean(seconds: Sequence[float]) -> float:
    """Give the largest mean over some seconds: what waited behind a loss hardly changes that."""
    count = min(round(BLOCK), len(seconds))
    return max(sum(seconds[k : k + count]) / count for k in range(len(seconds) - count + 1))


def _have_queue(
    measurement: Measurement,
    direction: Direction,
    phases: Sequence[Phase],
    seconds: Sequence[tuple[Phase, float]],
    both: bool,
) -> list[bool]:
    """Say of each second whether packets waited in this direction's queue all along.

    Probes tell it, or else the round trips of a connection that fills the line, which may have a
    queue of its own.
    """
    ranked = rank_series(measurement, TRIP_OF[direction])
    if not both:
        ranked += rank_series(measurement, Trip.ROUND)
    timed = [series for series in ranked if series.times]
    probes = [series for series in timed if series.probe is not Probe.IN_FLOW]
    inside = [series for series in timed if series.probe is Probe.IN_FLOW]
    fastest = max(rate for _, rate in seconds)
    more = find_least_queue(fastest)
    waits = [False] * len(seconds)
    for series in probes[:1] + inside:
        idle = gather(series, list_idle_phases(phases), Load.IDLE).delays
        least = min(idle or series.delays) + more
        for k, (second, _) in enumerate(seconds):
            delays = gather(series, [second], second.load).delays
            waits[k] = waits[k] or (bool(delays) and min(delays) > least)
    return waits


def _measure_besides(
    measurement: Measurement,
    direction: Direction,
    loaded: Sequence[Phase],
) -> tuple[float, float]:
    """Give what the line carried besides the transfers, bit/s: probes, and acknowledgements."""
    length = sum(phase.end - phase.start for phase in loaded)
    counts: dict[tuple[Probe, str, str], int] = {}
    for series in measurement.delays:
        if series.times and series.probe not in {Probe.IN_FLOW, Probe.REQUEST}:
            kind = (series.probe, series.marking, series.flow)
            sent = gather(series, loaded, Load.BOTH).sent
            counts[kind] = max(counts.get(kind, 0), sent)
    probes = sum(counts.values()) * PROBE_SIZE * 8 / length
    if any(phase.load is not Load.BOTH for phase in loaded):
        return probes, 0.0
    other = Direction.UP if direction is Direction.DOWN else Direction.DOWN
    totals = _add_up(measurement.rates, other)
    carried = sum(_count_between(totals, phase.start, phase.end) for phase in loaded) / length
    return probes, carried * ACKNOWLEDGING


def _estimate_burst(
    totals: Sequence[_Total], knees: Sequence[_Knee], rate: Estimate
) -> tuple[Estimate | None, Estimate | None]:
    """Estimate a token bucket from the load that began with the largest burst."""
    if not knees:
        return None, None
    knee = max(knees, key=lambda each: each.surplus)
    basis = f"the first {knee.end - knee.phase.start:.1f} s of a load, faster than all later ones"
    bins = _list_bins(totals, Phase(knee.phase.load, knee.phase.start, knee.end), BURST_BIN, 0.0)
    faster = sorted(value for _, value in bins if value > rate.value)
    if not faster:
        return None, None
    peak = statistics.median(faster)
    low, high = find_quantile(faster, 0.25), find_quantile(faster, 0.75)
    doubt = (rate.high - rate.low) / 2 * (knee.end - knee.phase.start)
    return (
        Estimate(
            peak,
            low * LEAST_HEADERS / HEADERS,
            high * MOST_HEADERS / HEADERS,
            basis,
            len(faster),
            Bound.AT_LEAST,
        ),
        Estimate(
            knee.surplus / 8,
            max(0.0, knee.surplus - doubt) / 8,
            (knee.surplus + doubt) / 8,
            basis,
            len(bins),
            Bound.AT_LEAST,
        ),
    )


def _find_knee(totals: Sequence[_Total], phase: Phase, level: float) -> _Knee | None:
    """Find when a burst ended: until then more came since the load began than the level allows.

    What waited behind a loss and is read at once is no burst: it came no sooner for that. While
    both directions are loaded, the later seconds may be slower for the other direction's sake, so
    no burst is looked for.
    """
    bins = _list_bins(totals, phase, BURST_BIN, 0.0)
    if phase.load is Load.BOTH or len(bins) < 4 / BURST_BIN:
        return None
    surplus = list(accumulate((rate - level) * BURST_BIN for _, rate in bins))
    most = max(surplus)
    if most <= 0:
        return None
    last = next(k for k, bits in enumerate(surplus) if bits >= REACHED * most)
    elapsed = bins[last][0].end - phase.start
    length = phase.end - phase.start
    is_early = elapsed < LATEST_KNEE * length
    is_burst = surplus[last] > level * max(LEAST_BURST, (FASTER - 1) * elapsed)
    return _Knee(phase, bins[last][0].end, surplus[last]) if is_early and is_burst else None


def _find_later_level(bins: Sequence[Sequence[tuple[Phase, float]]]) -> float:
    later = [rate for some in bins for _, rate in some[len(some) // 2 :]]
    return statistics.median(later)


def _list_bins(
    totals: Sequence[_Total], phase: Phase, length: float, skip: float
) -> list[tuple[Phase, float]]:
    """Give the rate of IP packets in whole bins of a phase, bit/s."""
    first = max(phase.start + skip, min(total.times[0] for total in totals))
    end = min(phase.end, max(total.times[-1] for total in totals))
    count = int((end - first) / length + 1e-9)
    edges = [first + k * length for k in range(count + 1)]
    bits = [sum(total.at(edge) for total in totals) for edge in edges]
    return [
        (Phase(phase.load, edges[k], edges[k + 1]), (bits[k + 1] - bits[k]) / length)
        for k in range(count)
    ]


def _count_between(totals: Sequence[_Total], start: float, end: float) -> float:
    return sum(total.at(end) - total.at(start) for total in totals)


def _add_up(series: Iterable[RateSeries], direction: Direction) -> list[_Total]:
    """Give the bits of IP packets of a direction over time, of the sum where there is one."""
    own = [each for each in series if each.direction is direction and len(each.rates) > 0]
    sums = [each for each in own if not each.flow]
    return [_accumulate(each) for each in sums or own]


def _accumulate(series: RateSeries) -> _Total:
    """Add up the bits of a series. In a short gap the rate is that of the bin behind it."""
    factor = HEADERS if series.counted is Counted.PAYLOAD else 1.0
    rows = sorted(zip(series.starts, series.ends, series.rates, strict=True))
    times, bits = [rows[0][0]], [0.0]
    for start, end, rate in rows:
        start = max(start, times[-1])
        if end <= start:
            continue
        if start > times[-1]:
            gap = start - times[-1]
            bits.append(bits[-1] + (rate * factor * gap if gap <= LONGEST_GAP else 0.0))
            times.append(start)
        bits.append(bits[-1] + rate * factor * (end - start))
        times.append(end)
    return _Total(tuple(times), tuple(bits))
