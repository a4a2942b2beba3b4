"""Rules on rates and bursts: units, limits against each other, and bursts that hold no packet."""

from __future__ import annotations

from collections.abc import Iterator

from headend.modem_file.delay import find_rate
from headend.modem_file.finding import Finding, Rule
from headend.modem_file.settings import RATE_UNITS, Bundle, Setting, Settings
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

_RATES = {8: "sustained rate", 10: "reserved rate", 27: "peak rate"}


def rate_is_impossible(settings: Settings) -> Iterator[Finding]:
    """Find a rate that no line carries, or hardly a packet: its unit is probably another."""
    for bundle in _bundles(settings):
        for number, what, rate in _rates(bundle):
            most = MOST[bundle.direction]
            if rate.value > most:
                written = int(rate.tlv.hex, 16)
                unit = bundle.rate_unit
                if unit and unit.value:
                    text = (
                        f"written as {written} with the data rate unit"
                        f" {write_rate(RATE_UNITS.get(unit.value, 1))} ({unit.path})"
                    )
                    advice = f"Set {unit.path} to 0 if {rate.path} is in bit/s."
                else:
                    text, advice = (
                        f"written as {written}",
                        f"Set {rate.path} to the rate that is meant.",
                    )
                yield Finding(
                    "error",
                    "rate_impossible",
                    rate.path,
                    f"The {what} of the {bundle.name} is {write_rate(rate.value)}, {text}: no"
                    f" DOCSIS line carries more than {write_rate(most)}.",
                    advice,
                    "MULPI C.2.2.7.13 (data rate unit); DOCSIS 4.0",
                )
            elif number != 10 and 0 < rate.value < LEAST:
                yield Finding(
                    "warning",
                    "rate_tiny",
                    rate.path,
                    f"The {what} of the {bundle.name} is {write_rate(rate.value)}: a packet of 1518"
                    f" B takes {1518 * 8 / rate.value:.1f} s.",
                    f"Set {rate.path} in bit/s, or the data rate unit ({bundle.path}.41) to that of"
                    " the number.",
                    "bound of 8 kbit/s: headend",
                )


def first_flow_has_no_limit(settings: Settings) -> Iterator[Finding]:
    """Find a first flow without a rate, a class or an aggregate that has one."""
    for direction in ("up", "down"):
        first = next(iter(settings.list_flows(direction)), None)
        if (
            first is None
            or first.rate
            or first.sustained
            or first.service_class
            or first.aggregate_reference
            or settings.find_aggregate(first)
        ):
            continue
        yield Finding(
            "warning",
            "rate_absent",
            f"{first.path}.8",
            f"The {first.name}, which carries what no classifier sends elsewhere, has no maximum"
            " sustained rate, no service class and no aggregate: nothing limits its rate.",
            f"Set {first.path}.8, or to 0 if no limit is meant.",
            "MULPI C.2.2.7.2",
        )


def unit_is_beyond_old_modems(settings: Settings) -> Iterator[Finding]:
    """Find a data rate unit: modems before DOCSIS 3.1 read the numbers as bit/s."""
    for bundle in _bundles(settings):
        unit = bundle.rate_unit
        if not unit or unit.value not in (1, 2, 3):
            continue
        rates = [(what, rate) for _, what, rate in _rates(bundle) if rate.value]
        if not rates:
            continue
        large = [
            f"{what} {write_rate(rate.value)}"
            for what, rate in rates
            if rate.value > MOST_OF_32_BITS
        ]
        if large:
            yield Finding(
                "note",
                "rate_unit",
                unit.path,
                f"Rates of the {bundle.name} do not fit into 32 bits of bit/s ({', '.join(large)})."
                " A modem or management system that does not know the data rate unit reads the"
                " number as bit/s.",
                "Nothing has to change if every modem with this file is DOCSIS 3.1 or later.",
                "MULPI C.2.2.7.13; DOCS-QOS3-MIB",
            )
        else:
            what, rate = rates[0]
            yield Finding(
                "note",
                "rate_unit",
                unit.path,
                f"The rates of the {bundle.name} fit into 32 bits of bit/s. A modem that does not"
                f" know the data rate unit reads the {what} as {int(rate.tlv.hex, 16)} bit/s, not"
                f" as {write_rate(rate.value)}.",
                f"Leave {unit.path} out and write the rates in bit/s, if modems before DOCSIS 3.1"
                " get this file.",
                "MULPI C.2.2.7.13",
            )


def limits_contradict(settings: Settings) -> Iterator[Finding]:
    """Find rates that violate reserved rate ≤ sustained rate ≤ peak rate."""
    for bundle in _bundles(settings):
        rate, peak, reserved = bundle.rate, bundle.peak, bundle.reserved
        if rate and peak and peak.value and rate.value > peak.value:
            yield Finding(
                "warning",
                "rate_peak",
                peak.path,
                f"The peak rate of the {bundle.name} is {write_rate(peak.value)}, below its"
                f" sustained rate of {write_rate(rate.value)}: a CMTS holds the flow to the peak.",
                f"Set {peak.path} to at least the sustained rate, or to 0 for no peak.",
                "DOCS-QOS3-MIB; CMTS manuals",
            )
        for limit, what in ((rate, "sustained"), (peak, "peak")):
            if reserved and limit and 0 < limit.value < reserved.value:
                yield Finding(
                    "error",
                    "rate_reserved",
                    reserved.path,
                    f"The {bundle.name} reserves {write_rate(reserved.value)}, more than its {what}"
                    f" rate of {write_rate(limit.value)}: a CMTS refuses the flow.",
                    f"Set {reserved.path} to at most {write_rate(limit.value)}.",
                    "MULPI C.2.2.7.4",
                )


def grants_exceed_the_rate(settings: Settings) -> Iterator[Finding]:
    """Find guaranteed grants for more than the flow may send."""
    for flow in settings.flows:
        granted, rate = flow.guaranteed_rate, find_rate(flow, settings)
        if granted and rate and granted.value > rate:
            yield Finding(
                "warning",
                "grant_rate",
                granted.path,
                f"The {flow.name} has guaranteed grants of {write_rate(granted.value)}, more than"
                f" the {write_rate(rate)} that it may send: the rest of the grants is empty, and no"
                " other modem can use it.",
                f"Set {granted.path} to at most {write_rate(rate)}.",
                "MULPI C.2.2.8 (proactive grants); docsis-ns3",
            )


def burst_is_short(settings: Settings) -> Iterator[Finding]:
    """Find a burst below one full frame, which could never pass."""
    for bundle in _bundles(settings):
        burst = bundle.burst
        if burst and 0 < burst.value < LEAST_BURST:
            yield Finding(
                "error",
                "burst_short",
                burst.path,
                f"The maximum burst of the {bundle.name} is {write_size(burst.value)}, less than a"
                f" full frame of {write_size(LEAST_BURST)}: CMTSs refuse it, and a full packet"
                " could never pass.",
                f"Set {burst.path} to at least {write_size(LEAST_BURST)}; the default is 3044 B.",
                "MULPI C.2.2.7.3",
            )


def peak_has_no_burst(settings: Settings) -> Iterator[Finding]:
    """Find a peak rate that has no burst to last for."""
    for bundle in _bundles(settings):
        rate, peak, burst = bundle.rate, bundle.peak, bundle.burst
        if rate and peak and 0 < rate.value < peak.value and (burst is None or burst.value == 0):
            lasts = 3044 * 8 / (peak.value - rate.value)
            yield Finding(
                "note",
                "peak_without_burst",
                peak.path,
                f"The peak rate of the {bundle.name} is {write_rate(peak.value)}, but its burst is"
                f" the default of 3044 B: after {lasts * 1e3:.2g} ms it is back at"
                f" {write_rate(rate.value)}.",
                f"Set {bundle.path}.9 to the bytes that may pass at the peak rate.",
                "MULPI C.2.2.7.3",
            )


def _bundles(settings: Settings) -> tuple[Bundle, ...]:
    return (*settings.flows, *settings.aggregates)


def _rates(bundle: Bundle) -> Iterator[tuple[int, str, Setting]]:
    found = {8: bundle.rate, 10: bundle.reserved, 27: bundle.peak}
    for number, what in _RATES.items():
        if rate := found[number]:
            yield number, what, rate


RULES: tuple[Rule, ...] = (
    rate_is_impossible,
    first_flow_has_no_limit,
    unit_is_beyond_old_modems,
    limits_contradict,
    grants_exceed_the_rate,
    burst_is_short,
    peak_has_no_burst,
)
