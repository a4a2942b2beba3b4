"""Classifiers of a modem's file, and descriptions of the packets that they match."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass

from headend.modem_file.document import Tlv
from headend.modem_file.words import DIRECTIONS
from headend.text.wording import join_names

#: The direction of classifiers by their TLV. Those of TLV 60 drop the packets that they match.
CLASSIFIERS = {22: "up", 23: "down", 60: "up"}

#: Sub-TLVs that say what a classifier matches.
CRITERIA = (9, 10, 11, 12, 13, 14, 15, 16, 17)

#: Protocol numbers with a meaning of their own, and those that have a usual name.
PROTOCOLS = {1: "ICMP", 6: "TCP", 17: "UDP", 58: "ICMPv6", 256: "any protocol", 257: "TCP and UDP"}

#: Ranges of the TOS byte that have a name: low, high, mask.
TOS = {
    "010101": "ECT(1) and CE",
    "010103": "ECT(1)",
    "030303": "CE",
    "b4b4fc": "DSCP 45 (NQB)",
    "b8b8fc": "DSCP 46 (EF)",
}

#: Ranges that take all packets of a scalable congestion control.
L4S = ("010101", "010103")


@dataclass(frozen=True)
class Classifier:
    """A classifier (TLV 22 or 23), or an upstream drop classifier (60).

    Parameters
    ----------
    drops
        Whether it drops the packets that it matches.
    reference
        Its own number (.1).
    flow
        The reference of the service flow that it sends packets to (.3).
    priority
        Of several classifiers that match, the highest counts (.5).
    is_active
        Whether it is in use from the start (.6).
    refused
        The TLV for which a run refuses it or with which it never matches, and why, as a clause.
    """

    path: str
    direction: str
    tlv: Tlv
    drops: bool
    reference: int | None
    flow: int | None
    priority: int
    is_active: bool
    refused: tuple[str, str] | None

    @property
    def name(self) -> str:
        """Such as ``upstream classifier 1``."""
        which = f"at {self.path}" if self.reference is None else f"{self.reference}"
        return f"{DIRECTIONS[self.direction]} {'drop ' if self.drops else ''}classifier {which}"

    @property
    def criteria(self) -> tuple[Tlv, ...]:
        """The TLVs with its conditions."""
        return tuple(tlv for tlv in self.tlv.nested or () if tlv.type in CRITERIA)

    @property
    def tos(self) -> tuple[str, ...]:
        """Ranges of the TOS byte or traffic class that it matches: low, high, mask; hexadecimal."""
        found = (self.tlv.get(9, 1), self.tlv.get(12, 1))
        return tuple(tlv.hex for tlv in found if tlv and len(tlv.hex) == 6)

    def describe(self) -> str:
        """Say which packets it takes and where, such as ``UDP to port 5060 to service flow 2``."""
        if self.drops:
            return f"drops {self.describe_packets()}"
        where = "no service flow" if self.flow is None else f"service flow {self.flow}"
        parts = [f"{self.describe_packets()} → {where}"]
        if self.priority:
            parts.append(f"priority {self.priority}")
        if not self.is_active:
            parts.append("inactive")
        return ", ".join(parts)

    def describe_packets(self) -> str:
        """Say which packets it takes."""
        told = [word for tlv in self.criteria for word in _describe(tlv)]
        if self.tlv.get(43):
            told.append("what a vendor defines" if told else "packets that a vendor defines")
        return join_names(told) or "all packets"


def _describe(tlv: Tlv) -> Iterator[str]:
    """Describe the conditions of one TLV."""
    if tlv.nested is None:
        yield _describe_other(tlv)
    elif tlv.type == 9:
        yield from _describe_ipv4(tlv)
    elif tlv.type == 12:
        yield from _describe_ipv6(tlv)
    elif tlv.type == 10:
        yield from _describe_ethernet(tlv)
    elif tlv.type == 11:
        yield from _describe_tag(tlv)
    else:
        for inner in tlv.nested:
            yield _describe_other(inner)


def _describe_ipv4(tlv: Tlv) -> Iterator[str]:
    if found := tlv.get(1):
        yield describe_tos(found.hex)
    if (number := _number(tlv, 2)) is not None and number != 256:
        yield PROTOCOLS.get(number, f"protocol {number}")
    for way, address, mask in (("from", 3, 4), ("to", 5, 6)):
        if where := _describe_address(tlv.get(address), tlv.get(mask)):
            yield f"{way} {where}"
    for way, low, high in (("from", 7, 8), ("to", 9, 10)):
        if where := _describe_ports(_number(tlv, low), _number(tlv, high)):
            yield f"{way} {where}"


def _describe_ipv6(tlv: Tlv) -> Iterator[str]:
    yield "IPv6"
    if found := tlv.get(1):
        yield describe_tos(found.hex)
    if found := tlv.get(2):
        yield f"flow label {found.words}"
    if (number := _number(tlv, 3)) is not None and number != 256:
        yield PROTOCOLS.get(number, f"next header {number}")
    for way, address, prefix in (("from", 4, 5), ("to", 6, 7)):
        if (found := tlv.get(address)) and len(found.hex) == 32:
            length = _number(tlv, prefix)
            yield (
                f"{way}"
                f" {ipaddress.IPv6Address(found.bytes)}{'' if length is None else f'/{length}'}"
            )


def _describe_ethernet(tlv: Tlv) -> Iterator[str]:
    names = {1: "to", 2: "from"}
    for inner in tlv.nested or ():
        if inner.type in names and len(inner.bytes) in (6, 12):
            address, mask = inner.bytes[:6].hex(":"), inner.bytes[6:]
            exact = "" if mask in (b"", b"\xff" * 6) else f" & {mask.hex(':')}"
            yield f"{names[inner.type]} {address}{exact}"
        elif inner.type == 3 and len(inner.hex) == 6 and inner.bytes[0] == 1:
            yield f"Ethernet type 0x{inner.hex[2:]}"
        else:
            yield _describe_other(inner)


def _describe_tag(tlv: Tlv) -> Iterator[str]:
    """Describe the conditions on a frame's tag; the VLAN's number has the upper twelve bits."""
    for inner in tlv.nested or ():
        if inner.type == 1 and len(inner.bytes) == 2:
            low, high = inner.bytes
            yield f"user priority {low}" if low == high else f"user priority {low} to {high}"
        elif inner.type == 2 and len(inner.bytes) == 2:
            yield f"VLAN {int.from_bytes(inner.bytes) >> 4}"
        else:
            yield _describe_other(inner)


def describe_tos(hexadecimal: str) -> str:
    """Describe the TOS bytes that a range holds.

    Parameters
    ----------
    hexadecimal
        Low, high and mask: the range holds a byte if low ≤ byte & mask ≤ high.

    Examples
    --------
    >>> describe_tos("010101"), describe_tos("b8b8fc"), describe_tos("2828fc")
    ('ECT(1) and CE', 'DSCP 46 (EF)', 'DSCP 10')
    >>> describe_tos("00a0e0"), describe_tos("0102")
    ('TOS byte & 0xe0 from 0x00 to 0xa0', 'TOS 0x0102')
    """
    if named := TOS.get(hexadecimal):
        return named
    if len(hexadecimal) != 6:
        return f"TOS 0x{hexadecimal}"
    low, high, mask = bytes.fromhex(hexadecimal)
    if mask == 0xFC and low & 3 == high & 3 == 0:
        return f"DSCP {low >> 2}" if low == high else f"DSCP {low >> 2} to {high >> 2}"
    if low == high:
        return f"TOS byte & 0x{mask:02x} = 0x{low:02x}"
    return f"TOS byte & 0x{mask:02x} from 0x{low:02x} to 0x{high:02x}"


def _describe_address(address: Tlv | None, mask: Tlv | None) -> str | None:
    if address is None or len(address.hex) != 8:
        return None
    written = f"{ipaddress.IPv4Address(address.bytes)}"
    if mask is None or len(mask.hex) != 8:
        return written
    if mask.bytes == bytes(4):
        return None
    ones = f"{int(mask.hex, 16):032b}".rstrip("0")
    if "0" in ones:
        return f"{written} & {ipaddress.IPv4Address(mask.bytes)}"
    return written if len(ones) == 32 else f"{written}/{len(ones)}"


def _describe_ports(low: int | None, high: int | None) -> str | None:
    """Describe the ports of a range; None if all ports. An absent bound is 0 or 65535."""
    if (low or 0) == 0 and high in (None, 65535):
        return None
    first, last = low or 0, 65535 if high is None else high
    return f"port {first}" if first == last else f"ports {first} to {last}"


def _describe_other(tlv: Tlv) -> str:
    return f"{tlv.called} {tlv.words}"


def _number(tlv: Tlv, number: int) -> int | None:
    found = tlv.get(number)
    return found.number if found else None
