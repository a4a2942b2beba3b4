"""A service tier: its rates, and the line that its modems have today."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: How much faster downstream is where nobody says.
DOWNSTREAM_FACTOR = 10


@dataclass(frozen=True)
class Tier:
    """One service tier.

    Parameters
    ----------
    name
        What it is called: its upstream rate, the name in the file of tiers, or that of its modem's file.
    upstream, downstream
        Sustained rates in bit/s.
    link
        The content of ``[link.cable.docsis]``, without queues: the preset, and a table for each direction.
    today
        What ``link`` lacks of the line as it is today, with the same keys; None where only rates are known.
    file
        The configuration file of its modems, where it was read from one.
    """

    name: str
    upstream: float
    downstream: float
    link: Mapping[str, Any]
    today: Mapping[str, Any] | None = None
    file: Path | None = field(default=None, compare=False)

    @property
    def is_docsis31(self) -> bool:
        """Whether its modems are of DOCSIS 3.1, which have an AQM that is on, and can have low latency."""
        return self.link.get("preset") == "docsis31"
