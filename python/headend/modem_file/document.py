"""A modem's file as a tree of TLVs: objects made from the output of the engine's decoder."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from headend import _engine
from headend.modem_file.table import find_name
from headend.modem_file.words import write_name, write_value

#: Types of a pad, which is a zero byte that sets nothing, and of the byte that ends a modem's file.
PAD, END = 0, 255


@dataclass(frozen=True, slots=True)
class Tlv:
    """One TLV of a file.

    Parameters
    ----------
    tlv
        The types from the outermost TLV to this one, such as ``24.35.2``.
    path
        The same with ``[n]``, counted from 1, at each type that occurs more than once:
        ``24[1].35.2``.
    name
        Its name in the table of TLVs; None where the table does not have it.
    offset
        Bytes of the file before it.
    type
        Its own type: the last of ``tlv``.
    hex
        Its value in hexadecimal; empty for a pad and the end.
    value
        The value as a number, text or list; None where it is nested or was kept as bytes.
    shown
        The value in words, with its unit; None where the table has no form for it.
    meaning
        The meaning of an enumerated number.
    problem
        The fault of its length or its number, as a clause.
    nested
        The TLVs within it; None where it was not decoded into TLVs.
    count
        How many pads it stands for.
    """

    tlv: str
    path: str
    name: str | None
    offset: int
    type: int = field(init=False, repr=False)
    hex: str = ""
    value: Any = None
    shown: str | None = None
    meaning: str | None = None
    problem: str | None = None
    nested: tuple[Tlv, ...] | None = None
    count: int = 1

    def __post_init__(self) -> None:
        """Keep its type at hand: it is read many times."""
        object.__setattr__(self, "type", int(self.tlv.rpartition(".")[2]))

    @property
    def number(self) -> int | None:
        """Its bytes as a whole number (of tenths, where the unit is a tenth); or None."""
        is_number = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        return int(self.hex, 16) if is_number and self.hex else None

    @property
    def text(self) -> str | None:
        """Its value as text; None where it is none."""
        return self.value if isinstance(self.value, str) else None

    @property
    def words(self) -> str:
        """Its value in words, or its bytes where there are none."""
        return write_value(self.shown, self.hex)

    @property
    def called(self) -> str:
        """Its name in words, or its types where the table does not have it."""
        return write_name(self.name) if self.name else f"TLV {self.tlv}"

    @property
    def bytes(self) -> bytes:
        """Its value."""
        return bytes.fromhex(self.hex)

    def all(self, number: int) -> Iterator[Tlv]:
        """Give the TLVs within it that have a type, in order."""
        return (tlv for tlv in self.nested or () if tlv.type == number)

    def get(self, *numbers: int) -> Tlv | None:
        """Give the first TLV of a type within it, and of a type within that, and so on."""
        found: Tlv | None = self
        for number in numbers:
            found = next(found.all(number), None) if found else None
        return found

    def walk(self) -> Iterator[Tlv]:
        """Give it and every TLV within it, in the order of the file."""
        yield self
        for tlv in self.nested or ():
            yield from tlv.walk()


@dataclass(frozen=True)
class Document:
    """A decoded file.

    Parameters
    ----------
    kind
        The device that it is for: ``cable_modem`` or ``mta``.
    size
        Its bytes.
    tlvs
        Its TLVs in order, pads and the end marker among them.
    rest
        The bytes at its end that are no TLV; empty where there are none.
    rest_offset
        Bytes of the file before that.
    content
        The bytes that it was decoded from.
    """

    kind: str
    size: int
    tlvs: tuple[Tlv, ...]
    rest: bytes = b""
    rest_offset: int = 0
    content: bytes = field(default=b"", repr=False)

    @property
    def is_modem(self) -> bool:
        """Whether it is a cable modem's, not an MTA's."""
        return self.kind == "cable_modem"

    @cached_property
    def _by_type(self) -> Mapping[int, list[Tlv]]:
        """The TLVs by their types: a file may have tens of thousands of them."""
        found: dict[int, list[Tlv]] = {}
        for tlv in self.tlvs:
            found.setdefault(tlv.type, []).append(tlv)
        return found

    @property
    def is_cut(self) -> bool:
        """Whether the file ends within a TLV, so that nobody knows what else belongs to it."""
        return bool(self.rest) and self.get(END) is None

    def all(self, number: int) -> Iterator[Tlv]:
        """Give the TLVs of a type, in order."""
        return iter(self._by_type.get(number, ()))

    def get(self, number: int, *further: int) -> Tlv | None:
        """Give the first TLV of a type, and of a type within that, and so on."""
        first = next(self.all(number), None)
        return first.get(*further) if first else None

    def walk(self) -> Iterator[Tlv]:
        """Give every TLV, the nested ones too, in the order of the file."""
        for tlv in self.tlvs:
            yield from tlv.walk()

    def name(self, path: str) -> str:
        """Name a TLV with those around it: ``upstream_service_flow[1].buffer_control.target``.

        A TLV that the table does not have is named by its type: ``tlv_213``.
        """
        types, named = [], []
        for step in path.split("."):
            number, bracket, place = step.partition("[")
            types.append(number)
            name = find_name(".".join(types)) or f"tlv_{number}"
            named.append(f"{name}{bracket}{place}")
        return ".".join(named)


def read_document(data: bytes) -> Document:
    """Decode a file. Any bytes can be decoded.

    Parameters
    ----------
    data
        The bytes of the file.
    """
    found = json.loads(_engine.config_to_json(data))
    rest = found.get("rest") or {}
    return Document(
        kind=found["kind"],
        size=found["size"],
        tlvs=tuple(map(_parse_tlv, found["tlvs"])),
        rest=bytes.fromhex(rest.get("hex", "")),
        rest_offset=rest.get("offset", found["size"]),
        content=data,
    )


def _parse_tlv(found: Mapping[str, Any]) -> Tlv:
    nested = found.get("nested")
    return Tlv(
        tlv=found["tlv"],
        path=found["path"],
        name=found.get("name"),
        offset=found["offset"],
        hex=found.get("hex", ""),
        value=found.get("value"),
        shown=found.get("shown"),
        meaning=found.get("meaning"),
        problem=found.get("problem"),
        nested=None if nested is None else tuple(map(_parse_tlv, nested)),
        count=found.get("count", 1),
    )
