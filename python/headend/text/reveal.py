r"""Control characters in others' texts, made visible in terminals and pages.

Such are the C0 and C1 controls and DEL, what separates lines and paragraphs, what changes the
direction of writing, and halves of surrogate pairs, which stand for bytes of a path that are not
UTF-8. A newline and a tab are kept, except in texts of one line.
"""

from __future__ import annotations

import re

_CLASS = r"\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_HIDDEN = re.compile(rf"[\x00-\x08\x0b-\x1f{_CLASS}]")
_HIDDEN_IN_LINES = re.compile(rf"[\x00-\x1f{_CLASS}]")
#: An escape in JSON, among them every C0 control, or another hidden character, which JSON leaves as
#: it is.
_IN_JSON = re.compile(rf"\\u00([01][0-9a-f])|\\([\\\"/bfnrtu])|[{_CLASS}]")
_WORDS = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_PICTURES = {"b": "␈", "f": "␌", "r": "␍"}


def reveal(text: str) -> str:
    r"""Write control characters as a program's text would; newlines and tabs are kept.

    Examples
    --------
    >>> print(reveal("\x1b[31mred\n[/48] :smile:"))
    \x1b[31mred
    [/48] :smile:
    """
    return _HIDDEN.sub(_write, text)


def reveal_line(text: str) -> str:
    r"""Write control characters as a program's text would, a newline too.

    Examples
    --------
    >>> print(reveal_line("two\nlines, \u202eturned, \u200emarked, caf\udce9"))
    two\nlines, \u202eturned, \u200emarked, caf\xe9
    """
    return _HIDDEN_IN_LINES.sub(_write, text)


def picture_in_json(text: str) -> str:
    r"""Put signs for control characters into the texts of JSON, for charts.

    Examples
    --------
    >>> import json
    >>> print(json.loads(picture_in_json(json.dumps("\x1b, \r, \\u001b"))), picture_in_json("\x9b"))
    ␛, ␍, \u001b �
    """

    def picture(found: re.Match[str]) -> str:
        if found[1]:
            return chr(0x2400 + int(found[1], 16))
        if found[2]:
            return _PICTURES.get(found[2], found[0])
        return "␡" if found[0] == "\x7f" else "\ufffd"

    return _IN_JSON.sub(picture, text)


def escape_in_json(text: str) -> str:
    r"""Write what JSON leaves as it is, such as DEL and C1 controls, as escapes.

    Examples
    --------
    >>> print(escape_in_json('"\x9b2J"'))
    "\u009b2J"
    """
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _write(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # as Python keeps a byte that is not UTF-8
        code -= 0xDC00
    return _WORDS.get(character) or (rf"\x{code:02x}" if code < 0x100 else rf"\u{code:04x}")
