"""Modems' files for tests, made and signed here byte by byte, not by headend's encoder."""

from __future__ import annotations

import hashlib
import hmac

SECRET = b"DOCSIS"

#: The types that the CMTS MIC covers, in its order.
COVERED = (1, 2, 3, 4, 17, 43, 6, 18, 19, 20, 22, 23, 24, 25, 28, 29, 26, 35, 36, 37, 40)


def tlv(number: int, *value: bytes) -> bytes:
    """One TLV of a value, or of TLVs."""
    inner = b"".join(value)
    return bytes([number, len(inner)]) + inner


def u8(number: int, value: int) -> bytes:
    return tlv(number, value.to_bytes(1, "big"))


def u16(number: int, value: int) -> bytes:
    return tlv(number, value.to_bytes(2, "big"))


def u32(number: int, value: int) -> bytes:
    return tlv(number, value.to_bytes(4, "big"))


def flow(
    number: int, *more: bytes, reference: int = 1, rate: int | None = 10_000_000, set_type: int = 7
) -> bytes:
    """A service flow with a reference, a type of its parameter set, a rate, and more TLVs."""
    own = b"" if rate is None else u32(8, rate)
    return tlv(number, u16(1, reference), u8(6, set_type), own, *more)


def buffer(target: int | None = None, least: int | None = None, most: int | None = None) -> bytes:
    """Buffer Control with those of its numbers that are given."""
    numbers = ((1, least), (2, target), (3, most))
    return tlv(35, *(u32(number, value) for number, value in numbers if value is not None))


def classifier(number: int, reference: int, to: int, *more: bytes, priority: int = 0) -> bytes:
    """A classifier that sends packets to a service flow."""
    return tlv(number, u8(1, reference), u16(3, to), u8(5, priority), *more)


#: An upstream flow of 10 Mbit/s whose full buffer delays by 50 ms, and a downstream flow.
UP = flow(24, buffer(62_500))
DOWN = flow(25, rate=100_000_000)


def sign(settings: bytes, secret: bytes = SECRET) -> bytes:
    """A file of settings with both MICs, the end marker and pads."""
    covered = settings + tlv(6, hashlib.md5(settings).digest())
    parts: dict[int, bytes] = {}
    at = 0
    while at < len(covered):
        end = at + 2 + covered[at + 1]
        parts[covered[at]] = parts.get(covered[at], b"") + covered[at:end]
        at = end
    digest = hmac.digest(secret, b"".join(parts.get(one, b"") for one in COVERED), "md5")
    whole = covered + tlv(7, digest) + b"\xff"
    return whole + bytes(-len(whole) % 4)


def build(*settings: bytes, up: bytes = UP, down: bytes = DOWN) -> bytes:
    """A signed file with network access, an upstream and a downstream flow, and more settings."""
    return sign(b"".join((u8(3, 1), *settings, up, down)))


def make_file(
    *flows: bytes, secret: bytes = SECRET, target: int = 62_500, further: bytes = b""
) -> bytes:
    """A signed file with network access, and flows, by default of 10 and 100 Mbit/s."""
    own = flows or (flow(24, buffer(target)), flow(25, reference=2, rate=100_000_000))
    return sign(b"".join((u8(3, 1), *own)) + further, secret)
