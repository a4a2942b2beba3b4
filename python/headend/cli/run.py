"""``headend run``: a scenario file in, a results folder with a report out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headend.cli.terminal import (
    ExitCode,
    Unwritten,
    answer_errors,
    attempt,
    make_messages,
    make_output,
    print_error,
    print_json,
    quote_path,
    show_progress,
    write_line,
)
from headend.errors import InputError
from headend.folder import REPORT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from headend.expect import Outcome
    from headend.result import Result

ScenarioArgument = Annotated[
    str,
    typer.Argument(metavar="SCENARIO", help="A scenario file, or the name of a shipped scenario."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change a value of the scenario; [b]queue[/b] means the bottleneck's queue.",
    ),
]


def read_number(text: str | int) -> int:
    """Take a whole number as it is typed."""
    try:
        return int(text)
    except ValueError as error:
        raise typer.BadParameter(f'expected a whole number, found "{text}"') from error


SeedOption = Annotated[
    int | None,
    typer.Option(
        "--seed", metavar="N", help="In place of the scenario's seed.", parser=read_number
    ),
]


def read_path(text: str | Path) -> Path:
    """Take a path as it is typed; nothing is no path."""
    if not str(text).strip():
        raise typer.BadParameter("expected a path, found nothing")
    return Path(text)


MemoryOption = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="What runs may take of memory, such as 8GB or 50%; what can need more is refused. Half of the machine's by default.",
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="The results folder. By default results/NAME, or where that is there, NAME-2, NAME-3 and so on.",
        parser=read_path,
    ),
]
ForceOption = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Replace a results folder that is there: the one of --out, or else the one without a number.",
    ),
]
AllowOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--allow-files",
        metavar="PATH",
        help="Let traces and captures be read from this folder or file too; can be given several times.",
        parser=read_path,
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no table.")]
DetailOption = Annotated[
    bool, typer.Option("--detail", help="Also list those of each group who suffer most.")
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="One JSON document on standard output, nothing else.")
]


@answer_errors
def run(
    scenario: ScenarioArgument,
    settings: SetOption = None,
    seed: SeedOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
    detail: DetailOption = False,
    explain: Annotated[
        list[str] | None,
        typer.Option(
            "--explain",
            metavar="FLOW@TIME",
            help="Follow the next packet of a flow from a time on: its requests, grants and bursts as a figure.",
        ),
    ] = None,
    capture: Annotated[
        list[str] | None,
        typer.Option(
            "--capture",
            metavar="POINT",
            help="Write the packets of a flow, a host or a queue to the results as pcapng, for Wireshark; can be given several times.",
        ),
    ] = None,
    allow_files: AllowOption = None,
    memory: MemoryOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a scenario: who suffered, how much, where the queue stood; results and report in a folder.

    Exit code 1 when an expectation of the scenario is missed, 2 for bad input or a report that cannot be written (the
    results are kept and printed), 130 when interrupted (what was simulated until then is kept, marked partial if it is
    not all; the report is left out).
    """
    from headend.execution import stop_on_interrupt
    from headend.experiment import plan_run
    from headend.folder import choose_folder, create_folder
    from headend.scenario import parse_override

    if explain and len(explain) > 1:
        raise InputError(
            "--explain: given twice; a run follows one packet, so run it once for each"
        )
    overrides = [parse_override(text) for text in settings or []]
    if capture:
        overrides.append(("results.capture.points", json.dumps(capture)))
    try:
        plan = plan_run(
            scenario,
            overrides,
            seed=seed,
            explain=explain[0] if explain else None,
            allow_files=allow_files or [],
            memory=memory,
        )
    except InputError as error:
        raise InputError(_echo_capture(str(error), capture or [])) from error
    target = out or choose_folder(plan.loaded.name, force=force)
    with stop_on_interrupt() as stop:
        with create_folder(target, force=force) as fresh:
            with show_progress([plan.label], plan.duration_ns, hidden=quiet or as_json) as bars:
                result = plan.carry_out(bars[plan.label], stop)
            result.write_into(fresh)
            undrawn = export_life(result, fresh, target) if explain else None
        result.folder = target
        # Who interrupts wants to be gone, also where all was simulated.
        stopped = stop.is_set() or result.is_partial
        unwritten = None if stopped else make_report(result.report, target)
    if as_json:
        print_json({**describe_result(result), **tell_in_json(undrawn, unwritten)})
    elif quiet:
        print_missed(result)
    else:
        print_result(result, detail=detail)
    raise typer.Exit(conclude([result], undrawn, unwritten, stopped=stopped))


def _echo_capture(message: str, points: list[str]) -> str:
    """Name the option that was typed: to the engine, all that is changed is set."""
    for number, point in enumerate(points):
        before = message
        message = message.replace(f"results.capture.points[{number}]:", f"--capture {point}:")
        if message != before and "*" in point:
            message += ' ("*" stands for a number only, as in cable.home.*.up)'
    return message.replace(f" (from --set results.capture.points={json.dumps(points)})", "")


def make_report(write: Callable[[Path], object], folder: Path) -> Unwritten | None:
    """Write the report of results that are in their folder; whatever goes wrong costs only the report, an interruption too."""
    from headend.execution import interrupt_at_once

    path = folder / REPORT
    later = f"the results are kept, and headend report {quote_path(folder)} makes it of them"
    with interrupt_at_once():
        return attempt(lambda: write(path), path, later)


def export_life(result: Result, folder: Path, target: Path) -> Unwritten | None:
    """Write the life of the packet that was followed as a picture, ``life.svg``, to the folder that will be the target."""
    from headend.figures.export import write_figures
    from headend.figures.life import draw_life

    def write() -> None:
        if figure := draw_life([result]):
            write_figures([figure], folder, ["svg"])

    later = f"the results are kept, and headend figures {quote_path(target)} draws it of them"
    undrawn = attempt(write, target / "life.svg", later)
    if undrawn:
        if undrawn.is_interruption:  # the second one: at once
            raise KeyboardInterrupt
        (folder / "life.svg").unlink(missing_ok=True)
        # The folder has another name until all is in it.
        return replace(undrawn, line=undrawn.line.replace(str(folder), str(target)))
    return undrawn


def tell_in_json(*unwritten: Unwritten | None) -> dict[str, str]:
    """Give what a JSON document says in addition where something could not be written."""
    lines = [one.line for one in unwritten if one and one.line]
    return {"error": "; ".join(lines)} if lines else {}


def conclude(
    results: Sequence[Result], *unwritten: Unwritten | None, stopped: bool = False
) -> ExitCode:
    """Say on standard error what of the results could not be written, and give the exit code.

    A report that is missing counts for more than expectations that are missed: not all is there that was asked for.
    """
    failed = [one for one in unwritten if one]
    for one in failed:
        if one.line:
            print_error(one.line)
    if stopped or any(one.is_interruption for one in failed):
        return ExitCode.INTERRUPTED
    if failed:
        return max(one.code for one in failed)
    missed = any(not outcome.met for result in results for outcome in result.expectations)
    return ExitCode.MISSED if missed else ExitCode.OK


def describe_result(result: Result) -> dict[str, object]:
    """Give a run as one JSON document: verdict, tables with a row per flow, queue and measure, expectations."""
    from headend.fairness import measure_fairness
    from headend.verdict import judge

    keys = ("name", "title", "seed", "duration_ns", "warmup_ns", "simulated_ns", "partial")
    return {
        "label": result.label,
        **{key: result.manifest[key] for key in keys},
        "folder": str(result.folder) if result.folder else None,
        "wall_seconds": result.wall_seconds,
        "verdict": judge(result).to_dict(),
        "warnings": result.warnings,
        "expectations": [outcome.to_dict() for outcome in result.expectations],
        "flows": result.flows.to_dicts(),
        "queues": result.queues.to_dicts(),
        "channels": result.channels.to_dicts(),
        "collisions": result.collisions.to_dicts(),
        "measures": result.measures.to_dicts(),
        "fairness": [share.to_dict() for share in measure_fairness(result)],
        "summary": result.summary.to_dicts()[0],
        **({"steps": result.tables["steps"].to_dicts()} if "steps" in result.tables else {}),
    }


def print_result(result: Result, *, detail: bool = False) -> None:
    """Print the answer: people, queue, paragraph, expectations, where the rest is."""
    from headend.capture import FOLDER
    from headend.cli.tables import (
        draw_expectations,
        draw_members,
        draw_people,
        draw_queues,
        explain_people,
        fit,
    )
    from headend.verdict import judge

    console = make_output()
    verdict = judge(result)
    seed = f"seed {result.manifest['seed']}"
    console.print()
    console.print(write_line((result.title, "bold"), "  ", (seed, "dim")))
    console.print(fit(console, draw_people(verdict)))
    if note := explain_people(verdict.findings):
        console.print(note, style="dim")
    for party in verdict.parties if detail else []:
        if party.is_group:
            console.print(write_line((f"Those of {party.label} who fare worst:", "bold")))
            console.print(fit(console, draw_members(party)))
    bottleneck = verdict.queue.queue if verdict.queue else None
    console.print(fit(console, draw_queues(result, bottleneck, detail=detail)))
    console.print(verdict.paragraph, end="\n\n")
    print_warnings(result.warnings)
    if result.expectations:
        console.print(fit(console, draw_expectations(result)))
    if result.wall_seconds:
        speed = result.manifest["simulated_ns"] / 1e9 / result.wall_seconds
        console.print(f"{result.wall_seconds:.1f} s, {speed:,.0f} × real time", style="dim")
    if result.folder:
        picture = result.folder / "life.svg"
        if picture.is_file():
            console.print(write_line(f"Life of a packet: {picture}"), soft_wrap=True)
        if result.capture:
            console.print(write_line(f"Packets: {result.folder / FOLDER}"), soft_wrap=True)
        print_report(result.folder)


def print_warnings(texts: Iterable[str]) -> None:
    """Print what to read before the results are trusted, each once."""
    console = make_output()
    for text in dict.fromkeys(texts):
        console.print(write_line(("Warning", "yellow"), f": {text}."), end="\n\n")


def print_report(folder: Path) -> None:
    """Say where the report is, or how to make it."""
    path = folder / REPORT
    made = (
        f"Report: {path}"
        if path.is_file()
        else f"Kept in {folder}; headend report {quote_path(folder)} makes a report of it"
    )
    make_output().print(write_line(made), soft_wrap=True)


def print_missed(result: Result) -> None:
    """Print only the expectations that were missed, a line each."""
    for outcome in result.expectations:
        if not outcome.met:
            print_miss(f"{outcome.name}: {outcome.expected}, {tell_measured([outcome])}")


def print_miss(line: str) -> None:
    """Print on standard error which expectation was missed."""
    make_messages().print(write_line(f"missed: {line}"), soft_wrap=True)


def tell_measured(outcomes: Sequence[Outcome]) -> str:
    """Say what was measured of one expectation: a value, or from where to where."""
    found = sorted(
        (outcome.measured, outcome.measured_text)
        for outcome in outcomes
        if outcome.measured is not None
    )
    if not found:
        return "nothing measured"
    (_, low), (_, high) = found[0], found[-1]
    return f"measured {low}" if low == high else f"measured {low} to {high}"
