"""The result of a recommendation: its table, and what each tier shall have."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headend.judging.answer import Answer
from headend.recommending.candidate import Candidate
from headend.recommending.deciding import Decision, decide
from headend.recommending.request import Request
from headend.recommending.telling import answer_recommendation
from headend.recommending.tier import Tier
from headend.sweeps.wish import Wish

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Recommendation:
    """The result of a recommendation.

    Parameters
    ----------
    request
        What was asked.
    tiers
        Each tier with what was tried for it, and what must hold.
    table
        A row for each point and measure: ``tier``, ``setting`` (the number of the candidate in its tier), ``choice``,
        ``feature``, ``seed``, and as in a sweep ``measure``, ``subject``, ``direction``, ``metric``, ``value``, ``unit``,
        ``error``.
    complete
        Whether all points were run.
    folder
        Where it is kept.
    notes
        Warnings about the scenarios.
    """

    request: Request
    tiers: tuple[tuple[Tier, tuple[Candidate, ...], Wish], ...]
    table: pl.DataFrame
    complete: bool
    folder: Path | None = None
    notes: tuple[str, ...] = ()

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
            )
            for tier, candidates, wish in self.tiers
        )

    @property
    def answer(self) -> Answer:
        """The answer with which a page or command begins."""
        return answer_recommendation(self.request.title, self.decisions)
