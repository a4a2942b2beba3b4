"""Describes changes between two files of a modem, and the effect on a full buffer's delay.

Service flows, aggregates and classifiers are matched by their reference, then by their place;
everything else by its place among the TLVs of its type.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain, islice
from typing import Any, Literal, TypeVar

from headend.modem_file.classifying import CLASSIFIERS, Classifier
from headend.modem_file.delay import (
    Buffer,
    find_aqm,
    find_buffer,
    find_protection,
    find_ramp,
    is_immediate_aqm,
)
from headend.modem_file.document import END, PAD, Document, Tlv, read_document
from headend.modem_file.low_latency import (
    find_coupling,
    tell_aggregate,
    tell_protection,
    tell_ramp,
    tell_weight,
)
from headend.modem_file.settings import (
    AGGREGATES,
    FLOWS,
    RATE_UNITS,
    Aggregate,
    Bundle,
    ServiceFlow,
    Setting,
    Settings,
    read_settings,
)
from headend.modem_file.words import (
    write_name,
    write_rate,
    write_size,
    write_time,
    write_value,
)
from headend.text.wording import capitalise, write_count

#: The subject of a change. ``flow`` is a service flow that was added or removed. ``form`` is a
#: difference in bytes that means the same.
Kind = Literal[
    "flow",
    "rate",
    "burst",
    "buffer",
    "aqm",
    "low_latency",
    "classifier",
    "setting",
    "integrity",
    "form",
]

#: The CM MIC and the CMTS MIC.
_MICS = {6: "CM MIC", 7: "CMTS MIC"}

#: Rates of a flow by their sub-TLV, and the TLV of their unit.
_RATES = {8: "sustained rate", 10: "reserved rate", 27: "peak rate"}
_UNIT = 41

#: Values of a flow by their types below the flow: their names in sentences, and the subject of a
#: change.
_NAMED: dict[str, tuple[str, Kind]] = {
    "4": ("service class", "setting"),
    "7": ("traffic priority", "setting"),
    "9": ("maximum burst", "burst"),
    "15": ("scheduling type", "setting"),
    "35.1": ("minimum buffer", "buffer"),
    "35.2": ("target buffer", "buffer"),
    "35.3": ("maximum buffer", "buffer"),
    "40.2": ("AQM latency target", "aqm"),
    "40.3": ("AQM algorithm", "aqm"),
    "40.4": ("maximum threshold of the immediate AQM", "aqm"),
    "40.5": ("ramp range exponent of the immediate AQM", "aqm"),
    "40.6": ("edges of the latency histogram", "aqm"),
}

#: The most changes that are given; files that differ in more have little in common.
MOST_TOLD = 1000

#: Longer lists of TLVs are matched by place alone: the time to match them grows with the square of
#: their number.
_MOST_MATCHED = 2000

_Named = TypeVar("_Named", ServiceFlow, Aggregate, Classifier)


@dataclass(frozen=True)
class Change:
    """One change.

    Parameters
    ----------
    kind
        Its subject.
    path
        The path of the TLV in the new file, or in the old one if the new one does not have it. None
        if the change concerns the whole file.
    text
        What changed: a sentence.
    old, new
        The values in words; None where there was or is none.
    """

    kind: Kind
    path: str | None
    text: str
    old: str | None = None
    new: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Give it as an object of JSON."""
        return {
            "kind": self.kind,
            "path": self.path,
            "text": self.text,
            "old": self.old,
            "new": self.new,
        }


def diff(old: bytes, new: bytes) -> list[Change]:
    """Say what changed from one file to another.

    Parameters
    ----------
    old, new
        The bytes of the files. Any bytes can be compared.

    Returns
    -------
    list of Change
        Service flows first, then aggregates, classifiers, other settings, message integrity checks,
        and differences in bytes that mean the same. Empty if, and only if, the files are equal byte
        for byte.
    """
    if old == new:
        return []
    changes = list(compare(read_document(old), read_document(new)))
    return changes or [Change("form", None, "The files differ in bytes that mean the same.")]


def compare(old: Document, new: Document) -> Iterator[Change]:
    """Give the changes between two files that differ in their bytes."""
    before, after = read_settings(old), read_settings(new)
    found = chain(
        _compare_kind(old, new),
        _compare_flows(before, after),
        _compare_aggregates(before, after),
        _compare_classifiers(before, after),
        _compare_others(old, new),
    )
    changes = list(islice(found, MOST_TOLD))
    yield from changes
    if next(found, None):
        yield Change(
            "setting", None, f"There are further changes: only the first {MOST_TOLD} are shown."
        )
    yield from _compare_mics(old, new)
    yield from _compare_form(old, new, has_changes=bool(changes))


def _compare_kind(old: Document, new: Document) -> Iterator[Change]:
    if old.kind != new.kind:
        names = {"cable_modem": "a cable modem's", "mta": "an MTA's"}
        was, now = names[old.kind], names[new.kind]
        yield Change("setting", None, f"The file is {now}, before {was}.", was, now)


def _compare_flows(before: Settings, after: Settings) -> Iterator[Change]:
    for direction in ("up", "down"):
        pairs = _match(before.list_flows(direction), after.list_flows(direction))
        for was, now in pairs:
            if was is None and now is not None:
                told = _describe_flow(now, after)
                text = (
                    f"{capitalise(now.name)} is new{f': {told}' if told else ''} (TLV {now.path})."
                )
                yield Change("flow", now.path, text, None, told or now.name)
            elif now is None and was is not None:
                text = f"{capitalise(was.name)} is gone (TLV {was.path} of the old file)."
                yield Change("flow", was.path, text, _describe_flow(was, before) or was.name, None)
            elif was is not None and now is not None:
                yield from _compare_flow(was, now, before, after)


def _compare_flow(
    was: ServiceFlow, now: ServiceFlow, before: Settings, after: Settings
) -> Iterator[Change]:
    changes = list(_compare_bundle(was, now))
    effect = _tell_effect(find_buffer(was, before), find_buffer(now, after))
    last = _find_cause(changes, find_buffer(was, before), find_buffer(now, after))
    for place, change in enumerate(changes):
        told = f"{change.text}: {effect}" if effect and place == last else change.text
        yield _close(change, told)
    if effect and last is None:
        text = (
            f"{capitalise(now.name)}: {effect}, since another TLV sets its rate or default buffer"
        )
        yield _close(Change("buffer", now.path, ""), text)
    yield from _compare_aqm(was, now, before, after)
    yield from _compare_ramp(was, now, before, after)


def _compare_ramp(
    was: ServiceFlow, now: ServiceFlow, before: Settings, after: Settings
) -> Iterator[Change]:
    """Describe the effect on a low-latency flow's marks: of thresholds or rates."""
    if not (is_immediate_aqm(was, before) and is_immediate_aqm(now, after)):
        return
    if "off" in (find_aqm(was, before).state, find_aqm(now, after).state):
        return
    ramps = [find_ramp(was, before), find_ramp(now, after)]
    old, new = map(tell_ramp, ramps)
    if old != new:
        threshold = now.maximum_threshold or now.ramp_exponent
        path = threshold.path if threshold else now.path
        earlier = f"{write_time(ramps[0].low)} and {write_time(ramps[0].high)}"
        text = f"{capitalise(now.name)}: {new}; before from {earlier} on."
        yield Change("aqm", path, text, old, new)


def _find_cause(changes: Sequence[Change], was: Buffer | None, now: Buffer | None) -> int | None:
    """Find the change that the delay's effect is told with: the buffer's size, else the last."""
    places = [place for place, change in enumerate(changes) if change.kind in ("rate", "buffer")]
    for buffer in (now, was):
        if buffer and buffer.path:
            for place in places:
                if changes[place].path == buffer.path and changes[place].kind == "buffer":
                    return place
    rates = [place for place in places if changes[place].kind == "rate"]
    told = rates or places
    return told[-1] if told else None


def _compare_aqm(
    was: ServiceFlow, now: ServiceFlow, before: Settings, after: Settings
) -> Iterator[Change]:
    """Describe the effect on the delay where the AQM of a flow was turned off or on."""
    old, new = find_aqm(was, before), find_aqm(now, after)
    if (old.state == "off") == (new.state == "off") or now.is_unsolicited:
        return
    buffer = find_buffer(now, after)
    full = "the delay of a full buffer, which the file does not say"
    if buffer and buffer.delay is not None:
        full = f"the {write_time(buffer.delay)} of a full buffer of {write_size(buffer.size)}"
    load = "upload" if now.direction == "up" else "download"
    name = capitalise(now.name)
    if new.state == "off":
        paths = " and ".join(new.paths)
        kept = write_time(old.target)
        text = f"{name}: without AQM ({paths}) each {load} brings {full}, before about {kept}"
        yield _close(Change("aqm", new.paths[0], "", "on", "off"), text)
    else:
        kept = write_time(new.target)
        keeps = (
            f"it keeps about {kept} beside each {load}, before {full}"
            if new.state == "on"
            else (
                f"a modem with DOCSIS-PIE (3.1 and later) keeps about {kept} beside each {load},"
                f" one without has {full}"
            )
        )
        text = f"{name}: its AQM is no longer off: {keeps}"
        yield _close(Change("aqm", now.path, "", "off", new.state), text)


def _compare_aggregates(before: Settings, after: Settings) -> Iterator[Change]:
    for direction in ("up", "down"):
        olds = [one for one in before.aggregates if one.direction == direction]
        news = [one for one in after.aggregates if one.direction == direction]
        for was, now in _match(olds, news):
            if was is None and now is not None:
                text = f"{capitalise(now.name)} is new (TLV {now.path})."
                if told := tell_aggregate(now, after):
                    text = f"{text} {told}"
                yield Change("low_latency", now.path, text, None, now.name)
            elif now is None and was is not None:
                text = f"{capitalise(was.name)} is gone (TLV {was.path} of the old file)."
                yield Change("low_latency", was.path, text, was.name, None)
            elif was is not None and now is not None:
                for change in _compare_bundle(was, now):
                    kind: Kind = "low_latency" if change.kind == "setting" else change.kind
                    own = Change(kind, change.path, "", change.old, change.new)
                    effect = _tell_low_latency(change, (was, before), (now, after))
                    yield _close(own, f"{change.text}: {effect}" if effect else change.text)


def _tell_low_latency(
    change: Change, old: tuple[Aggregate, Settings], new: tuple[Aggregate, Settings]
) -> str | None:
    """Describe the effect of a change of low-latency encodings (42.5 to 42.10), or None."""
    path = change.path or ""
    number = path.rpartition(".42.")[2]
    if number == "6":
        return tell_weight(*new)
    if number == "5":
        factors = [find_coupling(one) / 10 for one, _ in (old, new)]
        if not factors[1]:
            return (
                "the classic flow's AQM no longer marks low-latency packets, which take the rate"
                " from classic flows"
            )
        return (
            f"a low-latency packet is marked with {factors[1]:g} times the base probability of the"
            f" classic flow's AQM, before {factors[0]:g} times"
        )
    if number in ("7", "8", "9", "10"):
        low = new[1].find_low(new[0])
        return tell_protection(find_protection(new[0], low, new[1])) if low else None
    return None


def _compare_classifiers(before: Settings, after: Settings) -> Iterator[Change]:
    for number in CLASSIFIERS:
        olds = [one for one in before.classifiers if one.tlv.type == number]
        news = [one for one in after.classifiers if one.tlv.type == number]
        for was, now in _match(olds, news):
            if was is None and now is not None:
                told = now.describe()
                text = f"{capitalise(now.name)} is new: {told} (TLV {now.path})."
                yield Change("classifier", now.path, text, None, told)
            elif now is None and was is not None:
                told = was.describe()
                text = f"{capitalise(was.name)} is gone: {told} (TLV {was.path} of the old file)."
                yield Change("classifier", was.path, text, told, None)
            elif was is not None and now is not None and was.tlv.hex != now.tlv.hex:
                old, new = was.describe(), now.describe()
                if old != new:
                    text = f"{capitalise(now.name)}: {old}; now {new} (TLV {now.path})."
                    yield Change("classifier", now.path, text, old, new)
                else:
                    yield from _compare_inner(now.name, was.tlv, now.tlv, "classifier")


def _compare_bundle(was: Bundle, now: Bundle) -> Iterator[Change]:
    """Compare the settings of two flows or aggregates. The sentences have no full stop yet."""
    name = capitalise(now.name)
    if was.tlv.hex == now.tlv.hex:
        return
    yield from _compare_rates(name, was, now)
    olds = {key: tlv for key, tlv in _leaves(was.tlv) if key not in _rate_keys()}
    news = {key: tlv for key, tlv in _leaves(now.tlv) if key not in _rate_keys()}
    for key in [*news, *(key for key in olds if key not in news)]:
        old, new = olds.get(key), news.get(key)
        if (old.hex if old else None) == (new.hex if new else None):
            continue
        yield _compare_value(name, was.tlv.type, key, old, new)


def _compare_rates(name: str, was: Bundle, now: Bundle) -> Iterator[Change]:
    unit = RATE_UNITS.get(now.rate_unit.value, 1) if now.rate_unit else 1
    for number, what in _RATES.items():
        old, new = (_find_rate(one, number) for one in (was, now))
        if old is None and new is None:
            continue
        path = (new or old or _never()).path
        before, after = (None if one is None else one.value for one in (old, new))
        if before != after:
            words = [_write_limit(one) for one in (before, after)]
            text = f"{name}: {what} {words[0]} → {words[1]} (TLV {path})"
            yield Change("rate", path, text, words[0], words[1])
        elif old and new and old.tlv.hex != new.tlv.hex:
            text = (
                f"{name}: {what} is {_write_limit(after)} as before, now in units of"
                f" {write_rate(unit)} (TLV {path})"
            )
            yield Change("form", path, text, _write_limit(before), _write_limit(after))
    old_unit, new_unit = (one.tlv.get(_UNIT) for one in (was, now))
    if (old_unit.hex if old_unit else "00") != (new_unit.hex if new_unit else "00"):
        path = (new_unit or old_unit or _never()).path
        units = [
            write_value(tlv.meaning or tlv.shown, tlv.hex) if tlv else "none"
            for tlv in (old_unit, new_unit)
        ]
        yield Change(
            "form", path, f"{name}: data rate unit {units[0]} → {units[1]} (TLV {path})", *units
        )
    elif (old_unit is None) != (new_unit is None):
        path = (new_unit or old_unit or _never()).path
        units = ["none" if tlv is None else "bit/s" for tlv in (old_unit, new_unit)]
        yield Change(
            "form",
            path,
            f"{name}: data rate unit {units[0]} → {units[1]}, which is the same (TLV {path})",
            *units,
        )


def _compare_value(name: str, top: int, key: str, old: Tlv | None, new: Tlv | None) -> Change:
    """Describe the change of one value of a flow."""
    tlv = new or old or _never()
    if key == "40.1" and top in FLOWS:
        said = [
            "unsaid" if one is None else "on" if one.number == 0 else "off" for one in (old, new)
        ]
        return Change("aqm", tlv.path, f"{name}: AQM {said[0]} → {said[1]} (TLV {tlv.path})", *said)
    what, kind = _NAMED.get(key, (_name_tlv(tlv), "setting"))
    if key.startswith("42."):
        kind = "low_latency"
    written = [_write(one, key) for one in (old, new)]
    text = f"{name}: {what} {written[0]} → {written[1]} (TLV {tlv.path})"
    return Change(kind, tlv.path, text, written[0] if old else None, written[1] if new else None)


def _compare_others(old: Document, new: Document) -> Iterator[Change]:
    """Compare the TLVs that are no flow, aggregate, classifier or MIC, type by type."""
    told = {*FLOWS, *AGGREGATES, *CLASSIFIERS}
    by_type: dict[int, tuple[list[Tlv], list[Tlv]]] = {}
    for place, document in ((1, new), (0, old)):
        for tlv in document.tlvs:
            # A flow that could not be decoded is compared by its bytes.
            if tlv.type not in (*_MICS, PAD, END) and (tlv.type not in told or tlv.nested is None):
                by_type.setdefault(tlv.type, ([], []))[place].append(tlv)
    for olds, news in by_type.values():
        yield from _compare_lists(olds, news)


def _compare_lists(olds: Sequence[Tlv], news: Sequence[Tlv]) -> Iterator[Change]:
    """Compare the TLVs of one type: which were added, removed, or changed in their place."""
    old_values, new_values = ([tlv.hex for tlv in tlvs] for tlvs in (olds, news))
    if old_values == new_values or sorted(old_values) == sorted(new_values):
        return
    if max(len(olds), len(news)) > _MOST_MATCHED:
        steps = [("replace", 0, len(olds), 0, len(news))]
    else:
        steps = list(SequenceMatcher(None, old_values, new_values, autojunk=False).get_opcodes())
    for what, start, end, new_start, new_end in steps:
        if what == "equal":
            continue
        gone, come = list(olds[start:end]), list(news[new_start:new_end])
        for was, now in zip(gone, come, strict=False):
            if was.hex != now.hex:
                yield from _compare_pair(was, now)
        for tlv in gone[len(come) :]:
            text = (
                f"{capitalise(_name_tlv(tlv))} {_write(tlv)} is gone (TLV {tlv.path} of the old"
                " file)."
            )
            yield Change("setting", tlv.path, text, _write(tlv), None)
        for tlv in come[len(gone) :]:
            text = f"{capitalise(_name_tlv(tlv))} {_write(tlv)} is new (TLV {tlv.path})."
            yield Change("setting", tlv.path, text, None, _write(tlv))


def _compare_pair(was: Tlv, now: Tlv) -> Iterator[Change]:
    if was.nested is not None and now.nested is not None:
        yield from _compare_inner(_name_tlv(now), was, now, "setting")
        return
    old, new = _write(was), _write(now)
    if now.tlv == "76":
        old, new = ("on" if tlv.number == 0 else "off" for tlv in (was, now))
        text = f"AQM of every upstream service flow {old} → {new} (TLV {now.path})."
        yield Change("aqm", now.path, text, old, new)
    else:
        name = capitalise(_name_tlv(now))
        # For an SNMP object, only the value is compared: its place in the tree of objects is part
        # of its name.
        (was_at, _, before), (now_at, is_object, after) = old.partition(" = "), new.partition(" = ")
        if is_object and was_at == now_at:
            name, old, new = f"{name} {now_at}:", before, after
        yield Change("setting", now.path, f"{name} {old} → {new} (TLV {now.path}).", old, new)


def _compare_inner(name: str, was: Tlv, now: Tlv, kind: Kind) -> Iterator[Change]:
    """Compare the TLVs in two TLVs, value by value."""
    olds, news = dict(_leaves(was)), dict(_leaves(now))
    for key in [*news, *(key for key in olds if key not in news)]:
        old, new = olds.get(key), news.get(key)
        if (old.hex if old else None) == (new.hex if new else None):
            continue
        tlv = new or old or _never()
        words = [_write(one) for one in (old, new)]
        text = f"{capitalise(name)}: {_name_tlv(tlv)} {words[0]} → {words[1]} (TLV {tlv.path})."
        yield Change(kind, tlv.path, text, words[0] if old else None, words[1] if new else None)


def _compare_mics(old: Document, new: Document) -> Iterator[Change]:
    for number, name in _MICS.items():
        was, now = old.get(number), new.get(number)
        if (was.hex if was else None) == (now.hex if now else None):
            continue
        tlv = now or was or _never()
        if was is None or now is None:
            text = f"The {name} is {'gone' if now is None else 'new'} (TLV {tlv.path})."
        else:
            text = f"The {name} differs (TLV {tlv.path})."
        yield Change(
            "integrity", tlv.path, text, was.hex if was else None, now.hex if now else None
        )


def _compare_form(old: Document, new: Document, *, has_changes: bool) -> Iterator[Change]:
    """Describe differences that change nothing: order of TLVs, end marker, bytes after it."""
    orders = [[tlv.tlv for tlv in one.tlvs if tlv.type not in (PAD, END)] for one in (old, new)]
    contents = [
        [(tlv.tlv, tlv.hex) for tlv in one.tlvs if tlv.type not in (PAD, END)] for one in (old, new)
    ]
    if (
        not has_changes
        and contents[0] != contents[1]
        and sorted(contents[0]) == sorted(contents[1])
    ):
        yield Change("form", None, "The order of the TLVs differs; their values are the same.")
    elif sorted(orders[0]) == sorted(orders[1]) and orders[0] != orders[1]:
        yield Change("form", None, "The order of the TLVs differs.")
    elif not has_changes and _inner_order_differs(contents[0], contents[1]):
        yield Change(
            "form", None, "The order of the TLVs within others, or their padding, differs."
        )
    ends = [one.get(END) is not None for one in (old, new)]
    if ends[0] != ends[1]:
        yield Change("form", None, f"The end marker (TLV 255) is {'new' if ends[1] else 'gone'}.")
    pads = [sum(tlv.count for tlv in one.tlvs if tlv.type == PAD) for one in (old, new)]
    # Where settings changed, the number of pads up to a multiple of four bytes changes too.
    if pads[0] != pads[1] and not has_changes:
        words = [write_count(pad, "byte") for pad in pads]
        yield Change("form", None, f"Padding: {words[0]} → {words[1]}.", *words)
    elif _places_of_pads(old) != _places_of_pads(new) and not has_changes:
        yield Change("form", None, "The pads stand in other places.")
    if old.rest != new.rest:
        words = [write_count(len(one.rest), "byte") for one in (old, new)]
        text = f"Bytes at the end that are no TLV: {words[0]} → {words[1]}"
        same = ", with other values" if words[0] == words[1] else ""
        yield Change("form", None, f"{text}{same}.", old.rest.hex() or None, new.rest.hex() or None)


def _inner_order_differs(old: Sequence[tuple[str, str]], new: Sequence[tuple[str, str]]) -> bool:
    settings = [[own for own in one if own[0] not in ("6", "7")] for one in (old, new)]
    return settings[0] != settings[1]


def _places_of_pads(document: Document) -> list[int]:
    places, seen = [], 0
    for tlv in document.tlvs:
        if tlv.type == PAD:
            places.append(seen)
        else:
            seen += 1
    return places


def _match(
    olds: Sequence[_Named], news: Sequence[_Named]
) -> list[tuple[_Named | None, _Named | None]]:
    """Pair those of equal reference, then those that differ only in it. None: no partner."""
    partners: dict[int, _Named] = {}
    left: dict[int, _Named] = dict(enumerate(olds))
    for key in (_number, _content):
        waiting: dict[object, list[int]] = {}
        for place, old in reversed(left.items()):
            waiting.setdefault(key(old), []).append(place)
        for place, new in enumerate(news):
            found = None if place in partners else waiting.get(key(new))
            if found:
                partners[place] = left.pop(found.pop())
    pairs: list[tuple[_Named | None, _Named | None]] = [
        (partners.get(place), new) for place, new in enumerate(news)
    ]
    return pairs + [(old, None) for old in left.values()]


def _number(one: ServiceFlow | Aggregate | Classifier) -> object:
    """Give its reference, or an object that equals no other if it has none."""
    reference = one.reference
    number = reference.value if isinstance(reference, Setting) else reference
    return object() if number is None else number


def _content(one: ServiceFlow | Aggregate | Classifier) -> object:
    """Give all TLVs that it holds except its reference."""
    return tuple((tlv.tlv, tlv.hex) for tlv in one.tlv.nested or () if tlv.type != 1)


def _leaves(tlv: Tlv) -> Iterator[tuple[str, Tlv]]:
    """Give the values within a TLV by types, with the place of repeated: ``35.2``, ``43[2].8``."""
    for inner in tlv.nested or ():
        for own in inner.walk():
            if own.nested is None or not own.nested:
                # A TLV that occurs once in one file and twice in the other keeps its name.
                yield own.path[len(tlv.path) + 1 :].replace("[1]", ""), own


def _rate_keys() -> tuple[str, ...]:
    return tuple(str(number) for number in (*_RATES, _UNIT))


def _find_rate(bundle: Bundle, number: int) -> Setting | None:
    return {8: bundle.rate, 10: bundle.reserved, 27: bundle.peak}[number]


def _write_limit(rate: int | None) -> str:
    if rate is None:
        return "none"
    return "0 (no limit)" if rate == 0 else write_rate(rate)


def _write(tlv: Tlv | None, key: str = "") -> str:
    """Write a value in words: sizes with all digits, enumerations by meaning, unknown as bytes."""
    if tlv is None:
        return "none"
    if tlv.nested is not None:
        return f"of {write_count(len(tlv.nested), 'TLV')}"
    if key in ("9", "35.1", "35.2", "35.3") and tlv.number is not None:
        return write_size(tlv.number)
    if tlv.meaning:
        return f"{write_value(tlv.shown, tlv.hex)} ({tlv.meaning})"
    return write_value(tlv.shown, tlv.hex)


def _name_tlv(tlv: Tlv) -> str:
    return write_name(tlv.name) if tlv.name else f"TLV {tlv.tlv}"


def _describe_flow(flow: ServiceFlow, settings: Settings) -> str:
    """Describe the settings of a flow that was added or removed."""
    told = [
        f"{what} {write_rate(rate.value)}"
        for what, rate in (("sustained rate", flow.rate), ("peak rate", flow.peak))
        if rate and rate.value
    ]
    if flow.service_class:
        told.insert(0, f"service class {flow.service_class}")
    buffer = find_buffer(flow, settings)
    if buffer and buffer.path and buffer.delay is not None:
        told.append(f"buffer {write_size(buffer.size)}, {write_time(buffer.delay)} when full")
    return ", ".join(told)


def _tell_effect(was: Buffer | None, now: Buffer | None) -> str | None:
    """Describe how the delay of a full buffer changed; None if not known or unchanged."""
    if was is None or now is None or was.delay is None or now.delay is None or now.rate is None:
        return None
    before, after = write_time(was.delay), write_time(now.delay)
    if before == after:
        return None
    default = "" if now.path else " (the specification's default)"
    return (
        f"at {write_rate(now.rate)} a full buffer of {write_size(now.size)}{default} delays by"
        f" {after}, before by {before}"
    )


def _close(change: Change, text: str) -> Change:
    return Change(change.kind, change.path, f"{text.rstrip('.')}.", change.old, change.new)


def _never() -> Any:
    raise AssertionError("one of the two is there")
