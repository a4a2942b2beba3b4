"""Arguments and options that several commands share, and how their values are read."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from headend.cli.commands import argument
from headend.cli.completers import complete_any_file, complete_folders, complete_scenarios
from headend.errors import InputError
from headend.text.quantity import MOST_SHOWN, read_digits
from headend.text.wording import shorten

Function = TypeVar("Function", bound=Callable[..., None])

#: Where to find the names of scenarios.
SHIPPED_HINT = "headend scenarios lists those that are shipped"

#: Where to find results.
RESULTS_HINT = "runs write theirs to results/NAME, or where --out says"

#: Digits of the largest number that is read; a seed has at most twenty.
MOST_DIGITS = 30


def read_number(text: str | int) -> int:
    """Take a whole number as it is typed, in the digits 0 to 9."""
    if isinstance(text, int):
        return text  # a default
    try:
        return read_digits(text, MOST_DIGITS)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def read_path(text: str | Path) -> Path:
    """Take a path as it is typed; nothing is no path."""
    if not str(text).strip():
        raise click.BadParameter("expected a path, found nothing")
    return Path(text)


def read_file_path(text: str | Path) -> Path:
    """Take the path of a file to write; ``-`` is refused, since standard output has the answer."""
    if str(text).strip() == "-":
        raise click.BadParameter(
            'expected a file, found "-", and standard output has the answer of the command; for a'
            " file of this name write ./-"
        )
    return read_path(text)


def read_seeds(text: str, first: int | None = None) -> int | list[int]:
    """Read ``5`` as five seeds, and ``1,2,5`` as a list of seeds."""
    from headend.design.seeds import choose_seeds

    parts = [part.strip() for part in text.split(",") if part.strip()]
    try:
        numbers = [read_digits(part, MOST_DIGITS) for part in parts or [text]]
    except ValueError as error:
        raise InputError(
            f"--seeds {shorten(text, MOST_SHOWN)}: expected how many, such as 10, or a list, such"
            " as 1,2,5"
        ) from error
    if "," in text and first is not None:
        raise InputError(
            "--seed: has no effect beside a list of --seeds, which names every seed; leave out one"
            " of them"
        )
    seeds = numbers if "," in text else numbers[0]
    try:
        choose_seeds(seeds, first=1)
    except InputError as error:  # which speaks of the key of a file
        raise InputError(f"--seeds {text}: {str(error).removeprefix('seeds: ')}") from error
    return seeds


def takes_overrides(command: Function) -> Function:
    """Read --set, --modem and --capture as the overrides of a scenario, ``overrides``."""

    @functools.wraps(command)
    def call(
        *,
        settings: Sequence[str],
        modems: Sequence[str] = (),
        capture: Sequence[str] = (),
        **values: Any,
    ) -> None:
        from headend.scenario.modems import parse_modem
        from headend.scenario.source import parse_override

        overrides = [*map(parse_override, settings), *map(parse_modem, modems)]
        if capture:
            overrides.append(("results.capture.points", json.dumps(capture)))
        try:
            command(overrides=overrides, **values)
        except InputError as error:
            if capture and (told := _echo_capture(str(error), capture)) != str(error):
                raise InputError(told) from error
            raise

    return call  # type: ignore[return-value]


def _echo_capture(message: str, points: Sequence[str]) -> str:
    """Name the option that was typed: to the engine, all that is changed is set."""
    for number, point in enumerate(points):
        before = message
        message = message.replace(f"results.capture.points[{number}]:", f"--capture {point}:")
        if message != before and "*" in point:
            message += ' ("*" stands for a number only, as in cable.home.*.up)'
    return message.replace(f" (from --set results.capture.points={json.dumps(points)})", "")


def find_typed(names: Sequence[str]) -> str | None:
    """Give the first of some options, by the names of their parameters, that was typed."""
    context = click.get_current_context()
    return next(
        (
            parameter.opts[0]
            for parameter in context.command.params
            if parameter.name in names
            and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
        ),
        None,
    )


scenario_argument = argument(
    "scenario",
    metavar="SCENARIO",
    help="A scenario file, the name of a shipped scenario, or - to read one from standard input.",
    hint=SHIPPED_HINT,
    shell_complete=complete_scenarios,
)
set_option = click.option(
    "--set",
    "settings",
    metavar="PATH=VALUE",
    help="Set one value of the scenario by its path. The path queue means the bottleneck's queue,"
    " low_latency that of its cable line in both directions (on, off, 2019). A file is looked for"
    " in this folder, then in the scenario's. Can be given several times.",
    multiple=True,
)
modem_option = click.option(
    "--modem",
    "modems",
    metavar="[NAME=]FILE",
    help="Let this configuration file set the line's only modem or, with NAME=, the modem of this"
    " name. --set of a key wins over the file. Can be given several times. headend config show FILE"
    " says what is in it.",
    multiple=True,
    shell_complete=complete_any_file,
)
seed_option = click.option(
    "--seed", metavar="N", help="Use this seed in place of the scenario's.", type=read_number
)
seeds_option = click.option(
    "--seeds",
    metavar="N | A,B,…",
    help="Use so many seeds, or these, in place of those in the file.",
)
memory_option = click.option(
    "--memory",
    metavar="SIZE",
    help="The most memory that runs may take, such as 8GB or 50%. A run that can need more is"
    " refused. By default half of the machine's memory.",
)
out_option = click.option(
    "--out",
    metavar="DIR",
    help="The results folder. By default results/NAME, or where that is there, NAME-2, NAME-3 and"
    " so on.",
    type=read_path,
    shell_complete=complete_folders,
)
force_option = click.option(
    "--force",
    help="Replace an existing results folder: the one of --out or, without --out, the one without a"
    " number. A folder that holds anything but its results is refused.",
    is_flag=True,
)
page_force_option = click.option(
    "--force", help="Replace the file of --out even if headend did not write it.", is_flag=True
)
allow_option = click.option(
    "--allow-files",
    metavar="PATH",
    help="Also read traces and captures from this folder or file. A Python file that is named here"
    " may be executed. Can be given several times.",
    type=read_path,
    multiple=True,
    shell_complete=complete_folders,
)
scheduler_option = click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Hand the points to the workers of this Dask scheduler, such as tcp://HOST:8786.",
)
no_report_option = click.option(
    "--no-report",
    help="Save the results without a page. headend report writes the page later.",
    is_flag=True,
)
capture_option = click.option(
    "--capture",
    metavar="POINT",
    help="Write the packets of a flow, a host or a queue to a pcapng file for Wireshark. Can be"
    " given several times.",
    multiple=True,
)
junit_option = click.option(
    "--junit",
    metavar="FILE",
    help="Also write the outcomes of [expect] as JUnit XML, for continuous integration. A scenario"
    " without [expect] is refused.",
    type=read_file_path,
    shell_complete=complete_any_file,
)
csv_option = click.option(
    "--csv",
    metavar="DIR",
    help="Also write the result tables to this folder as CSV.",
    type=read_path,
    shell_complete=complete_folders,
)
secret_option = click.option(
    "--secret",
    metavar="TEXT",
    help="The secret of the CMTS MIC. Other users of this machine can read it in the list of"
    " processes; --secret-file hides it.",
)
secret_file_option = click.option(
    "--secret-file",
    metavar="FILE",
    help="Read the secret from this file, or - for standard input; one line end at its end is no"
    " part of it. Without either option, the environment variable HEADEND_CONFIG_SECRET gives it.",
    shell_complete=complete_any_file,
)
quiet_option = click.option("--quiet", "-q", help="Print no progress and no table.", is_flag=True)
json_option = click.option(
    "--json",
    "as_json",
    help="Print one JSON document on standard output and nothing else.",
    is_flag=True,
)

#: The options that commands which run something share, by name.
SHARED = {
    "--set": set_option,
    "--modem": modem_option,
    "--seed": seed_option,
    "--memory": memory_option,
    "--out": out_option,
    "--force": force_option,
    "--allow-files": allow_option,
    "--scheduler": scheduler_option,
    "--no-report": no_report_option,
    "--capture": capture_option,
    "--junit": junit_option,
    "--csv": csv_option,
    "--quiet": quiet_option,
    "--json": json_option,
}


def shared(*names: str) -> Callable[[Function], Function]:
    """Declare some of the shared options, in this order."""
    return declare(*(SHARED[name] for name in names))


def declare(*options: Callable[[Any], Any]) -> Callable[[Function], Function]:
    """Declare options, in this order."""

    def decorate(command: Function) -> Function:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate
