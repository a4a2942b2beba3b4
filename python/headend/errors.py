"""Errors that a person can do something about: one line each, and exit code 2."""

from __future__ import annotations

import difflib
import os
import re
import reprlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.text.reveal import reveal_line
from headend.text.wording import join_names, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

#: How alike a whole name must be to what was written, and the beginning of one: 1 is the same.
_LIKE_WHOLE, _LIKE_BEGINNING = 0.6, 0.8

#: What a beginning counts beside a whole name.
_WORTH = 0.87

#: Fewer letters are no beginning of a name.
_LEAST_LETTERS = 4


class InputError(ValueError):
    """What was asked for cannot be done; the text says what was found and what is expected."""


class UnfitError(InputError):
    """Results that agree with their seals and that headend cannot use."""


@contextmanager
def naming(place: str) -> Iterator[None]:
    """Begin an error with its place: an option, a key, a file.

    Examples
    --------
    >>> with naming("--rtt"):
    ...     raise InputError("expected a time")
    Traceback (most recent call last):
    ...
    headend.errors.InputError: --rtt: expected a time
    """
    try:
        yield
    except ValueError as error:
        raise InputError(f"{place}: {error}") from error


#: Characters of an inner error that a line quotes.
_MOST_QUOTED = 160


def refuse_unfit(folders: Sequence[Path], error: Exception) -> UnfitError:
    """Give the error for results that agree with their seals and that headend cannot use.

    Whoever changes a results folder can seal it again, and not every way in which its numbers and
    texts may then contradict each other is looked for beforehand. A fault of headend that only such
    an error shows looks the same.

    Parameters
    ----------
    folders
        Those that were read, one or more.
    error
        What came of it.

    Examples
    --------
    >>> print(refuse_unfit([Path("out")], KeyError("up")))
    out: cannot be used (KeyError: 'up'): its files were changed after they were written, or headend
    has a fault (HEADEND_TRACEBACK=1 tells where)
    """
    what = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": ")
    names = join_names([str(folder) for folder in folders])
    whose = "its" if len(folders) == 1 else "their"
    return UnfitError(
        f"{names}: cannot be used ({shorten(what, _MOST_QUOTED)}): {whose} files were changed after"
        " they were written, or headend has a fault (HEADEND_TRACEBACK=1 tells where)"
    )


def refuse_argument(name: str, expected: str, found: object) -> InputError:
    """Give the error for what was passed from Python in place of what is expected.

    Examples
    --------
    >>> refuse_argument("stop", "a threading.Event", 3)
    InputError('stop: expected a threading.Event, found 3')
    """
    return InputError(f"{name}: expected {expected}, found {show_found(found)}")


def show_found(value: object) -> str:
    """Write what was passed from Python in place of what is expected, shortened.

    Examples
    --------
    >>> show_found("x"), show_found(10**5000)
    ("'x'", 'a number of more digits than are written')
    """
    try:
        return reprlib.repr(value)
    except ValueError:
        return "a number of more digits than are written"


def take_path(path: Any, name: str) -> Path:
    """Give a path that was passed from Python, and refuse what is none."""
    if not isinstance(path, str | os.PathLike):
        raise refuse_argument(name, "a path", path)
    refuse_unwritable(str(path))
    return Path(path)


def refuse_unwritable(text: str) -> None:
    r"""Refuse what can be neither a path nor text in a file: NUL, and bytes that are not UTF-8.

    Examples
    --------
    >>> refuse_unwritable("caf\udce9.toml")
    Traceback (most recent call last):
    ...
    headend.errors.InputError: caf\xe9.toml: expected text in UTF-8, found bytes that are not UTF-8
    """
    if "\0" in text:
        raise InputError(f"{reveal_line(text)}: expected text, found a NUL character in it (\\x00)")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{reveal_line(text)}: expected text in UTF-8, found bytes that are not UTF-8"
        ) from error


def describe_system(error: Exception) -> str:
    """Say what the system said, in lower case and in one line."""
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return said.splitlines()[0].lower()


def find_near(found: str, known: Iterable[str]) -> str | None:
    """Give the name that was perhaps meant, whatever its case; None where none is near.

    The beginning of a name counts as well, and that of its last part; so do reordered words.

    Examples
    --------
    >>> find_near("uplod", ["upload-and-call", "street"])
    'upload-and-call'
    >>> find_near("bufer-control/ping", ["buffer-control", "buffer-control/ping-latency"])
    'buffer-control/ping-latency'
    >>> find_near("pie_docsis", ["pie", "docsis_pie"])
    'docsis_pie'
    >>> find_near("buffer-control/ping", ["buffer-control/settings", "buffer-control/ping-latency"])
    'buffer-control/ping-latency'
    """
    by_letters = {name.lower(): name for name in sorted(set(known), reverse=True)}
    word = found.lower()
    if word not in by_letters and (reordered := find_reordered(word, by_letters)):
        return by_letters[reordered]
    folder, _, own = word.rpartition("/")
    beside = {
        name[len(folder) + 1 :]: written
        for name, written in by_letters.items()
        if folder and name.startswith(f"{folder}/")
    }
    if beside and own and (near_own := find_near(own, beside)):
        return beside[near_own]
    near = difflib.get_close_matches(word, by_letters, n=1, cutoff=_LIKE_WHOLE)
    best, most = (near[0], _compare(word, near[0])) if near else (None, 0.0)
    if len(word) >= _LEAST_LETTERS:
        for name in sorted(by_letters, key=len):
            alike = max(_compare_beginning(word, part) for part in (name, name.rpartition("/")[2]))
            if alike >= _LIKE_BEGINNING and alike * _WORTH > most:
                best, most = name, alike * _WORTH
    return None if best is None else by_letters[best]


def find_reordered(found: str, known: Iterable[str]) -> str | None:
    """Give the name that has the words of another in another order.

    Examples
    --------
    >>> find_reordered("pie_docsis", ["pie", "docsis_pie"]), find_reordered("pie", ["docsis_pie"])
    ('docsis_pie', None)
    """
    words = _sort_words(found)
    if len(words) < 2:
        return None
    return next((name for name in sorted(known) if _sort_words(name) == words), None)


def _sort_words(name: str) -> list[str]:
    return sorted(re.split(r"[\W_]+", name.lower()))


def _compare(first: str, second: str) -> float:
    return difflib.SequenceMatcher(None, second, first).ratio()


def _compare_beginning(word: str, name: str) -> float:
    """Say how alike a word is to the beginning of a longer name, of which it may lack a letter."""
    size = len(word)
    if len(name) <= size:
        return 0.0
    return max(_compare(word, name[:size]), _compare(word, name[: size + 1]))


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
    return "; there are " + ", ".join(names) if len(names) <= 25 else ""
