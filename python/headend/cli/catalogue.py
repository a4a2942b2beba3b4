"""``headend queues|senders|congestion|…|schema``: all names, from the engine's own schema."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headend.cli.commands import Command, argument
from headend.cli.completers import complete_any_file, complete_choices
from headend.cli.options import json_option, read_path
from headend.cli.target import Target
from headend.cli.terminal import (
    make_output,
    print_json,
    print_text,
    write_line,
)
from headend.text.commands import COMMANDS

if TYPE_CHECKING:
    from headend.engine.vocabulary import Choice


def _name_argument(kind: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Declare the name of one thing of a kind."""
    return argument(
        "name",
        metavar="[NAME]",
        help="Show this one only, with its parameters.",
        required=False,
        shell_complete=complete_choices(kind),
    )


#: What is called otherwise than its key.
_WORDS = {"congestion": "congestion control"}


@click.command("queues", cls=Command)
@_name_argument("queue")
@json_option
def queues(name: str | None, as_json: bool) -> None:
    """List every queue discipline and when to use it; with a NAME, show its parameters."""
    _list("queue", name, as_json)


@click.command("senders", cls=Command, help=COMMANDS["senders"])
@_name_argument("congestion")
@json_option
def senders(name: str | None, as_json: bool) -> None:
    """List every congestion control and when to use it; with a NAME, show its parameters."""
    _list("congestion", name, as_json)


@click.command("applications", cls=Command)
@_name_argument("application")
@json_option
def applications(name: str | None, as_json: bool) -> None:
    """List every application and when to use it; with a NAME, show its parameters."""
    _list("application", name, as_json)


@click.command("schema", cls=Command)
@click.option(
    "--modem-file",
    is_flag=True,
    help="Print the schema of a modem's file as TOML (headend config decode) instead of the"
    " scenarios'.",
)
@click.option(
    "-o",
    "--out",
    "output",
    metavar="FILE",
    help="Write it to this file; - is standard output, which is the default.",
    type=read_path,
    shell_complete=complete_any_file,
)
@click.option("--force", help="Replace the file of --out where it is there already.", is_flag=True)
def schema(modem_file: bool, output: Path | None, force: bool) -> None:
    """Print the JSON Schema of scenarios, or of modems' files, for editors and checks.

    An editor finds it by the first line of a scenario, such as "#:schema scenario.schema.json" for
    a file beside it. Even Better TOML in VS Code and the language server Taplo in Helix, Neovim and
    others read this line; headend scenarios copy writes both. In PyCharm, Settings, JSON Schema
    Mappings names the file.
    """
    from headend.engine.modem_file import read_table, write_schema
    from headend.engine.reference import write_scenario_schema

    target = Target(output, force=force)
    content = write_schema(read_table()) if modem_file else write_scenario_schema()
    if target.path:
        target.write_text(content)
        target.tell()
    else:
        print_text(content)


def _list(kind: str, name: str | None, as_json: bool) -> None:
    from headend.engine.vocabulary import list_choices
    from headend.errors import InputError
    from headend.scenario.lookup import suggest_name

    choices = list_choices(kind)
    if name is not None:
        known = [choice.name for choice in choices]
        for system in list_choices("system") if kind == "congestion" else []:
            if system.name == name and name not in known:
                raise InputError(
                    f'"{name}" is an end system, not a congestion control: tcp.system = "{name}" in'
                    f" a flow sets its control and the rest of its TCP"
                    f" ({system.description.rstrip('.')})"
                )
        if name not in known:
            raise InputError(
                f'no {_WORDS.get(kind, kind)} is called "{name}"{suggest_name(name, kind, known)}'
            )
        choices = [choice for choice in choices if choice.name == name]
    if as_json:
        print_json([choice.to_dict() for choice in choices])
        return
    from headend.cli.tables import draw, fit
    from headend.wording.table import Cell, make_table

    console = make_output()
    if name is None:
        about = [
            (
                Cell(own.name, is_chosen=True),
                Cell(own.description, note=f"{own.use} {_name_source(own)}".strip()),
            )
            for own in choices
        ]
        console.print(fit(console, draw(make_table("name", ["about"], about))))
        if kind == "congestion":
            systems = ", ".join(system.name for system in list_choices("system"))
            console.print(
                f"\nAn end system sets its control and the rest of TCP: tcp.system = {systems}."
            )
        return
    (choice,) = choices
    console.print(write_line((choice.name, "bold"), f"  {choice.description}"))
    for text in (choice.use, choice.remarks, _name_source(choice)):
        if text:
            console.print(f"\n{text}")
    if choice.parameters:
        rows = [(own.name, own.form, own.default, own.description) for own in choice.parameters]
        columns = ("value", "default", "meaning")
        console.print()
        console.print(fit(console, draw(make_table("parameter", columns, rows))))


def _name_source(choice: Choice) -> str:
    return f"Source: {choice.source}" if choice.source else ""
