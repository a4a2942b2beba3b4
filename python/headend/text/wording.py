"""How sentences are written: lists and counts in them, and where their lines may end."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

#: The space between a number and its unit.
_BEFORE_UNIT = re.compile(
    r"(?<=\d) (?=%|pp\b|[kMG]?bit/s|[mµn]?s\b|min\b|(?:[kKMG]i?)?B\b|BDP\b|RPM)"
)

#: What stands between backticks: a command, or an option with its value.
_COMMAND = re.compile(r"`[^`]+`")


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


def shorten(text: str, most: int) -> str:
    """Cut a text longer than so many characters; an ellipsis then counts as the last.

    Examples
    --------
    >>> shorten("1 Mbit/s", 8), shorten("10 Mbit/s", 8)
    ('1 Mbit/s', '10 Mbit…')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def capitalise(text: str) -> str:
    """Begin a sentence with a capital, unless its first word is a name that is no plain word.

    Examples
    --------
    >>> capitalise("call and page"), capitalise("call.mos.p5 and page"), capitalise("web_2: good")
    ('Call and page', 'call.mos.p5 and page', 'web_2: good')
    >>> capitalise("phone's signal"), capitalise("phone.1's signal")
    ("Phone's signal", "phone.1's signal")
    """
    word = text.split(maxsplit=1)[0].rstrip(",:;").removesuffix("'s") if text else ""
    return text[:1].upper() + text[1:] if word.isalpha() and word.islower() else text


def write_count(number: int, word: str) -> str:
    """Write how many there are of something.

    Examples
    --------
    >>> write_count(1, "claim"), write_count(1200, "run")
    ('1 claim', '1,200 runs')
    """
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def keep_units(text: str) -> str:
    r"""Keep a number and its unit on one line.

    Examples
    --------
    >>> keep_units("each 2 to 3.5 Mbit/s").split(" ")
    ['each', '2', 'to', '3.5\xa0Mbit/s']
    """
    return _BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", text)


def wrap_sentence(text: str, width: int) -> list[str]:
    """Break a sentence into lines, none of which ends within a number and unit, or a command.

    What stands between backticks is a command; one that is longer than a line has its own.

    Examples
    --------
    >>> wrap_sentence("A queue of 211 ms: try `--set queue=fq_codel`.", 18)
    ['A queue of 211 ms:', 'try', '`--set queue=fq_codel`.']
    """
    kept = _COMMAND.sub(lambda found: found[0].replace(" ", "\N{NO-BREAK SPACE}"), keep_units(text))
    lines = textwrap.wrap(kept, width, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]
