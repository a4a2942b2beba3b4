"""An overview of a modem's file: device, flows with delays, classifiers, other settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

from headend.modem_file.document import END, PAD, Document, Tlv, read_document
from headend.modem_file.generation import PRESET
from headend.modem_file.integrity import Mic, verify
from headend.modem_file.low_latency import describe_aggregate
from headend.modem_file.settings import (
    AGGREGATES,
    FLOWS,
    MOST_READ,
    SCHEDULING,
    Aggregate,
    Bundle,
    ServiceFlow,
    Setting,
    Settings,
    read_settings,
)
from headend.modem_file.words import write_name, write_rate, write_size, write_time
from headend.text.wording import capitalise, list_names, write_count

#: The names of devices, by the kinds of files.
KINDS = {"cable_modem": "cable modem", "mta": "telephone adapter (PacketCable MTA)"}

#: DOCSIS-PIE drops only once its queue holds this share of the buffer (RFC 8034 §4).
ACTIVATION = 3

#: The most flows, aggregates, classifiers and other settings that are listed; a modem has 16 or 32
#: upstream flows.
MOST_LISTED = 200

#: Types that are no settings, or that other parts of the overview describe.
_TOLD = (PAD, END, 6, 7, 22, 23, 24, 25, 60, 70, 71)

#: Operators' names of TLVs that are counted and not written out, because their content belongs to
#: other systems.
_OTHERS = {
    4: "class of service of DOCSIS 1.0",
    11: "SNMP object",
    32: "piece of a manufacturer's certificate (32)",
    33: "piece of a co-signer's certificate (33)",
    64: "SNMP object",
    81: "piece of a manufacturer's certificate (81)",
    82: "piece of a co-signer's certificate (82)",
}


#: The headings of the table of flows, by the field of a row that stands below each.
HEADINGS = {
    "flow": "flow",
    "service_class": "class",
    "rate": "rate",
    "peak": "peak",
    "burst": "burst",
    "scheduling": "scheduling",
    "buffer": "buffer",
    "delay": "when full",
    "aqm": "AQM",
}


@dataclass(frozen=True)
class FlowRow:
    """One service flow or aggregate, in words, with ``–`` where the file sets nothing; and numbers.

    ``delay`` is how long a packet waits behind a full buffer at the sustained rate, ``delay_ns``
    the same as a number. The AQM is ``on``, ``off``, or ``unsaid`` where the file has nothing about
    it. Its target is the delay that it keeps where it runs.
    """

    path: str
    flow: str
    service_class: str
    rate: str
    peak: str
    burst: str
    scheduling: str = "–"
    buffer: str = "–"
    delay: str = "–"
    aqm: str = "–"
    rate_bps: int | None = None
    peak_bps: int | None = None
    burst_bytes: int | None = None
    buffer_bytes: int | None = None
    buffer_path: str | None = None
    delay_ns: float | None = None
    aqm_state: str | None = None
    aqm_target_ns: float | None = None

    def cells(self) -> tuple[str, ...]:
        """Give the cells of its row, under `HEADINGS`."""
        return tuple(getattr(self, name) for name in HEADINGS)


@dataclass(frozen=True)
class Overview:
    """The overview of a file.

    Parameters
    ----------
    kind
        ``cable_modem`` or ``mta``.
    title
        Its device and its size, in words.
    size
        Its bytes.
    mics
        Its message integrity checks; empty for an MTA's file.
    flows
        Its service flows and aggregates.
    delays
        A sentence for each service flow whose delay is known.
    low_latency
        Sentences for each aggregate with a low-latency flow: what its settings do.
    supposed
        What modems of the generation do where the file says nothing of AQM or buffer; or empty.
    classifiers
        A sentence for each classifier.
    others
        The other content, in words: settings of the modem, SNMP objects, certificates, vendors'
        settings.
    """

    kind: str
    title: str
    size: int
    mics: tuple[Mic, ...]
    flows: tuple[FlowRow, ...]
    delays: tuple[str, ...]
    low_latency: tuple[str, ...]
    classifiers: tuple[str, ...]
    others: tuple[str, ...]
    supposed: str = ""

    @property
    def mic_words(self) -> tuple[str, ...]:
        """The message integrity checks in words, such as ``CM MIC right``."""
        return tuple(_describe_mic(mic) for mic in self.mics)

    def to_json(self) -> dict[str, Any]:
        """Give it as an object of JSON."""
        return {**asdict(self), "mics": [mic.to_json() for mic in self.mics]}


def describe(data: bytes, secret: bytes | None = None, preset: str = PRESET) -> Overview:
    """Describe a file.

    Parameters
    ----------
    data
        The bytes of the file. Any bytes can be described.
    secret
        The secret of the CMTS; without it the CMTS MIC is not verified.
    preset
        The generation of the modem, which decides what it does where the file says nothing.
    """
    document = read_document(data)
    settings = read_settings(document, preset)
    flows = settings.flows[:MOST_LISTED]
    aggregates = settings.aggregates[:MOST_LISTED]
    classifiers = settings.classifiers[:MOST_LISTED]
    cut = ", which ends within a TLV: it is cut short" if document.is_cut else ""
    low_latency = ((one, describe_aggregate(one, settings)) for one in aggregates)
    return Overview(
        kind=document.kind,
        title=f"{capitalise(KINDS[document.kind])}, {write_size(document.size)}{cut}",
        size=document.size,
        mics=verify(data, secret) if document.is_modem else (),
        flows=(*map(_draw_flow, flows), *map(_draw_aggregate, aggregates)),
        delays=tuple(filter(None, map(describe_delay, flows))),
        low_latency=tuple(f"{capitalise(one.name)}: {told}" for one, told in low_latency if told),
        classifiers=tuple(f"{capitalise(one.name)}: {one.describe()}" for one in classifiers),
        others=(*_describe_rest(settings), *islice(_describe_others(document), MOST_LISTED)),
        supposed=settings.supposed,
    )


def _describe_rest(settings: Settings) -> Iterator[str]:
    """Say how many flows, aggregates and classifiers there are beyond those that are listed."""
    for what, number in (
        ("service flow", len(settings.flows)),
        ("aggregate service flow", len(settings.aggregates)),
        ("classifier", len(settings.classifiers)),
    ):
        if number > MOST_LISTED:
            more = " or more" if number == MOST_READ else ""
            yield write_count(number - MOST_LISTED, f"further {what}") + more


def describe_delay(flow: ServiceFlow) -> str | None:
    """Describe the delay of a flow's full buffer, and that of its AQM; None if not known."""
    buffer, aqm = flow.buffer, flow.aqm
    if buffer is None or buffer.delay is None or buffer.rate is None or flow.is_unsolicited:
        return None
    chosen = "" if buffer.path else f" ({buffer.default}'s default, as the file sets none)"
    told = (
        f"{capitalise(flow.name)}: a full buffer of {write_size(buffer.size)}{chosen} delays by"
        f" {write_time(buffer.delay)} at {write_rate(buffer.rate)}"
    )
    if buffer.peak and buffer.peak_delay:
        peak = write_rate(buffer.peak)
        told += f", by {write_time(buffer.peak_delay)} at {peak} while the burst lasts"
    # The queue of a downstream flow is in the CMTS, of which the file says nothing more.
    if aqm.state == "unsaid" and not aqm.runs and flow.direction == "down":
        return f"{told}."
    if aqm.state == "off":
        effect = f"the AQM is off ({aqm.switches}), so each long transfer brings that delay"
    elif not aqm.runs:
        effect = "without AQM each long transfer brings that delay"
    elif aqm.is_immediate:
        effect = f"its immediate AQM marks every packet above {write_time(aqm.target)}"
    elif flow.direction == "down":
        effect = f"its AQM aims at {write_time(aqm.target)}"
    else:
        effect = describe_effect(aqm.target, buffer.delay)
    return f"{told}; {effect}."


def describe_effect(target: float, full: float) -> str:
    """Say which delay DOCSIS-PIE aims at, and when it does not act.

    Examples
    --------
    >>> describe_effect(10e6, 250e6)
    'DOCSIS-PIE aims at 10 ms, and drops nothing while less than a third of the buffer (83.3 ms) is
    filled: senders such as BBR can stay above 10 ms'
    """
    third, aim = full / ACTIVATION, write_time(target)
    text = (
        f"DOCSIS-PIE aims at {aim}, and drops nothing while less than a third of the buffer"
        f" ({write_time(third)}) is filled"
    )
    return f"{text}: senders such as BBR can stay above {aim}" if third > target else text


def _draw_flow(flow: ServiceFlow) -> FlowRow:
    buffer, aqm = flow.buffer, flow.aqm
    kept = "immediate" if aqm.is_immediate else "on"
    default = " (default)" if aqm.state == "unsaid" else ""
    state = f"{kept}, {write_time(aqm.target)}{default}" if aqm.runs else aqm.state
    if state == "unsaid":  # the queue of a downstream flow is the CMTS's
        state = "none (default)" if flow.direction == "up" and not flow.is_unsolicited else "–"
    row = _draw_bundle(flow)
    if buffer:
        row = replace(
            row,
            buffer=f"{write_size(buffer.size)}{'' if buffer.path else ' (default)'}",
            delay="–" if buffer.delay is None else write_time(buffer.delay),
            buffer_bytes=buffer.size,
            buffer_path=buffer.path,
            delay_ns=buffer.delay,
        )
    return replace(
        row,
        scheduling=_scheduling(flow),
        aqm=state,
        aqm_state=aqm.state,
        aqm_target_ns=aqm.target,
    )


def _draw_aggregate(aggregate: Aggregate) -> FlowRow:
    row, low = _draw_bundle(aggregate), aggregate.low_latency_reference
    joined = f", low latency: {aggregate.direction} {low.value}" if low else ""
    coupled = f"coupled × {aggregate.coupling.value / 10}" if aggregate.coupling else "–"
    return replace(row, flow=f"aggregate {row.flow}{joined}", aqm=coupled)


def _draw_bundle(bundle: Bundle) -> FlowRow:
    return FlowRow(
        path=bundle.path,
        flow=f"{bundle.direction} {bundle.reference.value if bundle.reference else '?'}",
        service_class=bundle.service_class or "–",
        rate=_limit(bundle.rate),
        peak=_limit(bundle.peak),
        burst=bundle.burst.as_size if bundle.burst else "–",
        rate_bps=_number(bundle.rate),
        peak_bps=_number(bundle.peak),
        burst_bytes=_number(bundle.burst),
    )


def _number(setting: Setting | None) -> int | None:
    return setting.value if setting else None


def _limit(rate: Setting | None) -> str:
    if rate is None:
        return "–"
    return rate.as_rate if rate.value else "no limit"


def _scheduling(flow: ServiceFlow) -> str:
    """Give the scheduling type, with the size and interval of grants, polls, and their rate."""
    own, granted = flow.scheduling, flow.guaranteed_rate
    told = [SCHEDULING.get(own.value, f"{own.value}")] if own else []
    if flow.is_unsolicited:
        told += _grants(flow)
    if flow.is_polled and flow.polling_interval:
        told.append(f"polled{_each(flow.polling_interval)}")
    if granted and granted.value:
        interval = flow.guaranteed_interval
        each = _each(interval) if interval and interval.value else ""
        told.append(f"grants of {granted.as_rate}{each}")
    if (requests := flow.request_interval) and requests.value:
        told.append(f"may request{_each(requests)}")
    return ", ".join(told) or "–"


def _each(interval: Setting) -> str:
    return f" each {write_time(1e3 * interval.value)}"


def _grants(flow: ServiceFlow) -> Iterator[str]:
    """Give the size of unsolicited grants and their interval, and the rate that both make."""
    size, interval = flow.grant_size, flow.grant_interval
    count = flow.grants_per_interval.value if flow.grants_per_interval else 1
    times = f"{count} × " if count > 1 else ""
    told = f"{times}{size.as_size}" if size else ""
    if told := f"{told}{_each(interval) if interval else ''}".strip():
        yield told
    if size and interval and interval.value:
        yield write_rate(round(count * size.value * 8e6 / interval.value))


def _describe_mic(mic: Mic) -> str:
    words = {
        "wrong": "WRONG",
        "stale": "STALE",
        "missing": "not in the file",
        "unverifiable": "not verified",
    }
    return f"{mic.name} {words.get(mic.state, mic.state)}"


def _describe_others(document: Document) -> Iterator[str]:
    """Describe the rest of a file: numbers with their values, everything else with its size."""
    counts = Counter(tlv.type for tlv in document.tlvs)
    told: set[int] = set()
    for tlv in document.tlvs:
        number = tlv.type
        if number in _TOLD and not (number in (*FLOWS, *AGGREGATES) and tlv.nested is None):
            continue
        if number == 43:
            yield _describe_vendor(tlv)
            continue
        if number in told:
            continue
        told.add(number)
        yield _describe_type(document, tlv, counts[number])
    if document.rest:
        yield (
            f"{write_count(len(document.rest), 'byte')} from offset {document.rest_offset} on that"
            " are no TLV"
        )


def _describe_type(document: Document, tlv: Tlv, count: int) -> str:
    number = tlv.type
    name = write_name(tlv.name) if tlv.name else "unknown"
    size = sum(len(other.bytes) for other in document.all(number))
    if number in _OTHERS:
        return write_count(count, _OTHERS[number]) + f" ({write_size(size)})"
    if count == 1 and tlv.shown:
        meaning = f" ({tlv.meaning})" if tlv.meaning else ""
        return f"{name} {tlv.shown}{meaning} (TLV {number})"
    times = f"{count} × " if count > 1 else ""
    return f"{times}{name}, {write_size(size)} (TLV {number})"


def _describe_vendor(tlv: Tlv) -> str:
    """Name the vendor of a TLV 43; for DOCSIS extensions, name the settings too."""
    vendor = tlv.get(8)
    inner = [other for other in tlv.nested or () if other.type != 8]
    if vendor and vendor.hex == "ffffff":
        names = [other.called for other in inner]
        return f"DOCSIS extension: {list_names(names, 6) or 'nothing'} (TLV {tlv.path})"
    whose = f"vendor {vendor.bytes.hex(':')}" if vendor else "a vendor without an id"
    held = write_size(len(tlv.bytes)) if tlv.nested is None else write_count(len(inner), "setting")
    return f"{held} of {whose} (TLV {tlv.path})"
