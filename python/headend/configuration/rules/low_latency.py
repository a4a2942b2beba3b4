"""Rules on low latency: aggregates and flows that name each other, classifiers, thresholds, and what reaches the CMTS."""

from __future__ import annotations

from collections.abc import Iterator

from headend.configuration.classifying import L4S
from headend.configuration.delay import find_ramp, find_rate
from headend.configuration.finding import Finding, Rule
from headend.configuration.settings import (
    AGGREGATES,
    IMMEDIATE,
    PIE,
    Aggregate,
    ServiceFlow,
    Settings,
)
from headend.configuration.words import DIRECTIONS, write_rate, write_time
from headend.text.wording import capitalise

#: A coupling factor below this couples the classic queue less than tenfold weaker than the default (tenths; the default is 20).
#: Earlier tables defined an exponent with the default 1.
LEAST_COUPLING = 10

#: The default coupling factor (tenths).
DEFAULT_COUPLING = 20

#: Settings that a modem tells its CMTS only if an extended CMTS MIC covers them, with what they are.
TOLD = {
    70: "upstream aggregate service flows",
    71: "downstream aggregate service flows",
    88: "the QoS framework",
    92: "distributed hierarchical QoS",
    93: "upstream enhanced hierarchical QoS",
    94: "downstream enhanced hierarchical QoS",
}
#: And those that the modem itself follows.
KEPT = {76: "the switch of the upstream AQM", 91: "the switch of low latency"}

_MIB = "DOCS-QOS3-MIB; docsis-ns3"
_AGGREGATE = {"up": 70, "down": 71}


def aggregate_is_absent(settings: Settings) -> Iterator[Finding]:
    """Find a flow that names an aggregate that the file does not have."""
    for flow in settings.flows:
        named = flow.aggregate_reference
        if not named or settings.find_aggregate(flow):
            continue
        number = _AGGREGATE[flow.direction]
        yield Finding(
            "error",
            "aggregate_absent",
            named.path,
            f"The {flow.name} belongs to {DIRECTIONS[flow.direction]} aggregate service flow {named.value}, which the file does"
            f" not have: no TLV {number} has the reference {named.value}.",
            f"Add TLV {number} with {number}.1 = {named.value}, or leave {named.path} out.",
            "MULPI C.2.2.7.9",
        )


def low_latency_flow_is_absent(settings: Settings) -> Iterator[Finding]:
    """Find an aggregate whose low-latency flow is not in the file, or does not name the aggregate."""
    for aggregate in settings.aggregates:
        named = aggregate.low_latency_reference
        flow_type = 24 if aggregate.direction == "up" else 25
        if not named:
            continue
        flow = settings.find_flow(aggregate.direction, named.value)
        if flow is None:
            yield Finding(
                "error",
                "low_latency_flow",
                named.path,
                f"The low-latency flow of the {aggregate.name} is service flow {named.value}, which the file does not have.",
                f"Add TLV {flow_type} with {flow_type}.1 = {named.value}, or set {named.path} to that of a flow.",
                "MULPI C.2.2.7.11",
            )
            continue
        own = flow.aggregate_reference
        if own is None or not aggregate.reference or own.value != aggregate.reference.value:
            which = "no aggregate" if own is None else f"aggregate {own.value}"
            wanted = aggregate.reference.value if aggregate.reference else "that of the aggregate"
            yield Finding(
                "error",
                "low_latency_flow",
                own.path if own else f"{flow.path}.36",
                f"The {aggregate.name} has the {flow.name} as its low-latency flow, but that flow names {which}.",
                f"Set {flow.path}.36 to {wanted}.",
                "MULPI C.2.2.7.11",
            )


def aggregate_has_no_flow(settings: Settings) -> Iterator[Finding]:
    """Find an aggregate without a flow, unless the CMTS matches them by class or application."""
    for aggregate in settings.aggregates:
        if aggregate.tlv.get(38) or aggregate.tlv.get(42, 3) or aggregate.service_class:
            continue
        named = aggregate.reference.value if aggregate.reference else None
        flows = settings.list_flows(aggregate.direction)
        if any(
            flow.aggregate_reference and flow.aggregate_reference.value == named for flow in flows
        ):
            continue
        number = 24 if aggregate.direction == "up" else 25
        yield Finding(
            "warning",
            "aggregate_empty",
            aggregate.path,
            f"No service flow belongs to the {aggregate.name}: none has {number}.36"
            f"{'' if named is None else f' = {named}'}.",
            f"Set {number}.36 of its flows{'' if named is None else f' to {named}'}, or remove the aggregate.",
            "MULPI C.2.2.7.9",
        )


def cmts_does_not_hear(settings: Settings) -> Iterator[Finding]:
    """Find what the modem does not tell its CMTS, since no MIC for the CMTS covers it."""
    covered = _read_bitmap(settings)
    for number, what in (TOLD | KEPT).items():
        first = settings.document.get(number)
        if first is None or number in covered:
            continue
        has_extended = bool(_find_extended(settings))
        why = (
            "its extended CMTS MIC (43.6) does not select it"
            if has_extended
            else "the file has no extended CMTS MIC (43.6)"
        )
        advice = (
            f"Set the bit of type {number} in 43.6.2."
            if has_extended
            else f"Add TLV 43 with 43.8 = 0xffffff and a 43.6 whose bitmap selects type {number}."
        )
        effect = (
            "The modem follows it; the CMTS does not see it."
            if number in KEPT
            else "A CMTS that follows the specification sets up none of it."
        )
        yield Finding(
            "warning" if number in AGGREGATES else "note",
            "not_told_to_cmts",
            first.path,
            f"TLV {number} ({what}) does not reach the CMTS, since {why} and the CMTS MIC does not cover it. {effect}",
            advice,
            "MULPI C.1.1.18.1.6 as restated by public tools",
        )


def nothing_is_classified(settings: Settings) -> Iterator[Finding]:
    """Find a low-latency flow without a classifier, or without one for scalable congestion controls."""
    for _, flow in settings.list_low_latency():
        own = [
            one
            for one in settings.classifiers
            if one.direction == flow.direction
            and flow.reference
            and one.flow == flow.reference.value
        ]
        number = 22 if flow.direction == "up" else 23
        advice = (
            f"Add TLV {number} with {number}.3 = {flow.reference.value if flow.reference else '…'} and {number}.9.1 = 0x010101"
            " (ECT(1) and CE), and one with 0xb4b4fc (DSCP 45)."
        )
        if not own:
            yield Finding(
                "warning",
                "low_latency_classifier",
                flow.path,
                f"No classifier sends packets to the low-latency {flow.name}.",
                advice,
                "RFC 9331; RFC 9956",
            )
        elif not any(tos in L4S for one in own for tos in one.tos):
            yield Finding(
                "note",
                "low_latency_classifier",
                own[0].path,
                f"No classifier sends packets with ECT(1), those of L4S senders, to the low-latency {flow.name}.",
                advice,
                "RFC 9331",
            )


def algorithm_does_not_suit(settings: Settings) -> Iterator[Finding]:
    """Find a low-latency flow with DOCSIS-PIE, and a classic one with the immediate AQM."""
    for flow in settings.flows:
        algorithm = flow.aqm_algorithm
        if not algorithm:
            continue
        is_low = settings.is_low_latency(flow)
        if is_low and algorithm.value == PIE:
            yield Finding(
                "warning",
                "aqm_algorithm",
                algorithm.path,
                f"The low-latency {flow.name} has DOCSIS-PIE, which drops packets and marks none: L4S senders hear of"
                " congestion by loss alone.",
                f"Set {algorithm.path} to 2 (immediate AQM), or leave it out.",
                _MIB,
            )
        elif not is_low and algorithm.value == IMMEDIATE:
            yield Finding(
                "warning",
                "aqm_algorithm",
                algorithm.path,
                f"The {flow.name} has the immediate AQM, but is the low-latency flow of no aggregate"
                f" ({_AGGREGATE[flow.direction]}.42.1): ordinary senders, which ignore its marks, fill the buffer.",
                f"Set {algorithm.path} to 1 (DOCSIS-PIE), or name the flow in {_AGGREGATE[flow.direction]}.42.1.",
                _MIB,
            )


def threshold_is_below_floor(settings: Settings) -> Iterator[Finding]:
    """Find a maximum threshold below the time of two large frames at the flow's rate."""
    for _, flow in settings.list_low_latency():
        most = flow.maximum_threshold
        rate = find_rate(flow, settings)
        if not most or not most.value or not rate:
            continue
        ramp = find_ramp(flow, settings)
        if most.value * 1e3 < ramp.floor:
            yield Finding(
                "warning",
                "threshold_floor",
                most.path,
                f"The maximum threshold of the {flow.name} is {write_time(most.value * 1e3)}, below the time of two frames of"
                f" 2000 B at {write_rate(rate)}, {write_time(ramp.floor)}: the AQM marks from {write_time(ramp.low)} to"
                f" {write_time(ramp.high)} instead.",
                f"Set {most.path} to {round(ramp.high / 1e3)}, or leave it out: the result is the same.",
                f"{_MIB}: floor = 2 · 2000 · 8 / rate",
            )


def protection_is_off_or_early(settings: Settings) -> Iterator[Finding]:
    """Find queue protection that is off, or whose threshold is unusual."""
    for aggregate in settings.aggregates:
        protection, threshold = aggregate.protection, aggregate.protection_threshold
        if protection and not protection.value & 1:
            yield Finding(
                "warning",
                "queue_protection",
                protection.path,
                f"Queue protection of the {aggregate.name} is off: one sender that ignores marks delays every low-latency flow up"
                " to the limit of the queue.",
                f"Set {protection.path} to 1, or leave it out.",
                "RFC 9957",
            )
        elif threshold and threshold.value == 0:
            yield Finding(
                "note",
                "queue_protection",
                threshold.path,
                f"The latency threshold of queue protection of the {aggregate.name} is 0, which is as if it were absent: the"
                " maximum threshold of the AQM counts.",
                "Nothing, or leave it out.",
                _MIB,
            )
        elif threshold and (ramp := _find_ramp(aggregate, settings)) is not None:
            flow, low, high = ramp
            if threshold.value * 1e3 < low:
                yield Finding(
                    "note",
                    "queue_protection",
                    threshold.path,
                    f"Queue protection of the {aggregate.name} has a latency threshold of {write_time(threshold.value * 1e3)}, below"
                    f" the delay from which the AQM of the {flow.name} marks ({write_time(low)} to {write_time(high)}): flows go to"
                    " the classic queue after few marks.",
                    f"Set {threshold.path} to {round(high / 1e3)}, or leave it out.",
                    _MIB,
                )


def coupling_is_weak(settings: Settings) -> Iterator[Finding]:
    """Find a weak coupling factor: it is in tenths, where earlier tables had an exponent."""
    for aggregate in settings.aggregates:
        coupling = aggregate.coupling
        if coupling and coupling.value < LEAST_COUPLING:
            yield Finding(
                "warning",
                "coupling_weak",
                coupling.path,
                f"The coupling factor of the {aggregate.name} is {coupling.value / 10}, a"
                f" {DEFAULT_COUPLING / coupling.value:.0f}th of the default 2.0: low-latency flows take most of the rate from"
                " classic ones. Tables before 2019 had an exponent here, with the default 1."
                if coupling.value
                else f"The coupling factor of the {aggregate.name} is 0: the AQM of the classic queue does not slow low-latency"
                " flows, which take the rate from classic ones.",
                f"Set {coupling.path} to {DEFAULT_COUPLING}, or leave it out.",
                "RFC 9332; DOCS-QOS3-MIB",
            )


def low_latency_is_off(settings: Settings) -> Iterator[Finding]:
    """Find a TLV 91 that turns off what aggregates set up."""
    switch = settings.document.get(91)
    aggregate = next((one for one in settings.aggregates if one.low_latency), None)
    if switch and switch.number and aggregate:
        yield Finding(
            "warning",
            "low_latency_off",
            switch.path,
            f"{capitalise(aggregate.name)} has a low-latency flow, but {switch.path} = {switch.number} turns low latency off.",
            f"Set {switch.path} to 0, or leave it out.",
            "MULPI C.1.1 (TLV 91); what 1 and 2 differ in is not verified",
        )


def _find_extended(settings: Settings) -> list[bytes]:
    """Give the bitmaps of extended CMTS MICs."""
    found = []
    for tlv in settings.document.all(43):
        vendor = tlv.get(8)
        extended = tlv.get(6)
        if vendor and vendor.hex == "ffffff" and extended and extended.nested is not None:
            bitmap = extended.get(2)
            found.append(bitmap.bytes if bitmap else b"")
    return found


def _read_bitmap(settings: Settings) -> set[int]:
    """Give the types that extended CMTS MICs select: the most significant bit of the first byte is type 0."""
    return {
        8 * place + bit
        for bitmap in _find_extended(settings)
        for place, byte in enumerate(bitmap)
        for bit in range(8)
        if byte & 0x80 >> bit
    }


def _find_ramp(aggregate: Aggregate, settings: Settings) -> tuple[ServiceFlow, float, float] | None:
    for other, flow in settings.list_low_latency():
        if other is aggregate and find_rate(flow, settings):
            ramp = find_ramp(flow, settings)
            return flow, ramp.low, ramp.high
    return None


RULES: tuple[Rule, ...] = (
    aggregate_is_absent,
    low_latency_flow_is_absent,
    aggregate_has_no_flow,
    cmts_does_not_hear,
    nothing_is_classified,
    algorithm_does_not_suit,
    threshold_is_below_floor,
    protection_is_off_or_early,
    coupling_is_weak,
    low_latency_is_off,
)
