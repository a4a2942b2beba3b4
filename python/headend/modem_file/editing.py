"""Gives a modem's file the buffer, AQM or low latency of another file and keeps the rest."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from headend import _engine
from headend.errors import InputError
from headend.modem_file.document import END, PAD, Document, Tlv, read_document
from headend.modem_file.settings import (
    FLOWS,
    Aggregate,
    ServiceFlow,
    Settings,
    read_settings,
)
from headend.text.wording import write_count

#: The CM MIC and the CMTS MIC, which stand behind all settings.
_MICS = (6, 7)

#: Types of the TLVs of a file that are changed here.
_CLASSIFIERS = {"up": 22, "down": 23}
_VENDOR, _UPSTREAM_AQM_DISABLE = 43, 76

#: Types within a service flow or an aggregate.
_REFERENCE, _RATE, _BURST, _RESERVED, _PEAK, _BUFFER, _AGGREGATE, _AQM, _RATE_UNIT = (
    *(1, 8, 9, 10, 27, 35, 36, 40, 41),
)

#: Types within the AQM encodings that a queue discipline sets: whether it is off, its target, and
#: its algorithm.
_DISCIPLINE = (1, 2, 3)

#: Types within a classifier: the service flow, and the priority.
_FLOW, _PRIORITY = 3, 5

#: Types within the settings of the extended CMTS MIC (43.6): the bitmap of the types of TLVs that
#: it covers.
_EXTENDED_MIC, _BITMAP = 6, 2

#: The largest numbers of one byte and of two.
_BYTE, _WORD = 0xFF, 0xFFFF


def carry_queue(content: bytes, source: bytes) -> bytes:
    """Give a file the buffer and the AQM of another file's first upstream service flow.

    Parameters
    ----------
    content
        The bytes of the file.
    source
        The bytes of the other file.

    Returns
    -------
    bytes
        The file with other TLVs 24.35 and 24.40.1 to 24.40.3. Its message integrity checks are
        still those of the old content.

    Raises
    ------
    InputError
        A clause, where that cannot be done by these TLVs alone.
    """
    document = read_document(content)
    settings = read_settings(document)
    flow, other = (
        _find_first(settings, "up"),
        _find_first(read_settings(read_document(source)), "up"),
    )
    aggregate = settings.find_aggregate(flow)
    if aggregate and aggregate.low_latency and not _is_low_latency_off(settings):
        raise InputError(
            f"it has low latency today (TLV {aggregate.path}), which would have to be taken out of"
            " it"
        )
    return write_document(_enable_aqm(_put_queue(document, flow, other), other))


def carry_low_latency(content: bytes, source: bytes) -> bytes:
    """Give a file without aggregates the low latency of another file's first service flows.

    The rates of the first service flows move to the aggregates. The new service flows and
    classifiers take references that the file does not use. Where another classifier has the
    priority 0, which is that of the new ones, those of the file get a priority one higher. The
    extended CMTS MIC covers what is new.

    Parameters
    ----------
    content
        The bytes of the file.
    source
        The bytes of the other file.

    Raises
    ------
    InputError
        A clause, where that cannot be done soundly.
    """
    document = read_document(content)
    settings, other = read_settings(document), read_settings(read_document(source))
    _refuse_low_latency(settings)
    fresh: list[Tlv] = []
    references = _Numbers(
        (flow.reference.value for flow in settings.flows if flow.reference), _WORD, "service flow"
    )
    own = (one.reference for one in settings.classifiers if one.reference is not None)
    classifiers = _Numbers(own, _BYTE, "classifier")
    for aggregate, low in other.list_low_latency():
        way = aggregate.direction
        flow, classic = _find_first(settings, way), _find_first(other, way)
        number = references.take(_read_reference(low))
        document = _put_queue(document, flow, classic)
        document = _join(document, flow, _read_reference(aggregate))
        if way == "up":
            document = _enable_aqm(document, classic)
        document = _raise_priorities(document, way)
        for classifier in other.classifiers:
            if classifier.tlv.type == _CLASSIFIERS[way] and classifier.flow == _read_reference(low):
                taken = classifiers.take(classifier.reference or 1)
                fresh.append(
                    _put(_put_number(classifier.tlv, taken, 1, _REFERENCE), _leaf(_FLOW, number, 2))
                )
        fresh.append(_put_number(low.tlv, number, 2, _REFERENCE))
        fresh.append(_put_number(aggregate.tlv, number, 2, 42, 1))
    places = [place for place, tlv in enumerate(document.tlvs) if tlv.type in (*_MICS, END)]
    place = min(places, default=len(document.tlvs))
    fresh.sort(key=lambda tlv: tlv.type)
    tlvs = (*document.tlvs[:place], *fresh, *document.tlvs[place:])
    vendor = next(iter(_list_extended(read_document(source).tlvs)), None)
    new = {tlv.type for tlv in fresh}
    return write_document(replace(document, tlvs=_cover(tlvs, new, place + len(fresh), vendor)))


def write_document(document: Document) -> bytes:
    """Give the bytes of a document.

    Raises
    ------
    InputError
        A clause, where a TLV is too long.
    """
    text: dict[str, Any] = {
        "kind": document.kind,
        "tlvs": [_write_tlv(tlv) for tlv in document.tlvs],
    }
    if document.rest:
        text["rest"] = {"hex": document.rest.hex()}
    try:
        return _engine.config_from_text(json.dumps(text))
    except _engine.ConfigError as error:
        raise InputError(f"the changed file cannot be written: {error}") from error


def _write_tlv(tlv: Tlv) -> dict[str, Any]:
    if tlv.type == PAD:
        return {"tlv": tlv.tlv, "count": tlv.count}
    if tlv.nested is not None:
        return {"tlv": tlv.tlv, "nested": [_write_tlv(own) for own in tlv.nested]}
    return {"tlv": tlv.tlv} if tlv.tlv == str(END) else {"tlv": tlv.tlv, "hex": tlv.hex}


class _Numbers:
    """References that are not in use."""

    def __init__(self, used: Iterable[int], most: int, what: str) -> None:
        self._used = set(used)
        self._most = most
        self._what = what

    def take(self, wanted: int) -> int:
        """Take the number that is wanted, or else the least that is free."""
        numbers = chain((wanted,), range(1, self._most + 1))
        found = next((one for one in numbers if one not in self._used), None)
        if found is None:
            raise InputError(
                f"it has {write_count(len(self._used), self._what)}, and room for none"
            )
        self._used.add(found)
        return found


def _find_first(settings: Settings, direction: str) -> ServiceFlow:
    """Find the first service flow of a direction, which is the primary one."""
    found = next(iter(settings.list_flows(direction)), None)
    if found is None:
        number = next(own for own, way in FLOWS.items() if way == direction)
        raise InputError(f"it has no service flow of TLV {number}")
    return found


def _read_reference(one: ServiceFlow | Aggregate) -> int:
    if one.reference is None:
        raise InputError(f"TLV {one.path} has no reference")
    return one.reference.value


def _refuse_low_latency(settings: Settings) -> None:
    """Refuse a file in which low latency cannot be added by adding TLVs and moving rates."""
    if settings.aggregates:
        raise InputError(
            f"it has an aggregate service flow already (TLV {settings.aggregates[0].path})"
        )
    if _is_low_latency_off(settings):
        raise InputError("it turns low latency off (TLV 91)")
    for way in ("up", "down"):
        flow = _find_first(settings, way)
        if flow.service_class:
            raise InputError(
                f"its service flow of TLV {flow.path} has the service class {flow.service_class},"
                " whose values the CMTS has"
            )
        if flow.aggregate_reference:
            raise InputError(f"its service flow of TLV {flow.path} is in an aggregate already")
        # They would keep these packets from the low-latency flow, and no simulated line has them.
        for one in settings.classifiers:
            is_own = flow.reference is not None and one.flow == flow.reference.value
            if one.direction == way and is_own and one.is_active and not one.drops:
                raise InputError(
                    f"its {one.name} (TLV {one.path}) keeps {one.describe_packets()} in the first"
                    " service flow"
                )


def _is_low_latency_off(settings: Settings) -> bool:
    found = settings.low_latency_disabled
    return bool(found and found.value)


def _put_queue(document: Document, flow: ServiceFlow, other: ServiceFlow) -> Document:
    """Give a service flow the buffer of another, and what sets its queue discipline."""
    changed = _remove(flow.tlv, (_BUFFER,)) if other.tlv.get(_BUFFER) is None else flow.tlv
    if buffer := other.tlv.get(_BUFFER):
        changed = _put(changed, buffer)
    own, aqm = changed.get(_AQM), other.tlv.get(_AQM)
    kept = [one for one in (own.nested or () if own else ()) if one.type not in _DISCIPLINE]
    new = [one for one in (aqm.nested or () if aqm else ()) if one.type in _DISCIPLINE]
    if new or kept:
        nested = tuple(sorted([*new, *kept], key=lambda one: one.type))
        changed = _put(changed, replace(own or aqm or _leaf(_AQM, 0, 0), nested=nested))
    else:
        changed = _remove(changed, (_AQM,))
    return _exchange(document, flow, lambda _: changed)


def _join(document: Document, flow: ServiceFlow, aggregate: int) -> Document:
    """Make a service flow one of an aggregate, which has its rates, burst and peak rate."""

    def change(tlv: Tlv) -> Tlv:
        has_rate = tlv.get(_RESERVED) is not None
        gone = (_RATE, _BURST, _PEAK, *(() if has_rate else (_RATE_UNIT,)))
        return _put(_remove(tlv, gone), _leaf(_AGGREGATE, aggregate, 2))

    return _exchange(document, flow, change)


def _enable_aqm(document: Document, other: ServiceFlow) -> Document:
    """Take out the TLV that disables every AQM upstream; other service flows get AQM disabled."""
    disabled = document.get(_UPSTREAM_AQM_DISABLE)
    is_on = other.aqm_disabled is not None and other.aqm_disabled.value == 0
    if disabled is None or not disabled.number or not is_on:
        return document
    for one in read_settings(document).list_flows("up")[1:]:
        document = _exchange(document, one, _disable_aqm)
    rest = tuple(tlv for tlv in document.tlvs if tlv.type != _UPSTREAM_AQM_DISABLE)
    return replace(document, tlvs=rest)


def _disable_aqm(tlv: Tlv) -> Tlv:
    aqm = tlv.get(_AQM) or replace(_leaf(_AQM, 0, 0), nested=())
    return _put(tlv, _put(aqm, _leaf(1, 1, 1)))


def _raise_priorities(document: Document, way: str) -> Document:
    """Raise the priority of all classifiers of a direction by one, if one has the lowest."""
    own = [tlv for tlv in document.all(_CLASSIFIERS[way]) if tlv.nested is not None]
    priorities = [found.number or 0 if (found := tlv.get(_PRIORITY)) else 0 for tlv in own]
    if 0 not in priorities:
        return document
    if max(priorities) >= _BYTE:
        raise InputError(
            f"its classifiers of TLV {_CLASSIFIERS[way]} have priorities from 0 to 255"
        )
    raised = {
        tlv.offset: _put(tlv, _leaf(_PRIORITY, priority + 1, 1))
        for tlv, priority in zip(own, priorities, strict=True)
    }
    return replace(document, tlvs=tuple(raised.get(tlv.offset, tlv) for tlv in document.tlvs))


def _cover(
    tlvs: Sequence[Tlv], new: Collection[int], place: int, vendor: Tlv | None
) -> tuple[Tlv, ...]:
    """Let the extended CMTS MIC cover new types too; without one, take the other file's."""
    if not any(_list_extended(tlvs)):
        types = {tlv.type for tlv in tlvs if tlv.type not in (PAD, END, _MICS[1])}
        fresh = () if vendor is None else (_set_bitmap(vendor, types | {_MICS[0], _VENDOR}, b""),)
        return (*tlvs[:place], *fresh, *tlvs[place:])
    found = {id(tlv) for tlv in _list_extended(tlvs)}
    return tuple(
        _set_bitmap(tlv, new, _read_bitmap(tlv)) if id(tlv) in found else tlv for tlv in tlvs
    )


def _list_extended(tlvs: Iterable[Tlv]) -> Iterator[Tlv]:
    """Give the TLVs 43 with settings of the extended CMTS MIC."""
    return (tlv for tlv in tlvs if tlv.type == _VENDOR and tlv.get(_EXTENDED_MIC, _BITMAP))


def _read_bitmap(tlv: Tlv) -> bytes:
    found = tlv.get(_EXTENDED_MIC, _BITMAP)
    return found.bytes if found else b""


def _set_bitmap(tlv: Tlv, types: Collection[int], known: bytes) -> Tlv:
    bits = bytearray(known)
    for number in types:
        bits.extend(bytes(max(0, number // 8 + 1 - len(bits))))
        bits[number // 8] |= 0x80 >> (number % 8)
    mic = tlv.get(_EXTENDED_MIC)
    return tlv if mic is None else _put(tlv, _put(mic, _bytes(_BITMAP, bytes(bits))))


def _exchange(document: Document, flow: ServiceFlow, change: Callable[[Tlv], Tlv]) -> Document:
    """Change the TLV of a service flow."""
    tlvs = tuple(
        change(tlv) if tlv.type == flow.tlv.type and tlv.path == flow.path else tlv
        for tlv in document.tlvs
    )
    return replace(document, tlvs=tlvs)


def _put(tlv: Tlv, inner: Tlv) -> Tlv:
    """Put a TLV into another: in the place of the first of its type, else in the order of types."""
    types = tuple(one.type for one in tlv.nested or ())
    inner = _rename(inner, f"{tlv.tlv}.{inner.type}")
    nested = tlv.nested or ()
    if inner.type in types:
        place, rest = types.index(inner.type), types.index(inner.type) + 1
    else:
        place = next((own for own, number in enumerate(types) if number > inner.type), len(types))
        rest = place
    return replace(tlv, nested=(*nested[:place], inner, *nested[rest:]))


def _put_number(tlv: Tlv, number: int, size: int, *types: int) -> Tlv:
    """Set a number somewhere within a TLV, by the types down to it."""
    first, *further = types
    inner = tlv.get(first)
    if further and inner is not None:
        return _put(tlv, _put_number(inner, number, size, *further))
    return _put(tlv, _leaf(first, number, size))


def _remove(tlv: Tlv, types: Collection[int]) -> Tlv:
    return replace(tlv, nested=tuple(one for one in tlv.nested or () if one.type not in types))


def _leaf(number: int, value: int, size: int) -> Tlv:
    return _bytes(number, value.to_bytes(size, "big"))


def _bytes(number: int, value: bytes) -> Tlv:
    return Tlv(f"{number}", f"{number}", None, 0, hex=value.hex())


def _rename(tlv: Tlv, types: str) -> Tlv:
    """Give a TLV, and all within it, the types of another place."""
    nested = tlv.nested
    inner = None if nested is None else tuple(_rename(one, f"{types}.{one.type}") for one in nested)
    return replace(tlv, tlv=types, path=types, nested=inner)
