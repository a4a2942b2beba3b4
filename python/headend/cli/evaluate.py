"""``headend evaluate``: what RFCs say should be tested of a queue, a sender or a call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.exceptions import Exit

from headend.cli.commands import Command, Commands, argument
from headend.cli.completers import complete_any_file, complete_choices, complete_folders
from headend.cli.options import declare, read_file_path, read_path, read_seeds, shared
from headend.cli.outputs import (
    OutputOptions,
    attempt,
    print_failures,
    print_first_warnings,
    print_interrupted,
    print_report,
    takes_outputs,
)
from headend.cli.terminal import make_output, print_sentence, write_line

if TYPE_CHECKING:
    from headend.evaluation.request import Request
    from headend.evaluation.result import Evaluation

#: Criteria that fail or are undecided, of which a terminal tells without --full.
MOST_MISSES = 5


@click.group("evaluate", cls=Commands)
def app() -> None:
    """Run what an RFC says should be tested of a queue, a sender or a call, and judge it."""


def _names(kind: str, about: str, *, required: bool = True) -> Callable[[Any], Any]:
    return argument(
        "names",
        metavar="NAME…" if required else "[NAME…]",
        help=about,
        nargs=-1,
        required=required,
        shell_complete=complete_choices(kind),
    )


def _grid(buffers: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Declare the options of a grid with these buffers by default."""
    return declare(
        click.option(
            "--rate",
            metavar="R,…",
            help='Rates of the bottleneck. By default "10 Mbit/s, 50 Mbit/s".',
        ),
        click.option("--rtt", metavar="T,…", help='Round trips. By default "20 ms, 100 ms".'),
        click.option(
            "--buffer",
            metavar="N,…",
            help=f"Buffers, in bandwidth-delay products. By default {buffers}.",
        ),
    )


def _options(kind: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Declare the options that all three commands have."""
    return declare(
        click.option(
            "--against",
            metavar="NAME",
            help="Also run this name, beside the baseline. Can be given several times.",
            multiple=True,
            shell_complete=complete_choices(kind),
        ),
        click.option(
            "--section",
            "sections",
            metavar="N",
            help="Run only the tests of this section of the RFC, such as 5 or 8.2. Can be given"
            " several times.",
            multiple=True,
        ),
        click.option(
            "--seeds", metavar="N | A,B,…", help="Use so many seeds, or these. By default 5."
        ),
        click.option(
            "--quick",
            help="One rate, round trip and buffer, and three seeds: a first look, within seconds.",
            is_flag=True,
        ),
        click.option(
            "--out",
            metavar="DIR",
            help="The results folder. By default results/evaluation/NAME.",
            type=read_path,
            shell_complete=complete_folders,
        ),
        click.option(
            "--force",
            help="Replace the results of other names in the results folder, and existing tables of"
            " --csv and --latex.",
            is_flag=True,
        ),
        click.option(
            "--full", help="Also print every criterion that fails or is undecided.", is_flag=True
        ),
        click.option(
            "--junit",
            metavar="FILE",
            help="Also write the verdicts as JUnit XML, for continuous integration.",
            type=read_file_path,
            shell_complete=complete_any_file,
        ),
        click.option(
            "--latex",
            metavar="FILE",
            help="Also write the verdicts as a LaTeX table.",
            type=read_file_path,
            shell_complete=complete_any_file,
        ),
        shared("--no-report", "--csv", "--scheduler", "--allow-files", "--quiet", "--memory",
               "--json"),
    )  # fmt: skip


@app.command("queue", cls=Command)
@_names(
    "queue",
    "A queue as queue= takes it: a name, such as codel, or a table in quotes, such as"
    ' {codel={target="15 ms"}}.',
)
@_grid("1,4")
@_options("queue")
@takes_outputs
def queue(**values: Any) -> None:
    """Run the tests of RFC 7928 on queues, beside drop-tail.

    Each test of the RFC is a small scenario, run with each rate, round trip and buffer and with
    several seeds: TCP-friendly, aggressive, unresponsive and background senders (section 5), round
    trips (6), bursts (7), stability (8), a mix and both directions (9), several queues on a path
    (10), and ECN and packet sizes (4). A criterion holds if the whole 95 % interval over the seeds
    meets its bound under every condition. The page says of each whose bound that is.

        headend evaluate queue codel pie
        headend evaluate queue '{codel={target="15 ms"}}' --against codel
        headend evaluate queue docsis_pie --section 8.2 --rate "100 Mbit/s"
        headend evaluate queue fq_codel --quick

    Finished points are kept: run the command again, and it runs only what is missing. Exit code 1:
    a criterion fails, or a point failed. 2: the input is wrong, or a file cannot be written (the
    results are kept and printed). 130: interrupted.
    """
    _evaluate("queue", **values)


@app.command("sender", cls=Command)
@_names(
    "congestion",
    "A congestion control as tcp.congestion= takes it: a name, such as bbr, or a table in quotes,"
    ' such as {ledbat={target="60 ms"}}.',
)
@_grid("0.5,1,4")
@_options("congestion")
@takes_outputs
def sender(**values: Any) -> None:
    """Run the tests of RFC 9743 on congestion controls, beside CUBIC and NewReno.

    The criteria of section 5 (collapse, bufferbloat, loss, fairness among themselves and to others,
    short flows, real-time traffic) are run over drop-tail of small and large bandwidth-delay
    products, over wireless paths (section 6), and in the special cases of section 7: AQM, ECN,
    delays that vary or are long, sudden onset of congestion, changes of the path. A number is held
    against that of CUBIC (RFC 9438) under the same conditions.

        headend evaluate sender bbr
        headend evaluate sender bbr bbr3 --against prague
        headend evaluate sender ledbat --section 5.1.4 --buffer 1,4,8

    Finished points are kept: run the command again, and it runs only what is missing. Exit code 1:
    a criterion fails, or a point failed. 2: the input is wrong, or a file cannot be written (the
    results are kept and printed). 130: interrupted.
    """
    _evaluate("sender", **values)


@app.command("media", cls=Command)
@_names(
    "application",
    "An application with media, by default video_call, with the rates that the RFC has.",
    required=False,
)
@_options("application")
@takes_outputs
def media(**values: Any) -> None:
    """Run the test cases of RFC 8867 on a video call.

    Variable capacity with one call and several, a congested way back, calls among themselves, over
    different round trips, beside long and short TCP flows, and over several bottlenecks. The page
    lists what cannot be run here, and why.

        headend evaluate media
        headend evaluate media video_call conference --section 5.6

    Finished points are kept: run the command again, and it runs only what is missing. Exit code 1:
    a criterion fails, or a point failed. 2: the input is wrong, or a file cannot be written (the
    results are kept and printed). 130: interrupted.
    """
    values["names"] = values["names"] or ("video_call",)
    _evaluate("media", rate=None, rtt=None, buffer=None, **values)


def _evaluate(
    family: str,
    *,
    outputs: OutputOptions,
    latex: Path | None,
    scheduler: str | None,
    allow_files: tuple[Path, ...],
    memory: str | None,
    **asked: Any,
) -> None:
    from headend.evaluation.experiment import run_request
    from headend.evaluation.junit import write_verdicts
    from headend.evaluation.latex import check_latex, write_latex
    from headend.evaluation.page import write_evaluation_page
    from headend.evaluation.result import Evaluation, choose_evaluation_folder

    request = _read_request(family, **asked)
    outputs.check_files(Evaluation.tables)
    if latex:
        check_latex(latex, force=outputs.force)
    folder = outputs.check_beside(outputs.out or choose_evaluation_folder(request.name))
    result, failures = outputs.run_experiment(
        folder,
        request.name,
        functools.partial(
            run_request, request, scheduler=scheduler, allow_files=allow_files, memory=memory
        ),
        write_evaluation_page,
        lambda done, path: write_verdicts(path, done.findings),
    )
    if (
        result.complete
        and latex
        and (
            failure := attempt(
                lambda: write_latex(result.findings, latex),
                latex,
                f"the results are kept in {folder}, and the same command writes it again",
            )
        )
    ):
        failures.append(failure)
    raise Exit(
        outputs.deliver(
            failures,
            describe=lambda: _describe(result),
            show=lambda: _print_result(result, full=outputs.full),
            report_troubles=lambda: _print_troubles(result, brief=outputs.is_hidden),
            is_missed=result.complete and (result.is_missed or bool(result.failures)),
            is_stopped=not result.complete,
        )
    )


def _read_request(
    family: str,
    *,
    names: tuple[str, ...],
    against: tuple[str, ...],
    rate: str | None,
    rtt: str | None,
    buffer: str | None,
    sections: tuple[str, ...],
    seeds: str | None,
    quick: bool,
) -> Request:
    from headend.design.seeds import choose_seeds
    from headend.evaluation.family import FAMILIES
    from headend.evaluation.request import make_request, read_quantities

    return make_request(
        FAMILIES[family],
        names,
        against=against,
        rates=read_quantities("--rate", rate, "rate") if rate else None,
        rtts=read_quantities("--rtt", rtt, "time") if rtt else None,
        buffers=read_quantities("--buffer", buffer, "number") if buffer else None,
        sections=sections,
        seeds=choose_seeds(read_seeds(seeds)) if seeds is not None else None,
        quick=quick,
    )


def _print_result(result: Evaluation, *, full: bool) -> None:
    """Print the answer, and what fails or is undecided, worst first."""
    from headend.cli.first_lines import print_answer
    from headend.evaluation.sentences import describe_setup
    from headend.evaluation.tables import WORDS, describe_miss, list_misses

    if not result.complete:
        return
    console, found = make_output(), result.findings
    print_answer(result.answer)
    console.print()
    several = len(found.request.names) > 1
    misses = list_misses(found, found.request.names)
    for own in misses if full else misses[:MOST_MISSES]:
        who = f"{own.name}: " if several else ""
        print_sentence(console, f"{WORDS[own.standing]}: {who}{describe_miss(found, own)}.")
    if not full and len(misses) > MOST_MISSES:
        more = len(misses) - MOST_MISSES
        console.print(f"The page and --full list {more} more that fail or are undecided.")
    if misses:
        console.print()
    console.print(write_line(describe_setup(found)))
    if result.notes:
        console.print()
        print_first_warnings(result.notes, "the manifest")
    if result.folder:
        print_report(result.folder)


def _print_troubles(result: Evaluation, *, brief: bool) -> None:
    """Report on standard error what could not be simulated, and what an interruption left."""
    print_failures(result.failures, brief=brief)
    if not result.complete:
        print_interrupted(result.count_done(), result.design.count_points(), result.folder)


def _describe(result: Evaluation) -> dict[str, Any]:
    """Give the result as one JSON document; numbers in base units (ns, bit/s, 1)."""
    from headend.evaluation.tables import list_rows

    found = result.findings
    family = found.request.family
    return {
        "document": family.document,
        "title": result.title,
        "folder": str(result.folder),
        "complete": result.complete,
        "asked": found.request.to_dict(),
        "seeds": list(found.request.seeds),
        "answer": result.answer.to_dict() if result.complete else None,
        "counts": {
            name: {str(own): count for own, count in found.count(name).items()}
            for name in found.request.names
        },
        "verdicts": [
            {
                "name": own.name,
                "section": own.section,
                "case": own.case.id,
                "criterion": own.criterion.id,
                "statement": own.criterion.statement,
                "standing": str(own.standing),
            }
            for own in found.verdicts
        ],
        "conditions": list(list_rows(found)),
        "not_run": [
            {"section": own.section, "title": own.title, "why": own.why} for own in family.untested
        ],
        "warnings": list(result.notes),
        "failures": [
            {"place": list(place[:-1]), "seed": place[-1], "error": reason}
            for place, reason in result.failures.items()
        ],
    }
