"""What a measurement cannot tell, or what makes an estimate doubtful: each flag with its reason.

A reason is a sentence with the numbers it rests on. No number alone proves a flag: each threshold
states where it comes from.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headend.fitting.buffer import Ceiling
from headend.fitting.delay import ENOUGH_IDLE, Added, find_drift, find_idle, find_priority
from headend.fitting.estimates import Estimate, Flag
from headend.fitting.intervals import find_quantile
from headend.fitting.rate import RateEstimates, count_senders, is_rising
from headend.fitting.samples import (
    ACKNOWLEDGING,
    find_least_queue,
    gather,
    list_idle_phases,
    list_phases,
    rank_series,
    select_phases,
    settle,
)
from headend.measurement.record import Direction, Load, Measurement, Probe, Trip
from headend.text.wording import write_count

#: So many samples under load are 20 s at 5 a second; and so many seconds of load.
ENOUGH_LOADED, ENOUGH_SECONDS = 100, 5

#: A cable's upstream spreads delays by 8 ms at most, so this much from the 50th to the 99th
#: percentile of the idle line is not its access method's, ms.
WIFI_SPREAD = 10.0

#: The rate varies when means over 3 s differ by this share of their median while packets wait.
VARIES = 0.25

#: Of so many seconds with a queue at least.
ENOUGH_BUSY = 9

#: Means over so many seconds: single ones are disturbed by what waited behind a loss.
SMOOTHED = 3

#: The share of lost probes or of data sent again from which something dropped packets.
DROPS = 1e-4

#: Senders that reach so much of the rate they were told to send at were not held up by the line.
PACED = 0.95

#: A connection that fills the line by itself waits in its queue: its round trips are longer by this
#: share of the base delay, or by this many ms.
INFLATED, INFLATED_MS = 0.5, 5.0

#: A direction is held up by the acknowledgements of the other when these take this share of it.
ACKNOWLEDGED = 0.8


@dataclass(frozen=True)
class Evidence:
    """What the estimates of a direction rest on; None for what there is not."""

    rates: RateEstimates | None = None
    added: Added | None = None
    ceiling: Ceiling | None = None


def raise_flags(
    measurement: Measurement, base: Estimate | None, evidence: Mapping[Direction, Evidence]
) -> dict[Flag, str]:
    """Give the flags of a measurement with their reasons.

    Parameters
    ----------
    measurement
        What was measured.
    base
        The base delay.
    evidence
        Of each direction.
    """
    reasons: dict[Flag, list[str]] = {}
    for flag, reason in _find_flags(measurement, base, evidence):
        if reason not in reasons.setdefault(flag, []):
            reasons[flag].append(reason)
    return {flag: " ".join(reasons[flag]) for flag in Flag if flag in reasons}


def _find_flags(
    measurement: Measurement, base: Estimate | None, evidence: Mapping[Direction, Evidence]
) -> Iterator[tuple[Flag, str]]:
    if not measurement.rates and not measurement.delays:
        count = write_count(len(measurement.summaries), "number")
        yield Flag.SUMMARY_ONLY, f"The tool gives {count} and keeps no samples."
    for direction, seen in evidence.items():
        yield from _flag_direction(measurement, base, direction, seen)
    yield from _flag_missing(measurement, evidence)
    yield from _flag_idle(measurement)
    yield from _flag_probe(measurement, evidence)
    yield from _flag_acknowledgements(evidence)
    drift = find_drift(measurement)
    if drift is not None:
        yield (
            Flag.CLOCK_DRIFT,
            f"The clocks of the two ends drift apart by {abs(drift):.2g} ms a second; this was "
            "taken out of the delays of one way.",
        )


def _flag_direction(
    measurement: Measurement, base: Estimate | None, direction: Direction, seen: Evidence
) -> Iterator[tuple[Flag, str]]:
    if seen.added is not None and seen.added.mixed:
        yield (
            Flag.MIXED_DIRECTIONS,
            f"The {len(seen.added.whole.delays)} round trips under load were sent while both "
            "directions were loaded, so what each direction adds is not known apart.",
        )
    if seen.added is not None and seen.ceiling is not None and not seen.ceiling.is_reached:
        where = (
            "Both directions together" if seen.added.mixed else f"{direction.capitalize()}stream"
        )
        yield Flag.NO_CEILING, f"{where}: {seen.ceiling.reason}."
    limit = find_sender_limit(measurement, base, direction, seen)
    if limit is not None:
        yield Flag.SENDER_LIMITED, limit
    yield from _flag_rate(direction, seen)
    yield from _flag_few(direction, seen)


def _flag_missing(
    measurement: Measurement, evidence: Mapping[Direction, Evidence]
) -> Iterator[tuple[Flag, str]]:
    phases = list_phases(measurement)
    for direction, flag in (
        (Direction.UP, Flag.NO_UPSTREAM),
        (Direction.DOWN, Flag.NO_DOWNSTREAM),
    ):
        seen = evidence[direction]
        summarised = any(
            summary.direction is direction or summary.load.value == direction.value
            for summary in measurement.summaries
        )
        if seen.rates is None and seen.added is None and not summarised:
            loads = sorted({phase.load.value for phase in phases})
            found = f"its phases are {', '.join(loads)}" if loads else "it has no phases of load"
            yield flag, f"The measurement has no load of the {direction}stream: {found}."


def _flag_idle(measurement: Measurement) -> Iterator[tuple[Flag, str]]:
    idle = find_idle(measurement, Trip.ROUND) or find_idle(measurement, Trip.UP)
    summarised = any(summary.load is Load.IDLE for summary in measurement.summaries)
    if idle is None and not summarised:
        length = sum(
            phase.end - phase.start for phase in list_idle_phases(list_phases(measurement))
        )
        yield (
            Flag.NO_IDLE_PHASE,
            f"No delay of the idle line was measured ({length:.1f} s without load).",
        )
    if measurement.medium == "wifi":
        yield Flag.WIFI_SUSPECTED, "The tool says that the computer was connected by Wi-Fi."
    if idle is None:
        return
    delays = sorted(idle[1].delays)
    if len(delays) < ENOUGH_IDLE:
        yield (
            Flag.FEW_SAMPLES,
            f"The idle line has {write_count(len(delays), 'sample')} of delay, fewer than "
            f"{ENOUGH_IDLE}.",
        )
    spread = find_quantile(delays, 0.99) - find_quantile(delays, 0.5)
    if len(delays) >= ENOUGH_IDLE and spread > WIFI_SPREAD:
        yield (
            Flag.WIFI_SUSPECTED,
            f"On the idle line the 99th percentile of the delay is {spread:.1f} ms above the "
            f"median; a cable's access method spreads it by less than {WIFI_SPREAD:.0f} ms.",
        )


def _flag_probe(
    measurement: Measurement, evidence: Mapping[Direction, Evidence]
) -> Iterator[tuple[Flag, str]]:
    priority = find_priority(measurement)
    if priority is not None:
        icmp, udp = priority
        yield (
            Flag.PRIORITISED_PROBE,
            f"Load adds {icmp:.1f} ms to ICMP and {udp:.1f} ms to UDP, so ICMP is let pass.",
        )
    used = {seen.added.series.probe: seen.added.series for seen in evidence.values() if seen.added}
    for series in used.values():
        if series.marking:
            yield (
                Flag.PRIORITISED_PROBE,
                f"All {len(series.delays)} probes were marked {series.marking}.",
            )
        if series.probe is Probe.IN_FLOW:
            yield (
                Flag.PROBE_IN_FLOW,
                f"The {len(series.delays)} delays are of connections that fill the line: they hold "
                "the sender's own queues too.",
            )


def find_sender_limit(
    measurement: Measurement, base: Estimate | None, direction: Direction, seen: Evidence
) -> str | None:
    """Say why senders perhaps did not fill the line: no queue grew, and nothing was lost.

    None where they did, or where it cannot be told.
    """
    if seen.added is None or seen.rates is None:
        return None
    rate = seen.rates.rate.value
    name = f"{direction.capitalize()}stream"
    if is_paced(measurement, direction):
        return f"{name}: the senders were told to send {rate / 1e6:.3g} Mbit/s, and did."
    if is_rising(seen.rates.seconds) and not seen.rates.queued:
        return (
            f"{name}: the senders reached {rate / 1e6:.3g} Mbit/s and were still growing as the "
            f"{len(seen.rates.seconds)} s of load ended."
        )
    is_alone = count_senders(measurement, direction) == 1
    if is_alone and seen.rates.rate.bound is not None and not seen.added.mixed:
        return (
            f"{name}: one connection reached {rate / 1e6:.3g} Mbit/s, and packets waited in "
            f"{len(seen.rates.queued)} of {len(seen.rates.seconds)} s only."
        )
    delays = sorted(seen.added.settled.delays)
    if len(delays) < ENOUGH_SECONDS:
        return None
    high = find_quantile(delays, 0.9)
    least = find_least_queue(rate)
    again = max(
        (each.share for each in measurement.retransmissions if each.direction is direction),
        default=0.0,
    )
    if high >= least or again > DROPS or seen.added.whole.lost_count > 0:
        return None
    if _waits_in_connections(measurement, direction, base):
        return None
    return (
        f"{name}: {rate / 1e6:.3g} Mbit/s made no queue (the 90th "
        f"percentile of what load adds is {high:.1f} ms) and nothing was lost: the senders or the "
        "far end may set this rate, or a queue for each flow hides theirs from the probes."
    )


def is_paced(measurement: Measurement, direction: Direction) -> bool:
    """Say whether senders of a direction sent at the rate they were told to, not at the line's."""
    pace = measurement.senders.pace
    sums = [one for one in measurement.rates if one.direction is direction and not one.flow]
    return pace is not None and any(
        statistics.median(one.rates) >= PACED * pace for one in sums if one.rates
    )


def _waits_in_connections(
    measurement: Measurement, direction: Direction, base: Estimate | None
) -> bool:
    """Say whether connections wait in a queue of their own, which the probes do not see."""
    phases = list_phases(measurement)
    own = [phase for phase in phases if phase.load.value == direction.value]
    loaded = settle(own or select_phases(phases, Load.BOTH))
    least = base.value if base is not None else 0.0
    for series in rank_series(measurement, Trip.ROUND):
        if series.probe is not Probe.IN_FLOW or not series.times:
            continue
        found = gather(series, loaded, Load.BOTH).delays
        if found and statistics.median(found) > least + max(INFLATED * least, INFLATED_MS):
            return True
    return False


def find_variation(rates: RateEstimates | None) -> tuple[float, float] | None:
    """Give from where to where a rate varies by itself, bit/s; None where it does not."""
    if rates is None or len(rates.queued) < ENOUGH_BUSY:
        return None
    seconds = rates.queued
    means = sorted(
        sum(seconds[k : k + SMOOTHED]) / SMOOTHED for k in range(len(seconds) - SMOOTHED + 1)
    )
    low, middle, high = (find_quantile(means, share) for share in (0.05, 0.5, 0.95))
    return (low, high) if middle > 0 and high - low > VARIES * middle else None


def _flag_rate(direction: Direction, seen: Evidence) -> Iterator[tuple[Flag, str]]:
    found = find_variation(seen.rates)
    if found is not None:
        low, high = found
        yield (
            Flag.RATE_VARIES,
            f"{direction.capitalize()}stream: while packets waited, means over {SMOOTHED} s were "
            f"from {low / 1e6:.3g} to {high / 1e6:.3g} Mbit/s.",
        )


def _flag_few(direction: Direction, seen: Evidence) -> Iterator[tuple[Flag, str]]:
    if seen.added is not None and len(seen.added.whole.delays) < ENOUGH_LOADED:
        where = "The loaded line" if seen.added.mixed else f"The loaded {direction}stream"
        count = write_count(len(seen.added.whole.delays), "sample")
        yield Flag.FEW_SAMPLES, f"{where} has {count} of delay, fewer than {ENOUGH_LOADED}."
    if seen.rates is not None and len(seen.rates.seconds) < ENOUGH_SECONDS:
        yield (
            Flag.FEW_SAMPLES,
            f"The rate of the {direction}stream has "
            f"{write_count(len(seen.rates.seconds), 'second')} of load.",
        )


def _flag_acknowledgements(evidence: Mapping[Direction, Evidence]) -> Iterator[tuple[Flag, str]]:
    """Flag acknowledgements of one direction that fill the other one by themselves."""
    for direction, other in ((Direction.DOWN, Direction.UP), (Direction.UP, Direction.DOWN)):
        carried, carrier = evidence[direction].rates, evidence[other].rates
        if carried is None or carrier is None:
            continue
        needed = carried.rate.value * ACKNOWLEDGING
        if needed > ACKNOWLEDGED * carrier.rate.value:
            yield (
                Flag.MIXED_DIRECTIONS,
                f"Acknowledgements of the {direction}stream take up to {needed / 1e6:.3g} of the "
                f"{other}stream's {carrier.rate.value / 1e6:.3g} Mbit/s, and may wait there.",
            )
