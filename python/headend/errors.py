"""Errors that a person can do something about: one line each, and exit code 2."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class InputError(ValueError):
    """What was asked for cannot be done; the text says what was found and what is expected."""


def find_near(found: str, known: Iterable[str]) -> str | None:
    """Give the name that was perhaps meant, whatever its case; None where none is near."""
    by_letters = {name.lower(): name for name in sorted(set(known), reverse=True)}
    near = difflib.get_close_matches(found.lower(), by_letters, n=1, cutoff=0.6)
    return by_letters[near[0]] if near else None


def suggest(found: str, known: Iterable[str]) -> str:
    """Give the end of an error message that names the nearest known word, or all of a few.

    Examples
    --------
    >>> suggest("goodputt", ["goodput", "loss"])
    '; did you mean "goodput"?'
    >>> suggest("GOODPUT", ["goodput", "loss"])
    '; did you mean "goodput"?'
    >>> suggest("x", ["b", "a"])
    '; there are a, b'
    >>> suggest("x", [])
    ''
    """
    names = sorted(set(known))
    near = find_near(found, names)
    if near:
        return f'; did you mean "{near}"?'
    if not names:
        return ""
    return "; there are " + ", ".join(names) if len(names) <= 24 else ""
