"""Numbers with their units, as sentences have them."""

from __future__ import annotations

from headend.text.quantity import format_quantity


def time(value: float | None) -> str:
    """Write a time in ns."""
    return format_quantity(value, "time")


def share(value: float | None) -> str:
    """Write a share in per cent."""
    return format_quantity(value, "ratio")


def rate(value: float | None) -> str:
    """Write a rate in bit/s."""
    return format_quantity(value, "rate")


def number(value: float) -> str:
    """Write a number without a unit."""
    return format_quantity(float(value), "number")


def count(value: float, noun: str, nouns: str = "") -> str:
    """Write how many there are of something.

    Examples
    --------
    >>> count(1, "loss", "losses"), count(2, "loss", "losses"), count(1200, "packet")
    ('1 loss', '2 losses', '1,200 packets')
    """
    return f"{number(value)} {noun if value == 1 else nouns or f'{noun}s'}"
