"""Rates, sizes and times of a modem's file in words that lose nothing, and the names of flows."""

from __future__ import annotations

from headend.text.quantity import format_quantity

#: The units of rates, the largest first.
_RATES = ((10**9, "Gbit/s"), (10**6, "Mbit/s"), (10**3, "kbit/s"), (1, "bit/s"))

#: What a direction is called.
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
    """Write a time of so many ns with three digits.

    Examples
    --------
    >>> write_time(50e6), write_time(1_234_567_890)
    ('50 ms', '1.23 s')
    """
    return format_quantity(time, "time")


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
        return shown
    if not hexadecimal:
        return "no bytes"
    size = len(hexadecimal) // 2
    return f"0x{hexadecimal}" if size <= 16 else f"0x{hexadecimal[:24]}… ({size} B)"
