"""``headend compare``: the same traffic and seed under several settings, or finished runs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.exceptions import Exit

from headend.cli.commands import Command, argument
from headend.cli.completers import complete_folders, complete_scenarios
from headend.cli.options import (
    SHIPPED_HINT,
    find_typed,
    read_path,
    read_seeds,
    shared,
    takes_overrides,
)
from headend.cli.outputs import (
    OutputOptions,
    WriteFailure,
    print_report,
    print_warnings,
    takes_outputs,
)
from headend.cli.reading import reads_results
from headend.cli.run import describe_result, list_tables
from headend.cli.terminal import (
    announce_reading,
    make_output,
    print_sentence,
    show_points,
    show_progress,
    write_line,
)
from headend.errors import InputError

if TYPE_CHECKING:
    from headend.cli.terminal import ExitCode
    from headend.comparison.comparison import Variant
    from headend.comparison.grid import Tier
    from headend.comparison.notes import MissingSeeds
    from headend.running.comparison import Comparison
    from headend.running.executor import Progress
    from headend.running.experiment import Plan
    from headend.scenario.source import Overrides


@click.command("compare", cls=Command)
@argument(
    "sources",
    metavar="SCENARIO | RUN_DIR…",
    help="One scenario with --vary, --seeds or both; or several results folders.",
    hint=SHIPPED_HINT,
    nargs=-1,
    required=True,
    shell_complete=complete_scenarios,
)
@click.option(
    "--vary",
    metavar="PATH=A,B,…",
    help="Run once for each of these values, such as queue=drop_tail,docsis_pie. A file is looked"
    " for in this folder, then in the scenario's. Given several times, every combination is run.",
    multiple=True,
)
@click.option(
    "--label",
    "labels",
    metavar="TEXT",
    help="Call a setting by this name. Give it once for each setting, in their order; with several"
    " --vary, once for each value of the choice, such as --label CoDel --label FQ-CoDel for"
    " queue=codel,fq_codel.",
    multiple=True,
)
@shared("--set", "--modem", "--seed")
@click.option(
    "--seeds",
    metavar="N | A,B,…",
    help="Run every setting with so many seeds, or with these; without --vary, the scenario as it"
    " is. Results are means with 95 % intervals.",
)
@click.option(
    "--out",
    metavar="DIR",
    help="The results folder. By default results/NAME-compared, or results/compared for finished"
    " runs; where that is there, with -2, -3 and so on.",
    type=read_path,
    shell_complete=complete_folders,
)
@shared("--force", "--no-report", "--quiet")
@click.option(
    "--full",
    help="Also print how everybody fared in words, and every figure with its difference to the"
    " first choice.",
    is_flag=True,
)
@shared("--junit", "--csv", "--allow-files", "--memory", "--json")
@reads_results("sources")
@takes_overrides
@takes_outputs
def compare(
    sources: tuple[str, ...],
    vary: tuple[str, ...],
    labels: tuple[str, ...],
    overrides: Overrides,
    seed: int | None,
    seeds: str | None,
    allow_files: tuple[Path, ...],
    memory: str | None,
    outputs: OutputOptions,
) -> None:
    """Run the same traffic under several settings, or take finished runs; say which is best.

    With --seeds and without --vary, the scenario is run as it is with several seeds. Every setting
    meets the same traffic with the same seeds. With several --vary, one of them is the choice and
    the others make tiers, such as rates: settings are compared within a tier and never across.
    Rates, round-trip times and loads make tiers; of several choices, the first does.

    Exit code 1: a run missed an expectation of its scenario. 2: the input is wrong, or the page
    cannot be written (the results are kept and printed). 130: interrupted; the runs that came to
    their end are kept, and of a setting without one, what was simulated until then.
    """
    from headend.comparison.board import NAME
    from headend.design.varying import read_vary
    from headend.running.experiment import plan_comparison

    outputs.check_files([*list_tables(), NAME])
    # One setting over several seeds is judged by its means too.
    if vary or (seeds is not None and not Path(sources[0]).is_dir()):
        if len(sources) > 1:
            option = "--vary" if vary else "--seeds"
            raise InputError(
                f"{option} needs one scenario; leave it out to compare results folders"
            )
        announce_reading(sources[0])
        plans = plan_comparison(
            sources[0],
            read_vary(vary),
            overrides=overrides,
            labels=labels,
            seed=seed,
            seeds=read_seeds("1" if seeds is None else seeds, seed),
            allow_files=allow_files,
            memory=memory,
        )
        outputs.check_expected(sources[0], [one for plan in plans for one in plan.expectations])
        code = _run_varied(plans, outputs, memory)
    else:
        code = _compare_finished(sources, labels, outputs)
    raise Exit(code)


def _run_varied(plans: list[Plan], outputs: OutputOptions, memory: str | None) -> ExitCode:
    """Run everything, keep it and print it."""
    from headend.design.varying import MOST_RUNS
    from headend.results.folder import create_folder
    from headend.running.execution import count_cores, stop_on_interrupt
    from headend.running.executor import Progress
    from headend.running.experiment import name_runs, run_comparison

    name, total = plans[0].loaded.name, len(plans)
    target = outputs.choose_folder(f"{name}-compared")
    longest = max(plan.duration_ns for plan in plans)
    # A bar for each run, or one over all where there are many.
    labels = list(name_runs(plans).values()) if total <= MOST_RUNS else []

    def count(done: int) -> Progress:
        return Progress(done, total, 0, min(count_cores(), total - done))

    with stop_on_interrupt() as stop:
        with create_folder(target, force=outputs.force) as fresh:
            with (
                show_progress(labels, longest, hidden=outputs.is_hidden or not labels) as bars,
                show_points(name, hidden=outputs.is_hidden or bool(labels)) as on_point,
            ):
                comparison = run_comparison(
                    plans, stop, bars, lambda done: on_point(count(done)), memory
                )
            comparison.write_into(fresh)
        comparison.folder = target
        is_stopped = stop.is_set() or bool(comparison.unfinished)
        failures = outputs.write_runs(
            comparison,
            comparison.results,
            unfinished=comparison.unfinished,
            is_stopped=is_stopped,
        )
    return _deliver(comparison, outputs, failures, is_stopped=is_stopped)


def _compare_finished(
    sources: Sequence[str], labels: Sequence[str], outputs: OutputOptions
) -> ExitCode:
    """Write finished runs side by side into a folder, and print them."""
    from headend.results.folder import MANIFEST
    from headend.running.comparison import load_comparison

    option = find_typed(["settings", "modems", "seed", "seeds", "memory"])
    if option and Path(sources[0]).is_dir():
        raise InputError(
            f"{option}: has no effect on {sources[0]}, a finished run; it needs a scenario and"
            " --vary or --seeds"
        )
    if any(not source.strip() for source in sources):
        raise InputError('"": expected the name or file of a scenario, or a results folder')
    if len(sources) == 1 and not (Path(sources[0]) / MANIFEST).is_file():
        raise InputError(
            f"{sources[0]}: to compare, give a scenario with --vary PATH=A,B, --seeds N or both, or"
            " several results folders"
        )
    comparison = load_comparison(sources)
    variants = comparison.variants
    if len(variants) < 2:
        raise InputError(_describe_alone(sources, variants[0]))
    expected = [one for result in comparison.results for one in result.expectations]
    outputs.check_expected(shlex.join(sources), expected)
    comparison.rename(labels)
    titles = {result.title for result in comparison.results}
    comparison.name = "comparison"
    comparison.title = titles.pop() if len(titles) == 1 else "Runs compared"
    target = outputs.choose_folder("compared")
    comparison.save(target, force=outputs.force, report=False)
    failures = outputs.write_runs(comparison, comparison.results, unfinished=comparison.unfinished)
    return _deliver(comparison, outputs, failures)


def _deliver(
    comparison: Comparison,
    outputs: OutputOptions,
    failures: Sequence[WriteFailure],
    *,
    is_stopped: bool = False,
) -> ExitCode:
    """Print a comparison as its options say, and give the exit code."""
    from headend.comparison.notes import describe_unfinished

    kept = f"kept in {comparison.folder}. {describe_unfinished(comparison.unfinished)}".rstrip()

    def describe() -> dict[str, Any]:
        from headend.comparison.board import describe_figures

        return {
            "folder": str(comparison.folder),
            "answer": comparison.answer.to_dict(),
            "warnings": comparison.warnings,
            "unfinished": comparison.unfinished,
            "runs": [describe_result(result) for result in comparison.results],
            "figures": describe_figures(comparison.variants),
        }

    return outputs.deliver_runs(
        failures,
        comparison.results,
        describe=describe,
        show=lambda: _print_comparison(comparison, full=outputs.full),
        kept=kept,
        is_named=True,
        is_stopped=is_stopped,
    )


def _describe_alone(sources: Sequence[str], variant: Variant) -> str:
    """Say why runs of one choice cannot be compared, and what to do instead."""
    from headend.comparison.notes import write_seeds

    folders = shlex.join(sources)
    if len(variant.seeds) < 2:
        return f"{folders}: one run alone is nothing to compare; give another folder"
    out = " --out FILE" if len(sources) > 1 else ""
    return (
        f"{folders}: the same choice, run with seeds {write_seeds(variant.seeds)}, so there is"
        " nothing to compare; add runs of another choice, or make a report with the means over"
        f" these seeds: headend report {folders}{out}"
    )


def _print_comparison(comparison: Comparison, *, full: bool) -> None:
    """Print the answer, missed expectations, warnings, and where the full results are."""
    from headend.cli.first_lines import print_answer
    from headend.comparison.notes import describe_unfinished, list_missed
    from headend.scenario.modems import describe_shared
    from headend.text.wording import join_names

    console = make_output()
    scenarios = [result.manifest["scenario"] for result in comparison.results]
    print_answer(comparison.answer, comparison.title, describe_shared(scenarios))
    if full:
        for tier in comparison.grid.tiers:
            _print_tier(tier, comparison.missing_seeds)
    of_runs = (text for result in comparison.results for text in result.warnings)
    print_warnings(dict.fromkeys([*comparison.warnings, *of_runs]))
    for name, line in list_missed(comparison.variants):
        console.print(write_line(("✗", "red"), f" {name}: {line}"))
    if partial := [one.label for one in comparison.variants if one.pool().is_partial]:
        console.print(write_line(f"Stopped before its end: {join_names(partial)}."))
    if comparison.unfinished:
        console.print(write_line(describe_unfinished(comparison.unfinished)))
    if comparison.folder:
        print_report(comparison.folder)


def _print_tier(tier: Tier, missing_seeds: MissingSeeds) -> None:
    """Print how each flow fared under each setting of a tier, in words and figures, over seeds."""
    from headend.cli.tables import draw, fit
    from headend.comparison.board import tabulate_board, tabulate_outcomes
    from headend.comparison.comparison import compare_figures
    from headend.wording.verdict import judge, note_comparison

    console = make_output()
    variants = tier.present
    pooled = [variant.pool() for variant in variants]
    verdicts = [judge(result) for result in pooled]
    console.print()
    if tier.label:
        console.print(write_line((tier.label, "bold")))
    console.print(fit(console, draw(tabulate_outcomes(pooled, verdicts))))
    for note in note_comparison(pooled, verdicts):
        print_sentence(console, note)
    console.print()
    board = tabulate_board(variants, compare_figures(variants), missing_seeds)
    console.print(fit(console, draw(board)))
    print_sentence(console, board.note, "dim")
    console.print()
