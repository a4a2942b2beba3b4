"""The figures of a recommendation: what each setting gives to whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headend.figures.figure import Figure
    from headend.recommending.record import RecommendationRecord


def draw_recommendation(recommendation: RecommendationRecord) -> list[Figure]:
    """Draw the figures of the page; the one called ``trade-off`` comes first."""
    return []
