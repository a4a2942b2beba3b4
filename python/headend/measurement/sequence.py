"""Which probes had no answer, from the numbers of those that had one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

#: Numbers of ICMP's echo requests have 16 bits (RFC 792): after 65 535 comes 0.
_NUMBERS = 2**16

#: A wider gap between numbers is no loss of packets: a sender or a clock began anew.
_LARGEST_GAP = 100_000

#: So many lost probes are told of: as many as a week has seconds, and more.
_MOST_LOST = 1_000_000


def unwrap(numbers: Sequence[int]) -> list[int]:
    """Give numbers that began again at 0 after 65 535 as if they had gone on.

    Parameters
    ----------
    numbers
        Of probes, in order of arrival; a late answer may be out of order by half of all numbers.

    Examples
    --------
    >>> unwrap([65534, 65535, 0, 2, 1]), unwrap([3, 2, 70000])
    ([65534, 65535, 65536, 65538, 65537], [3, 2, 70000])
    """
    turn, last = 0, None
    whole: list[int] = []
    for number in numbers:
        found = number + turn
        if last is not None and number < _NUMBERS:
            if found < last - _NUMBERS // 2:
                turn += _NUMBERS
                found += _NUMBERS
            elif turn and found > last + _NUMBERS // 2:
                found -= _NUMBERS
        last = found if last is None else max(last, found)
        whole.append(found)
    return whole


def find_lost(answered: Sequence[tuple[float, float]]) -> tuple[list[int], list[float]]:
    """Find lost probes by gaps in the numbers of answered ones.

    Parameters
    ----------
    answered
        The number of each and when it was sent, s, in order of arrival.

    Returns
    -------
    kept, lost
        The indices of the first answer to each probe, in order of numbers; and when each lost probe
        was sent, s, from its neighbours' times. Probes before the first answer and after the last
        one are not known.

    Examples
    --------
    >>> find_lost([(1, 0.0), (2, 0.25), (2, 0.3), (4, 0.75)])
    ([0, 1, 3], [0.5])
    >>> find_lost([(65535, 0.0), (1, 1.0)])
    ([0, 1], [0.5])
    """
    first: dict[int, int] = {}
    for index, number in enumerate(unwrap([int(number) for number, _ in answered])):
        first.setdefault(number, index)
    ordered = sorted(first)
    lost: list[float] = []
    for left, right in itertools.pairwise(ordered):
        gap = right - left
        if 1 < gap <= _LARGEST_GAP and len(lost) + gap <= _MOST_LOST:
            start, end = answered[first[left]][1], answered[first[right]][1]
            lost.extend(start + (end - start) * step / gap for step in range(1, gap))
    return [first[number] for number in ordered], lost
