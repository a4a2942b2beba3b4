"""The page of a recommendation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headend.recommending.result import Recommendation


def write_recommendation_page(recommendation: Recommendation, path: Path, fingerprint: str) -> None:
    """Write the self-contained page, unless the one that is there was made of the same."""
