"""The page of a recommendation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headend.recommending.record import RecommendationRecord


def write_recommendation_page(
    recommendation: RecommendationRecord, path: Path, fingerprint: str
) -> None:
    """Write the self-contained page, unless the one that is there was made of the same."""
