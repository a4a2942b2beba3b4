"""Rules on buffers: their limits against each other, and their delay at the flow's rate."""

from __future__ import annotations

from collections.abc import Iterator

from headend.modem_file.finding import Found, Severity, find_delay, find_size, rule
from headend.modem_file.settings import Buffer, ServiceFlow, Settings
from headend.modem_file.words import write_rate, write_size, write_time

#: A full buffer that delays by more is an error with any AQM: DOCSIS-PIE acts from a third of the
#: buffer on (RFC 8034 §4). 250 ms is the largest default buffer of the sources (the AQM paper, §9).
TOO_LONG = 250e6
#: Without an AQM the full buffer is the delay of every upload. A call is good up to 150 ms from
#: mouth to ear (ITU-T G.114), of which 100 ms leave 50 ms to the rest of the way.
LONG = 100e6

#: The delay of the buffer that findings advise. The targets of the Buffer Control guideline (Table
#: 2) are 41 to 66 ms.
ADVISED = 50e6
#: The smallest size that findings advise, B (Table 2, at 1 Mbit/s).
LEAST_ADVISED = 8192

#: One connection keeps the line busy up to a round-trip time of the full buffer's delay. Below 20
#: ms few servers are so near: the guideline's calls and uploads suffer from loss at 13 ms (§7.2, 5
#: Mbit/s) (headend's bound).
TOO_SHORT = 20e6
#: The round-trip time at which findings say how much of the bandwidth-delay product a buffer is.
ROUND_TRIP = 100e6

#: The buffer that every modem offers, B (Buffer Control guideline §6.2).
OFFERED = 24_576

#: Two full frames with their Ethernet header and checksum, B.
TWO_FRAMES = 2 * 1522

_GUIDELINE = "Buffer Control guideline CM-GL-Buffer"


@rule("error", "buffer_limits", f"{_GUIDELINE} §6.1", of="flows")
def limits_contradict(flow: ServiceFlow) -> Iterator[Found]:
    """Find sizes that violate minimum ≤ target ≤ maximum."""
    least, target, most = flow.minimum_buffer, flow.target_buffer, flow.maximum_buffer
    if least and most and least.value > most.value:
        yield Found(
            least.path,
            f"The minimum buffer of the {flow.name} is {least.as_size}, and its maximum"
            f" {most.as_size}: no size is both, and the modem refuses the flow.",
            f"Set {least.path} to at most {most.as_size}, or leave it out.",
        )
    if not target or not target.value:
        return
    if least and least.value > target.value:
        yield Found(
            target.path,
            f"The target buffer of the {flow.name} is {target.as_size}, below its minimum of"
            f" {least.as_size}: the modem takes the minimum, and the target has no effect.",
            f"Set {least.path} to at most {target.as_size}, or leave it out.",
        )
    if most and target.value > most.value:
        yield Found(
            target.path,
            f"The target buffer of the {flow.name} is {target.as_size}, above its maximum of"
            f" {most.as_size}: the modem takes the maximum, and the target has no effect.",
            f"Set {target.path} to at most {most.as_size}.",
        )


@rule("warning", "buffer_minimum", f"{_GUIDELINE} §6.2", of="upstream")
def minimum_is_not_offered(flow: ServiceFlow) -> Iterator[Found]:
    """Find a minimum above the buffer that every modem offers; a modem may refuse it."""
    least = flow.minimum_buffer
    if least and least.value > OFFERED:
        yield Found(
            least.path,
            f"The minimum buffer of the {flow.name} is {least.as_size}. Every modem offers 24 KiB"
            f" ({write_size(OFFERED)}); one that offers less than the minimum refuses the flow.",
            f"Set {least.path} to at most {write_size(OFFERED)}, or leave it out and set the target"
            " alone.",
        )


@rule(
    "error",
    "buffer_long",
    f"{_GUIDELINE} §5.2 and Table 2; ITU-T G.114; bounds of 100 and 250 ms: headend",
    of="flows",
)
def buffer_is_long(flow: ServiceFlow) -> Iterator[Found]:
    """Find a buffer that delays packets for long when full: its size over the rate."""
    buffer = flow.buffer
    if buffer is None or buffer.rate is None or buffer.delay is None or flow.is_unsolicited:
        return
    severity = _weigh(buffer.delay, flow, buffer)
    if severity is None:
        return
    path = buffer.path or f"{flow.path}.35.2"
    yield Found(
        path,
        " ".join(
            (
                _describe_size(flow, buffer),
                _describe_delay(buffer),
                _describe_cost(flow),
            )
        ),
        _advise(flow, buffer),
        severity=severity,
    )


@rule("error", "buffer_short", f"{_GUIDELINE} Table 2; bound of 20 ms: headend", of="flows")
def buffer_is_short(flow: ServiceFlow) -> Iterator[Found]:
    """Find a buffer far below the bandwidth-delay product, which ordinary bursts overflow."""
    target = flow.target_buffer
    buffer = flow.buffer
    if not target or buffer is None or buffer.path is None or flow.is_unsolicited:
        return
    if flow.is_low_latency:
        return
    if buffer.size < TWO_FRAMES:
        yield Found(
            buffer.path,
            f"The buffer of the {flow.name} is {write_size(buffer.size)}. Two full packets with"
            f" their Ethernet header have {write_size(TWO_FRAMES)}: almost every upload loses"
            " packets.",
            _advise_size(flow, buffer),
        )
    elif buffer.rate and buffer.delay and buffer.delay < TOO_SHORT:
        product = find_size(ROUND_TRIP, buffer.rate)
        yield Found(
            buffer.path,
            f"The buffer of the {flow.name} is {write_size(buffer.size)}, which is"
            f" {write_time(buffer.delay)} at {write_rate(buffer.rate)}. One connection fills the"
            " line only if its round-trip time is no longer than about that; the bandwidth-delay"
            f" product at 100 ms is {write_size(product)}. Bursts are dropped at the tail.",
            _advise_size(flow, buffer),
            severity="warning",
        )


@rule("note", "buffer_short_at_peak", f"{_GUIDELINE} Table 2; bound of 20 ms: headend", of="flows")
def buffer_is_short_at_the_peak(flow: ServiceFlow) -> Iterator[Found]:
    """Find a buffer that suits the sustained rate and is short while the burst lasts."""
    buffer = flow.buffer
    if buffer is None or buffer.path is None or flow.is_unsolicited or not buffer.peak:
        return
    if (buffer.delay or 0) < TOO_SHORT or (buffer.peak_delay or 0) >= TOO_SHORT:
        return
    size = find_size(TOO_SHORT, buffer.peak)
    at_rate = write_time(find_delay(size, buffer.rate or buffer.peak))
    yield Found(
        buffer.path,
        f"The buffer of the {flow.name} is {write_size(buffer.size)}, which is"
        f" {write_time(buffer.peak_delay or 0)} at the peak rate of {write_rate(buffer.peak)}:"
        " while the burst lasts, one connection reaches that rate only if its round-trip time is no"
        " longer than about that.",
        f"Nothing has to change if calls matter more than bursts; {write_size(size)} is 20 ms at"
        f" the peak rate, and {at_rate} at the sustained rate.",
    )


@rule("note", "default_buffer_unused", "MULPI C.1.2.17 as restated by docsis-ns3")
def default_has_no_use(settings: Settings) -> Iterator[Found]:
    """Find a TLV 68 without effect, because each upstream flow has a target of its own."""
    default = settings.default_buffer
    flows = settings.list_flows("up")
    if default and flows and all(flow.target_buffer and flow.target_buffer.value for flow in flows):
        yield Found(
            default.path,
            f"The default upstream target buffer of {default.value} ms has no effect: every"
            " upstream service flow has a target buffer of its own (24.35.2).",
            "Nothing has to change; the TLV may be left out.",
        )


def _weigh(delay: float, flow: ServiceFlow, buffer: Buffer) -> Severity | None:
    """Give the severity of a delay; None where it is no finding.

    What the modem does where the file says nothing counts as what the file says; a default buffer
    beside no AQM by default is nobody's mistake, and a warning.
    """
    if flow.aqm.runs or (flow.direction == "down" and flow.aqm.state == "unsaid"):
        return "error" if delay > TOO_LONG and buffer.path else None
    if delay <= LONG:
        return None
    return "error" if buffer.path or flow.aqm.state == "off" else "warning"


def _describe_size(flow: ServiceFlow, buffer: Buffer) -> str:
    size = write_size(buffer.size)
    if buffer.path is None:
        return (
            f"The file sets no target buffer for the {flow.name}; {buffer.default}'s default is"
            f" {size}."
        )
    if buffer.path.startswith("68"):
        return f"The default target buffer (TLV 68) makes the buffer of the {flow.name} {size}."
    what = {"1": "minimum", "2": "target", "3": "maximum"}[buffer.path.rpartition(".")[2][0]]
    return f"The {what} buffer of the {flow.name} is {size}."


def _describe_delay(buffer: Buffer) -> str:
    rate = write_rate(buffer.rate or 0)
    told = f"When it is full, a packet waits {write_time(buffer.delay or 0)} at {rate}"
    if buffer.peak and buffer.peak_delay:
        told += (
            f" ({write_time(buffer.peak_delay)} at {write_rate(buffer.peak)} while the burst lasts)"
        )
    return f"{told}."


def _describe_cost(flow: ServiceFlow) -> str:
    load, aqm, kept = flow.load, flow.aqm, write_time(flow.aqm.target)
    if aqm.state == "off":
        return (
            f"The AQM is off ({aqm.switches}): the packets of a call wait so long beside each"
            f" {load}."
        )
    if aqm.is_immediate:
        return (
            "All packets of the flow wait so long beside senders that ignore the AQM's marks (above"
            f" {kept})."
        )
    if flow.direction == "down":
        return f"Unless the CMTS has an AQM, the packets of a call wait so long beside each {load}."
    if not aqm.runs:
        return f"Without AQM the packets of a call wait so long beside each {load}."
    return (
        f"DOCSIS-PIE aims at {kept}, but acts only from a third of the buffer on: a call suffers at"
        f" the start of each {load}."
    )


def _advise(flow: ServiceFlow, buffer: Buffer) -> str:
    own = _advise_size(flow, buffer)
    if buffer.path and buffer.path.startswith("68"):
        return f"Set {buffer.path} to {round(ADVISED / 1e6)}, or s{own[1:]}"
    return own


def _advise_size(flow: ServiceFlow, buffer: Buffer) -> str:
    target = flow.target_buffer.path if flow.target_buffer else f"{flow.path}.35.2"
    if not buffer.rate:
        return f"Set {target} to the bytes that the flow sends in 50 ms."
    size = max(find_size(ADVISED, buffer.rate), LEAST_ADVISED)
    more = ""
    if (most := flow.maximum_buffer) and most.value < size:
        more = f" and {most.path} no lower"
    if (least := flow.minimum_buffer) and least.value > size:
        more = f" and {least.path} no higher"
    return (
        f"Set {target} to {write_size(size)}{more}, which is"
        f" {write_time(find_delay(size, buffer.rate))}."
    )
