"""The seeds of an experiment: how many, or which."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headend.errors import InputError, show_found
from headend.text.quantity import read_integer

#: How many seeds a setting can have.
MOST_SEEDS = 100

#: Seeds are 64 bits.
LARGEST_SEED = 2**64 - 1


def read_seed(seed: Any) -> int:
    """Give a seed as a Python integer, and refuse other values."""
    number = read_integer(seed)
    if number is None or not 0 <= number <= LARGEST_SEED:
        raise InputError(
            f"seed: expected a whole number from 0 to {LARGEST_SEED}, found {show_found(seed)}"
        )
    return number


def choose_seeds(wanted: int | Sequence[int], first: int = 1) -> tuple[int, ...]:
    """Give so many seeds from the first on, or the listed ones.

    Examples
    --------
    >>> choose_seeds(3), choose_seeds(3, first=7), choose_seeds([4, 2])
    ((1, 2, 3), (7, 8, 9), (4, 2))
    """
    count = read_integer(wanted)
    if count is None:
        if isinstance(wanted, bool | str) or not isinstance(wanted, Iterable):
            raise InputError(
                f"seeds: expected how many, or a list of them, found {show_found(wanted)}"
            )
        seeds = list(wanted)
        count = len(seeds)
    else:
        # Not more than are too many: nobody waits for a list of a billion.
        seeds = list(range(first, first + min(count, MOST_SEEDS)))
    if not 1 <= count <= MOST_SEEDS:
        raise InputError(f"seeds: expected 1 to {MOST_SEEDS} of them, found {show_found(count)}")
    seeds = [read_seed(seed) for seed in seeds]
    for seed in seeds:
        if seeds.count(seed) > 1:
            raise InputError(f"seeds: {seed} is given twice")
    return tuple(seeds)
