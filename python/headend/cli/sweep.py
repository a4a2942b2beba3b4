"""``headend sweep``: a scenario over a grid and several seeds, resumable, on all cores or on a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headend.cli.run import JsonOption, QuietOption, SetOption, read_path
from headend.cli.terminal import (
    ExitCode,
    answer_errors,
    make_messages,
    make_output,
    print_json,
    show_points,
)

if TYPE_CHECKING:
    from headend.sweeps import SweepResult

#: Settings that a terminal shows.
MOST_ROWS = 40

#: Failures that a terminal shows.
MOST_FAILURES = 5

SchedulerOption = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Hand the points to the workers of this Dask scheduler, such as tcp://HOST:8786.",
    ),
]

SeedsOption = Annotated[
    str | None,
    typer.Option(
        "--seeds",
        metavar="N | A,B,…",
        help="In place of those that are written: how many, or which.",
    ),
]


@answer_errors
def sweep(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A TOML file with a scenario, a grid and seeds.", parser=read_path
        ),
    ],
    settings: SetOption = None,
    seeds: SeedsOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="By default results/sweeps/NAME.", parser=read_path
        ),
    ] = None,
    scheduler: SchedulerOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run a scenario over a grid of values and several seeds, on all cores.

    Finished points are kept: run again, and only what is missing or changed is run. A point that fails is a row with
    its error. Exit code 1 when a point failed, 130 when interrupted.
    """
    from headend.cli.compare import read_seeds
    from headend.execution import stop_on_interrupt
    from headend.scenario import parse_override
    from headend.sweeps import sweep as carry_out
    from headend.sweeps.outcome import choose_sweep_folder

    wanted = read_seeds(seeds) if seeds else None
    folder = out or choose_sweep_folder(file.stem)
    with (
        stop_on_interrupt() as stop,
        show_points(file.stem, hidden=quiet or as_json) as on_progress,
    ):
        result = carry_out(
            file,
            set=[parse_override(text) for text in settings or []],
            seeds=wanted,
            out=folder,
            scheduler=scheduler,
            stop=stop,
            on_progress=on_progress,
        )
    if as_json:
        print_json(_describe(result))
    elif not quiet:
        _print_result(result)
    if not result.complete:
        raise typer.Exit(ExitCode.INTERRUPTED)
    raise typer.Exit(ExitCode.MISSED if result.failures else ExitCode.OK)


def _print_result(result: SweepResult) -> None:
    from headend.cli.tables import draw_sweep, fit
    from headend.sweeps.outcome import choose_shown, count_points, list_rows

    console, messages = make_output(), make_messages()
    name = result.sweep.title or result.sweep.name
    points, total = count_points(result), len(result.sweep.list_points())
    console.print(f"\n[bold]{name}[/bold]  {points} of {total} points")
    shown = choose_shown(result)
    rows = list_rows(result, shown)
    if rows:
        console.print(fit(console, draw_sweep(result.sweep, shown, rows[:MOST_ROWS])))
    if len(rows) > MOST_ROWS:
        console.print(f"[dim]{len(rows) - MOST_ROWS} more settings are in the report.[/dim]")
    compared = result.sweep.compared
    if compared and len(compared.labels) > 1:
        console.print(
            f"[dim]Δ is the difference to {compared.name} = {compared.labels[0]}, paired by seed.[/dim]"
        )
    for place, reason in list(result.failures.items())[:MOST_FAILURES]:
        where = ", ".join(map(str, place[:-1]))
        messages.print(f"failed: {where}, seed {place[-1]}: {reason}", soft_wrap=True, markup=False)
    if len(result.failures) > MOST_FAILURES:
        messages.print(f"{len(result.failures) - MOST_FAILURES} more points failed")
    if result.complete:
        console.print(f"Report: {result.folder}/report.html", soft_wrap=True)
    else:
        messages.print(
            f"interrupted: {points} points are kept in {result.folder}; run again to go on",
            soft_wrap=True,
        )


def _describe(result: SweepResult) -> dict[str, object]:
    """Give a sweep as one JSON document: the summary over seeds, and what failed."""
    axes = [axis.name for axis in result.sweep.axes]
    return {
        "sweep": result.sweep.name,
        "title": result.sweep.title,
        "folder": str(result.folder),
        "complete": result.complete,
        "points": len(result.sweep.list_points()),
        "axes": axes,
        "summary": result.summary.to_dicts(),
        "failures": [
            {**dict(zip(axes, place[:-1], strict=True)), "seed": place[-1], "error": reason}
            for place, reason in result.failures.items()
        ],
    }
