"""``headend lab``: the lab in a browser, as it is or with a scenario in it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headend.cli.commands import Command, argument
from headend.cli.completers import complete_any_file, complete_scenarios
from headend.cli.options import (
    SHIPPED_HINT,
    find_typed,
    json_option,
    page_force_option,
    read_file_path,
    shared,
    takes_overrides,
)
from headend.cli.terminal import announce_reading, make_output, print_json, print_note, write_line
from headend.errors import InputError, describe_system
from headend.text.commands import COMMANDS

if TYPE_CHECKING:
    from headend.lab.given import Given
    from headend.scenario.source import Overrides

#: Where a page with a scenario in it goes. A browser may be kept from folders such as /tmp.
FOLDER = Path("results/lab")


@click.command("lab", cls=Command, help=COMMANDS["lab"])
@argument(
    "scenario",
    metavar="[SCENARIO]",
    help="What the lab's workbench begins with: a scenario file, the name of a shipped scenario, or"
    " - to read one from standard input.",
    hint=SHIPPED_HINT,
    required=False,
    shell_complete=complete_scenarios,
)
@shared("--set", "--seed")
@click.option(
    "--out",
    metavar="FILE",
    help="Write the page to this file, to take along or to hand out; it needs no network and no"
    " headend. By default the page is opened where it is installed and, with a SCENARIO, written to"
    " results/lab/NAME.html.",
    type=read_file_path,
    shell_complete=complete_any_file,
)
@page_force_option
@click.option("--no-open", help="Only say where the page is.", is_flag=True)
@json_option
@takes_overrides
def lab(
    scenario: str | None,
    overrides: Overrides,
    seed: int | None,
    out: Path | None,
    force: bool,
    no_open: bool,
    as_json: bool,
) -> None:
    """Open the lab, or a copy of its page."""
    from headend.lab.page import find_page, write_page

    if scenario is None and (typed := find_typed(("settings", "seed"))):
        raise InputError(f"{typed}: has no effect without a SCENARIO, such as upload-and-call")
    if force and out is None:
        raise InputError("--force: has no effect without --out, which names a file to replace")
    page = find_page()
    if scenario is not None:
        name, given = take_scenario(scenario, overrides, seed)
        page = out or FOLDER / f"{name}.html"
        write_copy(page, write_page(given), force=force)
    elif out is not None:
        page = out
        write_copy(page, write_page(), force=force)
    is_open = not no_open and open_page(page)
    if as_json:
        print_json({"page": str(page), "opened": is_open})
        return
    make_output().print(write_line(f"Lab: {page}"), soft_wrap=True)
    if not no_open and not is_open:
        print_note("found no browser to open it with; open the file yourself")


def take_scenario(scenario: str, overrides: Overrides, seed: int | None) -> tuple[str, Given]:
    """Check a scenario as a run would, and give its name and what the lab is given of it."""
    from headend.lab.given import give, refuse_files
    from headend.running.experiment import plan_run
    from headend.scenario.source import read_scenario

    announce_reading(scenario)
    text = read_scenario(scenario)
    refuse_files(text, overrides)
    plan = plan_run(text, overrides, seed=seed)
    return plan.loaded.name, give(text, overrides, plan.seed)


def write_copy(path: Path, content: bytes, *, force: bool) -> None:
    """Write a page of the lab, in place of another one; any other file is replaced if forced."""
    from headend.lab.page import is_page
    from headend.results.output import check_output, write_output

    if path.is_relative_to(FOLDER):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{path.parent}: cannot be made: {describe_system(error)}; --out FILE names another"
                " place"
            ) from error
    if os.path.lexists(path) and not path.is_dir() and not force and not is_page(path):
        raise InputError(
            f"{path}: exists and is no page of the lab; choose another file with --out FILE, or"
            " replace it with --out FILE --force"
        )
    check_output(path, force=True)
    write_output(path, content, force=True)


def open_page(page: Path) -> bool:
    """Open a page in the browser; False where there is none."""
    import webbrowser

    return webbrowser.open(page.resolve().as_uri())
