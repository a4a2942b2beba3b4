"""``headend sweep``: a scenario over a grid and seeds, resumable, on all cores or a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.exceptions import Exit

from headend.cli.commands import Command, argument
from headend.cli.completers import complete_folders, complete_sweeps
from headend.cli.options import (
    allow_option,
    csv_option,
    json_option,
    memory_option,
    modem_option,
    no_report_option,
    quiet_option,
    read_path,
    scheduler_option,
    seeds_option,
    set_option,
)
from headend.cli.run import print_report, print_warnings
from headend.cli.terminal import (
    ExitCode,
    make_messages,
    make_output,
    print_error,
    print_json,
    quote_path,
    show_points,
    write_line,
)
from headend.cli.unwritten import Unwritten, attempt, make_report, tell_in_json
from headend.cli.wanted import refuse_own_folder

if TYPE_CHECKING:
    from headend.sweeps import SweepResult

#: Settings that a terminal shows with --full.
MOST_ROWS = 400

#: Warnings that a terminal shows.
MOST_WARNINGS = 5

#: Failures that a terminal shows.
MOST_FAILURES = 5


@click.command("sweep", cls=Command)
@argument(
    "file",
    metavar="FILE",
    help="A TOML file with a scenario, a grid and seeds, or the name of a shipped sweep.",
    hint="headend sweep buffer-sizes, for example, runs one that is shipped",
    type=read_path,
    shell_complete=complete_sweeps,
)
@set_option
@modem_option
@seeds_option
@click.option(
    "--prefer",
    "prefer",
    metavar="WISH",
    help='Wish for this, in place of the [wish] of the file: a condition such as "call >= 4.0", or'
    ' "most upload" or "least page". Can be given several times.',
    multiple=True,
)
@click.option(
    "--out",
    metavar="DIR",
    help="The results folder. By default results/sweeps/NAME.",
    type=read_path,
    shell_complete=complete_folders,
)
@click.option(
    "--force",
    help="Replace the results of another sweep in the results folder, and existing tables of"
    " --csv.",
    is_flag=True,
)
@click.option("--full", help="Also print every setting.", is_flag=True)
@no_report_option
@csv_option
@scheduler_option
@allow_option
@quiet_option
@memory_option
@json_option
def sweep(
    file: Path,
    settings: tuple[str, ...],
    modems: tuple[str, ...],
    seeds: str | None,
    prefer: tuple[str, ...],
    out: Path | None,
    force: bool,
    full: bool,
    no_report: bool,
    csv: Path | None,
    scheduler: str | None,
    allow_files: tuple[Path, ...],
    quiet: bool,
    memory: str | None,
    as_json: bool,
) -> None:
    """Run a scenario over a grid of values and several seeds, and say which setting is best.

    With a wish (the table [wish] of the file, or --prefer) the first lines name the best setting.
    Without one they say what each measure does along the axes, and from where on more of it hardly
    helps (the knee).

    The points run on all cores. Finished points are kept: run the command again, and it runs only
    what is missing or has changed. A point that fails becomes a row with its error. Exit code 1: a
    point failed. 2: the input is wrong, or the page cannot be written (the results are kept and
    printed). 130: interrupted.
    """
    from headend.cli.compare import read_seeds
    from headend.running.execution import stop_on_interrupt
    from headend.scenario.modems import parse_modem
    from headend.scenario.source import parse_override
    from headend.sweeps import sweep as carry_out
    from headend.sweeps.result import choose_sweep_folder

    wanted = read_seeds(seeds) if seeds is not None else None
    if csv:
        from headend.results.experiment import TABLES
        from headend.results.export import check_target

        check_target(csv, TABLES, force=force)
    folder = out or choose_sweep_folder(file.stem)
    if csv:
        refuse_own_folder(csv, folder)
    with (
        stop_on_interrupt() as stop,
        show_points(file.stem, hidden=quiet or as_json) as on_progress,
    ):
        result = carry_out(
            file,
            set=[*map(parse_override, settings), *map(parse_modem, modems)],
            seeds=wanted,
            out=folder,
            force=force,
            scheduler=scheduler,
            stop=stop,
            on_progress=on_progress,
            allow_files=allow_files,
            memory=memory,
            prefer=prefer,
            report=False,
        )
        lacking = (
            _make(result, folder, csv, force=force, report=not no_report) if result.complete else []
        )
    if as_json:
        print_json({**_describe(result), **tell_in_json(lacking)})
    elif not quiet:
        _print_result(result, full=full)
    _print_troubles(result, brief=quiet or as_json)
    for one in lacking:
        if one.line:
            print_error(one.line)
    if any(one.is_interruption for one in lacking):
        left = (
            f"all points are kept in {folder}; headend report {quote_path(folder)} makes the report"
        )
        make_messages().print(write_line(f"interrupted: {left}"), soft_wrap=True)
    if not result.complete:
        raise Exit(ExitCode.INTERRUPTED)
    if lacking:
        raise Exit(max(one.code for one in lacking))
    raise Exit(ExitCode.MISSED if result.failures else ExitCode.OK)


def _make(
    result: SweepResult, folder: Path, csv: Path | None, *, force: bool, report: bool
) -> list[Unwritten]:
    """Write what is made of the points of a sweep, and return what could not be written."""
    from headend.results.experiment import remove_page
    from headend.sweeps.outcome import write_sweep_page

    lacking = []
    if csv:
        from headend.loading.tables import export_tables

        later = (
            f"the results are kept, and headend export {quote_path(folder)} --csv DIR writes their"
            " tables"
        )
        lacking.append(attempt(lambda: export_tables(folder, csv, force=force), csv, later))
    if report:
        lacking.append(make_report(lambda path: write_sweep_page(result, path), folder))
    else:
        remove_page(folder)
    return [one for one in lacking if one]


def _print_result(result: SweepResult, *, full: bool) -> None:
    from headend.cli.first_lines import print_answer
    from headend.sweeps.outcome import list_shown, tell_valueless

    console = make_output()
    print_answer(result.answer, result.sweep.title)
    console.print()
    done, total = result.count_done(), result.design.count_points()
    failed = f", {len(result.failures)} failed" if result.failures else ""
    hint = "" if full else "; --full prints every setting"
    console.print(write_line(f"{done} of {total} points{failed}{hint}"))
    if full:
        _print_settings(result)
    if (more := len(result.sweep.measures) - len(list_shown(result))) > 0:
        console.print(f"{more} more measures are in summary.parquet.", style="dim")
    for line in tell_valueless(result):
        console.print(write_line(line))
    if result.notes:
        console.print()
        print_first_warnings(result.notes, "the manifest")
    if result.complete and result.folder:
        print_report(result.folder)


def _print_settings(result: SweepResult) -> None:
    """Print a row for each setting, with the differences to the first."""
    from headend.cli.tables import draw_sweep, fit
    from headend.sweeps.outcome import has_differences, list_rows, list_shown, name_columns

    console = make_output()
    shown = list_shown(result)
    rows = list_rows(result, shown)
    if shown:
        console.print(
            fit(console, draw_sweep(result.sweep, name_columns(result, shown), rows[:MOST_ROWS]))
        )
    if len(rows) > MOST_ROWS:
        console.print(f"{len(rows) - MOST_ROWS} more settings are in the report.", style="dim")
    compared = result.sweep.compared
    if compared and has_differences(rows):
        told = f"Δ is the difference to {compared.name} = {compared.labels[0]}, paired by seed."
        console.print(write_line((told, "dim")))


def print_first_warnings(texts: Sequence[str], kept_in: str) -> None:
    """Print the warnings about the results; of many, only some, and where the others are."""
    shown = MOST_WARNINGS if len(texts) > MOST_WARNINGS + 1 else len(texts)
    print_warnings(texts[:shown])
    if more := len(texts[shown:]):
        make_output().print(f"{more} more warnings are in {kept_in}.", style="dim")


def _print_troubles(result: SweepResult, *, brief: bool) -> None:
    """Report on standard error what failed, and what an interruption left unfinished."""
    print_failures(result.failures, brief=brief)
    if not result.complete:
        print_interrupted(result.count_done(), result.design.count_points(), result.folder)


def print_failures(failures: Mapping[tuple[Any, ...], str], *, brief: bool) -> None:
    """Report failed points on standard error, each reason once.

    Parameters
    ----------
    failures
        Why points failed, by their place and seed.
    brief
        Whether to print one line only.
    """
    from headend.sweeps.outcome import list_failures

    messages, found = make_messages(), list_failures(failures)
    shown = found[: 1 if brief else MOST_FAILURES]
    more = sum(count for count, _ in found[len(shown) :])
    for _, line in shown:
        rest = f"; {more} more points failed for other reasons" if brief and more else ""
        messages.print(write_line(f"failed: {line}{rest}"), soft_wrap=True)
    if more and not brief:
        messages.print(f"{more} more points failed")


def print_interrupted(done: int, total: int, folder: Path | None) -> None:
    """Report on standard error how many points an interrupted command has kept, and where."""
    told = f"{done} of {total} points are kept in {folder}"
    make_messages().print(write_line(f"interrupted: {told}; run again to go on"), soft_wrap=True)


def _describe(result: SweepResult) -> dict[str, object]:
    """Give a sweep as one JSON document: the summary over seeds, and what failed."""
    from headend.sweeps.outcome import find_valueless

    axes = result.sweep.design.names
    return {
        "sweep": result.sweep.name,
        "title": result.sweep.title,
        "folder": str(result.folder),
        "complete": result.complete,
        "points": result.design.count_points(),
        "done": result.count_done(),
        "failed": len(result.failures),
        "axes": axes,
        "warnings": list(result.notes),
        "answer": result.answer.to_dict(),
        "conclusion": result.conclusion.to_dict(),
        "summary": result.summary.to_dicts(),
        "without_value": find_valueless(result),
        "failures": [
            {**dict(zip(axes, place[:-1], strict=True)), "seed": place[-1], "error": reason}
            for place, reason in result.failures.items()
        ],
    }
