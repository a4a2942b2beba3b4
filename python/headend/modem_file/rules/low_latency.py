"""Rules on low latency: references, classifiers, weights, thresholds, what the CMTS lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headend.modem_file.classifying import L4S
from headend.modem_file.document import Tlv
from headend.modem_file.finding import Found, find_delay, find_size, rule
from headend.modem_file.settings import (
    AGGREGATES,
    IMMEDIATE,
    PIE,
    Aggregate,
    ServiceFlow,
    Settings,
    read_defaults,
)
from headend.modem_file.table import find_name
from headend.modem_file.words import (
    DIRECTIONS,
    write_name,
    write_rate,
    write_size,
    write_time,
)
from headend.text.quantity import format_quantity
from headend.text.wording import capitalise, join_names, list_names

#: A coupling factor below this, half of the default, is weak (tenths). A file made by an earlier
#: table has an exponent here, with the default 1.
LEAST_COUPLING = 10

#: The defaults of DOCS-QOS3-MIB in February 2019: the ramp's lower threshold and the latency
#: threshold of queue protection, µs, its score threshold, µs, and its drain rate exponent. The
#: table called the lower threshold a minimum, and calls it a maximum today.
THRESHOLD_2019, LATENCY_2019, SCORE_2019, DRAIN_2019 = 475, 1000, 2000, 17

#: The most flows that a finding names.
MOST_NAMED = 6

#: The CM MIC and vendors' settings, among them the extended CMTS MIC itself.
_CM_MIC, _VENDOR = 6, 43
_CMTS_MIC = 7

#: Settings that a modem passes on to its CMTS only if an extended CMTS MIC covers them, and their
#: names.
TOLD = {
    70: "upstream aggregate service flows",
    71: "downstream aggregate service flows",
    88: "the QoS framework",
    92: "distributed hierarchical QoS",
    93: "upstream enhanced hierarchical QoS",
    94: "downstream enhanced hierarchical QoS",
}
#: Such settings that the modem itself follows.
KEPT = {76: "the switch of the upstream AQM", 91: "the switch of low latency"}

_MIB = "DOCS-QOS3-MIB; docsis-ns3"
_AGGREGATE = {"up": 70, "down": 71}
_FLOW = {"up": 24, "down": 25}


@rule("error", "aggregate_absent", "MULPI C.2.2.7.9", is_of_whole=True)
def aggregate_is_absent(settings: Settings) -> Iterator[Found]:
    """Find flows that name an absent aggregate; those that name the same one together."""
    naming: dict[tuple[str, int], list[ServiceFlow]] = {}
    for flow in settings.flows:
        if _names_absent(flow, settings) and (named := flow.aggregate_reference):
            naming.setdefault((flow.direction, named.value), []).append(flow)
    for (direction, wanted), flows in naming.items():
        number, flow_number = _AGGREGATE[direction], _FLOW[direction]
        first = flows[0].aggregate_reference
        path = first.path if first else f"{flows[0].path}.36"
        is_one = len(flows) == 1
        own = (
            list_names([flow.number for flow in flows], MOST_NAMED)
            if len(flows) > MOST_NAMED
            else join_names([flow.number for flow in flows])
        )
        who = f"service flow{'' if is_one else 's'} {own}"
        only = _find_only(direction, settings)
        yield Found(
            path,
            f"The {DIRECTIONS[direction]} {who} {'belongs' if is_one else 'belong'} to"
            f" {DIRECTIONS[direction]} aggregate service flow {wanted}, which the file does not"
            f" have: no TLV {number} has the reference {wanted}.",
            (
                f"Add TLV {number} with {number}.1 = {wanted}, or leave"
                f" {path if is_one else f'{flow_number}.36 of these flows'} out."
            )
            if only is None
            else (
                f"Set {flow_number}.36 of {who} to {only}, the only {DIRECTIONS[direction]}"
                f" aggregate (TLV {number})."
            ),
        )


@rule("error", "low_latency_flow", "MULPI C.2.2.7.11", is_of_whole=True)
def low_latency_flow_is_absent(settings: Settings) -> Iterator[Found]:
    """Find an aggregate whose low-latency flow is absent, or does not name the aggregate."""
    for aggregate in settings.aggregates:
        named = aggregate.low_latency_reference
        flow_type = _FLOW[aggregate.direction]
        if not named:
            continue
        flow = settings.find_flow(aggregate.direction, named.value)
        if flow is None:
            yield Found(
                named.path,
                f"The low-latency flow of the {aggregate.name} is service flow {named.value}, which"
                " the file does not have.",
                f"Add TLV {flow_type} with {flow_type}.1 = {named.value}, or set {named.path} to"
                " that of a flow.",
            )
            continue
        own = flow.aggregate_reference
        # `aggregate_is_absent` says what to do.
        if _names_absent(flow, settings) and _find_only(flow.direction, settings):
            continue
        if own is None or not aggregate.reference or own.value != aggregate.reference.value:
            which = "no aggregate" if own is None else f"aggregate {own.value}"
            wanted = aggregate.reference.value if aggregate.reference else "that of the aggregate"
            yield Found(
                own.path if own else f"{flow.path}.36",
                f"The {aggregate.name} has the {flow.name} as its low-latency flow, but that flow"
                f" names {which}.",
                f"Set {flow.path}.36 to {wanted}.",
            )


@rule("warning", "aggregate_empty", "MULPI C.2.2.7.9", is_of_whole=True)
def aggregate_has_no_flow(settings: Settings) -> Iterator[Found]:
    """Find an aggregate without a flow, unless the CMTS matches them by class or application."""
    for aggregate in settings.aggregates:
        if aggregate.tlv.get(38) or aggregate.tlv.get(42, 3) or aggregate.service_class:
            continue
        named = aggregate.reference.value if aggregate.reference else None
        flows = settings.list_flows(aggregate.direction)
        is_named_wrongly = any(_names_absent(flow, settings) for flow in flows)
        if aggregate.members or (is_named_wrongly and _find_only(aggregate.direction, settings)):
            continue
        number = _FLOW[aggregate.direction]
        yield Found(
            aggregate.path,
            f"No service flow belongs to the {aggregate.name}: none has"
            f" {number}.36{'' if named is None else f' = {named}'}.",
            f"Set {number}.36 of its flows{'' if named is None else f' to {named}'}, or remove the"
            " aggregate.",
        )


@rule(
    "error", "not_told_to_cmts", "MULPI C.1.1.18.1.6 as restated by public tools", is_of_whole=True
)
def cmts_does_not_hear(settings: Settings) -> Iterator[Found]:
    """Find settings that the modem does not pass on, because no MIC for the CMTS covers them."""
    document = settings.document
    extended = _find_extended(settings)
    bitmap_now = extended.get(2) if extended else None
    covered = set(bitmap_now.value or ()) if bitmap_now else set()
    has_digest = bool(extended and extended.get(3))
    present = {tlv.type for tlv in document.tlvs}
    ordinary = frozenset(read_defaults().covered)
    wanted = (present & (ordinary | TOLD.keys() | KEPT.keys())) | {_VENDOR}
    if has_digest:
        wanted.discard(_CM_MIC)
    types = sorted(wanted | covered - {0, _CMTS_MIC, *((_CM_MIC,) if has_digest else ())})
    bitmap = f"0x{write_bitmap(types)} (bitmap = {types})"
    advice = (
        f"Set {extended.path}.2 to {bitmap}, and compute the MICs anew."
        if extended
        else (
            f"Add TLV 43 with 43.8 = 0xffffff, 43.6.1 = 1 and 43.6.2 = {bitmap}, and compute the"
            " MICs anew."
        )
    )
    # Without a digest of its own the extended MIC stands in TLV 7, in place of the CMTS MIC.
    lost = [
        number
        for number in sorted(present & ordinary - covered - {_CM_MIC})
        if number != _VENDOR or _has_other_extensions(settings)
    ]
    if extended and not has_digest and lost:
        yield Found(
            f"{extended.path}.2",
            f"The extended CMTS MIC does not select {_write_types(lost)}. It has no digest of its"
            " own (43.6.3), so the CMTS MIC (TLV 7) covers only what it selects:"
            f" {'this does' if len(lost) == 1 else 'these do'} not reach the CMTS.",
            advice,
        )
    why = (
        "the extended CMTS MIC (43.6) does not select it"
        if extended
        else "the file has no extended CMTS MIC (43.6), and the CMTS MIC does not cover it"
    )
    for number, what in (TOLD | KEPT).items():
        first = document.get(number)
        if first is None or number in covered:
            continue
        effect = (
            "The modem follows it; the CMTS does not see it."
            if number in KEPT
            else "A CMTS that follows the specification sets up none of it."
        )
        yield Found(
            first.path,
            f"TLV {number} ({what}) does not reach the CMTS: {why}. {effect}",
            advice,
            severity="warning" if number in AGGREGATES else "note",
        )


@rule("warning", "low_latency_classifier", "RFC 9331; RFC 9956", is_of_whole=True)
def nothing_is_classified(settings: Settings) -> Iterator[Found]:
    """Find a low-latency flow with no classifier, or none for scalable congestion controls."""
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
            f"Add TLV {number} with {number}.3 = {flow.reference.value if flow.reference else '…'}"
            f" and {number}.9.1 = 0x010101 (ECT(1) and CE), and one with 0xb4b4fc (DSCP 45)."
        )
        if not own:
            yield Found(
                flow.path,
                f"No classifier sends packets to the low-latency {flow.name}.",
                advice,
            )
        elif not any(tos in L4S for one in own for tos in one.tos):
            yield Found(
                own[0].path,
                "No classifier sends packets with ECT(1), those of L4S senders, to the low-latency"
                f" {flow.name}.",
                advice,
                severity="note",
                source="RFC 9331",
            )


@rule("warning", "aqm_algorithm", _MIB, of="flows")
def algorithm_does_not_suit(flow: ServiceFlow) -> Iterator[Found]:
    """Find a low-latency flow with DOCSIS-PIE, and a classic one with the immediate AQM."""
    algorithm = flow.aqm_algorithm
    if not algorithm:
        return
    is_low = flow.is_low_latency
    if is_low and algorithm.value == PIE:
        yield Found(
            algorithm.path,
            f"The low-latency {flow.name} has DOCSIS-PIE, which drops packets and marks none: L4S"
            " senders learn of congestion only from loss.",
            f"Set {algorithm.path} to 2 (immediate AQM), or leave it out.",
        )
    elif not is_low and algorithm.value == IMMEDIATE:
        yield Found(
            algorithm.path,
            f"The {flow.name} has the immediate AQM, but is the low-latency flow of no aggregate"
            f" ({_AGGREGATE[flow.direction]}.42.1): ordinary senders, which ignore its marks, fill"
            " the buffer.",
            f"Set {algorithm.path} to 1 (DOCSIS-PIE), or name the flow in"
            f" {_AGGREGATE[flow.direction]}.42.1.",
        )


@rule("warning", "threshold_floor", f"{_MIB}: floor = 2 · 2000 · 8 / rate")
def threshold_is_below_floor(settings: Settings) -> Iterator[Found]:
    """Find a maximum threshold below the time of two large frames at the flow's rate."""
    for _, flow in settings.list_low_latency():
        most = flow.maximum_threshold
        rate = flow.drained_at
        # `defaults_are_of_2019` says what to do.
        if not most or most.value in (0, THRESHOLD_2019) or not rate:
            continue
        ramp = flow.ramp
        if most.value * 1e3 < ramp.floor:
            yield Found(
                most.path,
                f"The maximum threshold of the {flow.name} is {write_time(most.value * 1e3)}, below"
                f" the time of two frames of 2000 B at {write_rate(rate)},"
                f" {write_time(ramp.floor)}: the AQM marks from {write_time(ramp.low)} to"
                f" {write_time(ramp.high)} instead.",
                f"Set {most.path} to {_write_threshold(ramp.high)}, or leave it out: the result is"
                " the same.",
            )


@rule("note", "queue_protection", _MIB)
def protection_is_off_or_early(settings: Settings) -> Iterator[Found]:
    """Find queue protection that is off, or whose threshold is unusual."""
    for aggregate in settings.aggregates:
        protection, threshold = aggregate.protection, aggregate.protection_threshold
        if protection and not protection.value & 1:
            yield Found(
                protection.path,
                f"Queue protection of the {aggregate.name} is off: one sender that ignores marks"
                " delays every low-latency flow up to the limit of the queue.",
                f"Set {protection.path} to 1, or leave it out.",
                severity="warning",
                source="RFC 9957",
            )
        elif threshold and threshold.value == 0:
            yield Found(
                threshold.path,
                f"The latency threshold of queue protection of the {aggregate.name} is 0, which"
                " counts as absent: the maximum threshold of the AQM counts.",
                "Nothing has to change; the TLV may be left out.",
            )
        elif threshold and (flow := settings.find_low(aggregate)) and flow.drained_at:
            low, high, _ = flow.ramp
            if threshold.value * 1e3 < low:
                yield Found(
                    threshold.path,
                    f"Queue protection of the {aggregate.name} has a latency threshold of"
                    f" {write_time(threshold.value * 1e3)}, below the delay from which the AQM of"
                    f" the {flow.name} marks ({write_time(low)} to {write_time(high)}): flows go to"
                    " the classic queue after few marks.",
                    f"Set {threshold.path} to {_write_threshold(high)}, or leave it out.",
                )


@rule("warning", "coupling_weak", "RFC 9332; DOCS-QOS3-MIB", of="aggregates")
def coupling_is_weak(aggregate: Aggregate) -> Iterator[Found]:
    """Find a weak coupling factor. The number is in tenths; earlier tables had an exponent."""
    default = read_defaults().coupling
    coupling = aggregate.coupling
    if coupling and coupling.value < LEAST_COUPLING:
        yield Found(
            coupling.path,
            f"The coupling factor of the {aggregate.name} is {coupling.value / 10}, and the default"
            f" is {default / 10}: low-latency flows take most of the rate from classic ones. Tables"
            " before 2019 had an exponent here, with the default 1."
            if coupling.value
            else f"The coupling factor of the {aggregate.name} is 0: the AQM of the classic"
            " queue does not slow low-latency flows, which take the rate from classic"
            " ones.",
            f"Set {coupling.path} to {default}, or leave it out.",
        )


@rule("warning", "coupling_off", "RFC 9332; DOCS-QOS3-MIB")
def coupling_has_no_source(settings: Settings) -> Iterator[Found]:
    """Find a classic flow without DOCSIS-PIE, which has no probability to couple."""
    for aggregate, _ in settings.list_low_latency():
        classic = settings.find_classic(aggregate)
        if classic is None or classic.aqm.state != "off" or not aggregate.couples:
            continue
        yield Found(
            classic.aqm.paths[0],
            f"The AQM of the classic {classic.name} is off ({classic.aqm.switches}), so that the"
            f" AQM of the {aggregate.name} has nothing to couple: low-latency flows do not slow"
            " down for classic ones.",
            classic.aqm.advice,
        )


@rule("warning", "scheduling_weight", _MIB, of="aggregates")
def weight_is_zero(aggregate: Aggregate) -> Iterator[Found]:
    """Find a scheduling weight of 0, or one that leaves the low-latency flow less than half."""
    default, parts = read_defaults().weight, read_defaults().weights
    weight = aggregate.weight
    if weight is None or weight.value >= parts // 2:
        return
    yield Found(
        weight.path,
        (
            f"The scheduling weight of the {aggregate.name} is {weight.value} of {parts}: while the"
            " classic flow has packets, the"
        )
        + (
            f" low-latency flow gets {weight.value / parts:.0%} of the rate.".replace("%", " %")
            if weight.value
            else " low-latency flow gets nothing. The weight is a number from 1 to 255."
        ),
        f"Set {weight.path} to {default}, or leave it out.",
        severity=None if weight.value else "error",
    )


@rule("warning", "low_latency_primary", "MULPI C.2.2.7; RFC 9957")
def primary_is_low_latency(settings: Settings) -> Iterator[Found]:
    """Find a low-latency flow that is the first of its direction: it gets what is unclassified."""
    for aggregate, flow in settings.list_low_latency():
        if flow is not settings.list_flows(flow.direction)[0]:
            continue
        number = _FLOW[flow.direction]
        yield Found(
            flow.path,
            f"The low-latency {flow.name} is the first {DIRECTIONS[flow.direction]} flow of the"
            " file, the primary one: it gets all packets that no classifier matches, among them"
            " those of ordinary senders, which ignore its marks and fill its queue.",
            f"Put the classic flow of the {aggregate.name} before it, as the first TLV {number}.",
        )


@rule("warning", "low_latency_rate", f"{_MIB}: delay = 8 · bytes / rate")
def low_latency_has_no_rate(settings: Settings) -> Iterator[Found]:
    """Find a low-latency flow that nothing limits: its delay counts as 0."""
    for aggregate, flow in settings.list_low_latency():
        # A profile or class at the CMTS may have a rate.
        if flow.drained_at or aggregate.service_class or flow.service_class:
            continue
        yield Found(
            f"{aggregate.path}.8",
            f"Neither the {aggregate.name} nor its low-latency {flow.name} has a rate. The delay of"
            " the low-latency queue is computed from the rate and counts as 0 without one: no"
            " packet is marked, and queue protection never acts.",
            f"Set {aggregate.path}.8 to the rate of the tier.",
        )


@rule("error", "low_latency_limit", "docsis-ns3")
def limit_is_too_low(settings: Settings) -> Iterator[Found]:
    """Find a low-latency queue that holds no frame, or drops before it marks every packet."""
    frame, default = read_defaults().largest_frame, read_defaults().low_latency_limit
    for _, flow in settings.list_low_latency():
        target = flow.target_buffer
        rate = flow.drained_at
        if not target or not target.value:
            continue
        room = target.value - frame
        if room <= 0:
            yield Found(
                target.path,
                f"The target buffer of the low-latency {flow.name} is {target.as_size}. The queue"
                " accepts packets while it holds less than that minus a frame of"
                f" {write_size(frame)}: it accepts none.",
                f"Set {target.path} to at least {write_size(default)}, or leave it out.",
            )
        elif rate and flow.aqm.state != "off":
            ramp = flow.ramp
            if find_delay(room, rate) >= ramp.high:
                continue
            needed = frame + find_size(2 * ramp.high, rate)
            yield Found(
                target.path,
                f"The target buffer of the low-latency {flow.name} is {target.as_size}. The queue"
                f" drops packets from {write_size(room)} on, which is"
                f" {write_time(find_delay(room, rate))} at {write_rate(rate)}, before its AQM marks"
                f" every packet, from {write_time(ramp.high)} on.",
                f"Set {target.path} to at least {write_size(max(needed, default))}, or leave it"
                " out.",
                severity="warning",
            )


@rule("note", "defaults_2019", "DOCS-QOS3-MIB of 2019-02-07; docsis-ns3")
def defaults_are_of_2019(settings: Settings) -> Iterator[Found]:
    """Find the defaults of the first tables, which have changed since."""
    defaults = read_defaults()
    for aggregate, flow in settings.list_low_latency():
        most = flow.maximum_threshold
        if most and most.value == THRESHOLD_2019 and (rate := flow.drained_at):
            ramp = flow.ramp
            yield Found(
                most.path,
                f"The maximum threshold of the {flow.name} is {THRESHOLD_2019} µs, which was the"
                " default of the minimum threshold until 2019. As a maximum it makes the AQM mark"
                f" from {write_time(ramp.low)} to {write_time(ramp.high)} at {write_rate(rate)}.",
                f"Set {most.path} to 1000, or leave it out.",
                severity="warning",
                source="DOCS-QOS3-MIB of 2019-02-07 and 2019-05-02",
            )
        old = {}
        if (score := aggregate.protection_score) and score.value == SCORE_2019:
            today = write_time(defaults.protection_score)
            old[score.path] = f"a score threshold of 2 ms (today {today})"
        if (drain := aggregate.drain_exponent) and drain.value == DRAIN_2019:
            was, now = (
                format_quantity(own, "rate") for own in (defaults.drain_2019, defaults.drain)
            )
            old[drain.path] = f"scores that decay at {was} of marked packets (today {now})"
        if not old:
            continue
        latency, paths = aggregate.protection_threshold, [*old]
        if latency and latency.value == LATENCY_2019:
            paths.insert(0, latency.path)
        yield Found(
            paths[-1],
            f"Queue protection of the {aggregate.name} has defaults of 2019:"
            f" {join_names([*old.values()])}. Flows go to the classic queue sooner than with"
            " today's.",
            f"Leave {join_names(paths)} out to have today's defaults.",
        )


@rule(
    "warning",
    "low_latency_off",
    "MULPI C.1.1 (TLV 91); the difference between 1 and 2 is not verified",
)
def low_latency_is_off(settings: Settings) -> Iterator[Found]:
    """Find a TLV 91 that turns off the low latency of aggregates."""
    switch = settings.document.get(91)
    aggregate = next((one for one in settings.aggregates if one.low_latency), None)
    if switch and switch.number and aggregate:
        yield Found(
            switch.path,
            f"{capitalise(aggregate.name)} has a low-latency flow, but {switch.path} ="
            f" {switch.number} turns low latency off.",
            f"Set {switch.path} to 0, or leave it out.",
        )


def _names_absent(flow: ServiceFlow, settings: Settings) -> bool:
    """Whether a flow names an aggregate that the file does not have."""
    named = flow.aggregate_reference
    return named is not None and not any(
        one.reference and one.reference.value == named.value
        for one in settings.aggregates
        if one.direction == flow.direction
    )


def _find_only(direction: str, settings: Settings) -> int | None:
    """Give the reference of the aggregate of a direction if there is one aggregate."""
    found = [one for one in settings.aggregates if one.direction == direction]
    return found[0].reference.value if len(found) == 1 and found[0].reference else None


def _find_extended(settings: Settings) -> Tlv | None:
    """Give the settings of the extended CMTS MIC (43.6)."""
    for tlv in _list_extensions(settings):
        extended = tlv.get(6)
        if extended and extended.nested is not None:
            return extended
    return None


def _list_extensions(settings: Settings) -> Iterator[Tlv]:
    """Give the TLVs 43 of DOCSIS itself."""
    for tlv in settings.document.all(_VENDOR):
        vendor = tlv.get(8)
        if vendor and vendor.hex == "ffffff":
            yield tlv


def _has_other_extensions(settings: Settings) -> bool:
    """Whether TLVs 43 hold more than the settings of the extended CMTS MIC."""
    own = sum(
        all(inner.type in (6, 8) for inner in tlv.nested or ())
        for tlv in _list_extensions(settings)
    )
    return own < sum(1 for _ in settings.document.all(_VENDOR))


def write_bitmap(types: Sequence[int]) -> str:
    """Write the bitmap that selects types of TLVs, in hexadecimal.

    Examples
    --------
    >>> write_bitmap([24, 25, 70])
    '000000c00000000002'
    """
    found = bytearray(max(types, default=-1) // 8 + 1)
    for number in types:
        found[number // 8] |= 0x80 >> number % 8
    return found.hex()


def _write_types(types: Sequence[int]) -> str:
    """Write types of TLVs with their names."""
    names = [
        f"{number} ({write_name(name)})" if (name := find_name(f"{number}")) else f"{number}"
        for number in types
    ]
    return f"TLV{'' if len(types) == 1 else 's'} {join_names(names)}"


def _write_threshold(time: float) -> str:
    """Write a threshold of so many ns as the number of the TLV, which is in µs, with its unit."""
    number = round(time / 1e3)
    return f"{number} ({number / 1e3:g} ms)"
