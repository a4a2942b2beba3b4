"""``headend capacity``: how many homes a cable line's channels carry."""

from __future__ import annotations

import functools
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.exceptions import Exit

from headend.capacity.request import SCENARIO, SHARE
from headend.cli.commands import Command, argument
from headend.cli.completers import complete_folders, complete_scenarios
from headend.cli.options import read_path, read_seeds, seeds_option, shared, takes_overrides
from headend.cli.outputs import (
    OutputOptions,
    print_failures,
    print_first_warnings,
    print_interrupted,
    print_report,
    takes_outputs,
)
from headend.cli.terminal import make_output, write_line

if TYPE_CHECKING:
    from headend.capacity.counting import Cause
    from headend.capacity.findings import Findings
    from headend.capacity.result import Capacity
    from headend.scenario.source import Overrides


@click.command("capacity", cls=Command)
@argument(
    "scenario",
    metavar="[SCENARIO]",
    help="A cable line with a group of modems, and people in their homes as they are at peak: a"
    f" file, or the name of a shipped scenario. By default {SCENARIO}.",
    default=SCENARIO,
    required=False,
    shell_complete=complete_scenarios,
)
@click.option(
    "--suffering",
    metavar="SHARE",
    help=f"The largest share of people who may suffer from sharing. By default {SHARE}.",
    default=SHARE,
)
@click.option(
    "--vary",
    "group",
    metavar="NAME",
    help="The group of modems whose number is varied, where there are several groups.",
)
@seeds_option
@shared("--set")
@click.option(
    "--out",
    metavar="DIR",
    help="The results folder. By default results/capacity/NAME.",
    type=read_path,
    shell_complete=complete_folders,
)
@click.option(
    "--force",
    help="Replace the results of another scenario in the results folder, and existing tables of"
    " --csv.",
    is_flag=True,
)
@click.option("--full", help="Also print every number of homes that was tried.", is_flag=True)
@shared("--no-report", "--csv", "--scheduler", "--allow-files", "--quiet", "--memory", "--json")
@takes_overrides
@takes_outputs
def capacity(
    scenario: str,
    suffering: str,
    group: str | None,
    overrides: Overrides,
    seeds: str | None,
    scheduler: str | None,
    allow_files: tuple[Path, ...],
    memory: str | None,
    outputs: OutputOptions,
) -> None:
    """Find how many homes a line's channels carry before too many people suffer from sharing.

    The homes of a scenario are doubled or halved until the share of calls, games, pages and films
    that suffer from sharing crosses the bound, and the space between is halved. Who suffers from a
    transfer of the own home is counted apart: no number of homes changes that.

        headend capacity
        headend capacity street --suffering "2 %" --seeds 10
        headend capacity street --set link.cable.docsis.plant.upstream.sc_qam.channels=2
        headend capacity my-node.toml --vary home

    Finished points are kept: run the command again, and it runs only what is missing. Exit code 1:
    a point failed. 2: the input is wrong, or a file cannot be written (the results are kept and
    printed). 130: interrupted.
    """
    from headend.capacity.experiment import read_request, run_request
    from headend.capacity.page import write_capacity_page
    from headend.capacity.result import choose_capacity_folder
    from headend.results.experiment import TABLES

    chosen = read_seeds(seeds) if seeds is not None else None
    request = read_request(scenario, suffering, group, chosen, overrides, allow_files)
    outputs.check_files(TABLES)
    folder = outputs.check_beside(outputs.out or choose_capacity_folder(request.name))
    result, failures = outputs.run_experiment(
        folder,
        request.name,
        functools.partial(run_request, request, scheduler=scheduler, memory=memory),
        write_capacity_page,
    )
    raise Exit(
        outputs.deliver(
            failures,
            describe=lambda: _describe(result),
            show=lambda: _print_result(result, full=outputs.full),
            report_troubles=lambda: _print_troubles(result, brief=outputs.is_hidden),
            is_missed=False,
            is_stopped=not result.complete,
        )
    )


def _print_result(result: Capacity, *, full: bool) -> None:
    """Print the answer, and what the rule of thumb says; every number where that is asked."""
    from headend.capacity.sentences import (
        describe_worst,
        list_facts,
        tabulate_rule,
        tabulate_shares,
    )
    from headend.capacity.worst import name_street
    from headend.cli.first_lines import print_answer
    from headend.cli.tables import draw, fit

    if not result.complete:
        return
    console = make_output()
    print_answer(result.answer)
    console.print()
    tables = [tabulate_rule(result.findings)]
    if full:
        tables.insert(0, tabulate_shares(result.findings, sorted(result.numbers)))
    for table in filter(None, tables):
        console.print(fit(console, draw(table)))
        console.print(write_line((table.note, "dim")))
        console.print()
    console.print(write_line(list_facts(result.findings)))
    if result.folder and (street := result.worst):
        told = describe_worst(street, shlex.quote(str(result.folder / name_street(street))))
        console.print(write_line(told), soft_wrap=True)
    if result.notes:
        console.print()
        print_first_warnings(result.notes, "the manifest")
    if result.folder:
        print_report(result.folder)


def _print_troubles(result: Capacity, *, brief: bool) -> None:
    """Report on standard error what could not be simulated, and what an interruption left."""
    print_failures(result.failures, brief=brief)
    if not result.complete:
        print_interrupted(result.count_done(), result.design.count_points(), result.folder)


def _describe(result: Capacity) -> dict[str, Any]:
    """Give the result as one JSON document; shares from 0 to 1, rates in bit/s."""
    from headend.capacity.counting import Cause
    from headend.capacity.findings import EVERYBODY
    from headend.capacity.rule import FACTORS, apply_rule
    from headend.capacity.worst import name_street

    found = result.findings
    suits, fails = found.crossing
    street = result.worst
    return {
        "scenario": result.name,
        "title": result.title,
        "folder": str(result.folder),
        "complete": result.complete,
        "asked": dict(result.asked),
        "seeds": list(result.seeds),
        "answer": result.answer.to_dict() if result.complete else None,
        "worst_street": {**asdict(street), "file": name_street(street)} if street else None,
        "homes": {"suit": suits, "too_many": fails, "sure": found.sure, "failing": found.failing},
        "numbers": [
            {
                "homes": number,
                "standing": str(found.trials[number].standing),
                "shares": {
                    group: {
                        str(cause): _describe_share(found, number, cause, group) for cause in Cause
                    }
                    for group in (EVERYBODY, *found.groups)
                },
            }
            for number in sorted(result.numbers)
        ],
        "channels": [
            {
                "channel": own.name,
                "capacity_bps": own.capacity,
                "needed_bps": own.needed,
                "rule": {
                    str(factor): apply_rule(own.capacity, own.needed, most, factor)
                    for factor in FACTORS
                }
                if (most := found.fastest.get(own.name.rpartition(".")[2])) and own.needed
                else None,
            }
            for own in found.channels
        ],
        "warnings": list(result.notes),
        "failures": [
            {"homes": place[0], "seed": place[-1], "error": reason}
            for place, reason in result.failures.items()
        ],
    }


def _describe_share(
    found: Findings, homes: int, cause: Cause, group: str
) -> dict[str, float | None] | None:
    share = found.estimate(homes, cause, group=group)
    if share is None:
        return None
    several = share.count > 1
    return {
        "mean": share.mean,
        "low": share.low if several else None,
        "high": share.high if several else None,
    }
