"""The results folder of a recommendation: finished points, one table, the request with all candidates, and the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headend.recommending.result import Recommendation


def write_outcome(recommendation: Recommendation, folder: Path, *, report: bool = True) -> None:
    """Write table, manifest, the scenario of each tier, their seals and the page; each file is whole or as it was."""


def load_recommendation(folder: str | Path) -> Recommendation:
    """Read a recommendation back, without running anything."""
    raise NotImplementedError
