"""``headend help``: the help of a command, or the list of commands."""

from __future__ import annotations

from typing import Any

import click

from headend.cli.commands import Command, Commands, argument
from headend.cli.layout import print_help
from headend.errors import InputError


def complete_commands(context: click.Context, _: click.Parameter, typed: str) -> list[Any]:
    """Complete the names of commands after ``headend help``."""
    found = _find(context.find_root(), context.params.get("names") or ())
    return found.command.shell_complete(found, typed) if isinstance(found.command, Commands) else []


@click.command("help", cls=Command)
@argument(
    "names",
    metavar="[COMMAND] [SUBCOMMAND]",
    help="A command, such as run or study run. By default, the list of commands.",
    nargs=-1,
    shell_complete=complete_commands,
)
@click.pass_context
def show_help(context: click.Context, names: tuple[str, ...]) -> None:
    """Print the help of a command, or the list of commands."""
    found = _find(context.find_root(), names)
    print_help(found.command.get_help(found))


def _find(context: click.Context, names: tuple[str, ...]) -> click.Context:
    """Find a command by its words, such as study and run."""
    for name in names:
        group = context.command
        if not isinstance(group, Commands):
            raise InputError(f'{context.command_path}: has no subcommands, found "{name}"')
        group.refuse_unknown(context, name)
        command = group.get_command(context, name)
        assert command
        context = click.Context(command, info_name=name, parent=context)
    return context
