"""The senders of uploads: the congestion control, and how many connections each upload has.

What holds beside one CUBIC connection need not hold beside ten, or beside BBR. A recommendation
tries every setting with each sender, and its conditions must hold with each.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headend.custom.classes import describe_missing_class
from headend.engine.vocabulary import list_choices
from headend.errors import InputError, suggest
from headend.scenario.codes import KIND, find_file
from headend.text.quantity import read_digits
from headend.text.wording import join_names, write_count

#: The senders that people have: the default of most systems, and that of large services today; with
#: a connection for a file, and with as many as a browser or a backup opens.
USUAL = ("cubic", "10 cubic", "bbr3", "10 bbr3")

#: What stands for them in a list.
USUAL_NAME = "usual"

#: The sender of a quick answer: the default of most systems, with one connection.
QUICK = "cubic"

#: The most connections of an upload.
MOST_CONNECTIONS = 1000

#: One of a list: how many connections, and of which congestion control.
_ITEM = re.compile(r"(?:([+-]?[0-9]+)\s*[x×]?\s*)?(.*)", re.IGNORECASE | re.DOTALL)

#: What the engine's description of a congestion control begins with: its name.
_NAME = re.compile(r"[^(:,]+")

#: Keys of a flow's ``tcp``, or of all TCP, by which the people say who sends.
_NAMING = ("congestion", "system")


@dataclass(frozen=True)
class Sender:
    """Who sends an upload.

    Parameters
    ----------
    control
        The congestion control, by the engine's name; or a code of one's own.
    connections
        How many each upload has.
    """

    control: str
    connections: int = 1

    def __str__(self) -> str:
        """Write it as ``--senders`` takes it, and as it stands in tables."""
        return self.control if self.connections == 1 else f"{self.connections} {self.control}"

    @property
    def words(self) -> str:
        """Write it as a sentence has it.

        Examples
        --------
        >>> Sender("bbr3", 10).words, Sender("cubic").words
        ('BBR version 3 with 10 connections', 'CUBIC with 1 connection')
        """
        return f"{name_control(self.control)} with {write_count(self.connections, 'connection')}"

    def write(self, flow: Mapping[str, Any]) -> dict[str, Any]:
        """Give the table of an upload that it sends."""
        count = int(flow.get("count", 1)) * self.connections
        own = {**flow, "tcp": {**flow.get("tcp", {}), "congestion": self.control}}
        return {**own, "count": count} if count > 1 else own


def is_open(flow: Mapping[str, Any], tcp: Mapping[str, Any]) -> bool:
    """Say whether neither a flow nor the TCP of all flows names a congestion control.

    Examples
    --------
    >>> is_open({"tcp": {"pacing": True}}, {}), is_open({"tcp": {"congestion": "reno"}}, {})
    (True, False)
    """
    return not any(key in own for own in (flow.get("tcp", {}), tcp) for key in _NAMING)


def name_control(control: str) -> str:
    """Name a congestion control in words."""
    return _name_controls().get(control, control)


@functools.cache
def _name_controls() -> dict[str, str]:
    found = {}
    for own in list_choices("congestion"):
        if own.name == KIND:  # a person's own has its own name
            continue
        match = _NAME.match(own.description)
        found[own.name] = match[0].strip() if match else own.name
    return found


def read_senders(value: Any) -> tuple[Sender, ...]:
    """Read a list of senders, such as ``cubic, 10 bbr3``.

    Raises
    ------
    InputError
        Without saying where it is written.

    Examples
    --------
    >>> read_senders("CUBIC, 10 x bbr3")
    (Sender(control='cubic', connections=1), Sender(control='bbr3', connections=10))
    >>> read_senders("4 my_cc.py:Mine")
    (Sender(control='my_cc.py:Mine', connections=4),)
    >>> read_senders("usual") == read_senders(USUAL)
    True
    """
    example = 'expected senders such as "cubic, 10 bbr3"'
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        raise InputError(f"{example}, found {value}")
    named = [item.strip() for text in texts for item in text.split(",")]
    items = [one for item in named for one in (USUAL if item == USUAL_NAME else (item,))]
    known = _name_controls()
    found = []
    for item in items:
        match = _ITEM.fullmatch(item)
        written = match[2].strip() if match else ""
        is_own = find_file(written) is not None
        control = written if is_own else re.sub(r"[\s-]+", "_", written.lower())
        if not control:
            raise InputError(f'{example}, found "{", ".join(texts)}"')
        if not is_own and control not in known:
            if why := describe_missing_class(written, "congestion", (Path(),)):
                raise InputError(why)
            raise InputError(
                f'no congestion control is called "{control}"{suggest(control, known)}'
            )
        try:
            connections = read_digits(match[1] or "1", 9) if match else 1
        except ValueError:
            connections = MOST_CONNECTIONS + 1
        if not 1 <= connections <= MOST_CONNECTIONS:
            raise InputError(f'expected 1 to {MOST_CONNECTIONS} connections, found "{item}"')
        found.append(Sender(control, connections))
    return tuple(dict.fromkeys(found))


def join_senders(senders: Sequence[Sender]) -> str:
    """List senders in a sentence: those with equal numbers of connections together.

    Examples
    --------
    >>> join_senders(read_senders(USUAL))
    'CUBIC and BBR version 3 with 1 and 10 connections'
    >>> join_senders(read_senders("cubic, 10 cubic, bbr3"))
    'CUBIC with 1 and 10 connections and BBR version 3 with 1 connection'
    >>> join_senders(read_senders("cubic, bbr3"))
    'CUBIC and BBR version 3 with 1 connection'
    """
    counts: dict[str, list[int]] = {}
    for own in senders:
        counts.setdefault(own.control, []).append(own.connections)
    together: dict[tuple[int, ...], list[str]] = {}
    for control, numbers in counts.items():
        together.setdefault(tuple(sorted(numbers)), []).append(name_control(control))
    return join_names(
        [
            f"{join_names(controls)} with {join_names([str(own) for own in numbers])}"
            f" connection{'' if numbers == (1,) else 's'}"
            for numbers, controls in together.items()
        ]
    )
