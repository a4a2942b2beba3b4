"""What the probes of a loaded line show, as numbers: one function for measured and simulated.

Delays are those that load adds to the least delay of the same probe, in ms.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headend.fitting.intervals import find_quantile

#: The quantiles of the added delay that are compared.
QUANTILES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)

#: How long slow start and the first overshoot of a queue take at most, s; what comes after is the
#: queue's steady state. PIE's burst allowance is 150 ms, BBR's start-up some round trips.
SETTLING = 3.0

#: Fewer delays give no quantiles.
LEAST_SAMPLES = 20

#: Fewer losses have no place in the distribution of delays.
LEAST_LOSSES = 5

#: Delays of so long before a loss show how full the queue was, s.
BEFORE_LOSS = 0.5

#: The distances at which a series is compared with itself, s.
ECHOES = {"echo.short": 0.25, "echo.long": 1.0}


@dataclass(frozen=True)
class Samples:
    """Delays of one probe while the line was loaded.

    Parameters
    ----------
    times
        When each was sent, s since the load began; empty where nobody knows.
    added
        What the load added, ms.
    lost
        When each lost probe was sent.
    """

    times: Sequence[float]
    added: Sequence[float]
    lost: Sequence[float] = ()


def name_quantile(share: float, of: str = "delay") -> str:
    """Name a quantile.

    Examples
    --------
    >>> name_quantile(0.05)
    'delay.p05'
    """
    return f"{of}.p{round(share * 100):02d}"


def find_features(
    probe: Samples,
    marked: Samples | None = None,
    in_flow: Samples | None = None,
    rates: Sequence[float] = (),
) -> dict[str, float]:
    """Find what a loaded line shows.

    Parameters
    ----------
    probe
        An unmarked probe apart from the flows of the load.
    marked
        A probe that asks for low latency.
    in_flow
        Round trips of the flows of the load.
    rates
        Of the load's direction in bins of a second, bit/s.

    Returns
    -------
    dict of str to float
        By name; delays in ms, the mean rate in bit/s, shares from 0 to 1. What cannot be told is
        absent.
    """
    steady = take_steady(probe)
    found: dict[str, float] = {}
    if len(steady.added) >= LEAST_SAMPLES:
        found |= _find_quantiles(steady.added, "delay", QUANTILES)
    total = len(steady.added) + len(steady.lost)
    if total >= LEAST_SAMPLES and probe.times:
        found["loss.share"] = len(steady.lost) / total
        found["loss.probes"] = float(total)
        if (rank := _rank_losses(steady)) is not None:
            found["loss.rank"] = rank
        if (together := _find_together(steady)) is not None:
            found["loss.together"] = together
    if probe.times and "delay.p50" in found:
        first = [own for at, own in zip(probe.times, probe.added, strict=True) if at < SETTLING]
        if first:
            found["start.most"] = max(first)
        for name, lag in ECHOES.items():
            if (echo := correlate(steady, lag)) is not None:
                found[name] = echo
    if marked is not None and len((own := take_steady(marked)).added) >= LEAST_SAMPLES:
        found |= _find_quantiles(own.added, "marked", (0.5, 0.9))
    if in_flow is not None and len((own := take_steady(in_flow)).added) >= LEAST_SAMPLES:
        found |= _find_quantiles(own.added, "in_flow", (0.5,))
    if len(rates) >= LEAST_SAMPLES // 2:
        ordered = sorted(rates)
        if (high := find_quantile(ordered, 0.9)) > 0:
            found["rate.low"] = find_quantile(ordered, 0.1) / high
            steady_rates = rates[int(SETTLING) :]
            found["rate.mean"] = math.fsum(steady_rates) / len(steady_rates)
    return found


def correlate(samples: Samples, lag: float) -> float | None:
    """Correlate the delays with those of some time later, from -1 to 1; None without enough.

    Examples
    --------
    >>> times = [at / 10 for at in range(100)]
    >>> correlate(Samples(times, [at % 2.0 for at in times]), 1.0) < 0
    True
    """
    times, values = samples.times, samples.added
    if len(times) < LEAST_SAMPLES:
        return None
    mean = math.fsum(values) / len(values)
    spread = math.fsum((own - mean) ** 2 for own in values) / len(values)
    if spread <= 0:
        return None
    # A partner may be off by half the distance of two probes, and by a quarter of the lag at most.
    step = (times[-1] - times[0]) / (len(times) - 1)
    slack = min(step / 2 * 1.001, lag / 4)
    total, pairs = 0.0, 0
    for at, value in zip(times, values, strict=True):
        other = bisect.bisect_left(times, at + lag)
        near = [
            place
            for place in (other - 1, other)
            if 0 <= place < len(times) and abs(times[place] - at - lag) <= slack
        ]
        if near:
            place = min(near, key=lambda own: abs(times[own] - at - lag))
            total += (value - mean) * (values[place] - mean)
            pairs += 1
    return total / pairs / spread if pairs >= LEAST_SAMPLES else None


def take_steady(samples: Samples) -> Samples:
    """Take what comes after the beginning of a load; samples without times are all kept."""
    if not samples.times:
        return samples
    pairs = zip(samples.times, samples.added, strict=True)
    kept = [(at, own) for at, own in pairs if at >= SETTLING]
    return Samples(
        [at for at, _ in kept],
        [own for _, own in kept],
        [at for at in samples.lost if at >= SETTLING],
    )


def _find_quantiles(values: Iterable[float], of: str, shares: Iterable[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {name_quantile(share, of): find_quantile(ordered, share) for share in shares}


def _rank_losses(steady: Samples) -> float | None:
    """Say how full the queue was when probes were lost: the mean rank, 1 at the ceiling."""
    if len(steady.lost) < LEAST_LOSSES or not steady.times:
        return None
    ordered = sorted(steady.added)
    ranks = []
    for at in steady.lost:
        place = bisect.bisect_left(steady.times, at) - 1
        if place >= 0 and at - steady.times[place] <= BEFORE_LOSS:
            ranks.append(bisect.bisect_right(ordered, steady.added[place]) / len(ordered))
    return math.fsum(ranks) / len(ranks) if len(ranks) >= LEAST_LOSSES else None


def _find_together(steady: Samples) -> float | None:
    """Give the share of lost probes whose neighbour was lost too, beyond what chance makes."""
    if len(steady.lost) < LEAST_LOSSES:
        return None
    everything = sorted([(at, False) for at in steady.times] + [(at, True) for at in steady.lost])
    lost = [is_lost for _, is_lost in everything]
    beside = [
        (place > 0 and lost[place - 1]) or (place + 1 < len(lost) and lost[place + 1])
        for place, is_lost in enumerate(lost)
        if is_lost
    ]
    share = len(steady.lost) / len(lost)
    chance = 1 - (1 - share) ** 2
    return sum(beside) / len(beside) - chance
