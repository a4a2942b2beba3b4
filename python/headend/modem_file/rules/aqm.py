"""Rules on AQM: turned off, acting too late or never, and numbers that are not read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from headend.modem_file.finding import Found, find_size, rule
from headend.modem_file.settings import ServiceFlow, Settings, read_defaults
from headend.modem_file.words import write_rate, write_size, write_time

#: A full buffer with at most this delay does little harm without AQM (headend's bound: the target
#: of the Buffer Control guideline).
LITTLE = 60e6

#: Latency targets outside of these are probably not meant, ms. RFC 8034 has 10 ms. A request and
#: its grant take 4 to 8 ms (RFC 8034 §4.2), so that less than 5 ms drops packets that did not
#: queue; more than 50 ms is felt in calls and games.
LEAST_TARGET, MOST_TARGET = 5, 50

#: DOCSIS-PIE acts once its queue holds this share of the buffer (RFC 8034 §4).
ACTIVATION = 3
#: PIE acts late if the queue may first grow to more than this many times the target (headend's
#: bound). The default buffer of 250 ms gives 8.
FAR = 10

#: Most edges of a latency histogram.
MOST_EDGES = 15


@rule("warning", "aqm_off", "RFC 8034 §4; MULPI C.2.2.7.12", of="flows")
def aqm_is_off(flow: ServiceFlow) -> Iterator[Found]:
    """Find an AQM that is off, and say which delay that costs."""
    aqm, buffer = flow.aqm, flow.buffer
    if aqm.state != "off" or flow.is_unsolicited:
        return
    costs_little = buffer is not None and buffer.delay is not None and buffer.delay <= LITTLE
    yield Found(
        aqm.paths[0],
        f"The AQM of the {flow.name} is off ({aqm.switches}). {_describe_cost(flow)}",
        aqm.advice,
        severity="note" if costs_little else "warning",
    )


@rule("warning", "aqm_switches", "MULPI C.1.1.28 and C.2.2.7.12")
def switches_contradict(settings: Settings) -> Iterator[Found]:
    """Find a TLV 76 that turns off an AQM which a flow's own TLV 40.1 leaves on."""
    all_off = settings.upstream_aqm_disabled
    if not all_off or all_off.value != 1:
        return
    for flow in settings.list_flows("up"):
        own = flow.aqm_disabled
        if own and own.value == 0:
            yield Found(
                own.path,
                f"{own.path} leaves the AQM of the {flow.name} on, but {all_off.path} turns off"
                " every upstream AQM of the modem.",
                f"Leave {all_off.path} out to keep the AQM of this flow.",
            )


@rule("warning", "aqm_never_acts", "RFC 8034 §4", of="flows")
def acts_too_late_or_never(flow: ServiceFlow) -> Iterator[Found]:
    """Compare a third of the buffer, from which on DOCSIS-PIE acts, with its target."""
    aqm, buffer = flow.aqm, flow.buffer
    is_pie = aqm.runs and not aqm.is_immediate
    if not is_pie or flow.is_unsolicited or flow.direction != "up":
        return
    if buffer is None or buffer.path is None or not buffer.rate or buffer.delay is None:
        return
    start = buffer.delay / ACTIVATION
    rate = write_rate(buffer.rate)
    if buffer.delay <= aqm.target:
        needed = write_size(find_size(ACTIVATION * aqm.target, buffer.rate))
        yield Found(
            buffer.path,
            f"The buffer of the {flow.name} is {write_size(buffer.size)}, which is"
            f" {write_time(buffer.delay)} at {rate}, and the AQM's target is"
            f" {write_time(aqm.target)}: the queue overflows before its delay reaches the target,"
            " and the AQM never acts.",
            f"Set {buffer.path} to at least {needed}, three times the target.",
        )
    elif start < aqm.target:
        yield Found(
            buffer.path,
            f"A third of the buffer of the {flow.name}, from which DOCSIS-PIE acts, is"
            f" {write_time(start)} at {rate}, below its target of {write_time(aqm.target)}: bursts"
            " overflow the rest before PIE drops.",
            f"Set {buffer.path} to at least"
            f" {write_size(find_size(ACTIVATION * aqm.target, buffer.rate))}, three times the"
            " target.",
            severity="note",
            rule="aqm_little_room",
        )
    elif start > FAR * aqm.target:
        yield Found(
            buffer.path,
            f"DOCSIS-PIE of the {flow.name} acts once its queue holds a third of"
            f" {write_size(buffer.size)}, which is {write_time(start)} at {rate},"
            f" {start / aqm.target:.0f} times its target of {write_time(aqm.target)}.",
            f"Set {buffer.path} to at most {write_size(find_size(100e6, buffer.rate))}, which is"
            " 100 ms.",
            rule="aqm_late",
            source="RFC 8034 §4; bound of 10 targets: headend",
        )


@rule("warning", "aqm_target", "RFC 8034 §4 and §4.2; bounds of 5 and 50 ms: headend", of="flows")
def target_is_unusual(flow: ServiceFlow) -> Iterator[Found]:
    """Find a latency target far from the default, which is probably a slip."""
    default = read_defaults().aqm_target / 1e6
    target = flow.aqm_target
    aqm = flow.aqm
    if not target or not target.value or aqm.state == "off" or aqm.is_immediate:
        return
    if LEAST_TARGET <= target.value <= MOST_TARGET:
        return
    why = (
        (
            "a request and its grant alone take 4 to 8 ms, so that the AQM drops packets of an idle"
            " line"
        )
        if target.value < LEAST_TARGET
        else "the AQM lets the queue delay every packet so long"
    )
    yield Found(
        target.path,
        f"The latency target of the {flow.name} is {target.value} ms: {why}. The default is"
        f" {default:g} ms.",
        f"Set {target.path} to {default:g}, or leave it out.",
    )


@rule("warning", "aqm_ignored", "MULPI C.2.2.7.12; DOCS-QOS3-MIB", of="flows")
def numbers_are_ignored(flow: ServiceFlow) -> Iterator[Found]:
    """Find numbers that the flow's algorithm does not read."""
    aqm = flow.aqm
    algorithm = flow.aqm_algorithm
    pie = [flow.aqm_target] if flow.aqm_target and flow.aqm_target.value else []
    immediate = [own for own in (flow.maximum_threshold, flow.ramp_exponent) if own]
    ignored, why = (immediate, "runs DOCSIS-PIE")
    if aqm.state == "off":
        ignored, why = [*pie, *immediate], "is off"
    elif aqm.is_immediate:
        ignored, why = pie, "is the immediate one"
    if not ignored:
        return
    paths = " and ".join(own.path for own in ignored)
    advice = f"Leave {paths} out."
    if aqm.state != "off" and not aqm.is_immediate:
        where = algorithm.path if algorithm else f"{flow.path}.40.3"
        advice = f"Set {where} to 2 for the immediate AQM, or leave {paths} out."
    elif aqm.state == "off":
        advice = f"Set {aqm.switches} to 0 to turn the AQM on, or leave {paths} out."
    does = "has" if len(ignored) == 1 else "have"
    yield Found(
        ignored[0].path,
        f"{paths} {does} no effect: the AQM of the {flow.name} {why}.",
        advice,
        severity="note" if aqm.state == "off" else "warning",
    )


@rule("error", "histogram_edges", "MULPI C.2.2.7.12.6; DOCS-QOS3-MIB", of="flows")
def histogram_is_unordered(flow: ServiceFlow) -> Iterator[Found]:
    """Find a latency histogram whose edges do not ascend, or are more than 15."""
    found = flow.tlv.get(40, 6)
    if found is None:
        return
    data = found.bytes
    edges = [int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)]
    advice = (
        f"Set {found.path} to 1 to {MOST_EDGES} ascending numbers of two bytes, in units of 10 µs."
    )
    if len(data) % 2 or not 1 <= len(edges) <= MOST_EDGES:
        yield Found(
            found.path,
            f"The latency histogram of the {flow.name} has {len(data)} bytes: expected 2 to 30, two"
            " for each edge.",
            advice,
        )
    elif any(later <= earlier for earlier, later in pairwise(edges)):
        place = next(at for at in range(1, len(edges)) if edges[at] <= edges[at - 1])
        yield Found(
            found.path,
            f"The edges of the latency histogram of the {flow.name} do not ascend: edge {place + 1}"
            f" is {write_time(edges[place] * 10e3)}, after {write_time(edges[place - 1] * 10e3)}.",
            advice,
        )


def _describe_cost(flow: ServiceFlow) -> str:
    load, buffer, kept = flow.load, flow.buffer, write_time(flow.aqm.target)
    if buffer is None or buffer.delay is None:
        return f"The delay beside each {load} is that of a full buffer, in place of about {kept}."
    chosen = "" if buffer.path else f" ({buffer.default}'s default, as the file sets none)"
    return (
        f"Beside each {load} every packet waits for a full buffer of"
        f" {write_size(buffer.size)}{chosen}, which is {write_time(buffer.delay)} at"
        f" {write_rate(buffer.rate or 0)}, in place of about {kept}."
    )
