"""The layout of help: text, then arguments, options and commands in two columns."""

from __future__ import annotations

import inspect
import os
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import click

from headend.cli.terminal import print_text

#: The longest line of help; also its width where standard output is no terminal.
MOST_COLUMNS = 100

#: The widest column of names; a longer name gets a line of its own.
MOST_OF_NAMES = 26


@runtime_checkable
class Sectioned(Protocol):
    """A command that has commands below it, in sections."""

    def list_sections(self) -> dict[str, list[tuple[str, str]]]:
        """Give the commands with a line of help each, by heading."""


def print_help(text: str) -> None:
    """Print help, with colours on a terminal."""
    print_text((text if sys.stdout.isatty() else click.unstyle(text)) + "\n")


def write_help(command: click.Command, context: click.Context) -> str:
    """Write the help of a command."""
    width = _measure_width()
    pieces = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    usage = textwrap.wrap(f"Usage: {pieces}", width, subsequent_indent=" " * 7)
    usage[0] = usage[0].replace("Usage:", _stress("Usage:"), 1)
    parts = ["\n".join(usage)]
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        # What is indented is to be typed, and is kept as it is.
        typed = paragraph.startswith("    ")
        parts.append(textwrap.indent(paragraph, "  ") if typed else _wrap(paragraph, width, "  "))
    commands = command.list_sections() if isinstance(command, Sectioned) else {}
    parts += _draw_sections(commands, width)
    parts += _draw_sections(_list_parameters(command, context), width)
    return "\n\n".join(parts)


def take_first_paragraph(text: str) -> str:
    """Give the first paragraph of a text in one line."""
    return " ".join(text.strip().split("\n\n")[0].split())


def _list_parameters(
    command: click.Command, context: click.Context
) -> dict[str, list[tuple[str, str]]]:
    """Give the arguments and options with their help, by heading."""
    headings: Mapping[str, Sequence[str]] = getattr(command, "headings", {})
    places = {name: heading for heading, names in headings.items() for name in names}
    sections: dict[str, list[tuple[str, str]]] = {
        heading: [] for heading in ("Arguments", *headings, "Options")
    }
    for parameter in command.get_params(context):
        said = getattr(parameter, "help", None) or ""
        if isinstance(parameter, click.Option):
            heading = next((places[name] for name in parameter.opts if name in places), "Options")
            sections[heading].append((_name_option(parameter), said))
        else:
            sections["Arguments"].append((parameter.make_metavar(context), said))
    return sections


def _name_option(option: click.Option) -> str:
    """Write an option's names, with the short name or its space in front."""
    short = next((name for name in option.opts if not name.startswith("--")), "")
    long = next(name for name in option.opts if name.startswith("--"))
    metavar = "" if option.is_flag else f" {option.metavar}"
    return f"{f'{short}, ' if short else '    '}{long}{metavar}"


def _draw_sections(sections: Mapping[str, list[tuple[str, str]]], width: int) -> list[str]:
    """Draw headings and the rows below them, with names and help in two columns."""
    names = [name for rows in sections.values() for name, _ in rows]
    column = min(max(map(len, names), default=0), MOST_OF_NAMES) + 4
    return [
        "\n".join([_stress(f"{heading}:"), *(_draw_row(*row, column, width) for row in rows)])
        for heading, rows in sections.items()
        if rows
    ]


def _draw_row(name: str, said: str, column: int, width: int) -> str:
    text = _wrap(said, width, " " * column)
    padded = f"  {name}".ljust(column)
    shown = padded.replace(name.strip(), _colour(name.strip()), 1)
    return f"{shown}\n{text}" if len(name) + 4 > column else shown + text[column:]


def _wrap(text: str, width: int, indent: str) -> str:
    return textwrap.fill(
        " ".join(text.split()),
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _measure_width() -> int:
    """Give the columns of the terminal."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return min(int(columns), MOST_COLUMNS)
    try:
        return min(os.get_terminal_size(sys.stdout.fileno()).columns or MOST_COLUMNS, MOST_COLUMNS)
    except (OSError, ValueError):  # no terminal
        return MOST_COLUMNS


def _stress(text: str) -> str:
    return text if "NO_COLOR" in os.environ else click.style(text, bold=True)


def _colour(text: str) -> str:
    return text if "NO_COLOR" in os.environ else click.style(text, fg="cyan")
