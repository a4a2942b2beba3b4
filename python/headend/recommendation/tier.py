"""A service tier: its rates, and the line that its modems have today."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from headend.modem_file.generation import PRESET

#: The name of the line in the scenarios.
LINE = "cable"


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
        The content of ``[link.cable.docsis]``, without queues: the preset, and a table for each
        direction.
    today
        What ``link`` lacks of the line as it is today, with the same keys; None where only rates
        are known.
    file
        The configuration file of its modems, where it was read from one.
    supposed
        What modems of the generation do where that file says nothing of AQM or buffer; or empty.
    """

    name: str
    upstream: float
    downstream: float
    link: Mapping[str, Any]
    today: Mapping[str, Any] | None = None
    file: Path | None = field(default=None, compare=False)
    supposed: str = ""

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
        return {**asdict(self), "file": self.file and str(self.file)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Tier:
        """Make a tier of what `to_dict` gave."""
        return cls(**{**content, "file": content["file"] and Path(content["file"])})


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
