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
from headend.text.commands import COMMANDS

SECTIONS = {
    heading: {
        name: LazyCommand(f"headend.cli.{place}", COMMANDS.get(name, ""))
        for name, place in places.items()
    }
    for heading, places in {
        "Runs": {
            "run": "run:run",
            "compare": "compare:compare",
            "sweep": "sweep:sweep",
            "recommend": "recommend:recommend",
            "capacity": "capacity:capacity",
            "import": "import_:import_",
            "evaluate": "evaluate:app",
            "study": "study:app",
            "lab": "lab:lab",
        },
        "Real programs": {"emulate": "emulate:emulate", "replay": "replay:replay"},
        "What can be written": {
            "scenarios": "scenarios:app",
            "find": "find:find",
            "queues": "catalogue:queues",
            "senders": "catalogue:senders",
            "congestion": "catalogue:senders",
            "applications": "catalogue:applications",
            "schema": "catalogue:schema",
        },
        "The modem's own file": {"config": "config:app"},
        "Results": {
            "report": "report:report",
            "figures": "figures:figures",
            "export": "export:export",
            "verify": "verify:verify",
        },
        "The program": {
            "cite": "cite:cite",
            "help": "help:show_help",
            "completion": "completion:completion",
        },
    }.items()
}


def _print_version(_: click.Context, __: click.Parameter, wanted: bool) -> None:
    if wanted:
        from headend.cli.version import describe_version

        print_text(describe_version())
        raise Exit


app = Program(
    PROGRAM,
    sections=SECTIONS,
    help="A laboratory for access networks: what a line does to the people behind it, and what to"
    " change.",
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
