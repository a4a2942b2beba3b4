"""Rules on rates and bursts: units, limits against each other, and bursts that hold no packet."""

from __future__ import annotations

from collections.abc import Iterator

from headend.modem_file.finding import Found, rule
from headend.modem_file.settings import Bundle, ServiceFlow, Settings
from headend.modem_file.words import write_rate, write_size

#: No DOCSIS line carries more, bit/s: DOCSIS 4.0 has 10 Gbit/s downstream and 6 Gbit/s upstream.
MOST = {"down": 10**10, "up": 6 * 10**9}
#: A rate below this is probably written in a larger unit than the file says, bit/s (headend's
#: bound).
LEAST = 8000

#: The least burst, B: one full frame (MULPI C.2.2.7.3; CMTSs refuse less).
LEAST_BURST = 1522

#: The largest number of 32 bits.
MOST_OF_32_BITS = 2**32 - 1


@rule("error", "rate_impossible", "MULPI C.2.2.7.13 (data rate unit); DOCSIS 4.0", of="bundles")
def rate_is_impossible(bundle: Bundle) -> Iterator[Found]:
    """Find a rate that no line carries, or hardly a packet: its unit is probably another."""
    for number, what, rate in bundle.rates:
        most = MOST[bundle.direction]
        if rate.value > most:
            text = f"written as {rate.value // bundle.unit}"
            advice = f"Set {rate.path} to the rate that is meant."
            if (unit := bundle.rate_unit) and unit.value:
                text += f" with the data rate unit {write_rate(bundle.unit)} ({unit.path})"
                advice = f"Set {unit.path} to 0 if {rate.path} is in bit/s."
            yield Found(
                rate.path,
                f"The {what} of the {bundle.name} is {rate.as_rate}, {text}: no DOCSIS line carries"
                f" more than {write_rate(most)}.",
                advice,
            )
        elif number != 10 and 0 < rate.value < LEAST:
            yield Found(
                rate.path,
                f"The {what} of the {bundle.name} is {rate.as_rate}: a packet of 1518 B takes"
                f" {1518 * 8 / rate.value:.1f} s.",
                f"Set {rate.path} in bit/s, or the data rate unit ({bundle.path}.41) to that of the"
                " number.",
                severity="warning",
                rule="rate_tiny",
                source="bound of 8 kbit/s: headend",
            )


@rule("warning", "rate_absent", "MULPI C.2.2.7.2")
def first_flow_has_no_limit(settings: Settings) -> Iterator[Found]:
    """Find a first flow without a rate, a class or an aggregate that has one."""
    for direction in ("up", "down"):
        first = next(iter(settings.list_flows(direction)), None)
        if (
            first is None
            or first.rate
            or first.limit
            or first.service_class
            or first.aggregate_reference
            or first.aggregate is not None
        ):
            continue
        yield Found(
            f"{first.path}.8",
            f"The {first.name}, which carries what no classifier sends elsewhere, has no maximum"
            " sustained rate, no service class and no aggregate: nothing limits its rate.",
            f"Set {first.path}.8, or to 0 if no limit is meant.",
        )


@rule("note", "rate_unit", "MULPI C.2.2.7.13; DOCS-QOS3-MIB", of="bundles")
def unit_is_beyond_old_modems(bundle: Bundle) -> Iterator[Found]:
    """Find a data rate unit: modems before DOCSIS 3.1 read the numbers as bit/s."""
    unit = bundle.rate_unit
    if not unit or unit.value not in (1, 2, 3):
        return
    rates = [(what, rate) for _, what, rate in bundle.rates if rate.value]
    if not rates:
        return
    large = [f"{what} {rate.as_rate}" for what, rate in rates if rate.value > MOST_OF_32_BITS]
    if large:
        yield Found(
            unit.path,
            f"Rates of the {bundle.name} do not fit into 32 bits of bit/s ({', '.join(large)}). A"
            " modem or management system that does not know the data rate unit reads the number as"
            " bit/s.",
            "Nothing has to change if every modem with this file is DOCSIS 3.1 or later.",
        )
    else:
        what, rate = rates[0]
        yield Found(
            unit.path,
            f"The rates of the {bundle.name} fit into 32 bits of bit/s. A modem that does not know"
            f" the data rate unit reads the {what} as {rate.value // bundle.unit} bit/s, not as"
            f" {rate.as_rate}.",
            f"Leave {unit.path} out and write the rates in bit/s, if modems before DOCSIS 3.1 get"
            " this file.",
            source="MULPI C.2.2.7.13",
        )


@rule("warning", "rate_peak", "DOCS-QOS3-MIB; CMTS manuals", of="bundles")
def limits_contradict(bundle: Bundle) -> Iterator[Found]:
    """Find rates that violate reserved rate ≤ sustained rate ≤ peak rate."""
    rate, peak, reserved = bundle.rate, bundle.peak, bundle.reserved
    if rate and peak and peak.value and rate.value > peak.value:
        yield Found(
            peak.path,
            f"The peak rate of the {bundle.name} is {peak.as_rate}, below its sustained rate of"
            f" {rate.as_rate}: a CMTS holds the flow to the peak.",
            f"Set {peak.path} to at least the sustained rate, or to 0 for no peak.",
        )
    for limit, what in ((rate, "sustained"), (peak, "peak")):
        if reserved and limit and 0 < limit.value < reserved.value:
            yield Found(
                reserved.path,
                f"The {bundle.name} reserves {reserved.as_rate}, more than its {what} rate of"
                f" {limit.as_rate}: a CMTS refuses the flow.",
                f"Set {reserved.path} to at most {limit.as_rate}.",
                severity="error",
                rule="rate_reserved",
                source="MULPI C.2.2.7.4",
            )


@rule("warning", "grant_rate", "MULPI C.2.2.8 (proactive grants); docsis-ns3", of="flows")
def grants_exceed_the_rate(flow: ServiceFlow) -> Iterator[Found]:
    """Find guaranteed grants for more than the flow may send."""
    granted, rate = flow.guaranteed_rate, flow.drained_at
    if granted and rate and granted.value > rate:
        yield Found(
            granted.path,
            f"The {flow.name} has guaranteed grants of {granted.as_rate}, more than the"
            f" {write_rate(rate)} that it may send: the rest of the grants is empty, and no other"
            " modem can use it.",
            f"Set {granted.path} to at most {write_rate(rate)}.",
        )


@rule("error", "burst_short", "MULPI C.2.2.7.3", of="bundles")
def burst_is_short(bundle: Bundle) -> Iterator[Found]:
    """Find a burst below one full frame, which could never pass."""
    burst = bundle.burst
    if burst and 0 < burst.value < LEAST_BURST:
        yield Found(
            burst.path,
            f"The maximum burst of the {bundle.name} is {burst.as_size}, less than a full frame of"
            f" {write_size(LEAST_BURST)}: CMTSs refuse it, and a full packet could never pass.",
            f"Set {burst.path} to at least {write_size(LEAST_BURST)}; the default is 3044 B.",
        )


@rule("note", "peak_without_burst", "MULPI C.2.2.7.3", of="bundles")
def peak_has_no_burst(bundle: Bundle) -> Iterator[Found]:
    """Find a peak rate that has no burst to last for."""
    rate, peak, burst = bundle.rate, bundle.peak, bundle.burst
    if rate and peak and 0 < rate.value < peak.value and (burst is None or burst.value == 0):
        lasts = 3044 * 8 / (peak.value - rate.value)
        yield Found(
            peak.path,
            f"The peak rate of the {bundle.name} is {peak.as_rate}, but its burst is the default of"
            f" 3044 B: after {lasts * 1e3:.2g} ms it is back at {rate.as_rate}.",
            f"Set {bundle.path}.9 to the bytes that may pass at the peak rate.",
        )
