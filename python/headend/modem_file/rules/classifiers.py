"""Rules on classifiers: absent flows, no packets, competition, and flows without one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from headend.modem_file.classifying import Classifier, describe_tos
from headend.modem_file.finding import Found, rule
from headend.modem_file.settings import SCHEDULING, ServiceFlow, Settings
from headend.modem_file.words import DIRECTIONS

#: Service flows by direction.
_FLOW = {"up": 24, "down": 25}

#: Scheduling types of flows for packets of their own: all but best effort and nrtPS.
_SPECIAL = (4, 5, 6, 7)

_SOURCE = "MULPI C.2.1"


@rule("warning", "classifier_flow", _SOURCE, is_of_whole=True)
def flow_is_absent(settings: Settings) -> Iterator[Found]:
    """Find a classifier that names no service flow of the file."""
    for one in settings.classifiers:
        if one.drops:
            continue
        where = one.tlv.get(3)
        number = _FLOW[one.direction]
        if where is None:
            yield Found(
                f"{one.path}.3",
                f"The {one.name} ({one.describe_packets()}) names no service flow.",
                f"Set {one.path}.3 to the reference of one ({number}.1).",
            )
        elif one.flow is not None and settings.find_flow(one.direction, one.flow) is None:
            known = [
                str(flow.reference.value)
                for flow in settings.list_flows(one.direction)
                if flow.reference
            ]
            yield Found(
                where.path,
                f"The {one.name} ({one.describe_packets()}) sends packets to"
                f" {DIRECTIONS[one.direction]} service flow {one.flow}, which the file does not"
                " have: the modem or the CMTS refuses the file.",
                f"Set {where.path} to {_name_target(one, known, settings)}, or add the flow.",
                severity="error",
            )


@rule("error", "classifier_reference", _SOURCE)
def references_repeat(settings: Settings) -> Iterator[Found]:
    """Find a reference that several classifiers have."""
    counts = Counter((one.tlv.type, one.reference) for one in settings.classifiers)
    seen: Counter[tuple[int, int | None]] = Counter()
    for one in settings.classifiers:
        key = (one.tlv.type, one.reference)
        seen[key] += 1
        if one.reference is not None and counts[key] > 1 and seen[key] == counts[key]:
            place = one.tlv.get(1)
            yield Found(
                place.path if place else one.path,
                f"{counts[key]} classifiers (TLV {one.tlv.type}) have the reference"
                f" {one.reference}.",
                "Give each a reference of its own.",
            )


@rule("error", "classifier_never", "MULPI C.2.1.5", of="classifiers")
def nothing_can_match(one: Classifier) -> Iterator[Found]:
    """Find ranges that hold nothing: bounds in the wrong order, or excluded by the mask."""
    found = list(_find_empty(one))
    yield from found
    # A value that does not fit its TLV is found with all such values.
    path, why = one.refused or ("", "")
    is_told = any(tlv.problem and tlv.path == path for tlv in one.tlv.walk())
    if path and not found and not is_told:
        yield Found(path, f"The {one.name} matches no packet: {why}.", f"Correct {path}.")


def _find_empty(one: Classifier) -> Iterator[Found]:
    for group in (9, 12):
        tos = one.tlv.get(group, 1)
        if tos and len(tos.hex) == 6:
            low, high, mask = tos.bytes
            if low > high or not any(low <= byte & mask <= high for byte in range(256)):
                yield Found(
                    tos.path,
                    f"The {one.name} matches no packet: no {describe_tos(tos.hex)}.",
                    f"Set {tos.path} to low, high and mask such that low ≤ byte & mask ≤ high: DSCP"
                    " 46 is 0xb8b8fc.",
                    source="MULPI C.2.1.5.1",
                )
    for numbers in ((7, 8), (9, 10)):
        ports = [one.tlv.get(9, number) for number in numbers]
        first, last = (port.number if port else None for port in ports)
        if ports[0] and first is not None and last is not None and first > last:
            yield Found(
                ports[0].path,
                f"The {one.name} matches no packet: its ports begin at {first} and end at {last}.",
                f"Set {ports[0].path} to at most {last}.",
            )


@rule("warning", "classifiers_compete", "MULPI C.2.1.3")
def two_compete(settings: Settings) -> Iterator[Found]:
    """Find two classifiers for the same packets and of the same priority."""
    seen: dict[tuple[object, ...], Classifier] = {}
    for one in settings.classifiers:
        if one.drops or not one.criteria:
            continue
        key = (one.tlv.type, one.priority, *sorted((tlv.type, tlv.hex) for tlv in one.criteria))
        other = seen.setdefault(key, one)
        if other is not one and other.flow != one.flow:
            yield Found(
                one.path,
                f"The {other.name} and the {one.name} take the same packets"
                f" ({one.describe_packets()}) at priority {one.priority} and send them to service"
                f" flows {other.flow} and {one.flow}: which one counts is not defined.",
                "Give them different priorities (.5), or remove one.",
            )


@rule("note", "flow_without_classifier", "MULPI §7.5", is_of_whole=True)
def flow_gets_nothing(settings: Settings) -> Iterator[Found]:
    """Find an active flow that gets no packet: not a first one, and without a classifier."""
    for direction in ("up", "down"):
        named = {one.flow for one in settings.classifiers if one.direction == direction}
        for flow in settings.list_flows(direction)[1:]:
            # Such a flow is set up for packets of its own, and takes bandwidth for them.
            is_special = bool(flow.scheduling and flow.scheduling.value in _SPECIAL)
            is_active = flow.set_type is not None and flow.set_type.value & 4
            is_other = flow.aggregate_reference is not None or flow.tlv.get(43) or flow.tlv.get(37)
            if not flow.reference or flow.reference.value in named or not is_active or is_other:
                continue
            yield Found(
                flow.path,
                f"No classifier sends packets to the {flow.name}{_describe_scheduling(flow)};"
                " packets that no classifier takes go to the first flow.",
                f"Add a classifier with {'22' if direction == 'up' else '23'}.3 ="
                f" {flow.reference.value}, or remove the flow.",
                severity="warning" if is_special else "note",
            )


def _name_target(one: Classifier, known: list[str], settings: Settings) -> str:
    """Name the flow that a classifier likely means: the one that gets no packet without it."""
    named = {other.flow for other in settings.classifiers if other.direction == one.direction}
    waiting = [
        flow
        for flow in settings.list_flows(one.direction)[1:]
        if flow.reference and flow.reference.value not in named
    ]
    if len(waiting) != 1 or not waiting[0].reference:
        return _one_of(known)
    flow = waiting[0]
    return (
        f"{waiting[0].reference.value}{_describe_scheduling(flow)}, to which no classifier sends"
        " packets"
    )


def _describe_scheduling(flow: ServiceFlow) -> str:
    """Say the scheduling type of a flow that has one of its own."""
    kind = flow.scheduling
    return f" ({SCHEDULING[kind.value]})" if kind and kind.value in _SPECIAL else ""


def _one_of(known: list[str]) -> str:
    return " or ".join(filter(None, (", ".join(known[:-1]), *known[-1:]))) or "a flow"
