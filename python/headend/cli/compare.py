"""``headend compare``: the same traffic and seed under several settings, or finished runs, in one report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headend.cli.run import (
    ForceOption,
    JsonOption,
    OutOption,
    QuietOption,
    SeedOption,
    SetOption,
    choose_exit_code,
    describe_result,
    print_report,
    print_warnings,
)
from headend.cli.terminal import answer_errors, make_output, print_json, show_progress
from headend.errors import InputError

if TYPE_CHECKING:
    from headend.experiment import Comparison


@answer_errors
def compare(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SCENARIO | RUN_DIR…",
            help="One scenario with --vary, or several results folders.",
        ),
    ],
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="PATH=A,B,…",
            help="Values to take in turn, such as queue=drop_tail,docsis_pie. Several: every combination.",
        ),
    ] = None,
    labels: Annotated[
        list[str] | None, typer.Option("--label", help="What to call the runs, in order.")
    ] = None,
    settings: SetOption = None,
    seed: SeedOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare runs side by side in one report: what changed, with traffic and seed the same."""
    if vary:
        if len(sources) > 1:
            raise InputError(
                "--vary takes one scenario; several results folders are compared without it"
            )
        comparison = _run_varied(
            sources[0], vary, labels or [], settings or [], seed, out, force, quiet or as_json
        )
    else:
        comparison = _load_finished(sources, labels or [], out, force)
    if as_json:
        print_json(
            {
                "folder": str(comparison.folder),
                "runs": [describe_result(result) for result in comparison.results],
            }
        )
    elif not quiet:
        _print_comparison(comparison)
    raise typer.Exit(choose_exit_code(comparison.results) if vary else 0)


def _run_varied(
    source: str,
    vary: list[str],
    labels: list[str],
    settings: list[str],
    seed: int | None,
    out: Path | None,
    force: bool,
    hidden: bool,
) -> Comparison:
    from headend.execution import stop_on_interrupt
    from headend.experiment import Comparison, carry_out_all, plan_comparison
    from headend.folder import choose_folder, create_folder
    from headend.scenario import parse_override

    plans = plan_comparison(
        source,
        _collect_vary(vary),
        overrides=[parse_override(text) for text in settings],
        labels=labels,
        seed=seed,
    )
    first = plans[0].loaded
    target = out or choose_folder(f"{first.name}-compared", force=force)
    with create_folder(target, force=force) as fresh, stop_on_interrupt() as stop:
        longest = max(plan.duration_ns for plan in plans)
        with show_progress([plan.label for plan in plans], longest, hidden=hidden) as bars:
            results = carry_out_all(plans, bars, stop)
        if not results:
            raise KeyboardInterrupt
        comparison = Comparison(results, first.name, first.scenario.title, target)
        comparison.write_into(fresh)
    if not any(result.is_partial for result in results):
        comparison.report(target / "report.html")
    return comparison


def _load_finished(
    sources: list[str], labels: list[str], out: Path | None, force: bool
) -> Comparison:
    from headend.experiment import Comparison, load_results
    from headend.folder import choose_folder

    if len(sources) == 1 and not (Path(sources[0]) / "manifest.json").is_file():
        raise InputError(
            f"{sources[0]}: to compare, give --vary PATH=A,B with a scenario, or several results folders"
        )
    results = load_results(sources)
    if len(results) < 2:
        raise InputError(f"{sources[0]}: one run alone is nothing to compare; give another folder")
    if labels and len(labels) != len(results):
        raise InputError(
            f"{len(labels)} labels for {len(results)} runs: give one for each, or none"
        )
    for result, label in zip(results, labels, strict=False):
        result.label = label
    titles = {result.title for result in results}
    comparison = Comparison(
        results, "comparison", titles.pop() if len(titles) == 1 else "Runs compared"
    )
    comparison.save(out or choose_folder("compared", force=force), force=force)
    return comparison


def _collect_vary(texts: list[str]) -> dict[str, list[str]]:
    varied: dict[str, list[str]] = {}
    for path, values in map(_parse_vary, texts):
        if path in varied:
            raise InputError(f"--vary {path}: given twice; one --vary takes all its values")
        varied[path] = values
    return varied


def _parse_vary(text: str) -> tuple[str, list[str]]:
    from headend.experiment import split_values
    from headend.scenario import check_value

    path, equals, after = text.partition("=")
    values = split_values(after)
    if not equals or not path.strip() or values == [""]:
        raise InputError(
            f"--vary {text}: expected PATH=A,B,…, such as --vary queue=drop_tail,docsis_pie"
        )
    if "" in values:
        raise InputError(f"--vary {text}: a value between two commas is empty")
    return path.strip(), [check_value(value, f"--vary {text}") for value in values]


def _print_comparison(comparison: Comparison) -> None:
    from headend.cli.tables import draw_comparison, fit
    from headend.verdict import judge, summarise_comparison

    console = make_output()
    console.print(f"\n[bold]{comparison.title}[/bold]")
    verdicts = [judge(result) for result in comparison.results]
    console.print(fit(console, draw_comparison(comparison.results, verdicts)))
    for line in summarise_comparison(comparison.results, verdicts):
        console.print(line)
    console.print()
    print_warnings(comparison.results)
    for result in comparison.results:
        for outcome in result.expectations:
            if not outcome.met:
                console.print(
                    f"[red]✗[/red] {result.label}: {outcome.expected}, measured {outcome.measured_text}"
                )
    if comparison.folder:
        print_report(comparison.folder)
