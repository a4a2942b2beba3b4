"""``headend run``: a scenario file in, a results folder with a report out."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click
from click.exceptions import Exit

from headend.cli.commands import Command
from headend.cli.options import scenario_argument, shared, takes_overrides
from headend.cli.outputs import (
    OutputOptions,
    WriteFailure,
    attempt,
    print_report,
    print_warnings,
    takes_outputs,
)
from headend.cli.terminal import (
    announce_reading,
    make_output,
    print_note,
    print_sentence,
    quote_path,
    show_progress,
    write_line,
)
from headend.comparison.notes import describe_measured
from headend.errors import InputError
from headend.text.quantity import format_quantity

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from headend.cli.terminal import ExitCode
    from headend.running.experiment import Plan
    from headend.running.result import Result
    from headend.scenario.source import Overrides
    from headend.wording.verdict import RunVerdict

#: Rows of people on the terminal; more are in the report, and with --full.
MOST_ROWS = 10

#: What took less is not written in tenths of seconds.
SHORT_SECONDS = 0.1


@click.command("run", cls=Command)
@scenario_argument
@shared("--set", "--modem", "--seed", "--out", "--force", "--no-report", "--quiet")
@click.option(
    "--full",
    help="Also print every flow and queue, those of each group who suffer most, and notes on them.",
    is_flag=True,
)
@click.option(
    "--no-advice",
    help="Try no settings: by default, what would help is run too, in at most five times the run's"
    " own time (three seconds at least).",
    is_flag=True,
)
@click.option(
    "--explain",
    metavar="FLOW@TIME",
    help="Follow the first packet of a flow after a time, and draw its requests, grants and"
    " bursts.",
    multiple=True,
)
@shared("--capture", "--junit", "--csv", "--allow-files", "--memory", "--json")
@takes_overrides
@takes_outputs
def run(
    scenario: str,
    overrides: Overrides,
    seed: int | None,
    no_advice: bool,
    explain: tuple[str, ...],
    allow_files: tuple[Path, ...],
    memory: str | None,
    outputs: OutputOptions,
) -> None:
    """Run a scenario: say who suffers, how badly, why, and what to change.

    The results and a page go to a folder. Exit code 1: an expectation of the scenario is missed. 2:
    the input is wrong, or the page cannot be written (the results are kept and printed). 130:
    interrupted; what was simulated until then is kept and marked as partial, without a page.
    """
    from headend.analysis.trials import describe_trials
    from headend.running.advice import try_advice
    from headend.running.experiment import plan_run

    if len(explain) > 1:
        raise InputError(
            "--explain: given twice; a run follows one packet, so run it once for each"
        )
    outputs.check_files(list_tables())
    announce_reading(scenario)
    plan = plan_run(
        scenario,
        overrides,
        seed=seed,
        explain=explain[0] if explain else None,
        allow_files=allow_files,
        memory=memory,
    )

    def carry_out(on_progress: Callable[[int], None], stop: threading.Event) -> Result:
        result = plan.carry_out(on_progress, stop)
        if not no_advice and (trials := try_advice(plan, result, stop)):
            result.manifest["advice"] = describe_trials(trials)
        return result

    _, code = run_plan(plan, carry_out, plan.duration_ns, scenario, outputs)
    raise Exit(code)


def list_tables() -> list[str]:
    """List the tables of a run."""
    from headend.engine.columns import TABLES

    return list(TABLES)


def run_plan(
    plan: Plan,
    carry_out: Callable[[Callable[[int], None], threading.Event], Result],
    duration_ns: int,
    source: str,
    outputs: OutputOptions,
) -> tuple[Result, ExitCode]:
    """Carry out a run in virtual time, keep and print its results, and give the exit code.

    Parameters
    ----------
    carry_out
        Runs it, with what to call with the simulated time so far and an event that stops it.
    duration_ns
        How long it simulates.
    source
        What errors call the scenario.
    """
    from headend.results.folder import create_folder
    from headend.running.execution import stop_on_interrupt

    outputs.check_expected(source, plan.expectations)
    target = outputs.choose_folder(plan.loaded.name)
    with stop_on_interrupt() as stop:
        with create_folder(target, force=outputs.force) as fresh:
            with show_progress([plan.label], duration_ns, hidden=outputs.is_hidden) as bars:
                result = carry_out(bars[plan.label], stop)
            result.write_into(fresh)
            undrawn = export_life(result, fresh, target) if plan.follow else None
        result.folder = target
        # Who interrupts wants to be gone, also where all was simulated.
        is_stopped = stop.is_set() or result.is_partial
        failures = outputs.write_runs(result, [result], is_stopped=is_stopped)
    failures = [undrawn, *failures] if undrawn else failures
    code = deliver_run(result, outputs, failures, is_stopped=is_stopped)
    return result, code


def deliver_run(
    result: Result,
    outputs: OutputOptions,
    failures: Sequence[WriteFailure],
    *,
    is_stopped: bool = False,
    describe: Callable[[], dict[str, Any]] | None = None,
) -> ExitCode:
    """Print a run as its options say, and give the exit code."""
    kept = f"kept in {result.folder}{f', {_describe_partial(result)}' if result.is_partial else ''}"
    return outputs.deliver_runs(
        failures,
        [result],
        describe=describe or (lambda: describe_result(result)),
        show=lambda: print_result(result, full=outputs.full),
        kept=kept,
        is_named=False,
        is_stopped=is_stopped,
    )


def export_life(result: Result, folder: Path, target: Path) -> WriteFailure | None:
    """Write the life of the followed packet as a picture, ``life.svg``, to the coming target.

    Where what draws pictures is not installed, it is left out, and a line says so; the report has
    the figure.
    """
    from headend.extras import PAPER
    from headend.figures.export import write_figures
    from headend.figures.life import draw_life

    if absent := PAPER.describe_absent("life.svg"):
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


def describe_result(result: Result) -> dict[str, object]:
    """Give a run as one JSON document: answer, verdict, tables of rows, expectations."""
    from headend.analysis.fairness import measure_fairness
    from headend.analysis.lateness import find_emulation
    from headend.analysis.scores import score_flows
    from headend.scenario.modems import list_configured
    from headend.wording.run import answer_run
    from headend.wording.verdict import judge

    verdict = judge(result)
    keys = ("name", "title", "seed", "duration_ns", "warmup_ns", "simulated_ns", "partial")
    return {
        "label": result.label,
        **{key: result.manifest[key] for key in keys},
        **({"emulation": dict(emulation)} if (emulation := find_emulation(result)) else {}),
        "folder": str(result.folder) if result.folder else None,
        "wall_seconds": result.wall_seconds,
        "answer": answer_run(result).to_dict(),
        "verdict": verdict.to_dict(),
        "advice": result.manifest.get("advice", []),
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
        "scores": [scores.to_dict() for scores in score_flows(result)],
        "fairness": [share.to_dict() for share in measure_fairness(result)],
        "summary": result.summary.to_dicts()[0],
        **{
            name: result.tables[name].to_dicts()
            for name in ("tins", "low_latency", "queue_protection", "real_flows", "lateness")
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
    from headend.analysis.lateness import find_emulation
    from headend.cli.emulation import print_emulation
    from headend.cli.first_lines import print_answer
    from headend.results.capture import FOLDER
    from headend.scenario.codes import describe_codes
    from headend.scenario.modems import describe_configured
    from headend.wording.emulation import describe_kind
    from headend.wording.run import answer_run
    from headend.wording.verdict import judge

    console = make_output()
    verdict = judge(result)
    most_rows = None if full else MOST_ROWS
    asides = (
        f"seed {result.manifest['seed']}",
        describe_kind(result),
        describe_configured(result.manifest["scenario"]),
        describe_codes(result.manifest["scenario"]),
    )
    aside = ", ".join(filter(None, asides))
    print_answer(answer_run(result), result.title, aside, most_rows)
    if result.is_partial:
        console.print(
            write_line(("Partial", "yellow"), f": stopped at {_describe_partial(result)}.")
        )
    print_emulation(result, full=full)
    _print_expectations(result, full=full)
    if full:
        _print_all(result, verdict)
    print_warnings(result.warnings)
    is_real_time = (find_emulation(result) or {}).get("kind") == "emulated"
    if result.wall_seconds and not is_real_time:
        console.print(
            describe_speed(result.wall_seconds, result.manifest["simulated_ns"]), style="dim"
        )
    if result.folder:
        picture = result.folder / "life.svg"
        if picture.is_file():
            console.print(write_line(f"Life of a packet: {picture}"), soft_wrap=True)
        if result.capture:
            console.print(write_line(f"Packets: {result.folder / FOLDER}"), soft_wrap=True)
        print_report(result.folder)


def describe_speed(wall_seconds: float, simulated_ns: int) -> str:
    """Say how long a run took, and how fast it was where there is something to say.

    Examples
    --------
    >>> describe_speed(2.04, 60_000_000_000), describe_speed(0.0123, 6_000_000_000)
    ('2.0 s, 29 × real time', '12.3 ms, 488 × real time')
    >>> describe_speed(0.01, 0)
    '10 ms'
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
    from headend.wording.run import describe_so_far

    outcomes = result.expectations
    if not outcomes:
        return
    console = make_output()
    missed = [outcome for outcome in outcomes if not outcome.met]
    if full:
        console.print()
        console.print(fit(console, draw(tabulate_expectations(outcomes, [result] * len(outcomes)))))
        return
    for outcome in missed:
        told = f" {outcome.expected}, {describe_measured([outcome])}"
        console.print(write_line((f"✗ missed{describe_so_far(result)}", "bold red"), told))
    met = len(outcomes) - len(missed)
    plural = "s" if len(outcomes) > 1 else ""
    console.print(f"{met} of {len(outcomes)} expectation{plural} met{describe_so_far(result)}")


def _print_all(result: Result, verdict: RunVerdict) -> None:
    """Print a row for each flow and queue, a group's worst, and the notes on them."""
    from headend.cli.emulation import print_real_in_full
    from headend.cli.tables import draw, fit
    from headend.scenario.groups import MOST_LISTED
    from headend.wording.flow_tables import (
        tabulate_aggregates,
        tabulate_flows,
        tabulate_members,
        tabulate_queues,
    )

    console = make_output()
    console.print()
    flows = tabulate_flows(verdict.groups)
    console.print(fit(console, draw(flows)))
    if flows.note:
        console.print(flows.note, style="dim")
    for party in verdict.groups:
        if party.is_group:
            console.print(write_line((f"Those of {party.label} who fare worst:", "bold")))
            console.print(fit(console, draw(tabulate_members(party))))
    bottleneck = verdict.queue.queue if verdict.queue else None
    queues = tabulate_queues(result, bottleneck, MOST_LISTED)
    console.print(fit(console, draw(queues)))
    for table in tabulate_aggregates(result, bottleneck):
        console.print(fit(console, draw(table)))
        print_sentence(console, table.note, "dim")
    _print_scores(result)
    for note in verdict.notes:
        print_sentence(console, f"- {note}")
    print_real_in_full(result)
    console.print()


def _print_scores(result: Result) -> None:
    """Print the scores that people know from other tests, and what each means."""
    from headend.cli.tables import draw, fit
    from headend.wording.scores import TITLE, explain_scores, tabulate_scores

    table = tabulate_scores(result)
    if not table.rows:
        return
    console = make_output()
    console.print(write_line((f"{TITLE}:", "bold")))
    console.print(fit(console, draw(table)))
    for line in explain_scores(result):
        print_sentence(console, line, "dim")


def _describe_partial(result: Result) -> str:
    """Say how much of a run there is."""
    simulated, whole = (
        format_quantity(result.manifest[key], "time") for key in ("simulated_ns", "duration_ns")
    )
    return f"{simulated} of {whole}"
