"""Writes rates, sizes, times, names and values of a modem's file in words."""

from __future__ import annotations

from headend.text.quantity import format_quantity
from headend.text.wording import shorten

#: The units of rates, the largest first.
_RATES = ((10**9, "Gbit/s"), (10**6, "Mbit/s"), (10**3, "kbit/s"), (1, "bit/s"))

#: Words in the table's names that are abbreviations, as they are written.
# fmt: off
_CAPITALS = frozenset((
    "aqm", "cm", "cmim", "cmts", "cpe", "dhcp", "dpd", "dscp", "dut", "emta", "icmp", "id", "ip",
    "ipv4", "ipv6", "l2vpn", "llc", "lldp", "mac", "mesp", "mib", "mic", "mpls", "pcp", "pgs",
    "phs", "qp",
    "qos", "sid", "snmp", "snmpv1v2c", "snmpv3", "tcp", "tos", "tpid", "ugs", "udp", "vlan",
))
# fmt: on

#: The most characters of a value that are written.
LONGEST = 120

#: The words for directions.
DIRECTIONS = {"up": "upstream", "down": "downstream"}


def write_rate(rate: int) -> str:
    """Write a rate with all its digits, in the largest unit of which it has at least one.

    Parameters
    ----------
    rate
        In bit/s.

    Examples
    --------
    >>> write_rate(10_000_000), write_rate(12_345_678), write_rate(0)
    ('10 Mbit/s', '12.345678 Mbit/s', '0 bit/s')
    """
    size, unit = next((step for step in _RATES if rate >= step[0]), _RATES[-1])
    whole, part = divmod(rate, size)
    digits = str(part).zfill(len(str(size)) - 1).rstrip("0") if part else ""
    return f"{whole}.{digits} {unit}" if digits else f"{whole} {unit}"


def write_size(size: int) -> str:
    """Write a size with all its digits, in bytes.

    Examples
    --------
    >>> write_size(62500)
    '62500 B'
    """
    return f"{size} B"


def write_time(time: float) -> str:
    """Write a time in ns with three digits, in the unit that fits.

    Examples
    --------
    >>> write_time(50e6), write_time(1_234_567_890)
    ('50 ms', '1.23 s')
    """
    return format_quantity(time, "time")


def write_name(name: str) -> str:
    """Write a name of the table as words.

    Examples
    --------
    >>> write_name("upstream_aqm_disable"), write_name("maximum_number_of_cpes")
    ('upstream AQM disable', 'maximum number of CPEs')
    """
    return " ".join(map(_write_word, name.split("_")))


def _write_word(word: str) -> str:
    if word in _CAPITALS:
        return word.upper().replace("IPV", "IPv").replace("SNMPV1V2C", "SNMPv1v2c")
    one = word.removesuffix("s")
    return f"{one.upper()}s" if one in _CAPITALS else word


def write_value(shown: str | None, hexadecimal: str) -> str:
    """Write a value as the table shows it, or as its bytes, of which long ones are cut short.

    Examples
    --------
    >>> write_value("16", "10"), write_value(None, "0102"), write_value(None, "")
    ('16', '0x0102', 'no bytes')
    >>> write_value(None, "ab" * 40)
    '0xabababababababababababab… (40 B)'
    """
    if shown:
        return shorten(shown, LONGEST)
    if not hexadecimal:
        return "no bytes"
    size = len(hexadecimal) // 2
    return f"0x{hexadecimal}" if size <= 16 else f"0x{hexadecimal[:24]}… ({size} B)"
