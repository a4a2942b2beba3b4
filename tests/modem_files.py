"""Makes modems' files for tests, byte by byte; the integrity checks are computed here and not by headend."""

from __future__ import annotations

import hashlib
import hmac

#: The order in which the CMTS MIC covers the TLVs of a file, as far as these files have them.
_COVERED = (3, 18, 22, 23, 24, 25)


def tlv(number: int, value: bytes) -> bytes:
    """Write one TLV."""
    return bytes([number, len(value)]) + value


def number(of: int, value: int, size: int = 4) -> bytes:
    """Write a TLV that is a number."""
    return tlv(of, value.to_bytes(size, "big"))


def flow(
    kind: int,
    reference: int,
    rate: int,
    *,
    buffer: int | None = None,
    further: bytes = b"",
) -> bytes:
    """Write a service flow: 24 is upstream and 25 downstream."""
    value = number(1, reference, 2) + number(6, 7, 1) + number(8, rate)
    if buffer is not None:
        value += tlv(35, number(2, buffer))
    return tlv(kind, value + further)


def make_file(
    *flows: bytes,
    secret: bytes = b"DOCSIS",
    buffer: int = 62_500,
    rate: int = 10_000_000,
    further: bytes = b"",
) -> bytes:
    """Make a file whose integrity checks are right; by default with a service flow in each direction."""
    flows = flows or (flow(24, 1, rate, buffer=buffer), flow(25, 2, 100_000_000))
    body = [number(3, 1, 1), *flows]
    cm_mic = tlv(6, hashlib.md5(b"".join(body) + further).digest())
    signed = hmac.new(secret, digestmod="md5")
    for kind in _COVERED[:1]:
        signed.update(b"".join(one for one in body if one[0] == kind))
    signed.update(cm_mic)
    for kind in _COVERED[1:]:
        signed.update(b"".join(one for one in body if one[0] == kind))
    content = b"".join(body) + further + cm_mic + tlv(7, signed.digest()) + b"\xff"
    return content + bytes(-len(content) % 4)
