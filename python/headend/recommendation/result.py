"""The result of a recommendation: its table, its summary, and what each tier shall have."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from headend.errors import InputError, refuse_argument, take_path
from headend.pages.notebook import Presented
from headend.recommendation.candidate import Candidate
from headend.recommendation.conditions import list_vocabularies, read_tier_wish
from headend.recommendation.deciding import Decision, decide
from headend.recommendation.keeping import add_sums, list_parts
from headend.recommendation.request import Request
from headend.recommendation.sentences import answer_recommendation
from headend.recommendation.tier import Tier
from headend.results.export import write_tables
from headend.sweeps.summary import FIGURE, summarise_means
from headend.sweeps.wish import Wish

if TYPE_CHECKING:
    import polars as pl

    from headend.figures import Figure
    from headend.wording.answer import Answer

#: The columns that tell a setting from the others.
SETTING = ("tier", "setting", "choice", "feature")


@dataclass(frozen=True, repr=False)
class Recommendation(Presented):
    """A recommendation: ``table`` has all points, ``summary`` means, ``decisions`` the choices.

    A notebook shows it with its question, its answer, the matrix of tiers and choices, and the
    figure that shows why.

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
    tiers: tuple[tuple[Tier, tuple[Candidate, ...], Wish], ...]
    table: pl.DataFrame
    complete: bool
    folder: Path | None = None
    notes: tuple[str, ...] = ()
    #: What the manifest lists of the points that are kept.
    points: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Say what each tier shall have; table and summary are attributes."""
        parts = [
            f"{own.tier.name}: {own.find(own.recommended).label}"
            if own.recommended
            else f"{own.tier.name}: nothing holds"
            for own in self.decisions
        ]
        parts += [] if self.complete else ["not run to its end"]
        return f"<Recommendation {'; '.join(parts)}>"

    @functools.cached_property
    def decisions(self) -> tuple[Decision, ...]:
        """What each tier shall have, in the order of the request."""
        import polars as pl

        seeds, demands = self.request.seeds, self.request.demands
        found = []
        for tier, candidates, wish in self.tiers:
            own = self.table.filter(pl.col("tier") == tier.name) if self.table.width else self.table
            found.append(decide(tier, candidates, own, wish, seeds, demands))
        return tuple(found)

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
            tuple(place): error
            for *place, error in rows.select("tier", "choice", "seed", "error").iter_rows()
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

    def judge_again(self, expect: str | Sequence[str] = (), prefer: str = "") -> Self:
        """Judge the same results by other conditions; nothing is run.

        Parameters
        ----------
        expect
            What must hold, in place of what was asked, such as ``"call.mos.p5 >= 4.2"``, or several
            of such. By default the conditions stay as they are.
        prefer
            What there should be most or least of, such as ``"least page.page_load_time.p50"``. By
            default as it is.

        Raises
        ------
        InputError
            For a condition that cannot be understood, and for a quantity that the results do not
            hold.
        """
        conditions = tuple(filter(None, (expect,))) if isinstance(expect, str) else tuple(expect)
        if not all(isinstance(one, str) for one in conditions):
            raise refuse_argument("expect", "conditions as text", expect)
        request = replace(
            self.request,
            expect=conditions or self.request.expect,
            prefer=prefer or self.request.prefer,
        )
        tiers = []
        for tier, candidates, _ in self.tiers:
            wish = read_tier_wish(request, tier, list_vocabularies(request, tier, candidates))
            if self.table.width:
                _check_kept(wish, set(self.table["measure"].unique()))
            tiers.append((tier, candidates, wish))
        table = add_sums(self.table, [wish for _, _, wish in tiers])
        return replace(self, request=request, tiers=tuple(tiers), table=table)

    def present(self) -> tuple[Answer, list[Figure]]:
        """Give the answer and all figures of its page."""
        from headend.recommendation.figure import draw_recommendation

        figures = draw_recommendation(self)
        return self.answer.settle_why([figure.name for figure in figures]), figures

    def to_csv(
        self, folder: str | Path, *, tables: Sequence[str] | None = None, force: bool = False
    ) -> list[Path]:
        """Write ``results.csv``, a row for each point and measure, and the means, ``summary.csv``.

        Parameters
        ----------
        folder, tables, force
            As of ``Result.to_csv``.

        Returns
        -------
        list of Path
            The files that were written.
        """
        found = {"results": self.table, "summary": self.summary}
        return write_tables(found, take_path(folder, "folder"), "csv", tables, force=force)


def _check_kept(wish: Wish, kept: set[str | None]) -> None:
    """Refuse what was not kept of the runs."""
    asked = [(one.where, one.term) for one in wish.hold]
    asked += [(wish.where, wish.objective)] if wish.objective else []
    for where, term in asked:
        for part in (part for name in term.measures for part in list_parts(name)):
            if part not in kept:
                raise InputError(
                    f"{where}: {part} was not kept of these results; run the recommendation again"
                    " with it"
                )
