"""Rules on the file: absent, repeated, misplaced or wrongly long TLVs, and other bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from headend.modem_file.document import END, PAD, Tlv
from headend.modem_file.finding import Found, rule
from headend.modem_file.settings import FLOWS, MOST_READ, Bundle, Settings
from headend.modem_file.words import write_name
from headend.text.wording import join_names, write_count

#: The size of a file that every modem accepts, B.
ACCEPTED = 8192

#: The TLVs that a file must have, and their names. Files of DOCSIS 1.0 have 4 in place of 24 and
#: 25.
MANDATORY = {
    3: "network access control",
    24: "an upstream service flow",
    25: "a downstream service flow",
}

#: The message integrity checks that a file must have.
MICS = {6: "the CM MIC", 7: "the CMTS MIC"}

#: Sub-TLVs of a flow that occur once.
ONCE = (1, 4, 6, 7, 8, 9, 10, 15, 27, 35, 36, 40, 41, 44, 45)

#: TLVs whose values consist of TLVs. One that was kept as bytes has inner lengths that do not add
#: up.
TAKEN_APART = (22, 23, 24, 25, 60, 70, 71)

CM_MIC, CMTS_MIC = 6, 7

#: The TLV with the name of the software file that the modem is to load.
SOFTWARE = 9

#: The TLV that begins and ends an MTA's file, and its value at the end.
MTA_FILE, MTA_END = 254, 255

#: Types whose length has two bytes, in a modem's file and in an MTA's.
_LONG, _LONG_OF_MTA = (103, 104), (64,)

_SOURCE = "MULPI C.1 and D.1.2"


@rule("error", "mandatory", _SOURCE, is_of_whole=True)
def mandatory_is_absent(settings: Settings) -> Iterator[Found]:
    """Find which are absent: network access, a flow in each direction, and the end marker."""
    document = settings.document
    has_classes = document.get(4) is not None
    for number, what in MANDATORY.items():
        if not document.get(number) and not (has_classes and number in FLOWS):
            yield _find_absent(number, what, f"Add TLV {number}.")
    if not document.get(END) and not document.rest:
        yield Found(
            f"{END}",
            "The end marker (TLV 255) is not in the file. Some modems accept that.",
            "Add the byte 0xff after the MICs, and zeros to a multiple of four bytes.",
            severity="warning",
        )


@rule("error", "mandatory", _SOURCE, is_of_whole=True, scope="signed")
def mic_is_absent(settings: Settings) -> Iterator[Found]:
    """Find which of both MICs is absent."""
    advice = (
        "Compute both MICs: `headend config decode FILE | headend config encode - --secret-file"
        " SECRET -o NEW`. If the provisioning server signs the file later, check it with"
        " `--unsigned`."
    )
    for number, what in MICS.items():
        if not settings.document.get(number):
            yield _find_absent(number, what, advice)


def _find_absent(number: int, what: str, advice: str) -> Found:
    return Found(
        f"{number}",
        f"TLV {number} ({what}) is not in the file: a modem or its CMTS refuses a file without it.",
        advice,
    )


@rule("note", "network_access", "MULPI C.1.1.3")
def network_access_is_off(settings: Settings) -> Iterator[Found]:
    """Find TLV 3 = 0, with which a modem forwards nothing."""
    access = settings.document.get(3)
    if access and access.number == 0:
        yield Found(
            access.path,
            "Network access is off: the modem registers, and forwards nothing of its hosts.",
            f"Set {access.path} to 1 if the line is to be in service.",
        )


@rule("error", "classes_and_flows", "MULPI C.1.1.4")
def classes_and_flows_mix(settings: Settings) -> Iterator[Found]:
    """Find classes of service of DOCSIS 1.0 beside service flows."""
    old = settings.document.get(4)
    new = [number for number in FLOWS if settings.document.get(number)]
    if old and new:
        yield Found(
            old.path,
            "The file has a class of service of DOCSIS 1.0 (TLV 4) and service flows (TLV"
            f" {join_names([str(n) for n in new])}): a modem refuses it.",
            "Remove TLV 4.",
        )


@rule("error", "reference", "MULPI C.2.2.3")
def references_repeat(settings: Settings) -> Iterator[Found]:
    """Find a flow without a reference, or with that of another of its direction."""
    for bundles in (settings.flows, settings.aggregates):
        counts = Counter((one.tlv.type, one.reference.value) for one in bundles if one.reference)
        seen: set[tuple[int, int]] = set()
        for one in bundles:
            if not one.reference:
                yield Found(
                    f"{one.path}.1",
                    f"The {one.name} has no reference.",
                    f"Set {one.path}.1 to a number from 1 on that no other flow of its direction"
                    " has.",
                )
                continue
            key = (one.tlv.type, one.reference.value)
            if counts[key] > 1 and key in seen:
                yield Found(
                    one.reference.path,
                    f"{write_count(counts[key], 'TLV')} {one.tlv.type} have the reference"
                    f" {one.reference.value}: a modem refuses the file.",
                    "Give each flow of a direction a reference of its own.",
                )
            seen.add(key)


@rule("error", "repeated", "MULPI C.2.2", of="bundles")
def setting_repeats(bundle: Bundle) -> Iterator[Found]:
    """Find a setting that a flow has twice."""
    counts = Counter(tlv.type for tlv in bundle.tlv.nested or ())
    for number in ONCE:
        if counts[number] > 1:
            places = [tlv.path for tlv in bundle.tlv.all(number)]
            yield Found(
                places[-1],
                f"The {bundle.name} has TLV {bundle.tlv.type}.{number} {counts[number]} times:"
                " which one counts is not defined.",
                f"Keep one of {join_names(places[:6])}.",
            )


@rule("error", "nesting", _SOURCE)
def nesting_is_broken(settings: Settings) -> Iterator[Found]:
    """Find a flow or classifier whose inner TLVs do not fill it exactly."""
    for tlv in settings.document.tlvs:
        if _is_broken(tlv):
            yield Found(
                tlv.path,
                f"TLV {tlv.path} at offset {tlv.offset} has {write_count(len(tlv.bytes), 'byte')}"
                " that are no TLVs: an inner length goes beyond its end.",
                f"Correct the length within {tlv.path}; it was kept as bytes.",
            )


@rule("warning", "value", "the table of TLVs (docs/reference/modem-file.md)", scope="any")
def value_does_not_fit(settings: Settings) -> Iterator[Found]:
    """Find a value whose length or range does not fit its definition."""
    for tlv in settings.document.walk():
        is_told = tlv.tlv in _CHECKED_ELSEWHERE or _is_broken(tlv)
        if not tlv.problem or is_told:
            continue
        problem = tlv.problem.rstrip(".")
        yield Found(
            tlv.path,
            f"{tlv.path} ({_name(tlv)}) is {tlv.words}: {problem}.",
            "Correct it, unless equipment of another version needs it so.",
        )


@rule("error", "rest", _SOURCE, scope="any")
def rest_is_no_tlv(settings: Settings) -> Iterator[Found]:
    """Find bytes after the last TLV."""
    document = settings.document
    if not document.rest:
        return
    size = write_count(len(document.rest), "byte")
    if document.get(END):
        yield Found(
            None,
            f"After the end marker there are {size} that are no pads, from offset"
            f" {document.rest_offset} on.",
            "Remove them: no modem reads them.",
            severity="warning",
        )
        return
    number, left = document.rest[0], len(document.rest)
    head = 3 if number in (_LONG if document.is_modem else _LONG_OF_MTA) else 2
    if left < head:
        told = "has no length"
    else:
        length = int.from_bytes(document.rest[1:head], "big")
        told = (
            f"has a value of {write_count(length, 'byte')}, so {head + length} bytes are needed"
            f" with its type and length, and {left} are there"
        )
    yield Found(
        None,
        f"The file ends within a TLV: type {number} at offset {document.rest_offset} {told}.",
        "Take the file from its source again: it is cut short, or a length is wrong.",
    )


@rule("error", "rest", "PacketCable provisioning, MTA configuration file", scope="any")
def end_of_mta_is_absent(settings: Settings) -> Iterator[Found]:
    """Find an MTA's file without the TLV that ends it."""
    document = settings.document
    marks = [tlv.number for tlv in document.tlvs if tlv.type == MTA_FILE]
    if not document.is_modem and not document.rest and marks[-1:] != [MTA_END]:
        yield Found(
            None,
            f"The file does not end with TLV {MTA_FILE} = {MTA_END}, as the file of a telephone"
            " adapter does.",
            "Take the file from its source again: it is cut short.",
        )


@rule("error", "after_mic", "MULPI D.1.2")
def settings_follow_the_mics(settings: Settings) -> Iterator[Found]:
    """Find settings behind the CM MIC, which covers only what stands before it."""
    after = False
    late: list[Tlv] = []
    for tlv in settings.document.tlvs:
        if tlv.type == CM_MIC:
            after = True
        elif tlv.type == END:
            break
        elif after and tlv.type not in (CMTS_MIC, PAD):
            late.append(tlv)
    if late:
        paths = join_names([tlv.path for tlv in late[:6]])
        yield Found(
            late[0].path,
            f"{write_count(len(late), 'TLV')} stand after the CM MIC"
            f" ({paths}{', …' if len(late) > 6 else ''}): it does not cover them, and a modem"
            " refuses the file or ignores them.",
            "Move them before TLV 6, and compute the MICs anew.",
        )


@rule("error", "mic_order", "MULPI D.1.2")
def mics_are_swapped(settings: Settings) -> Iterator[Found]:
    """Find the CMTS MIC before the CM MIC, which it covers."""
    types = [tlv.type for tlv in settings.document.tlvs]
    if CM_MIC in types and CMTS_MIC in types and types.index(CMTS_MIC) < types.index(CM_MIC):
        yield Found(
            f"{CMTS_MIC}",
            "The CMTS MIC (TLV 7) stands before the CM MIC (TLV 6): a modem takes it for a setting"
            " that the CM MIC covers, and a CMTS computes the one from the other.",
            "Compute both anew, which also orders them: `headend config decode FILE | headend"
            " config encode - --secret-file SECRET -o NEW`.",
        )


@rule("warning", "software", "MULPI C.1.2.3")
def software_has_no_name(settings: Settings) -> Iterator[Found]:
    """Find the name of a software file that is empty."""
    name = settings.document.get(SOFTWARE)
    if name and not name.bytes:
        yield Found(
            name.path,
            f"TLV {SOFTWARE} (software upgrade filename) is empty: it names no file that a modem"
            " could load.",
            f"Remove TLV {SOFTWARE}, or give the name of the file.",
        )


@rule("error", "too_many", "bound: headend")
def flows_are_too_many(settings: Settings) -> Iterator[Found]:
    """Find more flows or classifiers than headend reads; no modem has so many."""
    for what, found in (
        ("service flows", settings.flows),
        ("aggregate service flows", settings.aggregates),
        ("classifiers", settings.classifiers),
    ):
        if len(found) >= MOST_READ:
            yield Found(
                None,
                f"The file has {MOST_READ} {what} or more; no modem takes so many. What follows"
                " them was not checked.",
                "Check what made the file.",
            )


@rule("warning", "size", "MULPI D.1.2")
def file_is_large(settings: Settings) -> Iterator[Found]:
    """Find a file of more than the 8192 bytes that every modem accepts."""
    document = settings.document
    if document.is_modem and document.size > ACCEPTED:
        yield Found(
            None,
            f"The file has {document.size} B. Every modem accepts {ACCEPTED} B; one that accepts no"
            " more refuses the file.",
            "Shorten it, if modems of several makes get this file: SNMP objects and certificates"
            " take most.",
        )


#: TLVs whose problems other rules find.
_CHECKED_ELSEWHERE = ("6", "7", "24.40.6", "25.40.6")


def _is_broken(tlv: Tlv) -> bool:
    """Whether it is a flow or classifier that could not be decoded."""
    return tlv.tlv.isdigit() and tlv.type in TAKEN_APART and tlv.nested is None


def _name(tlv: Tlv) -> str:
    return write_name(tlv.name) if tlv.name else "unknown"
