"""A service tier: its rates, and the line that its modems have today."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from headend.modem_file.generation import PRESET
from headend.scenario.fit_note import FitNote

#: The name of the line in the scenarios of tiers.
LINE = "cable"

#: The kinds of line that a tier can have, as scenarios write them.
DOCSIS, PLAIN = "docsis", "point_to_point"

#: The keys of the two directions in the line's table, by its kind.
_TABLES = {
    DOCSIS: {"upstream": "upstream", "downstream": "downstream"},
    PLAIN: {"upstream": "up", "downstream": "down"},
}


@dataclass(frozen=True)
class Variation:
    """What another tier is a variation of: the same line if it is a little different.

    Parameters
    ----------
    of
        The name of that tier.
    words
        What is different, as in "with a buffer of 120 ms".
    tried
        The labels of the candidates that are tried.
    likelihood
        How likely it is, where that is known.
    sender
        Who sends the uploads in place of those asked for, as `headend.recommendation.sender` writes
        it; empty for these.
    """

    of: str
    words: str
    tried: tuple[str, ...]
    likelihood: float | None = None
    sender: str = ""


@dataclass(frozen=True)
class Tier:
    """One service tier.

    Parameters
    ----------
    name
        What it is called: its upstream rate, the name in the file of tiers, or that of its modem's
        file.
    upstream, downstream
        Sustained rates in bit/s.
    link
        The content of ``[link.NAME.KIND]``, without queues: the preset, and a table for each
        direction.
    today
        What ``link`` lacks of the line as it is today, by ``upstream`` and ``downstream``; None
        where only rates are known.
    file
        The configuration file of its modems, where it was read from one.
    supposed
        What modems of the generation do where that file says nothing of AQM or buffer; or empty.
    kind, line
        The kind of its line, and the name of the link in the scenarios.
    is_own
        Whether it is a line of somebody who asks what helps, and no tier of an operator.
    fit
        What such a line was fitted to, where its scenario says so.
    variation
        What it is a variation of; None for a tier that was asked for.
    cells
        The cells of Wi-Fi between the people and the line, as ``[link]`` has them; they stay as
        they are while settings of the line are tried.
    """

    name: str
    upstream: float
    downstream: float
    link: Mapping[str, Any]
    today: Mapping[str, Any] | None = None
    file: Path | None = field(default=None, compare=False)
    supposed: str = ""
    kind: str = DOCSIS
    line: str = LINE
    is_own: bool = False
    fit: FitNote | None = None
    variation: Variation | None = None
    cells: Mapping[str, Any] = field(default_factory=dict)

    def name_table(self, way: str) -> str:
        """Give the key of ``upstream`` or ``downstream`` in the line's table."""
        return _TABLES[self.kind][way]

    def find_table(self, way: str) -> Mapping[str, Any]:
        """Give the table of ``upstream`` or ``downstream`` of the line, without its queue."""
        table: Mapping[str, Any] = self.link.get(self.name_table(way), {})
        return table

    @property
    def is_cable(self) -> bool:
        """Whether its line is a cable line."""
        return self.kind == DOCSIS

    @property
    def preset(self) -> str:
        """The generation of its modems."""
        return str(self.link.get("preset", PRESET))

    @property
    def is_docsis31(self) -> bool:
        """Whether its modems are of DOCSIS 3.1, with an AQM that is on, and low latency."""
        return self.link.get("preset") == "docsis31"

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON can hold it; `from_dict` makes the same tier of it."""
        found = {**asdict(self), "file": self.file and str(self.file)}
        return found if self.cells else {key: found[key] for key in found if key != "cells"}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Tier:
        """Make a tier of what `to_dict` gave."""
        fit, variation = content.get("fit"), content.get("variation")
        found = {**content, "file": content["file"] and Path(content["file"])}
        if fit:
            values = {name: tuple(ends) for name, ends in fit["values"].items()}
            found["fit"] = FitNote(**{**fit, "values": values, "flags": tuple(fit["flags"])})
        if variation:
            found["variation"] = Variation(**{**variation, "tried": tuple(variation["tried"])})
        return cls(**found)


def copy_tables(value: Any) -> Any:
    """Copy tables of a scenario as JSON has them: dictionaries, lists and plain values.

    Examples
    --------
    >>> copy_tables({"queue": {"codel": {}}, "rates": ("1 Mbit/s",)})
    {'queue': {'codel': {}}, 'rates': ['1 Mbit/s']}
    """
    if isinstance(value, Mapping):
        return {key: copy_tables(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [copy_tables(own) for own in value]
    return value
