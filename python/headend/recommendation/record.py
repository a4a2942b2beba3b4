"""The record of a recommendation: its table, its summary, and what each tier shall have."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.analysis.criteria import Criteria
from headend.analysis.summary import FIGURE, summarise_means
from headend.recommendation.candidate import Candidate
from headend.recommendation.deciding import Decision, decide
from headend.recommendation.request import Request
from headend.recommendation.telling import answer_recommendation
from headend.recommendation.tier import Tier
from headend.wording.answer import Answer

if TYPE_CHECKING:
    import polars as pl

#: The columns that tell a setting from the others.
SETTING = ("tier", "setting", "choice", "feature")


@dataclass(frozen=True)
class RecommendationRecord:
    """The results of a recommendation.

    Parameters
    ----------
    request
        What was asked.
    tiers
        Each tier with what was tried for it, and what must hold.
    table
        A row for each point and measure: ``tier``, ``setting`` (the number of the candidate in its
        tier), ``choice``, ``feature``, ``seed``, and as in a sweep ``measure``, ``subject``,
        ``direction``, ``metric``, ``value``, ``unit``, ``error``.
    complete
        Whether all points were run.
    folder
        Where it is kept.
    notes
        Warnings about the scenarios.
    """

    request: Request
    tiers: tuple[tuple[Tier, tuple[Candidate, ...], Criteria], ...]
    table: pl.DataFrame
    complete: bool
    folder: Path | None = None
    notes: tuple[str, ...] = ()
    #: What the manifest lists of the points that are kept.
    points: tuple[str, ...] = ()

    @functools.cached_property
    def decisions(self) -> tuple[Decision, ...]:
        """What each tier shall have, in the order of the request."""
        import polars as pl

        return tuple(
            decide(
                tier,
                candidates,
                self.table.filter(pl.col("tier") == tier.name) if self.table.width else self.table,
                wish,
                self.request.seeds,
                self.request.demands,
            )
            for tier, candidates, wish in self.tiers
        )

    @functools.cached_property
    def summary(self) -> pl.DataFrame:
        """Means over seeds by tier, setting and measure: ``count``, ``mean``, ``low``, ``high``."""
        return summarise_means(self.table, [*SETTING, *FIGURE])

    @functools.cached_property
    def failures(self) -> dict[tuple[Any, ...], str]:
        """Why points failed, by tier, candidate and seed."""
        if not self.table.width:
            return {}
        rows = self.table.filter(self.table["error"].is_not_null())
        return {
            (tier, choice, seed): error
            for tier, choice, seed, error in rows.select(
                "tier", "choice", "seed", "error"
            ).iter_rows()
        }

    def count_points(self) -> int:
        """Count the points of all tiers."""
        settings = sum(len(candidates) for _, candidates, _ in self.tiers)
        return settings * len(self.request.seeds)

    def count_done(self) -> int:
        """Count the points that have a result."""
        if self.table.is_empty():
            return 0
        points = self.table.select("tier", "setting", "seed").unique().height
        return points - len(self.failures)

    @property
    def answer(self) -> Answer:
        """The answer with which a page or command begins."""
        return answer_recommendation(self.request.title, self.decisions)
