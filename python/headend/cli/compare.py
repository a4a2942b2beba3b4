"""``headend compare``: the same traffic and seed under several settings, or finished runs."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.exceptions import Exit

from headend.cli.commands import Command, argument
from headend.cli.completers import complete_folders, complete_scenarios
from headend.cli.options import (
    MOST_DIGITS,
    SHIPPED_HINT,
    allow_option,
    csv_option,
    force_option,
    json_option,
    junit_option,
    memory_option,
    modem_option,
    no_report_option,
    quiet_option,
    read_path,
    seed_option,
    set_option,
)
from headend.cli.reading import reads_results
from headend.cli.run import (
    conclude,
    describe_result,
    print_miss,
    print_report,
    print_warnings,
)
from headend.cli.terminal import (
    announce_reading,
    make_messages,
    make_output,
    print_json,
    print_sentence,
    show_points,
    show_progress,
    write_line,
)
from headend.cli.unwritten import Unwritten, tell_in_json
from headend.cli.wanted import Wanted
from headend.errors import InputError
from headend.text.quantity import MOST_SHOWN, read_digits
from headend.text.wording import shorten

if TYPE_CHECKING:
    from headend.comparison.comparison import Variant
    from headend.comparison.grid import Tier
    from headend.running.comparison import Comparison
    from headend.running.executor import Progress
    from headend.running.experiment import Plan, Run
    from headend.running.result import Result


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
@set_option
@modem_option
@seed_option
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
@force_option
@no_report_option
@quiet_option
@click.option(
    "--full",
    help="Also print how everybody fared in words, and every figure with its difference to the"
    " first choice.",
    is_flag=True,
)
@junit_option
@csv_option
@allow_option
@memory_option
@json_option
@reads_results("sources")
def compare(
    sources: tuple[str, ...],
    vary: tuple[str, ...],
    labels: tuple[str, ...],
    settings: tuple[str, ...],
    modems: tuple[str, ...],
    seed: int | None,
    seeds: str | None,
    out: Path | None,
    force: bool,
    no_report: bool,
    quiet: bool,
    full: bool,
    junit: Path | None,
    csv: Path | None,
    allow_files: tuple[Path, ...],
    memory: str | None,
    as_json: bool,
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
    from headend.running.experiment import plan_comparison
    from headend.scenario.modems import parse_modem
    from headend.scenario.source import parse_override

    wanted = Wanted(not no_report, junit, csv, force, is_comparison=True)
    wanted.check()
    # One setting over several seeds is judged by its means too.
    is_planned = bool(vary) or (seeds is not None and not Path(sources[0]).is_dir())
    if is_planned:
        if len(sources) > 1:
            option = "--vary" if vary else "--seeds"
            raise InputError(
                f"{option} needs one scenario; leave it out to compare results folders"
            )
        announce_reading(sources[0])
        plans = plan_comparison(
            sources[0],
            _collect_vary(vary),
            overrides=[*map(parse_override, settings), *map(parse_modem, modems)],
            labels=labels,
            seed=seed,
            seeds=read_seeds("1" if seeds is None else seeds, seed),
            allow_files=allow_files,
            memory=memory,
        )
        wanted.check_expected(sources[0], [one for plan in plans for one in plan.expectations])
        comparison, stopped, lacking = _run_varied(
            plans, out, force, memory, wanted, hidden=quiet or as_json
        )
    else:
        _refuse_settings(sources[0], settings, modems, seed, seeds, memory)
        comparison, lacking = _load_finished(sources, labels, out, force, wanted)
        stopped = False
    interrupted = stopped or any(one.is_interruption for one in lacking)
    if as_json:
        from headend.comparison.board import describe_figures

        print_json(
            {
                "folder": str(comparison.folder),
                "answer": comparison.answer.to_dict(),
                "warnings": comparison.warnings,
                "unfinished": comparison.unfinished,
                "runs": [describe_result(result) for result in comparison.results],
                "figures": describe_figures(comparison.variants),
                **tell_in_json(lacking),
            }
        )
        _print_missed(comparison)
    elif quiet:
        _print_missed(comparison)
        if interrupted:
            _print_interrupted(comparison)
    else:
        _print_comparison(comparison, full=full)
    raise Exit(conclude(comparison.results, lacking, stopped=stopped))


def _run_varied(
    plans: list[Plan],
    out: Path | None,
    force: bool,
    memory: str | None,
    wanted: Wanted,
    *,
    hidden: bool,
) -> tuple[Comparison, bool, list[Unwritten]]:
    """Run everything and keep it; say whether that was stopped, and what could not be written."""
    from headend.results.folder import choose_folder, create_folder
    from headend.running.comparison import Comparison
    from headend.running.execution import stop_on_interrupt

    first = plans[0].loaded
    target = out or choose_folder(f"{first.name}-compared", force=force)
    wanted.check_beside(target)
    with stop_on_interrupt() as stop:
        with create_folder(target, force=force) as fresh:
            names = _name_runs(plans)
            results = _carry_out(plans, names, stop, memory, hidden=hidden)
            if not results:
                raise KeyboardInterrupt
            whole = {run for run, result in results.items() if not result.is_partial}
            kept = _leave_out_partial(results, whole)
            comparison = Comparison(kept, first.name, first.scenario.title, target)
            for run, name in names.items():
                if run not in whole:
                    comparison.unfinished.append(name)
                    comparison.missing_seeds.setdefault(run[0], []).append(run[1])
            comparison.write_into(fresh)
        stopped = stop.is_set() or bool(comparison.unfinished)
        lacking = wanted.make(
            comparison.results,
            target,
            comparison.report,
            stopped=stopped,
            unfinished=comparison.unfinished,
        )
        return comparison, stopped, lacking


def _name_runs(plans: list[Plan]) -> dict[Run, str]:
    several = len({plan.seed for plan in plans}) > 1
    return {
        plan.run: f"{plan.label}, seed {plan.seed}" if several else plan.label for plan in plans
    }


def _carry_out(
    plans: list[Plan],
    names: dict[Run, str],
    stop: threading.Event,
    memory: str | None,
    *,
    hidden: bool,
) -> dict[Run, Result]:
    """Run everything, with a bar for each run, or one over all where there are many."""
    from headend.running.experiment import MOST_RUNS, carry_out_all

    if len(plans) > MOST_RUNS:
        with show_points(plans[0].loaded.name, hidden=hidden) as on_point:
            return carry_out_all(
                plans, {}, stop, lambda done: on_point(_count(done, len(plans))), memory
            )
    longest = max(plan.duration_ns for plan in plans)
    with show_progress(list(names.values()), longest, hidden=hidden) as bars:
        progress = {run: bars[name] for run, name in names.items()}
        return carry_out_all(plans, progress, stop, None, memory)


def _count(done: int, total: int) -> Progress:
    from headend.running.execution import count_cores
    from headend.running.executor import Progress

    return Progress(done, total, 0, min(count_cores(), total - done))


def _leave_out_partial(results: dict[Run, Result], whole: set[Run]) -> list[Result]:
    """Leave a run that was stopped out of the means of a setting that has whole ones."""
    labels = {label for label, _ in whole}
    return [result for run, result in results.items() if run in whole or run[0] not in labels]


def _refuse_settings(
    source: str,
    settings: Sequence[str],
    modems: Sequence[str],
    seed: int | None,
    seeds: str | None,
    memory: str | None,
) -> None:
    """Refuse options that change a scenario, where finished runs are compared."""
    given = [
        ("--set", bool(settings)),
        ("--modem", bool(modems)),
        ("--seed", seed is not None),
        ("--seeds", seeds is not None),
        ("--memory", memory is not None),
    ]
    option = next((name for name, is_given in given if is_given), None)
    if option and Path(source).is_dir():
        raise InputError(
            f"{option}: has no effect on {source}, a finished run; it needs a scenario and --vary"
            " or --seeds"
        )


def _load_finished(
    sources: Sequence[str],
    labels: Sequence[str],
    out: Path | None,
    force: bool,
    wanted: Wanted,
) -> tuple[Comparison, list[Unwritten]]:
    """Write finished runs side by side into a folder, and report files that cannot be written."""
    from headend.comparison.comparison import check_labels, gather_variants
    from headend.comparison.grid import find_grid, name_choices
    from headend.results.folder import MANIFEST, choose_folder
    from headend.running.comparison import (
        Comparison,
        load_missing_seeds,
        load_results,
        load_unfinished,
    )

    if any(not source.strip() for source in sources):
        raise InputError('"": expected the name or file of a scenario, or a results folder')
    if len(sources) == 1 and not (Path(sources[0]) / MANIFEST).is_file():
        raise InputError(
            f"{sources[0]}: to compare, give a scenario with --vary PATH=A,B, --seeds N or both, or"
            " several results folders"
        )
    results = load_results(sources)
    variants = gather_variants(results)
    if len(variants) < 2:
        raise InputError(_tell_alone(sources, variants[0]))
    wanted.check_expected(
        shlex.join(sources), [one for result in results for one in result.expectations]
    )
    grid = find_grid(variants)
    choices = len(grid.choice.values) if grid.is_several else 0
    check_labels(labels, len(variants), choices)
    if len(labels) == len(variants):
        for variant, label in zip(variants, labels, strict=True):
            for result in variant.results:
                result.label = label
    elif labels:
        name_choices(grid, labels)
    titles = {result.title for result in results}
    comparison = Comparison(
        results, "comparison", titles.pop() if len(titles) == 1 else "Runs compared"
    )
    comparison.unfinished = load_unfinished(sources)
    comparison.missing_seeds = load_missing_seeds(sources, results)
    target = out or choose_folder("compared", force=force)
    wanted.check_beside(target)
    comparison.save(target, force=force, report=False)
    lacking = wanted.make(results, target, comparison.report, unfinished=comparison.unfinished)
    return comparison, lacking


def _tell_alone(sources: Sequence[str], variant: Variant) -> str:
    """Say why runs of one choice cannot be compared, and what to do instead."""
    from headend.comparison.caveats import write_seeds

    folders = shlex.join(sources)
    if len(variant.seeds) < 2:
        return f"{folders}: one run alone is nothing to compare; give another folder"
    out = " --out FILE" if len(sources) > 1 else ""
    return (
        f"{folders}: the same choice, run with seeds {write_seeds(variant.seeds)}, so there is"
        " nothing to compare; add runs of another choice, or make a report with the means over"
        f" these seeds: headend report {folders}{out}"
    )


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


def _collect_vary(texts: Sequence[str]) -> dict[str, list[str]]:
    varied: dict[str, list[str]] = {}
    for path, values in map(_parse_vary, texts):
        if path in varied:
            raise InputError(f"--vary {path}: given twice; one --vary takes all its values")
        varied[path] = values
    return varied


def _parse_vary(text: str) -> tuple[str, list[str]]:
    from headend.running.experiment import split_values
    from headend.scenario.source import check_value

    path, equals, after = text.partition("=")
    values = split_values(after)
    if not equals or not path.strip() or values == [""]:
        raise InputError(
            f"--vary {text}: expected PATH=A,B,…, such as --vary queue=drop_tail,docsis_pie"
        )
    if "" in values:
        raise InputError(f"--vary {text}: a value between two commas is empty")
    return path.strip(), [check_value(value, f"--vary {text}") for value in values]


def _print_comparison(comparison: Comparison, *, full: bool) -> None:
    """Print the answer, missed expectations, warnings, and where the full results are."""
    from headend.cli.first_lines import print_answer
    from headend.comparison.caveats import tell_unfinished
    from headend.comparison.missed import list_missed
    from headend.scenario.modems import tell_shared
    from headend.text.wording import join_names

    console = make_output()
    scenarios = [result.manifest["scenario"] for result in comparison.results]
    print_answer(comparison.answer, comparison.title, tell_shared(scenarios))
    if full:
        for tier in comparison.grid.tiers:
            _print_tier(tier)
    of_runs = (text for result in comparison.results for text in result.warnings)
    print_warnings(dict.fromkeys([*comparison.warnings, *of_runs]))
    for name, line in list_missed(comparison.variants):
        console.print(write_line(("✗", "red"), f" {name}: {line}"))
    if partial := [one.label for one in comparison.variants if one.pool().is_partial]:
        console.print(write_line(f"Stopped before its end: {join_names(partial)}."))
    if comparison.unfinished:
        console.print(write_line(tell_unfinished(comparison.unfinished)))
    if comparison.folder:
        print_report(comparison.folder)


def _print_tier(tier: Tier) -> None:
    """Print how each flow fared under each setting of a tier, in words and figures, over seeds."""
    from headend.analysis.verdict import judge, note_comparison
    from headend.cli.tables import draw_board, draw_comparison, fit
    from headend.comparison.comparison import compare_figures, explain_board

    console = make_output()
    variants = tier.present
    pooled = [variant.pool() for variant in variants]
    verdicts = [judge(result) for result in pooled]
    console.print()
    if tier.label:
        console.print(write_line((tier.label, "bold")))
    console.print(fit(console, draw_comparison(pooled, verdicts)))
    for note in note_comparison(pooled, verdicts):
        print_sentence(console, note)
    console.print()
    console.print(fit(console, draw_board(variants, compare_figures(variants))))
    print_sentence(console, explain_board(variants), "dim")
    console.print()


def _print_interrupted(comparison: Comparison) -> None:
    """Say on standard error, in one line, what an interruption left, and what it cost."""
    from headend.comparison.caveats import tell_unfinished

    lacks = tell_unfinished(comparison.unfinished)
    told = f"interrupted: kept in {comparison.folder}. {lacks}".rstrip()
    make_messages().print(write_line(told), soft_wrap=True)


def _print_missed(comparison: Comparison) -> None:
    """Print on standard error only the expectations that were missed, a line each."""
    from headend.comparison.missed import list_missed

    for name, line in list_missed(comparison.variants):
        print_miss(f"{name}: {line}")
