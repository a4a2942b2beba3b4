"""The result of a recommendation in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from headend.errors import take_path
from headend.pages.notebook import Presented
from headend.recommendation.figure import draw_recommendation
from headend.recommendation.judging import judge_again
from headend.recommendation.record import RecommendationRecord
from headend.results.export import write_tables

if TYPE_CHECKING:
    from headend.figures import Figure
    from headend.wording.answer import Answer


@dataclass(frozen=True, repr=False)
class Recommendation(RecommendationRecord, Presented):
    """A recommendation: ``table`` has all points, ``summary`` means, ``decisions`` the choices.

    A notebook shows it with its question, its answer, the matrix of tiers and choices, and the
    figure that shows why.
    """

    def __repr__(self) -> str:
        """Say what each tier shall have; table and summary are attributes."""
        told = [
            f"{own.tier.name}: {own.find(own.recommended).label}"
            if own.recommended
            else f"{own.tier.name}: nothing holds"
            for own in self.decisions
        ]
        if not self.complete:
            told.append("not run to its end")
        return f"<Recommendation {'; '.join(told)}>"

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
        request, tiers, table = judge_again(self, expect, prefer)
        return replace(self, request=request, tiers=tiers, table=table)

    def present(self) -> tuple[Answer, list[Figure]]:
        """Give the answer and all figures of its page."""
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
