"""The TLVs by which one modem's file differs from another, a line for each value and table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from headend.modem_file import document as decoded
from headend.modem_file.classifying import CLASSIFIERS, Classifier
from headend.modem_file.diff import compare_leaves, list_leaves
from headend.modem_file.document import END, PAD, Document
from headend.modem_file.settings import Bundle, Settings, read_settings
from headend.modem_file.table import find_name
from headend.modem_file.words import DIRECTIONS, write_name, write_size
from headend.text.wording import join_names, write_count

#: TLVs within a service flow that say which queue it has: its buffer and its AQM.
QUEUE = (35, 40)

#: The value of a TLV that is to be taken out of the file.
REMOVED = "removed"

#: The CM MIC and the CMTS MIC.
_MICS = (6, 7)

#: The extended CMTS MIC, within TLV 43.
_VENDOR, _EXTENDED_MIC = 43, 6

#: The service flow and the priority, within a classifier.
_PRIORITY = 5


@dataclass(frozen=True)
class Tlv:
    """One setting of a modem's file.

    Parameters
    ----------
    path
        Its path, such as ``24.35.2``. A new service flow or aggregate is one line, and so are the
        new classifiers of a direction.
    name
        Its name in words.
    value
        Its value in words; of a service flow or aggregate, the values within it by their types.
    is_new
        Whether the other file has no such TLV.
    """

    path: str
    name: str
    value: str
    is_new: bool = True


def compare_settings(
    before: Document, after: Document, *, has_defaults: bool = False
) -> tuple[Tlv, ...]:
    """List the TLVs by which a file differs from an earlier one; those of upstream come first.

    Parameters
    ----------
    before, after
        The files.
    has_defaults
        Whether the buffer and the AQM in the earlier file are the modem's defaults, so that they
        need not be taken out of it.
    """
    old, new = read_settings(before), read_settings(after)
    found: list[Tlv] = []
    for way in DIRECTIONS:
        for flow in new.list_flows(way):
            found += _compare_bundle(_find(old.list_flows(way), flow), flow, has_defaults)
        for aggregate in _list_aggregates(new, way):
            found += _compare_bundle(_find(_list_aggregates(old, way), aggregate), aggregate)
        found += _compare_classifiers(old, new, way)
    return (*found, *_compare_others(before, after))


def list_pins(document: Document) -> tuple[Tlv, ...]:
    """List the TLVs of the buffer and the AQM of the first upstream service flow."""
    flow = read_settings(document).list_flows("up")[0]
    return tuple(
        Tlv(leaf.path, _name_leaf(leaf), write_setting(leaf))
        for key, leaf in list_leaves(flow.tlv)
        if _first(key) in QUEUE
    )


def write_setting(tlv: decoded.Tlv) -> str:
    """Write a value in words: sizes in bytes too, enumerated numbers with their meaning."""
    told = tlv.words
    if tlv.meaning:
        return f"{told} ({tlv.meaning})"
    if told.endswith("iB") and tlv.number is not None:
        return f"{write_size(tlv.number)} ({told})"
    return told


def _compare_bundle(was: Bundle | None, now: Bundle, has_defaults: bool = False) -> Iterator[Tlv]:
    if was is None:
        yield Tlv(now.path, now.name, _describe_leaves(now.tlv))
        return
    found: list[tuple[int, Tlv]] = []
    for key, old, leaf in compare_leaves(was.tlv, now.tlv):
        first = _first(key)
        is_default = has_defaults and first in QUEUE
        if leaf:
            is_new = old is None or is_default
            own = Tlv(leaf.path, _name_leaf(leaf), write_setting(leaf), is_new)
            found.append((first, own))
        elif old and not is_default:
            own = Tlv(f"{now.path}.{key}", _name_leaf(old), REMOVED, is_new=False)
            found.append((first, own))
    yield from (own for _, own in sorted(found, key=lambda one: one[0]))


def _compare_classifiers(old: Settings, new: Settings, way: str) -> Iterator[Tlv]:
    """Give a direction's new classifiers in one line, and changed priorities in another."""
    number = next(own for own, direction in CLASSIFIERS.items() if direction == way)
    before = {one.reference: one for one in _list_classifiers(old, number)}
    after = _list_classifiers(new, number)
    fresh = [one for one in after if one.reference not in before]
    if fresh:
        what = write_count(len(fresh), f"{DIRECTIONS[way]} classifier")
        yield Tlv(f"{number}", what, _describe_classifiers(fresh))
    raised = [
        f"{known.priority} → {one.priority} of {one.reference}"
        for one in after
        if (known := before.get(one.reference)) and known.priority != one.priority
    ]
    if raised:
        told = join_names(raised)
        yield Tlv(f"{number}.{_PRIORITY}", "rule priority of the other classifiers", told, False)


def _describe_classifiers(classifiers: Sequence[Classifier]) -> str:
    """Say which packets classifiers take, and to which service flow; IPv6 is not told apart."""
    told = [one.describe_packets() for one in classifiers]
    kinds = list(dict.fromkeys(own.removeprefix("IPv6 and ") for own in told))
    versions = ", in IPv4 and IPv6" if any(own.startswith("IPv6 and ") for own in told) else ""
    flows = list(dict.fromkeys(f"{one.flow}" for one in classifiers))
    return f"{', '.join(kinds)}{versions} → service flow {join_names(flows)}"


def _compare_others(before: Document, after: Document) -> Iterator[Tlv]:
    """Give the TLVs of the file itself that are new, changed or gone; each is one line."""
    told = (*CLASSIFIERS, 24, 25, 70, 71, *_MICS, PAD, END)
    olds = [tlv for tlv in before.tlvs if tlv.type not in told]
    news = [tlv for tlv in after.tlvs if tlv.type not in told]
    known, kept = [tlv.hex for tlv in olds], [tlv.hex for tlv in news]
    for tlv in news:
        if tlv.hex not in known or tlv.type not in [own.type for own in olds]:
            mic = tlv.get(_EXTENDED_MIC) if tlv.type == _VENDOR else None
            one = mic or tlv
            value = write_setting(one) if one.nested is None else _describe_leaves(one)
            is_new = not any(own.type == tlv.type and own.path == tlv.path for own in olds)
            yield Tlv(one.path, one.called, value, is_new)
    for tlv in olds:
        if tlv.hex not in kept and not any(own.type == tlv.type for own in news):
            yield Tlv(tlv.path, tlv.called, REMOVED, is_new=False)


def _describe_leaves(tlv: decoded.Tlv) -> str:
    """Write the values within a TLV by their types: ``.1 = 3, .40.1 = 0 (AQM on)``."""
    return ", ".join(f".{key} = {write_setting(leaf)}" for key, leaf in list_leaves(tlv))


def _find(known: Iterable[Bundle], wanted: Bundle) -> Bundle | None:
    """Find the service flow or aggregate that has the same reference."""
    number = wanted.reference.value if wanted.reference else None
    return next((one for one in known if one.reference and one.reference.value == number), None)


def _list_aggregates(settings: Settings, way: str) -> list[Bundle]:
    return [one for one in settings.aggregates if one.direction == way]


def _list_classifiers(settings: Settings, number: int) -> list[Classifier]:
    return [one for one in settings.classifiers if one.tlv.type == number]


def _first(key: str) -> int:
    return int(key.partition(".")[0].partition("[")[0])


def _name_leaf(leaf: decoded.Tlv) -> str:
    """Name a value in a service flow by all names down to it, such as ``AQM latency target``."""
    types, name = leaf.tlv.split("."), ""
    for size in range(2, len(types) + 1):
        path = ".".join(types[:size])
        own = write_name(found) if (found := find_name(path)) else f"TLV {path}"
        around = name.removesuffix(" encodings")
        name = own if not around or own.startswith(around) else f"{around} {own}"
    return name
