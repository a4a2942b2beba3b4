"""``headend run``: a scenario file in, a results folder with a report out."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.exceptions import Exit

from headend.cli.commands import Command
from headend.cli.options import (
    allow_option,
    capture_option,
    csv_option,
    force_option,
    json_option,
    junit_option,
    memory_option,
    modem_option,
    no_report_option,
    out_option,
    quiet_option,
    scenario_argument,
    seed_option,
    set_option,
)
from headend.cli.terminal import (
    ExitCode,
    announce_reading,
    make_messages,
    make_output,
    print_error,
    print_json,
    print_note,
    print_sentence,
    quote_path,
    show_progress,
    write_line,
)
from headend.cli.unwritten import Unwritten, attempt, tell_in_json
from headend.cli.wanted import Wanted
from headend.comparison.missed import tell_measured, tell_so_far
from headend.errors import InputError
from headend.results.folder import REPORT
from headend.text.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from headend.analysis.verdict import Verdict
    from headend.running.result import Result

#: Rows of people on the terminal; more are in the report, and with --full.
MOST_ROWS = 10

#: What took less is not written in tenths of seconds.
SHORT_SECONDS = 0.1


@click.command("run", cls=Command)
@scenario_argument
@set_option
@modem_option
@seed_option
@out_option
@force_option
@no_report_option
@quiet_option
@click.option(
    "--full",
    help="Also print every flow and queue, those of each group who suffer most, and notes on them.",
    is_flag=True,
)
@click.option(
    "--explain",
    metavar="FLOW@TIME",
    help="Follow the first packet of a flow after a time, and draw its requests, grants and"
    " bursts.",
    multiple=True,
)
@capture_option
@junit_option
@csv_option
@allow_option
@memory_option
@json_option
def run(
    scenario: str,
    settings: tuple[str, ...],
    modems: tuple[str, ...],
    seed: int | None,
    out: Path | None,
    force: bool,
    no_report: bool,
    quiet: bool,
    full: bool,
    explain: tuple[str, ...],
    capture: tuple[str, ...],
    junit: Path | None,
    csv: Path | None,
    allow_files: tuple[Path, ...],
    memory: str | None,
    as_json: bool,
) -> None:
    """Run a scenario: say who suffers, how badly, why, and what to change.

    The results and a page go to a folder. Exit code 1: an expectation of the scenario is missed. 2:
    the input is wrong, or the page cannot be written (the results are kept and printed). 130:
    interrupted; what was simulated until then is kept and marked as partial, without a page.
    """
    from headend.results.folder import choose_folder, create_folder
    from headend.running.execution import stop_on_interrupt
    from headend.running.experiment import plan_run
    from headend.scenario.modems import parse_modem
    from headend.scenario.source import parse_override

    if len(explain) > 1:
        raise InputError(
            "--explain: given twice; a run follows one packet, so run it once for each"
        )
    overrides = [*map(parse_override, settings), *map(parse_modem, modems)]
    wanted = Wanted(not no_report, junit, csv, force)
    wanted.check()
    announce_reading(scenario)
    if capture:
        overrides.append(("results.capture.points", json.dumps(capture)))
    try:
        plan = plan_run(
            scenario,
            overrides,
            seed=seed,
            explain=explain[0] if explain else None,
            allow_files=allow_files,
            memory=memory,
        )
    except InputError as error:
        raise InputError(_echo_capture(str(error), capture)) from error
    wanted.check_expected(scenario, plan.expectations)
    target = out or choose_folder(plan.loaded.name, force=force)
    wanted.check_beside(target)
    with stop_on_interrupt() as stop:
        with create_folder(target, force=force) as fresh:
            with show_progress([plan.label], plan.duration_ns, hidden=quiet or as_json) as bars:
                result = plan.carry_out(bars[plan.label], stop)
            result.write_into(fresh)
            undrawn = export_life(result, fresh, target) if explain else None
        result.folder = target
        # Who interrupts wants to be gone, also where all was simulated.
        stopped = stop.is_set() or result.is_partial
        lacking = wanted.make([result], target, result.report, stopped=stopped)
        if undrawn:
            lacking.insert(0, undrawn)
    if as_json:
        print_json({**describe_result(result), **tell_in_json(lacking)})
        print_missed(result)
    elif quiet:
        print_missed(result)
        if stopped or any(one.is_interruption for one in lacking):
            _print_interrupted(result)
    else:
        print_result(result, full=full)
    raise Exit(conclude([result], lacking, stopped=stopped))


def _echo_capture(message: str, points: Sequence[str]) -> str:
    """Name the option that was typed: to the engine, all that is changed is set."""
    for number, point in enumerate(points):
        before = message
        message = message.replace(f"results.capture.points[{number}]:", f"--capture {point}:")
        if message != before and "*" in point:
            message += ' ("*" stands for a number only, as in cable.home.*.up)'
    return message.replace(f" (from --set results.capture.points={json.dumps(points)})", "")


def export_life(result: Result, folder: Path, target: Path) -> Unwritten | None:
    """Write the life of the followed packet as a picture, ``life.svg``, to the coming target.

    Where what draws pictures is not installed, it is left out, and a line says so; the report has
    the figure.
    """
    from headend.extras import PAPER
    from headend.figures.export import write_figures
    from headend.figures.life import draw_life

    if absent := PAPER.tell_absent("life.svg"):
        print_note(f"{absent}; it is left out, the report has the figure")
        return None

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


def conclude(
    results: Sequence[Result], unwritten: Sequence[Unwritten], *, stopped: bool = False
) -> ExitCode:
    """Report result files that could not be written on standard error, and give the exit code.

    A report that is missing counts for more than expectations that are missed: the results are
    incomplete.
    """
    for one in unwritten:
        if one.line:
            print_error(one.line)
    if stopped or any(one.is_interruption for one in unwritten):
        return ExitCode.INTERRUPTED
    if unwritten:
        return max(one.code for one in unwritten)
    missed = any(not outcome.met for result in results for outcome in result.expectations)
    return ExitCode.MISSED if missed else ExitCode.OK


def describe_result(result: Result) -> dict[str, object]:
    """Give a run as one JSON document: answer, verdict, tables of rows, expectations."""
    from headend.analysis.fairness import measure_fairness
    from headend.analysis.lateness import find_emulation
    from headend.analysis.verdict import judge
    from headend.scenario.modems import list_configured
    from headend.wording.run_answer import answer_run

    verdict = judge(result)
    keys = ("name", "title", "seed", "duration_ns", "warmup_ns", "simulated_ns", "partial")
    return {
        "label": result.label,
        **{key: result.manifest[key] for key in keys},
        **({"emulation": dict(emulation)} if (emulation := find_emulation(result)) else {}),
        "folder": str(result.folder) if result.folder else None,
        "wall_seconds": result.wall_seconds,
        "answer": answer_run(result, verdict).to_dict(),
        "verdict": verdict.to_dict(),
        "modem_files": [asdict(one) for one in list_configured(result.manifest["scenario"])],
        "warnings": result.warnings,
        "expectations": [
            {**outcome.to_dict(), **({"so_far": True} if result.is_partial else {})}
            for outcome in result.expectations
        ],
        "flows": result.flows.to_dicts(),
        "queues": result.queues.to_dicts(),
        "channels": result.channels.to_dicts(),
        "collisions": result.collisions.to_dicts(),
        "measures": result.measures.to_dicts(),
        "fairness": [share.to_dict() for share in measure_fairness(result)],
        "summary": result.summary.to_dicts()[0],
        **{
            name: result.tables[name].to_dicts()
            for name in ("low_latency", "queue_protection", "real_flows", "lateness")
            if name in result.tables
        },
        **({"steps": result.tables["steps"].to_dicts()} if "steps" in result.tables else {}),
    }


def print_result(result: Result, *, full: bool = False) -> None:
    """Print the answer, missed expectations, warnings, and where the full results are.

    Parameters
    ----------
    full
        Whether to print the tables of people and queues and the notes on them too.
    """
    from headend.analysis.emulation import tell_kind
    from headend.analysis.lateness import find_emulation
    from headend.analysis.verdict import judge
    from headend.cli.emulation import print_emulation
    from headend.cli.first_lines import print_answer
    from headend.results.capture import FOLDER
    from headend.scenario.modems import tell_configured
    from headend.wording.run_answer import answer_run

    console = make_output()
    verdict = judge(result)
    most_rows = None if full else MOST_ROWS
    asides = (
        f"seed {result.manifest['seed']}",
        tell_kind(result),
        tell_configured(result.manifest["scenario"]),
    )
    aside = ", ".join(filter(None, asides))
    print_answer(answer_run(result, verdict), result.title, aside, most_rows)
    if result.is_partial:
        console.print(write_line(("Partial", "yellow"), f": stopped at {_tell_partial(result)}."))
    print_emulation(result, full=full)
    _print_expectations(result, full=full)
    if full:
        _print_all(result, verdict)
    print_warnings(result.warnings)
    is_real_time = (find_emulation(result) or {}).get("kind") == "emulated"
    if result.wall_seconds and not is_real_time:
        console.print(tell_speed(result.wall_seconds, result.manifest["simulated_ns"]), style="dim")
    if result.folder:
        picture = result.folder / "life.svg"
        if picture.is_file():
            console.print(write_line(f"Life of a packet: {picture}"), soft_wrap=True)
        if result.capture:
            console.print(write_line(f"Packets: {result.folder / FOLDER}"), soft_wrap=True)
        print_report(result.folder)


def tell_speed(wall_seconds: float, simulated_ns: int) -> str:
    """Say how long a run took, and how fast it was where there is something to say.

    Examples
    --------
    >>> tell_speed(2.04, 60_000_000_000), tell_speed(0.0123, 6_000_000_000), tell_speed(0.01, 0)
    ('2.0 s, 29 × real time', '12.3 ms, 488 × real time', '10 ms')
    """
    took = (
        f"{wall_seconds:.1f} s"
        if wall_seconds >= SHORT_SECONDS
        else format_quantity(wall_seconds * 1e9, "time")
    )
    speed = f"{simulated_ns / 1e9 / wall_seconds:,.0f}"
    return took if speed == "0" else f"{took}, {speed} × real time"


def _print_expectations(result: Result, *, full: bool) -> None:
    """Print how many expectations were met, and each that was missed; in full, all of them."""
    from headend.cli.tables import draw, fit
    from headend.wording.flow_tables import tabulate_expectations

    outcomes = result.expectations
    if not outcomes:
        return
    console = make_output()
    missed = [outcome for outcome in outcomes if not outcome.met]
    if full:
        console.print()
        console.print(fit(console, draw(tabulate_expectations(outcomes))))
        return
    for outcome in missed:
        told = f" {outcome.expected}, {tell_measured([outcome])}"
        console.print(write_line((f"✗ missed{tell_so_far(result)}", "bold red"), told))
    met = len(outcomes) - len(missed)
    plural = "s" if len(outcomes) > 1 else ""
    console.print(f"{met} of {len(outcomes)} expectation{plural} met{tell_so_far(result)}")


def _print_all(result: Result, verdict: Verdict) -> None:
    """Print a row for each flow and queue, a group's worst, and the notes on them."""
    from headend.cli.emulation import print_real_in_full
    from headend.cli.tables import draw, draw_aggregates, fit
    from headend.scenario.groups import MOST_LISTED
    from headend.wording.flow_tables import tabulate_flows, tabulate_members, tabulate_queues

    console = make_output()
    console.print()
    flows = tabulate_flows(verdict.parties)
    console.print(fit(console, draw(flows)))
    if flows.note:
        console.print(flows.note, style="dim")
    for party in verdict.parties:
        if party.is_group:
            console.print(write_line((f"Those of {party.label} who fare worst:", "bold")))
            console.print(fit(console, draw(tabulate_members(party))))
    bottleneck = verdict.queue.queue if verdict.queue else None
    queues = tabulate_queues(result, bottleneck, MOST_LISTED)
    console.print(fit(console, draw(queues)))
    for table, explanation in draw_aggregates(result, bottleneck):
        console.print(fit(console, table))
        print_sentence(console, explanation, "dim")
    for note in verdict.notes:
        print_sentence(console, f"- {note}")
    print_real_in_full(result)
    console.print()


def print_warnings(texts: Iterable[str]) -> None:
    """Print the warnings about the results, each once."""
    console = make_output()
    told = list(dict.fromkeys(texts))
    for text, after in zip_longest(told, told[1:], fillvalue=""):
        # Those about one key, such as of each file that a comparison tries, stand together.
        is_alike = text.partition(": ")[0] == after.partition(": ")[0]
        console.print(
            write_line(("Warning", "yellow"), f": {text}."), end="\n" if is_alike else "\n\n"
        )


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
    """Print on standard error only the expectations that were missed, a line each."""
    for outcome in result.expectations:
        if not outcome.met:
            told = f"{outcome.expected}, {tell_measured([outcome])}{tell_so_far(result)}"
            print_miss(f"{outcome.name}: {told}")


def _print_interrupted(result: Result) -> None:
    """Say on standard error, in one line, what an interruption left."""
    told = f"interrupted: kept in {result.folder}"
    if result.is_partial:
        told += f", {_tell_partial(result)}"
    make_messages().print(write_line(told), soft_wrap=True)


def _tell_partial(result: Result) -> str:
    """Say how much of a run there is."""
    simulated, whole = (
        format_quantity(result.manifest[key], "time") for key in ("simulated_ns", "duration_ns")
    )
    return f"{simulated} of {whole}"


def print_miss(line: str) -> None:
    """Print on standard error which expectation was missed."""
    make_messages().print(write_line(f"missed: {line}"), soft_wrap=True)
