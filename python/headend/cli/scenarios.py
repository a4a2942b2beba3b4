"""``headend scenarios``: what is shipped, what each teaches, and a copy to change."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import click

from headend.cli.commands import Commands, argument
from headend.cli.completers import complete_shipped
from headend.cli.options import SHIPPED_HINT, json_option
from headend.cli.terminal import (
    answer_errors,
    make_output,
    print_json,
    print_note,
    print_text,
    quote_path,
    write_line,
)
from headend.errors import InputError, describe_system
from headend.scenario.shipped import SCHEMA, list_scenarios, read_copy

name_argument = argument(
    "name",
    metavar="NAME",
    help="The name of a shipped scenario.",
    hint=SHIPPED_HINT,
    shell_complete=complete_shipped,
)


class _Scenarios(Commands):
    """The group, in which the name of a scenario stands for showing it."""

    def guess(self, name: str) -> str:
        """Guess that a shipped scenario is to be shown."""
        return f"show {name}" if name in list_scenarios() else ""


@click.group("scenarios", cls=_Scenarios, invoke_without_command=True)
@json_option
@click.pass_context
def app(context: click.Context, as_json: bool) -> None:
    """List the shipped scenarios, show one, or copy one to a file."""
    with answer_errors(as_json=as_json):
        if context.invoked_subcommand is None:
            _print_list(as_json=as_json)
        elif as_json:
            raise InputError(
                f"--json: expected after {context.invoked_subcommand}, found before it"
            )


@app.command("list")
@json_option
def list_all(as_json: bool) -> None:
    """List the shipped scenarios and what each teaches."""
    _print_list(as_json=as_json)


def _print_list(*, as_json: bool) -> None:
    rows = [
        {"name": name, "title": content.get("title", ""), "teaches": content.get("description", "")}
        for name, content in ((name, _read(path)) for name, path in list_scenarios().items())
    ]
    if as_json:
        print_json(rows)
        return
    console = make_output()
    for row in rows:
        console.print(write_line((row["name"], "bold"), f"  {row['title']}"))
        console.print(" ".join(str(row["teaches"]).split()), style="dim", end="\n\n")
    console.print(write_line("Run one with ", ("headend run NAME", "bold"), "."))


@app.command("show")
@name_argument
@json_option
def show(name: str, as_json: bool) -> None:
    """Print a shipped scenario."""
    path = _find(name)
    if as_json:
        print_json({"name": name, "scenario": _read(path), "text": read_copy(path)})
    else:
        print_text(read_copy(path))


@app.command("copy")
@name_argument
@argument(
    "target",
    metavar="[FILE]",
    help="The file to write. By default NAME.toml in this folder.",
    type=Path,
    required=False,
)
@json_option
def copy(name: str, target: Path | None, as_json: bool) -> None:
    """Copy a shipped scenario to a file of your own, to change.

    The JSON Schema of scenarios is written beside it, as scenario.schema.json, and the first line
    of the copy names it: editors that read such a line complete keys and mark what is wrong.
    """
    source = _find(name)
    target = target or Path(source.name)
    target = target / source.name if target.is_dir() else target
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(read_copy(source))
    except FileExistsError as error:
        raise InputError(f"{target}: exists already; give another name") from error
    except OSError as error:
        raise InputError(f"{target}: cannot be written: {describe_system(error)}") from error
    schema = _write_schema(target.parent)
    if as_json:
        print_json({"file": str(target), "schema": str(schema)})
    else:
        told = f"{target} written; run it with: headend run {quote_path(target)}"
        make_output().print(write_line(told), soft_wrap=True)


def _write_schema(folder: Path) -> Path:
    """Write the schema into a folder; a file of its name with other content is kept, and said."""
    from headend.engine.build import check_engine
    from headend.engine.reference import write_scenario_schema

    check_engine()
    path, content = folder / SCHEMA, write_scenario_schema()
    try:
        if path.exists():
            if path.read_text(encoding="utf-8") != content:
                print_note(
                    f"{path}: is another schema, and kept; headend schema --out {quote_path(path)}"
                    " --force replaces it"
                )
        else:
            path.write_text(content, encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        print_note(f"{path}: not written ({error}); editors can do without it")
    return path


def _find(name: str) -> Path:
    from headend.scenario.lookup import suggest_name

    shipped = list_scenarios()
    if name not in shipped:
        raise InputError(
            f'no shipped scenario is called "{name}"{suggest_name(name, "scenario", shipped)}'
        )
    return shipped[name]


def _read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))
