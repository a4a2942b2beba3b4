"""Recordings of `headend emulate`, written here block by block."""

from __future__ import annotations

import json
import struct
from typing import Any

SEGMENTS = 50


def write_block(kind: int, body: bytes) -> bytes:
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


def write_option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def write_start(scenario: str, hosts: list[str]) -> bytes:
    """Write the blocks before the packets."""
    comment = f'{{"headend":"0.1.0","recording":2,"seed":1,"scenario":{scenario}}}'
    parts = [comment.encode()[at : at + 60_000] for at in range(0, len(comment), 60_000)]
    header = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
    section = header + b"".join(write_option(1, part) for part in parts) + write_option(0, b"")
    names = [write_option(2, host.encode()) + write_option(9, b"\x09") for host in hosts]
    interfaces = [
        write_block(1, struct.pack("<HHI", 101, 0, 0) + name + write_option(0, b""))
        for name in names
    ]
    return write_block(0x0A0D0D0A, section) + b"".join(interfaces)


def write_packets(addresses: list[bytes], *, other: bool = False) -> bytes:
    """Write segments of one connection; with ``other``, one of them has another sequence number."""
    blocks = []
    for number in range(SEGMENTS):
        seq = 1000 * number + (7 if other and number == 20 else 0)
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 1040, number, 0, 64, 6, 0) + b"".join(addresses)
        tcp = struct.pack(">HHIIBBHHH", 40_000, 80, seq, 1, 0x50, 0x10, 1000, 0, 0)
        frame = ip + tcp + bytes(1000)
        at = 1_000_000 * (number + 1)
        head = struct.pack("<IIIII", 0, at >> 32, at & 0xFFFFFFFF, len(frame), len(frame))
        blocks.append(write_block(6, head + frame + bytes(-len(frame) % 4)))
    return b"".join(blocks)


def write_end(before: bytes, frames: dict[str, Any]) -> bytes:
    checksum = 0xCBF29CE484222325
    for (word,) in struct.iter_unpack("<I", before):
        checksum = (checksum ^ word) * 0x100000001B3 % 2**64
    told = {key: frames[key] for key in ("entered", "delivered", "discarded", "marked", "digest")}
    end = {"end_ns": 5_000_000_000, "frames": told, "blocks": f"{checksum:016x}"}
    body = struct.pack("<III", 0, 1, 705_032_704) + write_option(1, json.dumps(end).encode())
    return write_block(5, body + write_option(0, b""))
