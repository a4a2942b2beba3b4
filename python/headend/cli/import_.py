"""``headend import``: the line behind a measurement, as a scenario that can be simulated."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.exceptions import Exit

from headend.cli.commands import Command, argument
from headend.cli.completers import complete_any_file, complete_folders
from headend.cli.options import Function, read_path, read_seeds, seeds_option, shared
from headend.cli.outputs import (
    OutputOptions,
    print_failures,
    print_first_warnings,
    print_interrupted,
    print_report,
    takes_outputs,
)
from headend.cli.terminal import (
    make_output,
    print_point,
    print_sentence,
    write_line,
)
from headend.errors import InputError

if TYPE_CHECKING:
    from headend.fitting.result import LineFit
    from headend.measurement.record import Measurement

#: Headings of the help, and the options below them.
HEADINGS = {
    "What a web test shows": (
        "--down",
        "--up",
        "--idle",
        "--loaded-down",
        "--loaded-up",
        "--loaded",
        "--jitter",
        "--loss",
    ),
    "The line": ("--wifi", "--ethernet", "--line"),
    "How it is run": ("--seeds", "--scheduler", "--memory"),
    "What is written": ("--name", "--out", "--force", "--no-report", "--csv"),
}


def _shown(name: str, metavar: str, text: str) -> Callable[[Function], Function]:
    """Declare an option for a number that a web test shows."""
    return click.option(name, metavar=metavar, help=text)


@click.command("import", cls=Command, headings=HEADINGS)
@argument(
    "files",
    metavar="[FILE]…",
    help="What measuring tools wrote of one line: flent, crusader, irtt, networkQuality, Ookla's"
    " speedtest, ndt7, ping, iperf3, RIPE Atlas, or a CSV file. The kind is known by the content.",
    nargs=-1,
    shell_complete=complete_any_file,
)
@_shown("--down", "RATE", "The rate of the download: 300 is 300 Mbit/s.")
@_shown("--up", "RATE", "The rate of the upload.")
@_shown("--idle", "TIME", "The delay there and back without load: 12 is 12 ms.")
@_shown("--loaded-down", "TIME", "The delay during the download.")
@_shown("--loaded-up", "TIME", "The delay during the upload.")
@_shown("--loaded", "TIME", "The delay under load, where the test shows one only.")
@_shown("--jitter", "TIME", "The mean difference of successive delays without load.")
@_shown("--loss", "SHARE", "The share of lost packets: 1 is 1 %.")
@click.option("--wifi", help="The computer was connected by Wi-Fi.", is_flag=True)
@click.option("--ethernet", help="The computer was connected by cable.", is_flag=True)
@click.option(
    "--line",
    metavar="KIND",
    help="What the line is written as: cable, plain, wifi, or auto (the default): a cable line"
    " where the delays of the idle line show its requests and grants, else a plain link.",
    default="auto",
)
@seeds_option
@click.option(
    "--name", metavar="NAME", help="What the results are called. By default as the first file."
)
@click.option(
    "--out",
    metavar="DIR",
    help="The results folder. By default results/import/NAME.",
    type=read_path,
    shell_complete=complete_folders,
)
@click.option(
    "--force",
    help="Replace the results of another line in the results folder, and existing tables of --csv.",
    is_flag=True,
)
@shared("--no-report", "--csv", "--scheduler", "--quiet", "--memory", "--json")
@takes_outputs
def import_(
    files: tuple[str, ...],
    wifi: bool,
    ethernet: bool,
    line: str,
    seeds: str | None,
    name: str | None,
    scheduler: str | None,
    memory: str | None,
    outputs: OutputOptions,
    **typed: str | None,
) -> None:
    """Find the line behind a measurement, such as a speed test, and write it as a scenario.

    Rate, delay, buffer and loss are estimated with 90 % intervals. Which queue a direction has is
    found by simulating each kind under the load of the measurement: the one whose delays and losses
    are nearest is likely, and "unknown" is where none is near. The fitted line is laid beside the
    measurement, with a grade from A to D.

        headend import rrul.flent.gz
        headend import test.crr ping.log
        headend import --down 300 --up 20 --idle 12 --loaded-up 180
        headend import speedtest.json --ethernet --line cable

    The scenario is my-line.toml in the results folder: headend recommend says what would help that
    line, headend run what it does to people. Nothing is sent anywhere; addresses and identifiers
    are dropped on reading.

    Finished points are kept: run the command again, and it runs only what is missing. Exit code 1:
    a point failed. 2: the input is wrong, or a file cannot be written (the results are kept and
    printed). 130: interrupted.
    """
    from headend.fitting.experiment import run_request
    from headend.fitting.page import write_fit_page
    from headend.fitting.request import read_request
    from headend.fitting.result import choose_fit_folder
    from headend.results.experiment import TABLES

    if wifi and ethernet:
        raise InputError("--wifi: expected one of --wifi and --ethernet, found both")
    connected = "wifi" if wifi else "ethernet" if ethernet else ""
    request = read_request(
        [Path(own) for own in files],
        _measure(typed, connected),
        connected=connected,
        line=line,
        seeds=read_seeds(seeds) if seeds is not None else None,
        name=name,
    )
    outputs.check_files(TABLES)
    folder = outputs.check_beside(outputs.out or choose_fit_folder(request.name))
    result, failures = outputs.run_experiment(
        folder,
        request.name,
        functools.partial(run_request, request, scheduler=scheduler, memory=memory),
        write_fit_page,
    )
    raise Exit(
        outputs.deliver(
            failures,
            describe=lambda: _describe(result),
            show=lambda: _print_result(result),
            report_troubles=lambda: _print_troubles(result, brief=outputs.is_hidden),
            is_missed=bool(result.failures),
            is_stopped=not result.complete,
        )
    )


def _measure(typed: dict[str, str | None], connected: str) -> Measurement | None:
    """Take what was typed as a measurement; None where nothing was."""
    if all(own is None for own in typed.values()):
        return None
    from headend.measurement.by_hand import measure_by_hand

    return measure_by_hand(
        **typed,
        medium=connected,
        name=lambda own: f"--{own.replace('_', '-')}",
    )


def _print_result(result: LineFit) -> None:
    """Print the line, its estimates, queues and flags, and what to do next."""
    from headend.cli.first_lines import print_answer
    from headend.cli.tables import draw, fit
    from headend.fitting.line_scenario import FILE
    from headend.fitting.owner import describe_grade, list_next
    from headend.fitting.page import UNTOLD, list_flags, tabulate_agreement
    from headend.fitting.sentences import list_guesses

    if not result.complete:
        return
    console = make_output()
    found = result.found
    print_answer(result.answer)
    console.print()
    for title, told in list_guesses(found.guesses):
        console.print(write_line((title, "bold")))
        for line in told:
            print_point(console, line)
    console.print()
    if found.agreements:
        table = tabulate_agreement(found)
        console.print(fit(console, draw(table)))
        print_sentence(console, table.note, "dim")
        console.print()
    if flags := list_flags(found):
        console.print(write_line((UNTOLD, "bold")))
        for flag in flags:
            print_point(console, flag)
        console.print()
    for note in found.notes:
        print_sentence(console, note, "dim")
    print_sentence(console, describe_grade(found))
    if result.notes:
        print_first_warnings(result.notes, "the manifest")
    if result.folder:
        file = shlex.quote(str(result.folder / FILE))
        for what, command in list_next(file, found.medium):
            print_sentence(console, what)
            if command:
                console.print(write_line(f"  {command}"), soft_wrap=True)
        console.print(write_line(f"Scenario: {result.folder / FILE}"), soft_wrap=True)
        print_report(result.folder)


def _print_troubles(result: LineFit, *, brief: bool) -> None:
    """Report on standard error what could not be simulated, and what an interruption left."""
    print_failures(result.failures, brief=brief)
    if not result.complete:
        print_interrupted(result.count_done(), result.design.count_points(), result.folder)


def _describe(result: LineFit) -> dict[str, Any]:
    """Give the result as one JSON document; rates in bit/s, delays in ms, shares from 0 to 1."""
    from headend.fitting.line_scenario import FILE

    found = {key: own for key, own in result.found.to_dict().items() if key != "curves"}
    return {
        "name": result.name,
        "folder": str(result.folder),
        "complete": result.complete,
        "scenario_file": str(result.folder / FILE) if result.folder else None,
        "answer": result.answer.to_dict() if result.complete else None,
        **found,
        "seeds": list(result.seeds),
        "failures": list(result.failures.values()),
    }
