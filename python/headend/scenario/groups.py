"""Many of one kind: what ``count`` makes of a flow or a modem is shown as one group."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

#: Up to so many members are shown one by one.
FEW = 4

#: How many of a group are listed where somebody asks for details.
MOST_LISTED = 10


@dataclass(frozen=True)
class Group:
    """Things whose names differ in a number only.

    Parameters
    ----------
    name
        What they have in common: ``web`` for ``web.1``, ``cable.home.*.up`` for
        ``cable.home.7.up``.
    members
        Their names, in natural order.
    label
        What to call all of them: ``web ×100``.
    """

    name: str
    members: tuple[str, ...]
    label: str


def find_groups(*runs: Iterable[str]) -> dict[str, Group]:
    """Find the group of each name that belongs to one; whoever is one of a few, or alone, has none.

    Parameters
    ----------
    runs
        The names in each run. A group is the same over all runs; where its size is not, its label
        does not say one.

    Examples
    --------
    >>> groups = find_groups(["call", *(f"web.{number}" for number in range(1, 13))])
    >>> groups["web.7"].label, "call" in groups
    ('web ×12', False)
    """
    found: dict[str, dict[str, None]] = {}
    sizes: dict[str, set[int]] = {}
    for names in runs:
        own: dict[str, int] = {}
        for name in dict.fromkeys(names):
            common = name_group(name)
            if common:
                found.setdefault(common, {})[name] = None
                own[common] = own.get(common, 0) + 1
        for common, size in own.items():
            sizes.setdefault(common, set()).add(size)
    groups: dict[str, Group] = {}
    for common, names in found.items():
        if len(names) > FEW:
            equal = len(sizes[common]) == 1
            label = f"{common} ×{len(names)}" if equal else common
            group = Group(common, tuple(sorted(names, key=order_naturally)), label)
            groups |= dict.fromkeys(names, group)
    return groups


@functools.lru_cache(maxsize=2**16)
def name_group(name: str) -> str:
    """Give what a name shares with its group's other members; empty without a number.

    Examples
    --------
    >>> name_group("web.17"), name_group("cable.home.7.up"), name_group("call")
    ('web', 'cable.home.*.up', '')
    """
    parts = name.split(".")
    common = ["*" if part.isdecimal() else part for part in parts]
    if common == parts or all(part == "*" for part in common):
        return ""
    while common[-1] == "*":
        common.pop()
    return ".".join(common)


def label_member(name: str, groups: Mapping[str, Group]) -> str:
    """Give the label of a name's group, or the name itself."""
    group = groups.get(name)
    return group.label if group else name


@functools.lru_cache(maxsize=2**16)
def order_naturally(name: str) -> tuple[tuple[int, int | str], ...]:
    """Give a key that sorts numbers in names as numbers.

    Examples
    --------
    >>> sorted(["home.10", "home.2", "home"], key=order_naturally)
    ['home', 'home.2', 'home.10']
    """
    parts = re.split(r"(\d+)", name)
    return tuple((0, int(part)) if part.isdecimal() else (1, part) for part in parts if part)
