"""What commands write and print of results: one way for every kind of experiment."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from headend.cli.terminal import (
    ExitCode,
    describe_fault,
    make_messages,
    make_output,
    print_error,
    print_json,
    quote_path,
    show_points,
    write_line,
)
from headend.errors import InputError, describe_system
from headend.results.folder import REPORT

if TYPE_CHECKING:
    from headend.running.comparison import Comparison
    from headend.running.result import Result

Function = TypeVar("Function", bound=Callable[..., None])

#: Warnings and failures that a terminal shows.
MOST_WARNINGS = 5
MOST_FAILURES = 5


@dataclass(frozen=True)
class WriteFailure:
    """A file that could not be made of results which are kept.

    The line says what was to be written, why it is not there, and how to make it later; it is empty
    where an interruption is the reason.
    """

    line: str
    code: ExitCode

    @property
    def is_interruption(self) -> bool:
        """Whether somebody asked to stop."""
        return self.code is ExitCode.INTERRUPTED


class Tabulated(Protocol):
    """Results of any kind that can write their tables."""

    def to_csv(self, folder: str | Path, *, force: bool = False) -> list[Path]:
        """Write them to a folder as CSV."""


class Completable(Tabulated, Protocol):
    """Results of an experiment, of which points may be missing."""

    @property
    def complete(self) -> bool:
        """Whether all points were run."""


Done = TypeVar("Done", bound=Completable)


@dataclass(frozen=True)
class OutputOptions:
    """The options of a command about what it writes and prints."""

    out: Path | None = None
    force: bool = False
    report: bool = True
    quiet: bool = False
    full: bool = False
    as_json: bool = False
    junit: Path | None = None
    csv: Path | None = None

    @property
    def is_hidden(self) -> bool:
        """Whether no progress is shown, and no answer printed for people."""
        return self.quiet or self.as_json

    def check_files(self, tables: Iterable[str]) -> None:
        """Refuse files that cannot be written before a run, and remove earlier outcomes."""
        if self.csv:
            from headend.results.export import check_target

            check_target(self.csv, list(tables), force=self.force)
        if self.junit:
            from headend.analysis.junit import check_junit

            check_junit(self.junit)

    def check_beside(self, folder: Path) -> Path:
        """Give the results folder, and refuse files that it would replace."""
        if self.csv and self.csv.resolve() == folder.resolve():
            raise InputError(
                f"{self.csv}: the results are written to this folder; choose another one for --csv"
            )
        if self.junit and self.junit.resolve() in (folder.resolve(), *folder.resolve().parents):
            raise InputError(
                f"{self.junit}: expected a file for --junit, found the folder of the results or one"
                " above it"
            )
        return folder

    def choose_folder(self, name: str) -> Path:
        """Give the folder of ``--out``, by default one in ``results``, and check files beside."""
        from headend.results.folder import choose_folder

        return self.check_beside(self.out or choose_folder(name, force=self.force))

    def check_expected(self, source: str, expected: Collection[object]) -> None:
        """Refuse to write outcomes where nothing is expected: a test that tests nothing passes."""
        if self.junit and not expected:
            raise InputError(
                f"{source}: nothing is expected, so --junit would pass without a test; add"
                f" [expect], such as"
                ' call = "call.mos.p5 >= 4.0", or leave out --junit'
            )

    def write(
        self,
        folder: Path,
        results: Tabulated,
        report: Callable[[Path], object],
        write_junit: Callable[[Path], object] | None = None,
        *,
        is_stopped: bool = False,
    ) -> list[WriteFailure]:
        """Write files of results that are kept in a folder; return those that could not be written.

        A report is not made of results that were stopped.
        """
        junit, csv, failures = self.junit, self.csv, list[WriteFailure | None]()
        if junit and write_junit:
            kept = f"the results are kept in {folder}"
            failures.append(attempt(lambda: write_junit(junit), junit, kept))
        if csv:
            later = (
                f"the results are kept, and headend export {quote_path(folder)} --csv DIR writes"
                " their tables"
            )
            failures.append(attempt(lambda: results.to_csv(csv, force=self.force), csv, later))
        if self.report and not is_stopped:
            failures.append(make_report(report, folder))
        return [failure for failure in failures if failure]

    def run_experiment(
        self,
        folder: Path,
        title: str,
        run: Callable[..., Done],
        write_page: Callable[[Done, Path], object],
        write_junit: Callable[[Done, Path], object] | None = None,
    ) -> tuple[Done, list[WriteFailure]]:
        """Run what is missing of an experiment, and write its files if all of it is there.

        Parameters
        ----------
        folder
            Where its results are kept.
        title
            What the bar over its points is called.
        run
            Runs it, with the options of every experiment: ``out``, ``force``, ``stop``,
            ``on_progress`` and ``report``.
        write_page, write_junit
            Write the page, and the outcomes of ``--junit``, to a path.

        Returns
        -------
        The result, and the files that could not be written.
        """
        from headend.results.experiment import remove_page
        from headend.running.execution import stop_on_interrupt

        with (
            stop_on_interrupt() as stop,
            show_points(title, hidden=self.is_hidden) as on_progress,
        ):
            result = run(
                out=folder, force=self.force, stop=stop, on_progress=on_progress, report=False
            )
        if not result.complete:
            return result, []
        if not self.report:
            remove_page(folder)
        return result, self.write(
            folder,
            result,
            lambda path: write_page(result, path),
            write_junit and (lambda path: write_junit(result, path)),
        )

    def deliver(
        self,
        failures: Sequence[WriteFailure],
        *,
        describe: Callable[[], dict[str, Any]],
        show: Callable[[], None],
        report_troubles: Callable[[], None],
        is_missed: bool,
        is_stopped: bool = False,
        kept: str = "",
        broken: str = "",
    ) -> ExitCode:
        """Print results on standard output, report troubles on standard error, give the exit code.

        A file that is missing counts for more than what was missed: the results are incomplete.

        Parameters
        ----------
        describe, show
            Gives the JSON document, or prints the answer for people.
        report_troubles
            Prints what went wrong, and is called whatever else is printed.
        is_missed
            Whether an expectation was missed, or a point failed.
        kept
            What an interruption left, for a line on it; none by default.
        broken
            The error of code of the user's own that ended a run; none by default.
        """
        if broken:
            failures = [WriteFailure(broken, ExitCode.BAD_INPUT), *failures]
        if self.as_json:
            print_json({**describe(), **describe_failures(failures)})
        elif not self.quiet:
            show()
        for failure in failures:
            if failure.line:
                print_error(failure.line)
        report_troubles()
        is_interrupted = any(failure.is_interruption for failure in failures)
        if kept and (is_stopped or is_interrupted):
            what = "what was simulated is" if broken else "interrupted:"
            make_messages().print(write_line(f"{what} {kept}"), soft_wrap=True)
        if (is_stopped or is_interrupted) and not broken:
            return ExitCode.INTERRUPTED
        if failures:
            return max(failure.code for failure in failures)
        return ExitCode.MISSED if is_missed else ExitCode.OK

    def write_runs(
        self,
        kept: Result | Comparison,
        results: Sequence[Result],
        *,
        unfinished: Sequence[str] = (),
        is_stopped: bool = False,
        is_strict: bool = False,
    ) -> list[WriteFailure]:
        """Write files of one run that is kept, or of several side by side.

        Where it is strict, a run that did not keep time is an error.
        """
        from headend.analysis.junit import write_junit

        assert kept.folder

        def write(path: Path) -> None:
            write_junit(path, results, unfinished=unfinished, is_strict=is_strict)

        return self.write(kept.folder, kept, kept.report, write, is_stopped=is_stopped)

    def deliver_runs(
        self,
        failures: Sequence[WriteFailure],
        results: Sequence[Result],
        *,
        describe: Callable[[], dict[str, Any]],
        show: Callable[[], None],
        kept: str,
        is_named: bool,
        is_stopped: bool = False,
    ) -> ExitCode:
        """Print one run, or several that are named, and give the exit code; see `deliver`."""
        from headend.comparison.comparison import gather_variants
        from headend.comparison.notes import list_missed

        broken = [result.failure for result in results if result.failure]
        whole = [result for result in results if not result.failure]
        more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""

        def report_missed() -> None:
            for label, line in list_missed(gather_variants(whole)):
                print_miss(f"{label}: {line}" if is_named else line)

        return self.deliver(
            failures,
            describe=describe,
            show=show,
            report_troubles=report_missed if self.is_hidden else lambda: None,
            is_missed=any(not outcome.met for result in results for outcome in result.expectations),
            is_stopped=is_stopped,
            kept=kept if self.quiet and not self.as_json else "",
            broken=f"{broken[0]}{more}" if broken else "",
        )


def takes_outputs(command: Function) -> Function:
    """Gather a command's options of what it writes and prints in its parameter ``outputs``."""

    @functools.wraps(command)
    def call(*, no_report: bool = False, **values: Any) -> None:
        names = [name for name in OutputOptions.__dataclass_fields__ if name in values]
        options = {name: values.pop(name) for name in names}
        command(outputs=OutputOptions(report=not no_report, **options), **values)

    return call  # type: ignore[return-value]


def attempt(write: Callable[[], object], path: Path, later: str) -> WriteFailure | None:
    """Write a file of results that are kept; if that fails, the command goes on.

    The failure names the file, and says ``later`` how to make it of the results.
    """
    try:
        write()
    except KeyboardInterrupt:
        return WriteFailure("", ExitCode.INTERRUPTED)
    except (SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # a panic in a library is none of the usual exceptions
        return explain_failure(error, path, later)
    return None


def explain_failure(error: BaseException, path: Path, later: str) -> WriteFailure:
    """Say why a file was not written; the exit code tells a user's error from headend's."""
    code = ExitCode.BAD_INPUT
    if isinstance(error, InputError):
        why = " ".join(str(error).split())
    elif isinstance(error, OSError):
        why = f"{path}: cannot be written: {describe_system(error)}"
    elif isinstance(error, MemoryError):
        why = f"{path}: cannot be made: out of memory"
    else:
        why, code = f"{path}: cannot be made: {describe_fault(error)}", ExitCode.INTERNAL
    return WriteFailure(f"{why}; {later}", code)


def make_report(write: Callable[[Path], object], folder: Path) -> WriteFailure | None:
    """Write the report of saved results; any failure or interruption costs only the report."""
    from headend.running.execution import interrupt_at_once

    path = folder / REPORT
    later = f"the results are kept, and headend report {quote_path(folder)} makes it of them"
    with interrupt_at_once():
        return attempt(lambda: write(path), path, later)


def describe_failures(failures: Sequence[WriteFailure]) -> dict[str, str]:
    """Give what a JSON document says in addition where something could not be written."""
    lines = [failure.line for failure in failures if failure.line]
    return {"error": "; ".join(lines)} if lines else {}


def print_report(folder: Path) -> None:
    """Say where the report is, or how to make it."""
    path = folder / REPORT
    line = (
        f"Report: {path}"
        if path.is_file()
        else f"Kept in {folder}; headend report {quote_path(folder)} makes a report of it"
    )
    make_output().print(write_line(line), soft_wrap=True)


def print_warnings(texts: Iterable[str]) -> None:
    """Print the warnings about the results, each once."""
    console = make_output()
    distinct = list(dict.fromkeys(texts))
    for text, after in zip_longest(distinct, distinct[1:], fillvalue=""):
        # Those about one key, such as of each file that a comparison tries, stand together.
        is_alike = text.partition(": ")[0] == after.partition(": ")[0]
        console.print(
            write_line(("Warning", "yellow"), f": {text}."), end="\n" if is_alike else "\n\n"
        )


def print_first_warnings(texts: Sequence[str], kept_in: str) -> None:
    """Print the warnings about the results; of many, only some, and where the others are."""
    count = MOST_WARNINGS if len(texts) > MOST_WARNINGS + 1 else len(texts)
    print_warnings(texts[:count])
    if more := len(texts[count:]):
        make_output().print(f"{more} more warnings are in {kept_in}.", style="dim")


def print_miss(line: str) -> None:
    """Print on standard error which expectation was missed."""
    make_messages().print(write_line(f"missed: {line}"), soft_wrap=True)


def print_failures(failures: Mapping[tuple[Any, ...], str], *, brief: bool) -> None:
    """Report failed points, by their place and seed, on standard error: each reason once.

    In brief, that is one line.
    """
    from headend.sweeps.page import list_failures

    messages, reasons = make_messages(), list_failures(failures)
    printed = reasons[: 1 if brief else MOST_FAILURES]
    more = sum(count for count, _ in reasons[len(printed) :])
    for _, line in printed:
        rest = f"; {more} more points failed for other reasons" if brief and more else ""
        messages.print(write_line(f"failed: {line}{rest}"), soft_wrap=True)
    if more and not brief:
        messages.print(f"{more} more points failed")


def print_interrupted(done: int, total: int, folder: Path | None) -> None:
    """Report on standard error how many points an interrupted command has kept, and where."""
    kept = f"{done} of {total} points are kept in {folder}"
    make_messages().print(write_line(f"interrupted: {kept}; run again to go on"), soft_wrap=True)
