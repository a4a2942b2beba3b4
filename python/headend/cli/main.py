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
    "Runs": {
        "run": LazyCommand("headend.cli.run:run", COMMANDS["run"]),
        "compare": LazyCommand("headend.cli.compare:compare", COMMANDS["compare"]),
        "sweep": LazyCommand("headend.cli.sweep:sweep", COMMANDS["sweep"]),
        "recommend": LazyCommand("headend.cli.recommend:recommend", COMMANDS["recommend"]),
        "study": LazyCommand("headend.cli.study:app", COMMANDS["study"]),
    },
    "Real programs": {
        "emulate": LazyCommand("headend.cli.emulate:emulate", COMMANDS["emulate"]),
        "replay": LazyCommand("headend.cli.replay:replay", COMMANDS["replay"]),
    },
    "What can be written": {
        "scenarios": LazyCommand("headend.cli.scenarios:app", COMMANDS["scenarios"]),
        "find": LazyCommand("headend.cli.find:find", COMMANDS["find"]),
        "queues": LazyCommand("headend.cli.catalogue:queues", COMMANDS["queues"]),
        "senders": LazyCommand("headend.cli.catalogue:senders", COMMANDS["senders"]),
        "congestion": LazyCommand("headend.cli.catalogue:senders"),
        "applications": LazyCommand("headend.cli.catalogue:applications", COMMANDS["applications"]),
        "schema": LazyCommand("headend.cli.catalogue:schema", COMMANDS["schema"]),
    },
    "The modem's own file": {
        "config": LazyCommand("headend.cli.config:app", COMMANDS["config"]),
    },
    "Results": {
        "report": LazyCommand("headend.cli.report:report", COMMANDS["report"]),
        "figures": LazyCommand("headend.cli.figures:figures", COMMANDS["figures"]),
        "export": LazyCommand("headend.cli.export:export", COMMANDS["export"]),
        "verify": LazyCommand("headend.cli.verify:verify", COMMANDS["verify"]),
    },
    "The program": {
        "help": LazyCommand("headend.cli.help:show_help", COMMANDS["help"]),
        "completion": LazyCommand("headend.cli.completion:completion", COMMANDS["completion"]),
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
