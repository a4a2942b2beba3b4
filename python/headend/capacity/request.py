"""What is asked: of which scenario, whose homes are varied, and which share may suffer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headend.errors import InputError, suggest
from headend.scenario.source import Overrides, Text
from headend.text.quantity import parse_quantity
from headend.text.wording import join_names

#: The share of people who may suffer, by default.
SHARE = "5 %"

#: Seeds by default.
SEEDS = (1, 2, 3, 4, 5)

#: The scenario whose homes are counted by default.
SCENARIO = "street"


@dataclass(frozen=True)
class Request:
    """What is asked.

    Parameters
    ----------
    text
        The scenario.
    modems
        The group of modems that is varied, such as ``cable.home``.
    start
        How many homes the scenario has.
    share
        The largest share of people who may suffer from sharing.
    overrides
        What all points share besides, from outside.
    fastest
        The highest rate of a tier in each direction, ``up`` and ``down``, bit/s.
    shares
        The share of homes that have each flow, of the flows that only a share has.
    """

    text: Text
    modems: str
    start: int
    share: float
    seeds: tuple[int, ...] = SEEDS
    title: str = ""
    overrides: Overrides = ()
    fastest: Mapping[str, float] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What the results are called."""
        return self.text.name

    @property
    def path(self) -> str:
        """The path of the number of homes."""
        link, _, group = self.modems.partition(".")
        return f"link.{link}.docsis.modem.{group}.count"

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON can hold it."""
        return {
            "modems": self.modems,
            "start": self.start,
            "share": self.share,
            "fastest": dict(self.fastest),
            "set": [[path, value] for path, value in self.overrides],
        }


def choose_modems(scenario: Mapping[str, Any], wanted: str | None) -> tuple[str, int]:
    """Choose the group of modems whose number is varied, and give it with its size.

    Parameters
    ----------
    scenario
        As resolved.
    wanted
        The name of a group, with or without that of its link; None for the only one of several
        modems.

    Raises
    ------
    InputError
        Where there is none, or more than one, or none of this name.
    """
    groups = {
        f"{link}.{name}": modem.get("count", 1)
        for link, medium in scenario.get("link", {}).items()
        for name, modem in medium.get("docsis", {}).get("modem", {}).items()
    }
    if not groups:
        raise InputError(
            "expected a cable line with a group of modems, such as"
            " link.cable.docsis.modem.home.count = 100; found none"
        )
    if wanted is None:
        several = [name for name, count in groups.items() if count > 1]
        if len(several) != 1:
            raise InputError(
                f"expected one group of several modems, found {join_names(several) or 'none'} of"
                f" {join_names(list(groups))}; name the group that is varied: --vary NAME"
            )
        return several[0], groups[several[0]]
    fitting = [name for name in groups if wanted in (name, name.partition(".")[2])]
    if len(fitting) != 1:
        near = suggest(wanted, [own.partition(".")[2] for own in groups])
        raise InputError(
            f"--vary {wanted}: expected a group of modems ({join_names(list(groups))}), found"
            f" {'several of this name' if fitting else 'none of this name'}{near}"
        )
    return fitting[0], groups[fitting[0]]


def find_fastest(scenario: Mapping[str, Any], modems: str) -> dict[str, float]:
    """Find the highest rate of any tier of a group of modems, in each direction, bit/s.

    Parameters
    ----------
    scenario
        As resolved.
    modems
        Link and group, such as ``cable.home``.
    """
    link, _, name = modems.partition(".")
    cable = scenario["link"][link]["docsis"]
    group, classes = cable["modem"][name], cable.get("service_class", {})
    named = [*group.get("mix", {}), group.get("service_class")]
    tiers = [classes[own] for own in named if own in classes]
    found = {}
    for way in ("up", "down"):
        rates = [table.get(f"{way}stream", {}).get("rate") for table in (*tiers, group, cable)]
        known = [parse_quantity(rate, "rate").value for rate in rates if isinstance(rate, str)]
        if known:
            found[way] = max(known)
    return found


def read_share(text: str) -> float:
    """Read the share of people who may suffer.

    Raises
    ------
    InputError
        For anything but a share above 0 % and below 100 %.

    Examples
    --------
    >>> read_share("5 %")
    0.05
    """
    try:
        share = parse_quantity(text, "ratio").value
    except ValueError as error:
        raise InputError(f'--suffering {text}: expected a share such as "5 %": {error}') from error
    if not 0 < share < 1:
        raise InputError(f"--suffering {text}: expected more than 0 % and less than 100 %")
    return share
