"""What a command writes beside the results of runs: report, outcomes, tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headend.cli.terminal import quote_path
from headend.cli.unwritten import Unwritten, attempt, make_report
from headend.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from headend.running.result import Result


@dataclass(frozen=True)
class Wanted:
    """What to write for the results of runs, besides the results themselves.

    Parameters
    ----------
    report
        Whether to make the report.
    junit
        The file for the outcomes of expectations as JUnit XML.
    csv
        The folder for result tables as CSV.
    force
        Whether to replace existing tables.
    is_comparison
        Whether the table of a comparison's figures is written beside those of its runs.
    """

    report: bool
    junit: Path | None
    csv: Path | None
    force: bool
    is_comparison: bool = False

    def check(self) -> None:
        """Refuse targets that cannot be written before a run, and remove earlier outcomes."""
        if self.csv:
            from headend.engine.columns import TABLES
            from headend.results.export import check_target

            names = list(TABLES)
            if self.is_comparison:
                from headend.comparison.board import NAME

                names.append(NAME)
            check_target(self.csv, names, force=self.force)
        if self.junit:
            from headend.analysis.junit import check_junit

            check_junit(self.junit)

    def check_beside(self, folder: Path) -> None:
        """Refuse targets that the results folder will replace, before anything is run."""
        if self.csv:
            refuse_own_folder(self.csv, folder)
        if self.junit and self.junit.resolve() in (folder.resolve(), *folder.resolve().parents):
            raise InputError(
                f"{self.junit}: expected a file for --junit, found the folder of the results or one"
                " above it"
            )

    def check_expected(self, source: str, expected: Collection[object]) -> None:
        """Refuse to write outcomes where nothing is expected: a test that tests nothing would pass.

        Parameters
        ----------
        source
            The scenario, or the results folders.
        expected
            What is expected of the runs.
        """
        if self.junit and not expected:
            raise InputError(
                f"{source}: nothing is expected, so --junit would pass without a test; add"
                f" [expect], such as"
                ' call = "call.mos.p5 >= 4.0", or leave out --junit'
            )

    def make(
        self,
        results: Sequence[Result],
        folder: Path,
        report: Callable[[Path], object],
        *,
        stopped: bool = False,
        unfinished: Sequence[str] = (),
    ) -> list[Unwritten]:
        """Write it for saved results; return what was not written. A stopped run gets no report.

        Parameters
        ----------
        results
            One run, or those of a comparison.
        folder
            The results folder.
        report
            Writes the report.
        stopped
            Whether the run was stopped.
        unfinished
            The names of a comparison's runs that were not finished.
        """
        junit, csv, force = self.junit, self.csv, self.force
        lacking = []
        if junit:
            from headend.analysis.junit import write_junit

            lacking.append(
                attempt(
                    lambda: write_junit(junit, results, unfinished=unfinished),
                    junit,
                    f"the results are kept in {folder}",
                )
            )
        if csv:
            from headend.results.export import export_results

            lacking.append(
                attempt(
                    lambda: export_results(
                        results, csv, force=force, beside=self._tabulate(results)
                    ),
                    csv,
                    f"the results are kept, and headend export {quote_path(folder)} --csv DIR"
                    " writes their tables",
                )
            )
        if self.report and not stopped:
            lacking.append(make_report(report, folder))
        return [one for one in lacking if one]

    def _tabulate(self, results: Sequence[Result]) -> dict[str, pl.DataFrame]:
        """Give the tables that are of all runs together."""
        if not self.is_comparison:
            return {}
        from headend.comparison.board import NAME, tabulate_figures
        from headend.comparison.comparison import gather_variants

        return {NAME: tabulate_figures(gather_variants(results))}


def refuse_own_folder(csv: Path, folder: Path) -> None:
    """Refuse to write tables into the folder that the results themselves are going to."""
    if csv.resolve() == folder.resolve():
        raise InputError(
            f"{csv}: the results are written to this folder; choose another one for --csv"
        )
