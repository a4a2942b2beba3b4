"""The result of a sweep in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headend.errors import take_path
from headend.pages.notebook import Presented
from headend.results.export import write_tables
from headend.sweeps.outcome import draw_sweep_figures
from headend.sweeps.record import SweepRecord

if TYPE_CHECKING:
    from headend.analysis.answer import Answer
    from headend.figures import Figure


@dataclass(frozen=True, repr=False)
class SweepResult(SweepRecord, Presented):
    """A sweep's results: ``table`` has all points, ``summary`` means, ``conclusion`` the best.

    A notebook shows it with its question, its answer, the best settings, and the figure that shows
    why.
    """

    def __repr__(self) -> str:
        """Say what was swept; table and summary are attributes."""
        axes = ", ".join(f"{len(axis.labels)} × {axis.name}" for axis in self.sweep.design.factors)
        count = len(self.sweep.design.seeds)
        told = [axes, f"{count} seeds" if count != 1 else "1 seed"]
        if self.failures:
            told.append(f"{len(self.failures)} points failed")
        if not self.complete:
            told.append("not run to its end")
        return f"<SweepResult {self.sweep.title or self.sweep.name!r}: {'; '.join(told)}>"

    def present(self) -> tuple[Answer, list[Figure]]:
        """Give the answer and all figures of its page."""
        figures = draw_sweep_figures(self)
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
