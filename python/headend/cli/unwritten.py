"""Reports, pictures and tables made from saved results, and the error and exit code when one cannot be written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headend.cli.terminal import ExitCode, quote_path, tell_fault
from headend.errors import InputError, tell_system
from headend.folder import REPORT

if TYPE_CHECKING:
    from headend.result import Result


@dataclass(frozen=True)
class Unwritten:
    """A report or picture that could not be made of results which are kept.

    Parameters
    ----------
    line
        What was to be written, why it is not there, and how to make it later; empty where an interruption is the reason.
    code
        What the command exits with: as for what cannot be written, or for a mistake in headend.
    """

    line: str
    code: ExitCode

    @property
    def is_interruption(self) -> bool:
        """Whether somebody asked to stop."""
        return self.code is ExitCode.INTERRUPTED


def attempt(write: Callable[[], object], path: Path, later: str) -> Unwritten | None:
    """Write what is made of results that are kept; if that fails, whatever the reason, the command goes on.

    Parameters
    ----------
    write
        Writes it.
    path
        The file, for the error.
    later
        Where the results are kept and how to make the file of them.
    """
    try:
        write()
    except KeyboardInterrupt:
        return Unwritten("", ExitCode.INTERRUPTED)
    except (SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # a panic in a library is none of the usual exceptions
        return explain_unwritten(error, path, later)
    return None


def explain_unwritten(error: BaseException, path: Path, later: str) -> Unwritten:
    """Say why a file was not written; the exit code tells what a person can mend from a mistake in headend."""
    code = ExitCode.BAD_INPUT
    if isinstance(error, InputError):
        why = " ".join(str(error).split())
    elif isinstance(error, OSError):
        why = f"{path}: cannot be written: {tell_system(error)}"
    elif isinstance(error, MemoryError):
        why = f"{path}: cannot be made: out of memory"
    else:
        why, code = f"{path}: cannot be made: {tell_fault(error)}", ExitCode.INTERNAL
    return Unwritten(f"{why}; {later}", code)


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
    """

    report: bool
    junit: Path | None
    csv: Path | None
    force: bool

    def check(self) -> None:
        """Refuse targets that cannot be written, before anything is run, and remove the outcomes of an earlier run."""
        if self.csv:
            from headend.columns import TABLES
            from headend.export import check_target

            check_target(self.csv, list(TABLES), force=self.force)
        if self.junit:
            from headend.junit import check_junit

            check_junit(self.junit)

    def make(
        self,
        results: Sequence[Result],
        folder: Path,
        report: Callable[[Path], object],
        *,
        stopped: bool = False,
        unfinished: Sequence[str] = (),
    ) -> list[Unwritten]:
        """Write it for saved results, and return what could not be written. A stopped run gets no report.

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
            from headend.junit import write_junit

            lacking.append(
                attempt(
                    lambda: write_junit(junit, results, unfinished=unfinished),
                    junit,
                    f"the results are kept in {folder}",
                )
            )
        if csv:
            from headend.export import export_results

            lacking.append(
                attempt(
                    lambda: export_results(results, csv, force=force),
                    csv,
                    f"the results are kept, and headend export {quote_path(folder)} --csv DIR writes their tables",
                )
            )
        if self.report and not stopped:
            lacking.append(make_report(report, folder))
        return [one for one in lacking if one]


def make_report(write: Callable[[Path], object], folder: Path) -> Unwritten | None:
    """Write the report of results that are in their folder; whatever goes wrong costs only the report, an interruption too."""
    from headend.execution import interrupt_at_once

    path = folder / REPORT
    later = f"the results are kept, and headend report {quote_path(folder)} makes it of them"
    with interrupt_at_once():
        return attempt(lambda: write(path), path, later)


def tell_in_json(unwritten: Sequence[Unwritten]) -> dict[str, str]:
    """Give what a JSON document says in addition where something could not be written."""
    lines = [one.line for one in unwritten if one.line]
    return {"error": "; ".join(lines)} if lines else {}
