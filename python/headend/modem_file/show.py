"""An overview of a modem's file: device, flows with delays, classifiers, other settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from headend.modem_file.delay import Aqm, Buffer, find_aqm, find_buffer
from headend.modem_file.document import END, PAD, Document, Tlv, read_document
from headend.modem_file.integrity import Mic, verify
from headend.modem_file.low_latency import tell_aggregate
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


@dataclass(frozen=True)
class FlowRow:
    """One service flow or aggregate, in words, ``–`` where the file sets nothing; and numbers.

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
    scheduling: str
    buffer: str
    delay: str
    aqm: str
    rate_bps: int | None = None
    peak_bps: int | None = None
    burst_bytes: int | None = None
    buffer_bytes: int | None = None
    buffer_path: str | None = None
    delay_ns: float | None = None
    aqm_state: str | None = None
    aqm_target_ns: float | None = None

    def cells(self) -> tuple[str, ...]:
        """Give the cells of its row, under ``Overview.HEADINGS``."""
        return (
            self.flow,
            self.service_class,
            self.rate,
            self.peak,
            self.burst,
            self.scheduling,
            self.buffer,
            self.delay,
            self.aqm,
        )


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

    #: The headings of the table of flows.
    HEADINGS = (
        "flow",
        "class",
        "rate",
        "peak",
        "burst",
        "scheduling",
        "buffer",
        "when full",
        "AQM",
    )

    @property
    def mic_words(self) -> tuple[str, ...]:
        """The message integrity checks in words, such as ``CM MIC right``."""
        return tuple(_tell_mic(mic) for mic in self.mics)

    def to_json(self) -> dict[str, Any]:
        """Give it as an object of JSON."""
        return {
            "kind": self.kind,
            "title": self.title,
            "size": self.size,
            "mics": [mic.to_json() for mic in self.mics],
            "flows": [asdict(row) for row in self.flows],
            "delays": list(self.delays),
            "low_latency": list(self.low_latency),
            "classifiers": list(self.classifiers),
            "others": list(self.others),
        }


def describe(data: bytes, secret: bytes | None = None) -> Overview:
    """Describe a file.

    Parameters
    ----------
    data
        The bytes of the file. Any bytes can be described.
    secret
        The secret of the CMTS; without it the CMTS MIC is not verified.
    """
    document = read_document(data)
    settings = read_settings(document)
    flows = settings.flows[:MOST_LISTED]
    aggregates = settings.aggregates[:MOST_LISTED]
    return Overview(
        kind=document.kind,
        title=f"{capitalise(KINDS.get(document.kind, document.kind))}, {write_size(document.size)}"
        + (", which ends within a TLV: it is cut short" if document.is_cut else ""),
        size=document.size,
        mics=verify(data, secret) if document.is_modem else (),
        flows=(
            *(_draw_flow(flow, settings) for flow in flows),
            *map(_draw_aggregate, aggregates),
        ),
        delays=tuple(told for flow in flows if (told := tell_delay(flow, settings)) is not None),
        low_latency=tuple(
            f"{capitalise(one.name)}: {told}"
            for one in aggregates
            if (told := tell_aggregate(one, settings)) is not None
        ),
        classifiers=tuple(
            f"{capitalise(one.name)}: {one.describe()}"
            for one in settings.classifiers[:MOST_LISTED]
        ),
        others=(*_tell_rest(settings), *islice(_tell_others(document), MOST_LISTED)),
    )


def _tell_rest(settings: Settings) -> Iterator[str]:
    """Say how many flows, aggregates and classifiers there are beyond those that are listed."""
    for what, number in (
        ("service flow", len(settings.flows)),
        ("aggregate service flow", len(settings.aggregates)),
        ("classifier", len(settings.classifiers)),
    ):
        if number > MOST_LISTED:
            more = " or more" if number == MOST_READ else ""
            yield write_count(number - MOST_LISTED, f"further {what}") + more


def tell_delay(flow: ServiceFlow, settings: Settings) -> str | None:
    """Describe the delay of a flow's full buffer, and that of its AQM; None if not known."""
    buffer = find_buffer(flow, settings)
    if buffer is None or buffer.delay is None or buffer.rate is None or flow.is_unsolicited:
        return None
    size = write_size(buffer.size)
    chosen = "" if buffer.path else " (the specification's default, as the file sets none)"
    told = (
        f"{capitalise(flow.name)}: a full buffer of {size}{chosen} delays by"
        f" {write_time(buffer.delay)} at {write_rate(buffer.rate)}"
    )
    if buffer.peak and buffer.peak_delay:
        told += (
            f", by {write_time(buffer.peak_delay)} at {write_rate(buffer.peak)} while the burst"
            " lasts"
        )
    aqm = find_aqm(flow, settings)
    # The queue of a downstream flow is in the CMTS, of which the file says nothing more.
    if aqm.state == "unsaid" and flow.direction == "down":
        return f"{told}."
    return f"{told}; {_tell_aqm(aqm)}."


def _tell_aqm(aqm: Aqm) -> str:
    kept = write_time(aqm.target)
    if aqm.state == "off":
        return (
            f"the AQM is off ({' and '.join(aqm.paths)}), so each long transfer brings that delay"
        )
    if aqm.is_immediate:
        return f"its immediate AQM marks every packet above {kept}"
    if aqm.state == "on":
        return f"its AQM keeps about {kept}"
    return f"a modem with DOCSIS-PIE (3.1 and later) keeps about {kept}, one without has that delay"


def _draw_flow(flow: ServiceFlow, settings: Settings) -> FlowRow:
    buffer = find_buffer(flow, settings)
    aqm = find_aqm(flow, settings)
    return FlowRow(
        path=flow.path,
        flow=_name(flow),
        service_class=flow.service_class or "–",
        rate=_limit(flow.rate),
        peak=_limit(flow.peak),
        burst=_size(flow.burst),
        scheduling=_scheduling(flow),
        buffer=_buffer(buffer),
        delay=write_time(buffer.delay) if buffer and buffer.delay is not None else "–",
        aqm=_aqm(aqm),
        rate_bps=_number(flow.rate),
        peak_bps=_number(flow.peak),
        burst_bytes=_number(flow.burst),
        buffer_bytes=buffer.size if buffer else None,
        buffer_path=buffer.path if buffer else None,
        delay_ns=buffer.delay if buffer else None,
        aqm_state=aqm.state,
        aqm_target_ns=aqm.target,
    )


def _draw_aggregate(aggregate: Aggregate) -> FlowRow:
    low = aggregate.low_latency_reference
    return FlowRow(
        path=aggregate.path,
        flow=f"aggregate {_name(aggregate)}"
        + (f", low latency: {aggregate.direction} {low.value}" if low else ""),
        service_class=aggregate.service_class or "–",
        rate=_limit(aggregate.rate),
        peak=_limit(aggregate.peak),
        burst=_size(aggregate.burst),
        scheduling="–",
        buffer="–",
        delay="–",
        aqm=f"coupled × {aggregate.coupling.value / 10}" if aggregate.coupling else "–",
        rate_bps=_number(aggregate.rate),
        peak_bps=_number(aggregate.peak),
        burst_bytes=_number(aggregate.burst),
    )


def _name(bundle: Bundle) -> str:
    return f"{bundle.direction} {bundle.reference.value if bundle.reference else '?'}"


def _number(setting: Setting | None) -> int | None:
    return setting.value if setting else None


def _limit(rate: Setting | None) -> str:
    if rate is None:
        return "–"
    return write_rate(rate.value) if rate.value else "no limit"


def _scheduling(flow: ServiceFlow) -> str:
    """Give the scheduling type, with the size and interval of grants, polls, and their rate."""
    own, granted = flow.scheduling, flow.guaranteed_rate
    told = [SCHEDULING.get(own.value, f"{own.value}")] if own else []
    if flow.is_unsolicited:
        told.extend(_grants(flow))
    if flow.is_polled and (polls := flow.polling_interval):
        told.append(f"polled each {write_time(1e3 * polls.value)}")
    if granted and granted.value:
        interval = flow.guaranteed_interval
        each = f" each {write_time(1e3 * interval.value)}" if interval and interval.value else ""
        told.append(f"grants of {write_rate(granted.value)}{each}")
    if (requests := flow.request_interval) and requests.value:
        told.append(f"may request each {write_time(1e3 * requests.value)}")
    return ", ".join(told) or "–"


def _grants(flow: ServiceFlow) -> Iterator[str]:
    """Give the size of unsolicited grants and their interval, and the rate that both make."""
    size, interval = flow.grant_size, flow.grant_interval
    count = flow.grants_per_interval.value if flow.grants_per_interval else 1
    parts = []
    if size:
        parts.append(f"{count} × {write_size(size.value)}" if count > 1 else write_size(size.value))
    if interval:
        parts.append(f"each {write_time(1e3 * interval.value)}")
    if parts:
        yield " ".join(parts)
    if size and interval and interval.value:
        yield write_rate(round(count * size.value * 8e6 / interval.value))


def _size(size: Setting | None) -> str:
    return write_size(size.value) if size else "–"


def _buffer(buffer: Buffer | None) -> str:
    if buffer is None:
        return "–"
    return write_size(buffer.size) if buffer.path else f"{write_size(buffer.size)} (default)"


def _aqm(aqm: Aqm) -> str:
    if aqm.state == "off":
        return "off"
    if aqm.state == "unsaid":
        return "–"
    kept = write_time(aqm.target)
    return f"immediate, {kept}" if aqm.is_immediate else f"on, {kept}"


def _tell_mic(mic: Mic) -> str:
    words = {
        "right": "right",
        "wrong": "WRONG",
        "stale": "STALE",
        "missing": "not in the file",
        "unverifiable": "not verified",
    }
    return f"{mic.name} {words.get(mic.state, mic.state)}"


def _tell_others(document: Document) -> Iterator[str]:
    """Describe the rest of a file: numbers with their values, everything else with its size."""
    counts = Counter(tlv.type for tlv in document.tlvs)
    told: set[int] = set()
    for tlv in document.tlvs:
        number = tlv.type
        if number in _TOLD and not (number in (*FLOWS, *AGGREGATES) and tlv.nested is None):
            continue
        if number == 43:
            yield _tell_vendor(tlv)
            continue
        if number in told:
            continue
        told.add(number)
        yield _tell_type(document, tlv, counts[number])
    if document.rest:
        yield (
            f"{write_count(len(document.rest), 'byte')} from offset {document.rest_offset} on that"
            " are no TLV"
        )


def _tell_type(document: Document, tlv: Tlv, count: int) -> str:
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


def _tell_vendor(tlv: Tlv) -> str:
    """Name the vendor of a TLV 43; for DOCSIS extensions, name the settings too."""
    vendor = tlv.get(8)
    inner = [other for other in tlv.nested or () if other.type != 8]
    if vendor and vendor.hex == "ffffff":
        names = [write_name(other.name) if other.name else f"TLV {other.tlv}" for other in inner]
        return f"DOCSIS extension: {list_names(names, 6) or 'nothing'} (TLV {tlv.path})"
    whose = f"vendor {vendor.bytes.hex(':')}" if vendor else "a vendor without an id"
    held = write_size(len(tlv.bytes)) if tlv.nested is None else write_count(len(inner), "setting")
    return f"{held} of {whose} (TLV {tlv.path})"
