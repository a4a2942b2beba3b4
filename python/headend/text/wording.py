"""How lists are written in sentences."""

from __future__ import annotations

from collections.abc import Sequence


def list_names(names: Sequence[str], most: int, separator: str = ", ") -> str:
    """Write names one after the other, and of too many how many more there are.

    Examples
    --------
    >>> list_names(["a", "b", "c", "d"], 2)
    'a, b and 2 more'
    >>> list_names(["a", "b", "c"], 2, "; ")
    'a; b; c'
    """
    more = len(names) - most
    # To name the last one tells more than to say that there is one.
    if more <= 1:
        return separator.join(names)
    return f"{separator.join(names[:most])} and {more} more"


def join_names(names: Sequence[str]) -> str:
    """Write names as a sentence lists them.

    Examples
    --------
    >>> join_names(["a", "b", "c"])
    'a, b and c'
    >>> join_names([])
    ''
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def capitalise(text: str) -> str:
    """Begin a sentence with a capital, unless its first word is a name that is no plain word.

    Examples
    --------
    >>> capitalise("call and page"), capitalise("call.mos.p5 and page"), capitalise("web_2: good")
    ('Call and page', 'call.mos.p5 and page', 'web_2: good')
    """
    word = text.split(maxsplit=1)[0].rstrip(",:;") if text else ""
    return text[:1].upper() + text[1:] if word.isalpha() and word.islower() else text


def write_count(number: int, word: str) -> str:
    """Write how many there are of something.

    Examples
    --------
    >>> write_count(1, "claim"), write_count(1200, "run")
    ('1 claim', '1,200 runs')
    """
    return f"{number:,} {word}{'' if number == 1 else 's'}"
