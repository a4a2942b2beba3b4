"""``headend study``: published results, reproduced: expected, measured, verdict."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.exceptions import Exit

from headend.cli.commands import Commands, argument
from headend.cli.completers import complete_any_file, complete_folders, complete_studies
from headend.cli.options import (
    allow_option,
    json_option,
    memory_option,
    page_force_option,
    quiet_option,
    read_path,
    scheduler_option,
    seeds_option,
)
from headend.cli.report import refuse_foreign
from headend.cli.run import print_miss
from headend.cli.sweep import print_first_warnings
from headend.cli.terminal import (
    ExitCode,
    make_messages,
    make_output,
    print_error,
    print_json,
    print_sentence,
    quote_path,
    report_fault,
    show_points,
    write_line,
)
from headend.cli.unwritten import Unwritten, explain_unwritten, tell_in_json
from headend.errors import InputError
from headend.results.folder import REPORT
from headend.text.wording import list_names, write_count

if TYPE_CHECKING:
    from headend.running.executor import Executor, Progress
    from headend.running.memory import Allowance
    from headend.study import Judgement, Study
    from headend.study.locating import Located
    from headend.study.outcome import StudyOutcome
    from headend.study.running import Order

#: Values of an axis, and claims, that are shown without --full.
MOST_VALUES, MOST_CLAIMS = 8, 10

#: Letters of a claim that are shown on the narrowest terminal.
LEAST_ROOM = 30

#: Where to find the names of studies.
SHIPPED_STUDIES = "headend study list lists those that are shipped"


@click.group("study", cls=Commands)
def app() -> None:
    """Reproduce published results: list the studies, show one, run one, or write a page of all."""


@app.command("list")
@json_option
def list_all(as_json: bool) -> None:
    """List the shipped studies."""
    from headend.scenario.shipped import list_studies
    from headend.study import read_study

    studies = [read_study(name, folder) for name, folder in list_studies().items()]
    _print_list(studies, as_json=as_json)


def _print_list(studies: list[Study], *, as_json: bool) -> None:
    if as_json:
        print_json([_describe(study) for study in studies])
        return
    console = make_output()
    for study in studies:
        console.print(write_line((study.name, "bold"), f"  {study.title}"))
        console.print(write_line((study.source, "dim")))
        console.print(f"{_count_runs(study)}, {write_count(len(study.claims), 'claim')}\n")
    console.print(write_line("Run one with ", ("headend study run NAME", "bold"), "."))


@app.command("show")
@argument(
    "name",
    metavar="NAME",
    help="A shipped study; a document, for the list of its studies; a document's figure or table,"
    " such as 'aqm figure 1'; or a folder with a study.toml.",
    hint=SHIPPED_STUDIES,
    shell_complete=complete_studies,
)
@click.option(
    "--full",
    help="Also print the description, all values, and the source and expected outcome of every"
    " claim.",
    is_flag=True,
)
@json_option
def show(name: str, full: bool, as_json: bool) -> None:
    """Show what a study varies and claims; for a document, its studies; for a figure, its study."""
    from headend.scenario.library import find_studies

    located = _locate(name)
    if len(located) > 1:
        _print_located(located, as_json=as_json)
        return
    studies = [one.study for one in located] or [_read(folder) for folder in find_studies(name)]
    if len(studies) > 1:
        _print_list(studies, as_json=as_json)
        return
    (study,) = studies
    own = study.name if located else name
    if as_json:
        print_json(_describe(study))
        return
    console = make_output()
    console.print()
    console.print(write_line((study.question or study.title, "bold")))
    console.print(write_line(f"{study.title}: ", (study.source, "dim")))
    for one in located:
        console.print(write_line(one.tell()))
    if full:
        console.print()
        # A description may hold several lines.
        for line in study.description.splitlines():
            console.print(write_line(line))
    console.print()
    _print_readings(study, full=full)
    for axis in study.axes:
        values = list(map(str, axis.values))
        told = ", ".join(values) if full else list_names(values, MOST_VALUES)
        console.print(write_line(f"{axis.name}: ", (told, "dim")))
    console.print(f"{_count_runs(study)}, {write_count(len(study.claims), 'claim')}")
    console.print()
    _show_claims(study, [one.entry.name for one in located], full=full)
    console.print(write_line("Run it with ", (f"headend study run {quote_path(own)}", "bold"), "."))


def _locate(name: str) -> list[Located]:
    """Find the figures and tables of documents that a name stands for; none if it is a path."""
    from headend.study.locating import explain_nothing, locate

    if Path(name).exists():
        return []
    located = locate(name)
    if not located and (why := explain_nothing(name)):
        raise InputError(why)
    return located


def _print_located(located: Sequence[Located], *, as_json: bool) -> None:
    """Print which studies draw the figures or tables of several documents."""
    if as_json:
        print_json([_describe(one.study) for one in located])
        return
    console = make_output()
    for one in located:
        console.print(write_line((one.study.name, "bold"), f"  {one.tell()}"))
        console.print(write_line("  ", (f"headend study show {one.study.name}", "cyan")))


def _find(name: str) -> list[Path]:
    """Find the folders of what is to be run."""
    from headend.scenario.library import find_studies

    located = _locate(name)
    if len(located) > 1:
        commands = "; ".join(f"headend study run {one.study.name}" for one in located)
        raise InputError(f'"{name}" is in {len(located)} documents; choose one: {commands}')
    return [one.study.folder for one in located] or find_studies(name)


def _print_readings(study: Study, *, full: bool) -> None:
    """Print what is run where the document leaves it open: first lines, or in full with sources."""
    console = make_output()
    for reading in study.readings:
        if full:
            print_sentence(console, f"{reading.tell()} {reading.tell_source()}")
        else:
            told = textwrap.shorten(
                reading.tell(), max(console.width, LEAST_ROOM), placeholder=" …"
            )
            console.print(write_line(told))


def _show_claims(study: Study, first: Sequence[str], *, full: bool) -> None:
    """Print a line for each claim, or in full its statement, its source and what it expects.

    Those of the figures or tables that were asked for come first.
    """
    from headend.study.catalogue import find_all

    console = make_output()
    claims = sorted(
        study.claims, key=lambda claim: set(first).isdisjoint(find_all(claim.source, first))
    )
    shown = claims if full else claims[:MOST_CLAIMS]
    widest = max((len(claim.id) for claim in shown), default=0)
    for claim in shown:
        if full:
            console.print(
                write_line((claim.id, "bold"), (f"  {claim.kind}, {claim.source}", "dim"))
            )
            console.print(write_line(f"  {claim.statement}"))
            console.print(write_line(f"  expected: {claim.expected}"))
            if claim.weak:
                console.print(write_line(f"  weak: {claim.weak}"))
            continue
        room = max(console.width - widest - 2, LEAST_ROOM)
        statement = textwrap.shorten(claim.statement, room, placeholder=" …")
        console.print(write_line((f"{claim.id:{widest}}", "bold"), f"  {statement}"))
    more = len(study.claims) - len(shown)
    told = f"{more} more, and w" if more else "W"
    if not full:
        console.print(write_line((f"{told}hat each claim expects: --full.", "dim")))


@app.command("run")
@argument(
    "name",
    metavar="NAME",
    help="A shipped study; a document, for all its studies; the word all; a document's figure or"
    " table, such as 'aqm figure 1'; or a folder with a study.toml.",
    hint=SHIPPED_STUDIES,
    shell_complete=complete_studies,
)
@click.option(
    "--quick",
    help="Run fewer points for a shorter time. The results are labelled as quick, and give no"
    " verdict.",
    is_flag=True,
)
@seeds_option
@click.option(
    "--out",
    metavar="DIR",
    help="The results folder. By default results/studies/NAME.",
    type=read_path,
    shell_complete=complete_folders,
)
@click.option("--full", help="Also print every claim with its notes.", is_flag=True)
@allow_option
@scheduler_option
@quiet_option
@memory_option
@json_option
def run(
    name: str,
    quick: bool,
    seeds: str | None,
    out: Path | None,
    full: bool,
    allow_files: tuple[Path, ...],
    scheduler: str | None,
    quiet: bool,
    memory: str | None,
    as_json: bool,
) -> None:
    """Run a study, all studies of a document, or all studies, and judge their claims.

    The points run on all cores. Finished points are kept, so that an interrupted study goes on
    where it stopped. Exit code 1: a claim differs, where the study was not run in its quick form,
    which judges nothing. 2: the input is wrong, or the page cannot be written (what was found is
    printed). 130: interrupted.
    """
    from headend.cli.compare import read_seeds
    from headend.design.seeds import choose_seeds
    from headend.running.cluster import open_executor
    from headend.running.execution import interrupt_at_once
    from headend.running.memory import read_allowance
    from headend.scenario.reach import read_allowed
    from headend.study.outcome import check_study_folder
    from headend.study.running import Order

    allowance = read_allowance(memory)
    allowed = read_allowed(allow_files)
    studies = [_read(folder, allowed) for folder in _find(name)]
    studies = [study.make_quick() if quick else study for study in studies]
    if seeds is not None:
        studies = [replace(study, seeds=choose_seeds(read_seeds(seeds))) for study in studies]
    orders = [Order(study, _choose_folder(study, out, len(studies))) for study in studies]
    for order in orders:
        check_study_folder(order.folder, order.study)
        _announce_program(order.study)
    told = Told(full=full)
    needed = any(study.scenario for study in studies)
    with interrupt_at_once(), open_executor(scheduler if needed else None, allowance) as executor:
        _carry_out(orders, executor, told, allowance, quiet=quiet, as_json=as_json)
    if len(orders) > 1 and not (quiet or as_json):
        _print_totals(told)
    if as_json:
        print_json(told.documents[0] if len(orders) == 1 else {"studies": told.documents})
    raise Exit(told.choose_exit_code())


@dataclass(frozen=True)
class Told:
    """What was told of studies: their claims, also for JSON, failures, and if all are printed."""

    full: bool = False
    judged: list[tuple[str, list[Judgement]]] = field(default_factory=list)
    documents: list[dict[str, Any]] = field(default_factory=list)
    failures: list[tuple[str, Exception]] = field(default_factory=list)
    unwritten: list[Unwritten] = field(default_factory=list)

    def choose_exit_code(self) -> ExitCode:
        """Say how it went: the worst of all."""
        codes = [one.code for one in self.unwritten]
        for _, error in self.failures:
            mendable = isinstance(error, InputError)
            codes.append(ExitCode.BAD_INPUT if mendable else ExitCode.INTERNAL)
        if codes:
            return max(codes)
        missed = any(judgement.is_missed for _, own in self.judged for judgement in own)
        return ExitCode.MISSED if missed else ExitCode.OK


def _choose_folder(study: Study, out: Path | None, studies: int) -> Path:
    """Give the folder of a study's results, one of several below the folder of ``--out``."""
    from headend.study.outcome import choose_study_folder

    if out is None:
        return choose_study_folder(study)
    return out if studies == 1 else out / choose_study_folder(study).name


def _carry_out(
    orders: Sequence[Order],
    executor: Executor,
    told: Told,
    allowance: Allowance,
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """Run studies and tell what became of each; whenever they are interrupted, say what is kept."""
    from headend.running.execution import stop_on_interrupt
    from headend.study.running import run_studies

    alone = len(orders) == 1
    title = orders[0].study.title if alone else f"{len(orders)} studies"
    done = 0
    try:
        with (
            stop_on_interrupt() as stop,
            show_points(title, hidden=quiet or as_json) as bar,
        ):

            def count(progress: Progress) -> None:
                nonlocal done
                done = progress.done
                bar(progress)

            for order, outcome in run_studies(orders, stop, executor, count, allowance):
                if alone and isinstance(outcome, Exception):
                    raise outcome
                with bar.aside():
                    _tell(order, outcome, told, alone=alone, quiet=quiet, as_json=as_json)
            if len(told.documents) < len(orders):
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        kept = (
            f"{len(told.documents)} of {len(orders)} studies are done, and points of others are"
            " kept"
        )
        if alone:
            kept = f"{done} points are kept in {orders[0].folder}"
        make_messages().print(write_line(f"interrupted: {kept}; run again to go on"))
        if as_json:
            left = {"study": orders[0].study.name, "folder": str(orders[0].folder)}
            print_json(
                {
                    **(left if alone else {"studies": told.documents}),
                    "complete": False,
                    "done": done,
                }
            )
        raise Exit(ExitCode.INTERRUPTED) from None


def _tell(
    order: Order,
    outcome: StudyOutcome | Exception,
    told: Told,
    *,
    alone: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Tell what became of a study, and drop its points and figures."""
    name, folder = order.study.name, str(order.folder)
    if isinstance(outcome, Exception):
        told.failures.append((name, outcome))
        told.documents.append({"study": name, "error": str(outcome), "folder": folder})
        make_messages().print(write_line(f"{name} failed:"))
        if isinstance(outcome, InputError):
            print_error(" ".join(str(outcome).split()))
        else:
            report_fault(outcome)
        return
    unwritten = _explain_unwritten(outcome, order.folder)
    told.judged.append((name, outcome.judgements))
    told.documents.append(
        {
            **outcome.to_dict(),
            "answer": outcome.answer.to_dict(),
            "folder": folder,
            **tell_in_json([unwritten] if unwritten else []),
        }
    )
    if not quiet and not as_json:
        own = None if unwritten else order.folder
        _print_outcome(outcome, own, alone=alone, full=told.full)
    elif not as_json:
        for line in _list_missed(outcome.judgements):
            print_miss(line if alone else f"{name}: {line}")
    if unwritten:
        told.unwritten.append(unwritten)
        print_error(unwritten.line)


def _list_missed(judgements: Sequence[Judgement]) -> Iterator[str]:
    """Write of each claim that differs what was expected and what was measured, in a line."""
    for judgement in judgements:
        if judgement.is_missed:
            claim, measured = judgement.claim, judgement.finding.measured
            yield (
                f"{claim.id}: expected {claim.expected}, measured"
                f" {measured}{judgement.tell_interval()}"
            )


def _explain_unwritten(outcome: StudyOutcome, folder: Path) -> Unwritten | None:
    """Say why the report of a study, or what else it leaves, could not be written."""
    if outcome.unwritten is None:
        return None
    later = "its points are kept, and the same command, run again, makes it of them"
    return explain_unwritten(outcome.unwritten, folder / REPORT, later)


def _print_outcome(outcome: StudyOutcome, folder: Path | None, *, alone: bool, full: bool) -> None:
    """Print what was found, of one of several studies in words alone, and where the report is."""
    from headend.cli.first_lines import print_answer

    answer = outcome.answer
    print_answer(answer if alone else replace(answer, matrix=None), outcome.study.title)
    console = make_output()
    if alone:
        _print_readings(outcome.study, full=full)
    if outcome.study.quick:
        console.print(write_line((outcome.study.quick, "yellow")))
    if full:
        _print_claims(outcome)
    elif alone:
        console.print("--full prints all claims with their notes.", style="dim")
    print_first_warnings(outcome.warnings, "the report")
    if folder:
        console.print(write_line(f"Report: {folder / REPORT}"), soft_wrap=True)


def _print_claims(outcome: StudyOutcome) -> None:
    """Print every claim with its notes."""
    from headend.cli.tables import draw_claims, fit

    console = make_output()
    console.print()
    console.print(write_line((outcome.study.title, "bold")))
    console.print(write_line((outcome.study.source, "dim")))
    console.print(fit(console, draw_claims(outcome.judgements)))
    for judgement in outcome.judgements:
        if judgement.finding.why:
            why = " ".join(judgement.finding.why.split())
            console.print(write_line((judgement.claim.id, "bold"), f": {why}"))
        if judgement.claim.weak:
            console.print(
                write_line((judgement.claim.id, "bold"), f": weak: {judgement.claim.weak}")
            )
    console.print()


def _print_totals(told: Told) -> None:
    """Count the verdicts: on published results by document, and on claims of each kind."""
    from headend.study import Verdict

    console = make_output()
    is_quick = any(one.finding.verdict is Verdict.OPEN for _, own in told.judged for one in own)
    if not is_quick:
        _print_counts(told.judged)
    if told.failures:
        console.print(write_line(f"Failed: {', '.join(name for name, _ in told.failures)}."))
    console.print(write_line("One page over all studies: ", ("headend study report", "bold")))


@app.command("report")
@click.option(
    "--studies",
    metavar="DIR",
    help="The folder with the results of studies. By default results/studies.",
    default="results/studies",
    type=read_path,
    shell_complete=complete_folders,
)
@click.option(
    "--out",
    metavar="FILE",
    help="The file to write. By default report.html in the folder of --studies.",
    type=read_path,
    shell_complete=complete_any_file,
)
@click.option(
    "--markdown",
    metavar="FILE",
    help="Also write the page as Markdown to this file, and its pictures to a folder of the same"
    " name.",
    type=read_path,
    shell_complete=complete_any_file,
)
@page_force_option
@json_option
def report(
    studies: Path, out: Path | None, markdown: Path | None, force: bool, as_json: bool
) -> None:
    """Write one page of all studies that were run: each document's figures, each claim's verdict.

    Only a study that was run in full and with its own seeds counts; others are refused.
    """
    from headend.study.gathering import gather_studies
    from headend.study.page import (
        list_judged,
        tell_headline,
        tell_missing,
        write_markdown,
        write_studies_page,
    )

    page = out or studies / REPORT
    if markdown and (not markdown.suffix or markdown.resolve() == page.resolve()):
        raise InputError(
            f"{markdown}: expected a file name with an ending that --out does not name, such as"
            " receipts.md"
        )
    if out and not force:
        refuse_foreign(out)
    gathered = gather_studies(studies)
    path = write_studies_page(gathered, page)
    if markdown:
        write_markdown(gathered, markdown)
    if as_json:
        print_json({"report": str(path), "studies": [item.to_dict() for item in gathered]})
        return
    _print_counts(list_judged(gathered))
    console = make_output()
    for sentence in tell_headline(gathered):
        print_sentence(console, sentence)
    if missing := tell_missing(gathered):
        console.print(missing)
    console.print(write_line(f"Report: {path}"), soft_wrap=True)


def _print_counts(judged: Sequence[tuple[str, Sequence[Judgement]]]) -> None:
    from headend.cli.tables import draw_totals, fit
    from headend.study.counting import count_by_document, count_by_kind, split_studies

    console = make_output()
    for of, own in split_studies(judged).items():
        if results := count_by_document(own):
            console.print(fit(console, draw_totals(of, results)))
    kinds = {kind.value: counts for kind, counts in count_by_kind(judged).items()}
    console.print(fit(console, draw_totals("kind of claim", kinds)))


def _announce_program(study: Study) -> None:
    """Say that a study which does not ship with headend brings a program, before it is executed."""
    from headend.scenario.shipped import list_studies
    from headend.study.analysis import ANALYSIS

    if study.folder not in list_studies().values():
        make_messages().print(
            write_line(
                f"{study.folder / ANALYSIS} is a program that does not ship with headend; it will"
                " be executed with all your rights"
            ),
            soft_wrap=True,
        )


def _read(folder: Path, allowed: tuple[Path, ...] = ()) -> Study:
    from headend.scenario.shipped import list_studies
    from headend.study import read_study

    names = {path: key for key, path in list_studies().items()}
    return read_study(names.get(folder, folder.name), folder, allowed)


def _count_runs(study: Study) -> str:
    return write_count(len(study.list_points()), "run") if study.scenario else "calculated"


def _describe(study: Study) -> dict[str, object]:
    return {
        "name": study.name,
        "title": study.title,
        "source": study.source,
        "readings": [reading.to_dict() for reading in study.readings],
        "description": study.description,
        "grid": {axis.name: list(axis.values) for axis in study.axes},
        "seeds": list(study.seeds),
        "runs": len(study.list_points()),
        "measures": study.measures,
        "claims": [
            {
                "id": claim.id,
                "kind": claim.kind,
                "source": claim.source,
                "statement": claim.statement,
                "expected": claim.expected,
                "weak": claim.weak,
            }
            for claim in study.claims
        ],
    }
