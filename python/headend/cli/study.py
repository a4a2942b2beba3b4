"""``headend study``: published results, reproduced: expected, measured, verdict."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headend.cli.run import JsonOption, QuietOption, read_path
from headend.cli.sweep import SchedulerOption, SeedsOption
from headend.cli.terminal import (
    ExitCode,
    answer_errors,
    make_messages,
    make_output,
    print_json,
    show_points,
)

if TYPE_CHECKING:
    from headend.study import Study
    from headend.study.outcome import StudyOutcome
    from headend.sweeps.crew import Crew, Progress

app = typer.Typer(
    help="Published results, reproduced: list, show NAME, run NAME, report.", no_args_is_help=True
)

ShownArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="Of a shipped study, or of a document for its list, or a folder with a study.toml.",
    ),
]


@app.command("list")
@answer_errors
def list_all(as_json: JsonOption = False) -> None:
    """List the shipped studies."""
    from headend.library import list_studies
    from headend.study import read_study

    studies = [read_study(name, folder) for name, folder in list_studies().items()]
    _print_list(studies, as_json=as_json)


def _print_list(studies: list[Study], *, as_json: bool) -> None:
    if as_json:
        print_json([_describe(study) for study in studies])
        return
    console = make_output()
    for study in studies:
        console.print(f"[bold]{study.name}[/bold]  {study.title}")
        console.print(f"[dim]{study.source}[/dim]")
        console.print(f"{_count_runs(study)}, {len(study.claims)} claims\n")
    console.print("Run one with [bold]headend study run NAME[/bold].")


@app.command()
@answer_errors
def show(name: ShownArgument, as_json: JsonOption = False) -> None:
    """Say what a study varies, measures and claims; of a document, which studies it has."""
    from headend.library import find_studies

    studies = [_read(folder) for folder in find_studies(name)]
    if len(studies) > 1:
        _print_list(studies, as_json=as_json)
        return
    (study,) = studies
    if as_json:
        print_json(_describe(study))
        return
    console = make_output()
    console.print(f"[bold]{study.title}[/bold]\n[dim]{study.source}[/dim]\n")
    console.print(f"{study.description}\n")
    for axis in study.axes:
        console.print(f"  {axis.name}: {', '.join(map(str, axis.values))}")
    console.print(f"  {_count_runs(study)}\n")
    for claim in study.claims:
        console.print(f"[bold]{claim.id}[/bold] [dim]{claim.source}[/dim]")
        console.print(f"  {claim.statement}\n  expected: {claim.expected}")


@app.command()
@answer_errors
def run(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Of a shipped study, or of a document for all its studies, or [b]all[/b], or a folder with a study.toml.",
        ),
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer points and shorter runs, labelled as such.")
    ] = False,
    seeds: SeedsOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="By default results/studies/NAME.", parser=read_path
        ),
    ] = None,
    scheduler: SchedulerOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run a study, all studies of a document, or all of them, on all cores and judge their claims.

    Points that are done are kept, so an interrupted study goes on where it stopped. Exit code 1 when a claim differs.
    """
    from headend.cli.compare import read_seeds
    from headend.library import find_studies
    from headend.study.outcome import check_study_folder
    from headend.sweeps.definition import list_seeds

    studies = [_read(folder) for folder in find_studies(name)]
    studies = [study.make_quick() if quick else study for study in studies]
    if seeds:
        studies = [replace(study, seeds=list_seeds(read_seeds(seeds))) for study in studies]
    folders = [_choose_folder(study, out, len(studies)) for study in studies]
    for folder in folders:
        check_study_folder(folder)
    outcomes = []
    needed = any(study.scenario for study in studies)
    with open_crew(scheduler if needed else None) as crew:
        for study, folder in zip(studies, folders, strict=True):
            outcomes.append(_carry_out(study, folder, crew, hidden=quiet or as_json))
            if not (quiet or as_json):
                _print_outcome(outcomes[-1], folder)
    if len(outcomes) > 1 and not (quiet or as_json):
        _print_totals(outcomes)
    if as_json:
        told = [
            {**outcome.to_dict(), "folder": str(folder)}
            for outcome, folder in zip(outcomes, folders, strict=True)
        ]
        print_json(told[0] if len(told) == 1 else {"studies": told})
    missed = any(judgement.is_missed for outcome in outcomes for judgement in outcome.judgements)
    raise typer.Exit(ExitCode.MISSED if missed else ExitCode.OK)


def _choose_folder(study: Study, out: Path | None, studies: int) -> Path:
    """Give the folder of a study's results; of several studies, each has its own below the one that is asked for."""
    from headend.study.outcome import choose_study_folder

    if out is None:
        return choose_study_folder(study)
    return out if studies == 1 else out / study.name.rsplit("/", 1)[-1]


@contextmanager
def open_crew(scheduler: str | None) -> Iterator[Crew]:
    """Give those who run the points: this machine's cores, or a cluster's workers."""
    from headend.sweeps.crew import Cluster, Threads

    if scheduler is None:
        yield Threads()
        return
    with Cluster(scheduler) as cluster:
        yield cluster


def _carry_out(study: Study, folder: Path, crew: Crew, *, hidden: bool) -> StudyOutcome:
    """Run, judge and write a study; whenever it is interrupted, say what is kept."""
    from headend.execution import stop_on_interrupt
    from headend.study import PointStore, run_points
    from headend.study.claims import judge_claims
    from headend.study.outcome import POINT_FOLDER, StudyOutcome, draw_study_figures

    analysis = study.load_analysis()
    store = PointStore(folder / POINT_FOLDER)
    done = 0

    def count(progress: Progress) -> None:
        nonlocal done
        done = progress.done
        on_progress(progress)

    try:
        with stop_on_interrupt() as stop:
            with show_points(study.title, hidden=hidden) as on_progress:
                points = run_points(study, store, stop, count, crew)
            if points is None or stop.is_set():
                raise KeyboardInterrupt
            stop.set()  # what follows does not ask: an interruption is one at once
            outcome = StudyOutcome(
                study,
                points,
                judge_claims(study.claims, analysis, points),
                draw_study_figures(study, analysis, points),
            )
            outcome.write_into(folder)
    except KeyboardInterrupt:
        make_messages().print(
            f"interrupted: {done} points are kept in {folder}; run again to go on"
        )
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    return outcome


def _print_outcome(outcome: StudyOutcome, folder: Path) -> None:
    from headend.cli.tables import draw_claims, fit

    console = make_output()
    console.print(f"\n[bold]{outcome.study.title}[/bold]\n[dim]{outcome.study.source}[/dim]")
    if outcome.study.quick:
        console.print(f"[yellow]Quick form: {outcome.study.quick}[/yellow]")
    console.print(fit(console, draw_claims(outcome.judgements)))
    for judgement in outcome.judgements:
        if judgement.finding.why:
            console.print(f"[bold]{judgement.claim.id}[/bold]: {judgement.finding.why}")
    console.print(f"\nReport: {folder / 'report.html'}", soft_wrap=True)


def _print_totals(outcomes: list[StudyOutcome]) -> None:
    """Count the verdicts of each document."""
    from headend.cli.tables import draw_totals, fit
    from headend.study.page import count_verdicts

    console = make_output()
    counted = count_verdicts([(outcome.study.name, outcome.judgements) for outcome in outcomes])
    console.print(fit(console, draw_totals(counted)))
    console.print("One page over all studies: [bold]headend study report[/bold]")


@app.command()
@answer_errors
def report(
    studies: Annotated[
        Path,
        typer.Option(
            "--studies", metavar="DIR", help="Where the studies' results are.", parser=read_path
        ),
    ] = Path("results/studies"),
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="By default report.html beside them.", parser=read_path
        ),
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(
            "--markdown",
            metavar="FILE",
            help="Also the claims alone, as Markdown.",
            parser=read_path,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Put all studies that were run on one page: every claim with its verdict, and the figures of each document."""
    from headend.study.page import (
        count_verdicts,
        gather_studies,
        list_judged,
        write_claims,
        write_studies_page,
    )

    gathered = gather_studies(studies)
    path = write_studies_page(gathered, out or studies / "report.html")
    if markdown:
        write_claims(gathered, markdown)
    if as_json:
        print_json({"report": str(path), "studies": [item.to_dict() for item in gathered]})
        return
    from headend.cli.tables import draw_totals, fit

    console = make_output()
    console.print(fit(console, draw_totals(count_verdicts(list_judged(gathered)))))
    missing = sum(item.outcome is None for item in gathered)
    if missing:
        console.print(f"{missing} of {len(gathered)} studies were not run, and so are not in it.")
    console.print(f"Report: {path}", soft_wrap=True)


def _read(folder: Path) -> Study:
    from headend.library import list_studies
    from headend.study import read_study

    names = {path: key for key, path in list_studies().items()}
    return read_study(names.get(folder, folder.name), folder)


def _count_runs(study: Study) -> str:
    return f"{len(study.list_points())} runs" if study.scenario else "calculated"


def _describe(study: Study) -> dict[str, object]:
    return {
        "name": study.name,
        "title": study.title,
        "source": study.source,
        "description": study.description,
        "grid": {axis.name: list(axis.values) for axis in study.axes},
        "seeds": list(study.seeds),
        "runs": len(study.list_points()),
        "measures": study.measures,
        "claims": [
            {
                "id": claim.id,
                "source": claim.source,
                "statement": claim.statement,
                "expected": claim.expected,
            }
            for claim in study.claims
        ],
    }
