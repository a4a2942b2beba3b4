"""``headend recommend``: the buffer, AQM or low latency of service tiers; what helps a line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.exceptions import Exit

from headend.cli.commands import Command, argument
from headend.cli.completers import (
    complete_any_file,
    complete_features,
    complete_folders,
    complete_presets,
    complete_senders,
    complete_sites,
    complete_traffic,
)
from headend.cli.options import (
    allow_option,
    csv_option,
    find_typed,
    json_option,
    memory_option,
    no_report_option,
    quiet_option,
    read_file_path,
    read_path,
    read_seeds,
    scheduler_option,
    secret_file_option,
    secret_option,
    set_option,
)
from headend.cli.outputs import OutputOptions, WriteFailure, attempt, takes_outputs
from headend.cli.reading import reads_results
from headend.cli.terminal import print_note, quote_path, show_points
from headend.errors import InputError

if TYPE_CHECKING:
    from headend.recommendation import Recommendation
    from headend.recommendation.request import Request
    from headend.recommendation.writing import Written

#: A command for one tier, for errors.
EXAMPLE = 'headend recommend --upstream "10 Mbit/s"'

#: Options that only a run can have, and not the results of one.
FOR_RUNS = (
    *("upstream", "downstream", "preset", "traffic", "rtt", "senders", "may_set", "router"),
    "seeds",
    *("settings", "allow_files", "scheduler", "memory", "out"),
)

#: What can stand in place of SOURCE.
EXPECTED = (
    "a file of tiers, modems' configuration files, the scenario of a line, or a results folder of"
    " headend recommend"
)

#: Headings of the help, and the options below them.
HEADINGS = {
    "The tiers": ("--upstream", "--downstream", "--preset"),
    "The people on the line": ("--traffic", "--rtt", "--senders"),
    "What is recommended": ("--may-set", "--router", "--expect", "--prefer"),
    "How it is run": ("--seeds", "--set", "--allow-files", "--scheduler", "--memory"),
    "What is written": (
        "--write",
        "--secret",
        "--secret-file",
        "--out",
        "--force",
        "--no-report",
        "--csv",
    ),
}


@click.command("recommend", cls=Command, headings=HEADINGS)
@argument(
    "sources",
    metavar="[SOURCE]…",
    help="A file of tiers (TOML); modems' configuration files, a tier each; the scenario of your"
    " own line; or a results folder of an earlier recommendation.",
    nargs=-1,
    shell_complete=complete_any_file,
)
@click.option(
    "--upstream",
    metavar="RATE",
    help='The upstream rate of a tier, such as "10 Mbit/s". Given several times: several tiers.',
    multiple=True,
)
@click.option(
    "--downstream",
    metavar="RATE",
    help="The downstream rate of the tiers: one for all, or as many as upstream. By default ten"
    " times the upstream rate.",
    multiple=True,
)
@click.option(
    "--preset",
    metavar="NAME",
    help="The kind of line: docsis31 (the default) or docsis30, whose modems have no low latency.",
    shell_complete=complete_presets,
)
@click.option(
    "--traffic",
    metavar="LIST",
    help='Who uses the line: a list of call, game, page, upload and video, such as "call, 2'
    ' uploads"; or a scenario, whose'
    " flows are taken. By default one of each.",
    shell_complete=complete_traffic,
)
@click.option(
    "--rtt",
    metavar="TIME",
    help='The round-trip time to the servers of uploads and pages: "30 ms", a range such as "20 ms'
    ' to 100 ms", or the sites of'
    " CM-GL-Buffer, Appendix I: all, boston, louisville or philadelphia. By default 46.9 ms.",
    shell_complete=complete_sites,
)
@click.option(
    "--senders",
    metavar="LIST",
    help="Who sends the uploads: congestion controls, each with a number of connections where it is"
    ' not one, such as "cubic, 10 bbr3". Every condition must hold with each of them. By default'
    ' "usual": "cubic, 10 cubic, bbr3, 10 bbr3". "cubic" is the quick answer, in a quarter of the'
    " time, and the default for your own line.",
    multiple=True,
    shell_complete=complete_senders,
)
@click.option(
    "--may-set",
    "may_set",
    metavar="LIST",
    help="What may be set: buffer-control, aqm, low-latency, router, or several of them with commas"
    " between. By default all that the modems have, and no router; for your own line a router too.",
    multiple=True,
    shell_complete=complete_features,
)
@click.option(
    "--router",
    help="For the home's own router before the modem: which queue and which share of the line's"
    " rate, and what to type. The modem stays as it is; what it could do itself is there to compare"
    " with. The same as --may-set router.",
    is_flag=True,
)
@click.option(
    "--expect",
    metavar="CONDITION",
    help='What must hold, as in [expect]: "call.mos.p5 >= 4.0". A rate can be a share of the'
    ' line\'s: "upload.goodput >= 80 %".'
    " Can be given several times. It takes the place of the default conditions.",
    multiple=True,
)
@click.option(
    "--prefer",
    metavar="MEASURE",
    help='What there should be most or least of where the conditions hold: "most upload.goodput"'
    ' (the default with an upload), or "least page.page_load_time.p50".',
)
@click.option(
    "--seeds",
    metavar="N | A,B,…",
    help="Run each setting with so many seeds, or with these. By default 5, or those in the file of"
    " tiers; more of them make the intervals narrower.",
)
@set_option
@allow_option
@scheduler_option
@memory_option
@click.option(
    "--write",
    metavar="FILE",
    help="Write the modem's configuration file with the recommended setting. With several tiers,"
    " each name has the tier's added.",
    type=read_file_path,
    shell_complete=complete_any_file,
)
@secret_option
@secret_file_option
@click.option(
    "--out",
    metavar="DIR",
    help="The results folder. By default results/recommend/NAME.",
    type=read_path,
    shell_complete=complete_folders,
)
@click.option(
    "--force",
    help="Replace the results of another recommendation in the results folder, the files of"
    " --write, and existing tables of --csv.",
    is_flag=True,
)
@no_report_option
@csv_option
@click.option("--full", help="Also print every setting that was tried.", is_flag=True)
@quiet_option
@json_option
@reads_results("sources")
@takes_outputs
def recommend(
    sources: tuple[str, ...],
    settings: tuple[str, ...],
    seeds: str | None,
    scheduler: str | None,
    memory: str | None,
    write: Path | None,
    secret: str | None,
    secret_file: str | None,
    outputs: OutputOptions,
    router: bool,
    **asked: Any,
) -> None:
    """Recommend a buffer, an AQM or low latency for service tiers, and write it to modems' files.

    Buffers, AQM targets and low latency are tried for each tier with uploads of CUBIC and of BBR
    version 3, of one and of ten connections, and with several seeds. A setting is recommended only
    if every condition holds with every sender; where none does, the nearest one is named, the
    senders under which it holds, and what it misses under the others. --senders cubic is the quick
    answer, for one connection of CUBIC alone.

        headend recommend --upstream "10 Mbit/s" --downstream "100 Mbit/s"
        headend recommend --upstream "5 Mbit/s" --upstream "35 Mbit/s" --may-set aqm --seeds 10
        headend recommend tiers.toml --traffic "call, 2 uploads" --expect "call.mos.p5 >= 4.2"
        headend recommend --router --upstream "20 Mbit/s" --downstream "100 Mbit/s"
        headend recommend modem.cm --write new.cm --secret-file secret.txt
        headend recommend my-line.toml
        headend recommend results/recommend/10M --prefer "least page.page_load_time.p50"

    A file of tiers has a table for each, such as [tier.bronze] with upstream = "5 Mbit/s" and
    downstream = "50 Mbit/s", or with modem = "bronze.cm".

    The scenario of your own line, as headend import writes it, is answered for its owner: what you
    can do yourself, what you must ask your provider, what would not be enough, and how sure that
    is.

    Finished points are kept: run the command again, and it runs only what is missing. A results
    folder is judged again by --expect and --prefer, and its page is written again; nothing is
    simulated.

    Exit code 1: nothing can be recommended for a tier, or a point failed. 2: the input is wrong, or
    a file cannot be written (the results are kept and printed). 130: interrupted.
    """
    from headend.cli.recommendation import (
        describe_recommendation,
        print_recommendation,
        print_troubles,
    )
    from headend.recommendation.page import write_recommendation, write_recommendation_page
    from headend.recommendation.reading import list_wanted
    from headend.recommendation.result import choose_recommendation_folder, load_recommendation
    from headend.results.experiment import TABLES

    opened = _find_results(sources)
    if opened and (option := find_typed(FOR_RUNS)):
        raise InputError(
            f"{option}: has no effect on results that are there; leave it out, or name tiers in"
            f" place of {opened}"
        )
    if not (opened or sources or asked["upstream"]):
        raise InputError(
            f"headend recommend: expected a tier, such as {EXAMPLE}, or {EXPECTED}; found none"
        )
    key = _read_key(write, secret, secret_file)
    is_new = True
    if opened:
        folder, result = opened, load_recommendation(opened)
        is_new = bool(asked["expect"] or asked["prefer"])
        if is_new:
            result = result.judge_again(asked["expect"], asked["prefer"] or "")
        request = result.request
    else:
        asked["may_set"] = list_wanted(asked["may_set"], router=router)
        request = _read_request(sources, seeds, settings, asked)
        folder = outputs.out or choose_recommendation_folder(request.name)
    if write:
        _check_files(request, write, force=outputs.force)
    outputs.check_files(TABLES)
    outputs.check_beside(folder)
    if opened and is_new:
        write_recommendation(result, report=False)
    elif not opened:
        result = _run(request, folder, outputs, scheduler, memory)
    failures: list[WriteFailure] = []
    written: list[Written] = []
    if result.complete:
        outputs = replace(outputs, report=outputs.report and is_new)
        failures += outputs.write(
            folder, result, lambda path: write_recommendation_page(result, path)
        )
        if write:
            failures += _write_files(result, folder, write, key, written, force=outputs.force)
    is_missed = any(decision.recommended is None for decision in result.decisions)
    raise Exit(
        outputs.deliver(
            failures,
            describe=lambda: describe_recommendation(result, folder, written),
            show=lambda: print_recommendation(result, folder, written, full=outputs.full),
            report_troubles=lambda: print_troubles(
                result, folder, written, brief=outputs.is_hidden
            ),
            is_missed=is_missed or bool(result.failures),
            is_stopped=not result.complete,
        )
    )


def _find_results(sources: tuple[str, ...]) -> Path | None:
    """Give the results folder that is to be judged again; None where the sources are files."""
    from headend.recommendation.result import Recommendation
    from headend.results.folder import read_kind

    folders = [source for source in sources if Path(source).is_dir()]
    if not folders:
        return None
    kind = read_kind(Path(folders[0]))
    if kind is None:
        raise InputError(f"{folders[0]}: expected {EXPECTED}, found another folder")
    if kind != Recommendation.kind:
        raise InputError(f"{folders[0]}: holds the results of a {kind}; expected {EXPECTED}")
    if len(sources) > 1:
        raise InputError(
            f"{folders[0]}: holds the results of a recommendation; expected one such folder alone,"
            " or several files"
        )
    return Path(folders[0])


def _read_key(path: Path | None, secret: str | None, secret_file: str | None) -> bytes | None:
    """Read the secret that signs modems' files; None where there is none, or no file to sign."""
    from headend.modem_file.secret import read_secret

    if path is None:
        option = "--secret" if secret is not None else "--secret-file" if secret_file else ""
        if option:
            raise InputError(f"{option}: has no effect without --write FILE")
        return None
    return read_secret(secret, secret_file)


def _check_files(request: Request, path: Path, *, force: bool) -> None:
    """Refuse modems' files that cannot be written, before anything is run."""
    from headend.recommendation.candidate import Feature
    from headend.recommendation.writing import list_paths
    from headend.results.output import check_output

    if any(tier.is_own for tier in request.tiers):
        raise InputError(
            f"--write {path}: the modem's file is the operator's; expected --write with tiers or"
            " modems' files"
        )
    if Feature.ROUTER in request.features:
        raise InputError(
            f"--write {path}: a modem's file does not set a router; expected --write without"
            " --router, or --router alone, which prints what to type"
        )
    sources = [tier.file for tier in request.tiers if tier.file]
    for own in list_paths(request.tiers, path):
        check_output(own, force=force, sources=sources)


def _read_request(
    sources: tuple[str, ...],
    seeds: str | None,
    settings: tuple[str, ...],
    asked: Mapping[str, Any],
) -> Request:
    """Understand what is asked."""
    from headend.recommendation.reading import read_request
    from headend.scenario.source import parse_override

    for source in sources:
        _check_source(source)
    return read_request(
        sources,
        seeds=read_seeds(seeds) if seeds is not None else None,
        overrides=[*map(parse_override, settings)],
        **asked,
    )


def _check_source(source: str) -> None:
    """Refuse what is no file, but stands for something that an option takes."""
    from headend.scenario.shipped import list_scenarios
    from headend.text.quantity import parse_quantity

    if Path(source).exists():
        return
    if source in list_scenarios():
        raise InputError(
            f"{source}: a scenario is not a file of tiers; --traffic {source} takes its people, and"
            f" `headend scenarios copy {source}` makes a file of which the line is yours"
        )
    try:
        parse_quantity(source, "rate")
    except ValueError:
        return
    raise InputError(f'{source}: a rate is not a file of tiers; expected --upstream "{source}"')


def _run(
    request: Request,
    folder: Path,
    outputs: OutputOptions,
    scheduler: str | None,
    memory: str | None,
) -> Recommendation:
    """Run what is missing, with a bar over the points."""
    from headend.recommendation import run_request
    from headend.running.execution import stop_on_interrupt

    with (
        stop_on_interrupt() as stop,
        show_points(request.name, hidden=outputs.is_hidden) as on_progress,
    ):
        return run_request(
            request,
            out=folder,
            force=outputs.force,
            scheduler=scheduler,
            stop=stop,
            on_progress=on_progress,
            memory=memory,
            report=False,
        )


def _write_files(
    result: Recommendation,
    folder: Path,
    path: Path,
    secret: bytes | None,
    written: list[Written],
    *,
    force: bool,
) -> list[WriteFailure]:
    """Write the modems' files of the recommended tiers, and add them to ``written``."""
    from headend.recommendation.writing import write_files

    if not any(decision.recommended for decision in result.decisions):
        print_note(f"{path} is not written: no setting meets every condition")
        return []
    later = (
        f"the results are kept, and headend recommend {quote_path(folder)} --write FILE writes"
        " modems' files"
    )
    failure = attempt(
        lambda: written.extend(write_files(result, path, secret, force=force)), path, later
    )
    return [failure] if failure else []
