"""Arguments and options that several commands share, and how their values are read."""

from __future__ import annotations

from pathlib import Path

import click

from headend.cli.commands import argument
from headend.cli.completers import complete_any_file, complete_folders, complete_scenarios
from headend.text.quantity import read_digits

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
    help="Also read traces and captures from this folder or file. Can be given several times.",
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
