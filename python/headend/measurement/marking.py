"""Names of the markings that packets carry: DSCP (RFC 2474 and those after it) and ECN."""

from __future__ import annotations

#: Code points by name: RFC 2474 (CS), RFC 2597 (AF), RFC 3246 (EF), RFC 5865 (VA), RFC 8622 (LE),
#: RFC 9956 (NQB).
DSCP = {
    **{f"CS{number}": 8 * number for number in range(8)},
    **{f"AF{c}{d}": 8 * c + 2 * d for c in range(1, 5) for d in range(1, 4)},
    "EF": 46,
    "VA": 44,
    "LE": 1,
    "NQB": 45,
}

_NAMES = {number: name for name, number in DSCP.items()}

#: RFC 3168; RFC 9331 tells ECT(1) apart.
_ECN = ("", "ECT(1)", "ECT(0)", "CE")


def name_octet(octet: int) -> str:
    """Name what an octet of type of service, or traffic class, marks; empty for best effort.

    Examples
    --------
    >>> name_octet(0), name_octet(0xB8), name_octet(1), name_octet(0x20), name_octet(45 * 4 + 1)
    ('', 'EF', 'ECT(1)', 'CS1', 'NQB ECT(1)')
    >>> name_octet(3 * 4)
    'DSCP 3'
    """
    point, ecn = octet >> 2, _ECN[octet & 3]
    name = "" if point == 0 else _NAMES.get(point, f"DSCP {point}")
    return " ".join(filter(None, (name, ecn)))
