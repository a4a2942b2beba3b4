"""``headend sweep``: a scenario over a grid and seeds, resumable, on all cores or a cluster."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.exceptions import Exit

from headend.cli.commands import Command, argument
from headend.cli.completers import complete_folders, complete_sweeps
from headend.cli.options import read_path, read_seeds, seeds_option, shared, takes_overrides
from headend.cli.outputs import (
    OutputOptions,
    WriteFailure,
    print_failures,
    print_first_warnings,
    print_interrupted,
    print_report,
    takes_outputs,
)
from headend.cli.terminal import (
    make_output,
    quote_path,
    show_points,
    write_line,
)

if TYPE_CHECKING:
    from headend.scenario.source import Overrides
    from headend.sweeps import SweepResult

#: Settings that a terminal shows with --full.
MOST_ROWS = 400


@click.command("sweep", cls=Command)
@argument(
    "file",
    metavar="FILE",
    help="A TOML file with a scenario, a grid and seeds, or the name of a shipped sweep.",
    hint="headend sweep buffer-sizes, for example, runs one that is shipped",
    type=read_path,
    shell_complete=complete_sweeps,
)
@shared("--set", "--modem")
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
@shared("--no-report", "--csv", "--scheduler", "--allow-files", "--quiet", "--memory", "--json")
@takes_overrides
@takes_outputs
def sweep(
    file: Path,
    overrides: Overrides,
    seeds: str | None,
    prefer: tuple[str, ...],
    scheduler: str | None,
    allow_files: tuple[Path, ...],
    memory: str | None,
    outputs: OutputOptions,
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
    from headend.results.experiment import TABLES
    from headend.running.execution import stop_on_interrupt
    from headend.sweeps import sweep as run_sweep
    from headend.sweeps.result import choose_sweep_folder

    own_seeds = read_seeds(seeds) if seeds is not None else None
    outputs.check_files(TABLES)
    folder = outputs.check_beside(outputs.out or choose_sweep_folder(file.stem))
    with (
        stop_on_interrupt() as stop,
        show_points(file.stem, hidden=outputs.is_hidden) as on_progress,
    ):
        result = run_sweep(
            file,
            set=overrides,
            seeds=own_seeds,
            out=folder,
            force=outputs.force,
            scheduler=scheduler,
            stop=stop,
            on_progress=on_progress,
            allow_files=allow_files,
            memory=memory,
            prefer=prefer,
            report=False,
        )
        failures = _write(result, folder, outputs) if result.complete else []
    is_written = not any(failure.is_interruption for failure in failures)
    left = f"all points are kept in {folder}; headend report {quote_path(folder)} makes the report"
    raise Exit(
        outputs.deliver(
            failures,
            describe=lambda: _describe(result),
            show=lambda: _print_result(result, full=outputs.full),
            report_troubles=lambda: _print_troubles(result, brief=outputs.is_hidden),
            is_missed=bool(result.failures),
            is_stopped=not result.complete,
            kept="" if is_written else left,
        )
    )


def _write(result: SweepResult, folder: Path, outputs: OutputOptions) -> list[WriteFailure]:
    """Write what is made of the points of a sweep, and return what could not be written."""
    from headend.results.experiment import remove_page
    from headend.sweeps.page import write_sweep_page

    if not outputs.report:
        remove_page(folder)
    return outputs.write(folder, result, lambda path: write_sweep_page(result, path))


def _print_result(result: SweepResult, *, full: bool) -> None:
    from headend.cli.first_lines import print_answer
    from headend.sweeps.page import describe_valueless

    console = make_output()
    print_answer(result.answer, result.sweep.title)
    console.print()
    done, total = result.count_done(), result.design.count_points()
    failed = f", {len(result.failures)} failed" if result.failures else ""
    hint = "" if full else "; --full prints every setting"
    console.print(write_line(f"{done} of {total} points{failed}{hint}"))
    if full:
        _print_settings(result)
    more = len(result.sweep.measures) - len(result.conclusion.measures)
    if more > 0 and result.count_points():
        console.print(f"{more} more measures are in summary.parquet.", style="dim")
    for line in describe_valueless(result):
        console.print(write_line(line))
    if result.notes:
        console.print()
        print_first_warnings(result.notes, "the manifest")
    if result.complete and result.folder:
        print_report(result.folder)


def _print_settings(result: SweepResult) -> None:
    """Print a row for each setting, with the differences to the first."""
    from headend.cli.tables import draw, fit
    from headend.sweeps.page import describe_difference, tabulate_settings

    console = make_output()
    table = tabulate_settings(result)
    if result.conclusion.measures:
        console.print(fit(console, draw(replace(table, rows=table.rows[:MOST_ROWS]))))
    if len(table.rows) > MOST_ROWS:
        console.print(
            f"{len(table.rows) - MOST_ROWS} more settings are in the report.", style="dim"
        )
    if told := describe_difference(result):
        console.print(write_line((f"{told}.", "dim")))


def _print_troubles(result: SweepResult, *, brief: bool) -> None:
    """Report on standard error what failed, and what an interruption left unfinished."""
    print_failures(result.failures, brief=brief)
    if not result.complete:
        print_interrupted(result.count_done(), result.design.count_points(), result.folder)


def _describe(result: SweepResult) -> dict[str, object]:
    """Give a sweep as one JSON document: the summary over seeds, and what failed."""
    from headend.sweeps.page import find_valueless

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
