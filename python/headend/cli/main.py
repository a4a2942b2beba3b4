"""The ``headend`` command: the table of its commands, which are imported on first use."""

from __future__ import annotations

import click
from click.exceptions import Exit

from headend.cli.commands import PROGRAM, LazyCommand, Program
from headend.cli.terminal import (
    open_closed_streams,
    print_notices,
    print_text,
    replace_unknown_letters,
)

SECTIONS = {
    "Runs": {
        "run": LazyCommand(
            "headend.cli.run:run",
            "Run a scenario: who suffered, how much, where the queue stood; results and report in a folder.",
        ),
        "compare": LazyCommand(
            "headend.cli.compare:compare",
            "Compare runs side by side in one report: what changed, with traffic and seeds the same.",
        ),
        "sweep": LazyCommand(
            "headend.cli.sweep:sweep",
            "Run a scenario over a grid of values and several seeds, on all cores.",
        ),
        "study": LazyCommand(
            "headend.cli.study:app",
            "Published results, reproduced: list, show NAME, run NAME, report.",
        ),
    },
    "What can be written": {
        "scenarios": LazyCommand(
            "headend.cli.scenarios:app",
            "What is shipped: list, show NAME, copy NAME; by itself, the list.",
        ),
        "find": LazyCommand(
            "headend.cli.find:find",
            "Find headend's name for an application, a protocol or a term, and how to use it.",
        ),
        "queues": LazyCommand(
            "headend.cli.catalogue:queues",
            "List every queue discipline and when to use it; of one, the parameters with units and defaults.",
        ),
        "senders": LazyCommand(
            "headend.cli.catalogue:senders",
            "List every congestion control and when to use it; of one, the parameters with units and defaults. Also: headend congestion.",
        ),
        "congestion": LazyCommand("headend.cli.catalogue:senders"),
        "applications": LazyCommand(
            "headend.cli.catalogue:applications",
            "List every application and when to use it; of one, the parameters with units and defaults.",
        ),
        "schema": LazyCommand(
            "headend.cli.catalogue:schema",
            "Print the JSON Schema of scenarios, for editors and checks.",
        ),
    },
    "Results": {
        "report": LazyCommand(
            "headend.cli.report:report",
            "Make the report of a run, a comparison or a sweep again from its folder, or one over several runs.",
        ),
        "figures": LazyCommand(
            "headend.cli.report:figures",
            "Write every figure of a report as SVG, PDF or PNG, for papers and slides: of runs, a sweep or a study.",
        ),
        "export": LazyCommand(
            "headend.cli.export:export",
            "Write the tables of results as CSV or JSON lines, one file per table, in full precision.",
        ),
        "verify": LazyCommand(
            "headend.cli.verify:verify",
            "Check that results are what was written: tables, finished points of sweeps and studies, pages.",
        ),
    },
    "The program": {
        "help": LazyCommand(
            "headend.cli.help:show_help", "Print the help of a command, or the list of commands."
        ),
        "completion": LazyCommand(
            "headend.cli.completion:completion",
            "Print the script with which a shell completes commands, options and names.",
        ),
    },
}


def _print_version(_: click.Context, __: click.Parameter, wanted: bool) -> None:
    if wanted:
        from headend.cli.version import tell_version

        print_text(tell_version())
        raise Exit


app = Program(
    PROGRAM,
    sections=SECTIONS,
    help="A laboratory for access networks: what a line does to the people behind it, and what to change.",
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_version,
            help="Print the version, the commit and the platform.",
        )
    ],
    context_settings={"help_option_names": ["-h", "--help"]},
)


def start() -> None:
    """Start the command line."""
    open_closed_streams()
    replace_unknown_letters()
    print_notices()
    app.main()
