"""Describes changes between two files of a modem, and the effect on a full buffer's delay.

Service flows, aggregates and classifiers are matched by their reference, then by their place;
everything else by its place among the TLVs of its type.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from difflib import SequenceMatcher
from itertools import chain, islice
from typing import Any, Literal, TypeVar

from headend.modem_file.classifying import CLASSIFIERS, Classifier
from headend.modem_file.document import END, PAD, Document, Tlv, read_document
from headend.modem_file.generation import PRESET, Generation
from headend.modem_file.low_latency import (
    describe_aggregate,
    describe_protection,
    describe_ramp,
    describe_weight,
)
from headend.modem_file.settings import (
    AGGREGATES,
    FLOWS,
    RATES,
    Aggregate,
    Buffer,
    Bundle,
    ServiceFlow,
    Setting,
    Settings,
    read_settings,
)
from headend.modem_file.words import (
    DIRECTIONS,
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

#: The TLV of the unit of rates, and the keys of both.
_UNIT = 41
_RATE_KEYS = tuple(map(str, (*RATES, _UNIT)))

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
        return asdict(self)


def diff(old: bytes, new: bytes, preset: str = PRESET) -> list[Change]:
    """Say what changed from one file to another.

    Parameters
    ----------
    old, new
        The bytes of the files. Any bytes can be compared.
    preset
        The generation of the modem, which decides what it does where a file says nothing.

    Returns
    -------
    list of Change
        Service flows first, then aggregates, classifiers, other settings, message integrity checks,
        and differences in bytes that mean the same. Empty if, and only if, the files are equal byte
        for byte.
    """
    if old == new:
        return []
    changes = list(compare(read_document(old), read_document(new), preset))
    return changes or [Change("form", None, "The files differ in bytes that mean the same.")]


def compare(old: Document, new: Document, preset: str = PRESET) -> Iterator[Change]:
    """Give the changes between two files that differ in their bytes."""
    before, after = (read_settings(one, preset) for one in (old, new))
    found = chain(
        _compare_kind(old, new),
        *(_compare_flows(before, after, way) for way in DIRECTIONS),
        *(_compare_aggregates(before, after, way) for way in DIRECTIONS),
        *(_compare_classifiers(before, after, number) for number in CLASSIFIERS),
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


def _compare_flows(before: Settings, after: Settings, way: str) -> Iterator[Change]:
    for was, now in _match(before.list_flows(way), after.list_flows(way)):
        if was and now:
            yield from _compare_flow(was, now, after.generation)
        elif one := was or now:
            yield _describe_one("flow", one, _describe_flow(one), is_new=was is None)


def _compare_aggregates(before: Settings, after: Settings, way: str) -> Iterator[Change]:
    lists = ([one for one in both.aggregates if one.direction == way] for both in (before, after))
    for was, now in _match(*lists):
        if was and now:
            yield from _compare_aggregate(was, now, after)
        elif one := was or now:
            told = describe_aggregate(one, after) if now else None
            change = _describe_one("low_latency", one, "", is_new=was is None)
            yield replace(change, text=f"{change.text} {told}") if told else change


def _compare_classifiers(before: Settings, after: Settings, number: int) -> Iterator[Change]:
    lists = (
        [one for one in both.classifiers if one.tlv.type == number] for both in (before, after)
    )
    for was, now in _match(*lists):
        if was is None or now is None:
            if one := was or now:
                yield _describe_one("classifier", one, one.describe(), is_new=was is None)
        elif (old := was.describe()) != (new := now.describe()):
            text = f"{capitalise(now.name)}: {old}; now {new} (TLV {now.path})."
            yield Change("classifier", now.path, text, old, new)
        else:
            yield from _compare_inner(now.name, was.tlv, now.tlv, "classifier")


def _describe_one(
    kind: Kind, one: ServiceFlow | Aggregate | Classifier, told: str, *, is_new: bool
) -> Change:
    """Tell of one that is new or gone; of a flow that is gone, its settings are not in the text."""
    words, more = told or one.name, f": {told}" if told else ""
    if is_new:
        text = f"{capitalise(one.name)} is new{more} (TLV {one.path})."
        return Change(kind, one.path, text, None, words)
    more = more if kind == "classifier" else ""
    text = f"{capitalise(one.name)} is gone{more} (TLV {one.path} of the old file)."
    return Change(kind, one.path, text, words, None)


def _compare_flow(was: ServiceFlow, now: ServiceFlow, generation: Generation) -> Iterator[Change]:
    changes = list(_compare_bundle(was, now))
    effect = _describe_effect(was.buffer, now.buffer)
    last = _find_cause(changes, was.buffer, now.buffer)
    for place, change in enumerate(changes):
        yield _close(change, effect if place == last else None)
    name = capitalise(now.name)
    if effect and last is None:
        text = f"{name}: {effect}, since another TLV sets its rate or default buffer"
        yield _close(Change("buffer", now.path, text))
    if _is_off(was) != _is_off(now) and not now.is_unsolicited:
        yield _describe_switched(was, now, generation)
    are_immediate = was.aqm.is_immediate and now.aqm.is_immediate
    if are_immediate and "off" not in (was.aqm.state, now.aqm.state):
        old, new = describe_ramp(was.ramp), describe_ramp(now.ramp)
        if old != new:
            threshold = now.maximum_threshold or now.ramp_exponent
            earlier = f"{write_time(was.ramp.low)} and {write_time(was.ramp.high)}"
            text = f"{name}: {new}; before from {earlier} on."
            yield Change("aqm", threshold.path if threshold else now.path, text, old, new)


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


def _is_off(flow: ServiceFlow) -> bool:
    """Whether a flow has no AQM. Of a downstream flow, whose queue is the CMTS's, the file says."""
    return not flow.aqm.runs if flow.direction == "up" else flow.aqm.state == "off"


def _describe_switched(was: ServiceFlow, now: ServiceFlow, generation: Generation) -> Change:
    """Describe the effect on the delay where the AQM of a flow was turned off or on."""
    # Without AQM it is the buffer of the file that has none which is full.
    buffer, load = (now if _is_off(now) else was).buffer, now.load
    full = "the delay of a full buffer, which the file does not say"
    if buffer and buffer.delay is not None:
        full = f"the {write_time(buffer.delay)} of a full buffer of {write_size(buffer.size)}"
    name, aqm = capitalise(now.name), now.aqm
    if _is_off(now):
        why = aqm.switches if aqm.state == "off" else generation.describe_absent(["24.40"])
        text = (
            f"{name}: without AQM ({why}) each {load} brings {full}, before about"
            f" {write_time(was.aqm.target)}."
        )
        return Change("aqm", aqm.paths[0] if aqm.paths else now.path, text, "on", aqm.state)
    aim = f"aims at {write_time(aqm.target)} beside each {load}"
    if aqm.runs:
        keeps = f"it {aim}, before {full}"
    else:  # the queue of a downstream flow is the CMTS's
        keeps = f"a CMTS with AQM {aim}, one without has {full}"
    told = "its AQM is no longer off" if was.aqm.state == "off" else "it has an AQM now"
    return Change("aqm", now.path, f"{name}: {told}: {keeps}.", was.aqm.state, aqm.state)


def _compare_aggregate(was: Aggregate, now: Aggregate, after: Settings) -> Iterator[Change]:
    for change in _compare_bundle(was, now):
        kind: Kind = "low_latency" if change.kind == "setting" else change.kind
        yield _close(replace(change, kind=kind), _describe_low_latency(change, was, now, after))


def _describe_low_latency(
    change: Change, was: Aggregate, now: Aggregate, after: Settings
) -> str | None:
    """Describe the effect of a change of 42.5 to 42.10, as a clause; None of any other change."""
    number = (change.path or "").rpartition(".42.")[2]
    if number == "6":
        return describe_weight(now)
    if number == "5" and not now.couples:
        return (
            "the classic flow's AQM no longer marks low-latency packets, which take the rate from"
            " classic flows"
        )
    if number == "5":
        return (
            f"a low-latency packet is marked with {now.couples / 10:g} times the base probability"
            f" of the classic flow's AQM, before {was.couples / 10:g} times"
        )
    has_protection = number in ("7", "8", "9", "10") and now.queue_protection
    return describe_protection(now.queue_protection) if has_protection else None


def _compare_bundle(was: Bundle, now: Bundle) -> Iterator[Change]:
    """Compare the settings of two flows or aggregates. The sentences have no full stop yet."""
    name, is_flow = capitalise(now.name), was.tlv.type in FLOWS
    yield from _compare_rates(name, was, now)
    for key, old, new in compare_leaves(was.tlv, now.tlv):
        if key in _RATE_KEYS:
            continue
        if key == "40.1" and is_flow:
            states = [
                "unsaid" if own is None else "on" if own.number == 0 else "off"
                for own in (old, new)
            ]
            change = _describe_change("aqm", f"{name}: AQM", old, new, states)
            yield replace(change, old=states[0], new=states[1])
            continue
        tlv = new or old or _never()
        what, kind = _NAMED.get(key, (tlv.called, "setting"))
        if key.startswith("42."):
            kind = "low_latency"
        words = [_write(one, key) for one in (old, new)]
        yield _describe_change(kind, f"{name}: {what}", old, new, words)


def _describe_change(
    kind: Kind, what: str, old: Tlv | None, new: Tlv | None, words: Sequence[str]
) -> Change:
    """Tell of a value before and after; the sentence has no full stop yet."""
    path = (new or old or _never()).path
    before, after = words
    text = f"{what} {before} → {after} (TLV {path})"
    return Change(kind, path, text, before if old else None, after if new else None)


def _compare_rates(name: str, was: Bundle, now: Bundle) -> Iterator[Change]:
    for number, what in RATES.items():
        old, new = was.get_rate(number), now.get_rate(number)
        if not (one := new or old):
            continue
        before, after = (_write_limit(own) for own in (old, new))
        if (old and old.value) != (new and new.value):
            text = f"{name}: {what} {before} → {after} (TLV {one.path})"
            yield Change("rate", one.path, text, before, after)
        elif _hex(was.tlv.get(number)) != _hex(now.tlv.get(number)):
            unit = write_rate(now.unit)
            text = f"{name}: {what} is {after} as before, now in units of {unit} (TLV {one.path})"
            yield Change("form", one.path, text, before, after)
    units = [one.tlv.get(_UNIT) for one in (was, now)]
    powers = [unit.hex if unit else "00" for unit in units]
    if (own := units[1] or units[0]) and (None in units or powers[0] != powers[1]):
        same = ", which is the same" if powers[0] == powers[1] else ""
        words = [
            "none"
            if unit is None
            else "bit/s"
            if same
            else write_value(unit.meaning or unit.shown, unit.hex)
            for unit in units
        ]
        text = f"{name}: data rate unit {words[0]} → {words[1]}{same} (TLV {own.path})"
        yield Change("form", own.path, text, *words)


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
                f"{capitalise(tlv.called)} {_write(tlv)} is gone (TLV {tlv.path} of the old file)."
            )
            yield Change("setting", tlv.path, text, _write(tlv), None)
        for tlv in come[len(gone) :]:
            text = f"{capitalise(tlv.called)} {_write(tlv)} is new (TLV {tlv.path})."
            yield Change("setting", tlv.path, text, None, _write(tlv))


def _compare_pair(was: Tlv, now: Tlv) -> Iterator[Change]:
    if was.nested is not None and now.nested is not None:
        yield from _compare_inner(now.called, was, now, "setting")
        return
    old, new = _write(was), _write(now)
    if now.tlv == "76":
        old, new = ("on" if tlv.number == 0 else "off" for tlv in (was, now))
        text = f"AQM of every upstream service flow {old} → {new} (TLV {now.path})."
        yield Change("aqm", now.path, text, old, new)
    else:
        name = capitalise(now.called)
        # For an SNMP object, only the value is compared: its place in the tree of objects is part
        # of its name.
        (was_at, _, before), (now_at, is_object, after) = old.partition(" = "), new.partition(" = ")
        if is_object and was_at == now_at:
            name, old, new = f"{name} {now_at}:", before, after
        yield Change("setting", now.path, f"{name} {old} → {new} (TLV {now.path}).", old, new)


def _compare_inner(name: str, was: Tlv, now: Tlv, kind: Kind) -> Iterator[Change]:
    """Compare the TLVs in two TLVs, value by value."""
    for _, old, new in compare_leaves(was, now):
        what = f"{capitalise(name)}: {(new or old or _never()).called}"
        yield _close(_describe_change(kind, what, old, new, [_write(old), _write(new)]))


def _compare_mics(old: Document, new: Document) -> Iterator[Change]:
    for number, name in _MICS.items():
        was, now = old.get(number), new.get(number)
        if _hex(was) == _hex(now):
            continue
        tlv = now or was or _never()
        if was is None or now is None:
            text = f"The {name} is {'gone' if now is None else 'new'} (TLV {tlv.path})."
        else:
            text = f"The {name} differs (TLV {tlv.path})."
        yield Change("integrity", tlv.path, text, _hex(was), _hex(now))


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


def compare_leaves(was: Tlv, now: Tlv) -> Iterator[tuple[str, Tlv | None, Tlv | None]]:
    """Give the values within two TLVs that differ, those that are gone last.

    Each has its types below the TLV, with the place of those that repeat: ``35.2``, ``43[2].8``.
    """
    if was.hex == now.hex:
        return
    # A TLV that occurs once in one file and twice in the other keeps its name.
    olds, news = (
        {key.replace("[1]", ""): own for key, own in list_leaves(tlv)} for tlv in (was, now)
    )
    for key in [*news, *(key for key in olds if key not in news)]:
        old, new = olds.get(key), news.get(key)
        if _hex(old) != _hex(new):
            yield key, old, new


def list_leaves(tlv: Tlv) -> Iterator[tuple[str, Tlv]]:
    """Give the values within a TLV, each with its types below it: ``35.2``, ``43[2].8``."""
    for own in tlv.walk():
        if own is not tlv and not own.nested:
            yield own.path[len(tlv.path) + 1 :], own


def _hex(tlv: Tlv | None) -> str | None:
    return tlv.hex if tlv else None


def _write_limit(rate: Setting | None) -> str:
    if rate is None:
        return "none"
    return rate.as_rate if rate.value else "0 (no limit)"


def _write(tlv: Tlv | None, key: str = "") -> str:
    """Write a value in words: sizes with all digits, enumerations by meaning, unknown as bytes."""
    if tlv is None:
        return "none"
    if tlv.nested is not None:
        return f"of {write_count(len(tlv.nested), 'TLV')}"
    if key in ("9", "35.1", "35.2", "35.3") and tlv.number is not None:
        return write_size(tlv.number)
    return f"{tlv.words} ({tlv.meaning})" if tlv.meaning else tlv.words


def _describe_flow(flow: ServiceFlow) -> str:
    """Describe the settings of a flow that was added or removed."""
    rates = (("sustained rate", flow.rate), ("peak rate", flow.peak))
    told = [f"{what} {rate.as_rate}" for what, rate in rates if rate and rate.value]
    if flow.service_class:
        told.insert(0, f"service class {flow.service_class}")
    buffer = flow.buffer
    if buffer and buffer.path and buffer.delay is not None:
        told.append(f"buffer {write_size(buffer.size)}, {write_time(buffer.delay)} when full")
    return ", ".join(told)


def _describe_effect(was: Buffer | None, now: Buffer | None) -> str | None:
    """Describe how the delay of a full buffer changed; None if not known or unchanged."""
    if was is None or now is None or was.delay is None or now.delay is None or now.rate is None:
        return None
    before, after = write_time(was.delay), write_time(now.delay)
    if before == after:
        return None
    default = "" if now.path else f" ({now.default}'s default)"
    return (
        f"at {write_rate(now.rate)} a full buffer of {write_size(now.size)}{default} delays by"
        f" {after}, before by {before}"
    )


def _close(change: Change, effect: str | None = None) -> Change:
    """End a sentence, with the effect of the change if it has one."""
    told = f"{change.text}: {effect}" if effect else change.text
    return replace(change, text=f"{told.rstrip('.')}.")


def _never() -> Any:
    raise AssertionError("one of the two is there")
