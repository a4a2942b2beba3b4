"""``headend study``: published results, reproduced: expected, measured, verdict."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
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
from headend.cli.outputs import (
    describe_failures,
    explain_failure,
    print_first_warnings,
    print_miss,
)
from headend.cli.report import refuse_foreign
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
from headend.errors import InputError
from headend.results.folder import REPORT
from headend.text.wording import list_names, write_count

if TYPE_CHECKING:
    from headend.running.executor import Executor, Progress
    from headend.running.memory import Allowance
    from headend.study import CheckedClaim, Study
    from headend.study.locating import Located
    from headend.study.outcome import StudyOutcome
    from headend.study.running import Order
    from headend.study.sentences import StudyClaims

#: Values of an axis, and claims, that are shown without --full.
MOST_VALUES, MOST_CLAIMS = 8, 10

#: Letters of a claim that are shown on the narrowest terminal.
LEAST_ROOM = 30

#: What ``show --json`` gives of a claim.
_SHOWN = ("id", "kind", "source", "statement", "expected", "weak")

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
    console = make_output()
    if len(located) > 1 and not as_json:
        for item in located:
            console.print(write_line((item.study.name, "bold"), f"  {item.describe()}"))
            console.print(write_line("  ", (f"headend study show {item.study.name}", "cyan")))
        return
    studies = [item.study for item in located] or [_read(folder) for folder in find_studies(name)]
    if len(studies) > 1:
        _print_list(studies, as_json=as_json)
        return
    (study,) = studies
    if as_json:
        print_json(_describe(study))
        return
    console.print()
    console.print(write_line((study.question or study.title, "bold")))
    console.print(write_line(f"{study.title}: ", (study.source, "dim")))
    for item in located:
        console.print(write_line(item.describe()))
    if full:
        console.print()
        # A description may hold several lines.
        for line in study.description.splitlines():
            console.print(write_line(line))
    console.print()
    _print_readings(study, full=full)
    for factor in study.design.factors:
        values = [str(value) or "–" for value in factor.values]
        text = ", ".join(values) if full else list_names(values, MOST_VALUES)
        console.print(write_line(f"{factor.name}: ", (text, "dim")))
    console.print(f"{_count_runs(study)}, {write_count(len(study.claims), 'claim')}")
    console.print()
    _print_statements(study, [item.entry.name for item in located], full=full)
    command = f"headend study run {quote_path(study.name if located else name)}"
    console.print(write_line("Run it with ", (command, "bold"), "."))


def _locate(name: str) -> list[Located]:
    """Find the figures and tables of documents that a name stands for; none if it is a path."""
    from headend.study.locating import explain_nothing, locate

    if Path(name).exists():
        return []
    located = locate(name)
    if not located and (why := explain_nothing(name)):
        raise InputError(why)
    return located


def _print_readings(study: Study, *, full: bool) -> None:
    """Print what is run where the document leaves it open: first lines, or in full with sources."""
    console = make_output()
    for reading in study.readings:
        if full:
            print_sentence(console, f"{reading.describe()} {reading.describe_source()}")
        else:
            console.print(write_line(_shorten(reading.describe(), console.width)))


def _shorten(text: str, room: int) -> str:
    return textwrap.shorten(text, max(room, LEAST_ROOM), placeholder=" …")


def _print_statements(study: Study, first: Sequence[str], *, full: bool) -> None:
    """Print a line for each claim, or in full its statement, its source and what it expects.

    Those of the figures or tables that were asked for come first.
    """
    from headend.study.documents import find_all

    console = make_output()
    claims = sorted(
        study.claims, key=lambda claim: set(first).isdisjoint(find_all(claim.source, first))
    )
    if full:
        for claim in claims:
            about = f"  {claim.kind}, {claim.source}"
            console.print(write_line((claim.id, "bold"), (about, "dim")))
            console.print(write_line(f"  {claim.statement}"))
            console.print(write_line(f"  expected: {claim.expected}"))
            if claim.weak:
                console.print(write_line(f"  weak: {claim.weak}"))
        return
    shown = claims[:MOST_CLAIMS]
    widest = max((len(claim.id) for claim in shown), default=0)
    for claim in shown:
        statement = _shorten(claim.statement, console.width - widest - 2)
        console.print(write_line((f"{claim.id:{widest}}", "bold"), f"  {statement}"))
    more = len(claims) - len(shown)
    begin = f"{more} more, and w" if more else "W"
    console.print(write_line((f"{begin}hat each claim expects: --full.", "dim")))


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
    from headend.cli.options import read_seeds
    from headend.design.seeds import choose_seeds
    from headend.running.cluster import open_executor
    from headend.running.execution import interrupt_at_once
    from headend.running.memory import read_allowance
    from headend.scenario.file_access import read_allowed
    from headend.study.outcome import check_study_folder
    from headend.study.running import Order

    allowance = read_allowance(memory)
    allowed = read_allowed(allow_files)
    studies = [_read(folder, allowed) for folder in _find(name)]
    if quick:
        studies = [study.make_quick() for study in studies]
    if seeds is not None:
        studies = [study.with_seeds(choose_seeds(read_seeds(seeds))) for study in studies]
    orders = [Order(study, _choose_folder(study, out, len(studies))) for study in studies]
    for order in orders:
        check_study_folder(order.folder, order.study)
        _announce_program(order.study)
    printer = _Printer(orders, full=full, quiet=quiet, as_json=as_json)
    needed = any(study.has_runs for study in studies)
    with interrupt_at_once(), open_executor(scheduler if needed else None, allowance) as executor:
        _run(orders, executor, printer, allowance)
    printer.print_end()
    raise Exit(printer.choose_exit_code())


def _find(name: str) -> list[Path]:
    """Find the folders of what is to be run."""
    from headend.scenario.library import find_studies

    located = _locate(name)
    if len(located) > 1:
        commands = "; ".join(f"headend study run {item.study.name}" for item in located)
        raise InputError(f'"{name}" is in {len(located)} documents; choose one: {commands}')
    return [item.study.folder for item in located] or find_studies(name)


def _choose_folder(study: Study, out: Path | None, studies: int) -> Path:
    """Give the folder of a study's results, one of several below the folder of ``--out``."""
    from headend.study.outcome import choose_study_folder

    if out is None:
        return choose_study_folder(study)
    return out if studies == 1 else out / choose_study_folder(study).name


def _run(
    orders: Sequence[Order], executor: Executor, printer: _Printer, allowance: Allowance
) -> None:
    """Run studies and print what became of each; when they are interrupted, say what is kept."""
    from headend.running.execution import stop_on_interrupt
    from headend.study.running import run_studies

    alone = len(orders) == 1
    title = orders[0].study.title if alone else f"{len(orders)} studies"
    hidden = printer.quiet or printer.as_json
    done = 0
    try:
        with stop_on_interrupt() as stop, show_points(title, hidden=hidden) as bar:

            def count(progress: Progress) -> None:
                nonlocal done
                done = progress.done
                bar(progress)

            for order, outcome in run_studies(orders, stop, executor, count, allowance):
                if alone and isinstance(outcome, Exception):
                    raise outcome
                with bar.aside():
                    printer.add(order, outcome)
            if len(printer.documents) < len(orders):
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        printer.print_interruption(done)
        raise Exit(ExitCode.INTERRUPTED) from None


@dataclass(frozen=True)
class _Printer:
    """Prints what became of studies, one after the other, and keeps what is said at the end."""

    orders: Sequence[Order]
    full: bool = False
    quiet: bool = False
    as_json: bool = False
    checked: list[StudyClaims] = field(default_factory=list)
    #: Of each study, what ``--json`` prints.
    documents: list[dict[str, Any]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    #: Exit codes of what went wrong.
    codes: list[ExitCode] = field(default_factory=list)

    @property
    def alone(self) -> bool:
        """Whether one study is run."""
        return len(self.orders) == 1

    def choose_exit_code(self) -> ExitCode:
        """Say how it went: the worst of all."""
        if self.codes:
            return max(self.codes)
        differs = any(item.differs for _, claims in self.checked for item in claims)
        return ExitCode.MISSED if differs else ExitCode.OK

    def add(self, order: Order, outcome: StudyOutcome | Exception) -> None:
        """Print what became of a study, and keep neither its points nor its figures."""
        name, folder = order.study.name, order.folder
        if isinstance(outcome, Exception):
            self.failed.append(name)
            self.documents.append({"study": name, "error": str(outcome), "folder": str(folder)})
            make_messages().print(write_line(f"{name} failed:"))
            if isinstance(outcome, InputError):
                self.codes.append(ExitCode.BAD_INPUT)
                print_error(" ".join(str(outcome).split()))
            else:
                self.codes.append(ExitCode.INTERNAL)
                report_fault(outcome)
            return
        unwritten = None
        if outcome.unwritten:
            later = "its points are kept, and the same command, run again, makes it of them"
            unwritten = explain_failure(outcome.unwritten, folder / REPORT, later)
        self.checked.append((name, outcome.claims))
        self.documents.append(
            {
                **outcome.to_dict(),
                "answer": outcome.answer.to_dict(),
                "folder": str(folder),
                **describe_failures([unwritten] if unwritten else []),
            }
        )
        if not self.quiet and not self.as_json:
            self._print_outcome(outcome, None if unwritten else folder)
        elif not self.as_json:
            for item in filter(lambda item: item.differs, outcome.claims):
                measured = item.result.measured + item.format_interval()
                line = f"{item.claim.id}: expected {item.claim.expected}, measured {measured}"
                print_miss(line if self.alone else f"{name}: {line}")
        if unwritten:
            self.codes.append(unwritten.code)
            print_error(unwritten.line)

    def _print_outcome(self, outcome: StudyOutcome, folder: Path | None) -> None:
        """Print what was found, of one of several studies in words alone, and where the page is."""
        from headend.cli.first_lines import print_answer

        answer = outcome.answer
        shown = answer if self.alone else replace(answer, matrix=None)
        print_answer(shown, outcome.study.title)
        console = make_output()
        if self.alone:
            _print_readings(outcome.study, full=self.full)
        if outcome.study.quick:
            console.print(write_line((outcome.study.quick, "yellow")))
        if self.full:
            _print_claims(outcome.study, outcome.claims)
        elif self.alone:
            console.print("--full prints all claims with their notes.", style="dim")
        print_first_warnings(outcome.warnings, "the report")
        if folder:
            console.print(write_line(f"Report: {folder / REPORT}"), soft_wrap=True)

    def print_end(self) -> None:
        """Print the counts over several studies, and the JSON of all."""
        if self.as_json:
            print_json(self.documents[0] if self.alone else {"studies": self.documents})
        elif not (self.alone or self.quiet):
            if not any(order.study.quick for order in self.orders):
                _print_counts(self.checked)
            console = make_output()
            if self.failed:
                console.print(write_line(f"Failed: {', '.join(self.failed)}."))
            console.print(
                write_line("One page over all studies: ", ("headend study report", "bold"))
            )

    def print_interruption(self, done: int) -> None:
        """Say what is kept of studies that were interrupted after so many points."""
        order, all_studies = self.orders[0], f"{len(self.documents)} of {len(self.orders)} studies"
        kept = (
            f"{done} points are kept in {order.folder}"
            if self.alone
            else f"{all_studies} are done, and points of others are kept"
        )
        make_messages().print(write_line(f"interrupted: {kept}; run again to go on"))
        if self.as_json:
            alone = {"study": order.study.name, "folder": str(order.folder)}
            left = alone if self.alone else {"studies": self.documents}
            print_json({**left, "complete": False, "done": done})


def _print_claims(study: Study, claims: Sequence[CheckedClaim]) -> None:
    """Print every claim with its notes."""
    from headend.cli.tables import draw, fit
    from headend.study.sentences import tabulate_claims

    console = make_output()
    console.print()
    console.print(write_line((study.title, "bold")))
    console.print(write_line((study.source, "dim")))
    console.print(fit(console, draw(tabulate_claims(claims))))
    for item in claims:
        weak = item.claim.weak and f"weak: {item.claim.weak}"
        for note in filter(None, (" ".join(item.result.why.split()), weak)):
            console.print(write_line((item.claim.id, "bold"), f": {note}"))
    console.print()


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
    from headend.study.page import (
        describe_missing,
        describe_receipts,
        list_claims,
        write_markdown,
        write_studies_page,
    )
    from headend.study.receipts import read_receipts

    page = out or studies / REPORT
    if markdown and (not markdown.suffix or markdown.resolve() == page.resolve()):
        raise InputError(
            f"{markdown}: expected a file name with an ending that --out does not name, such as"
            " receipts.md"
        )
    if out and not force:
        refuse_foreign(out)
    receipts = read_receipts(studies)
    path = write_studies_page(receipts, page)
    if markdown:
        write_markdown(receipts, markdown)
    if as_json:
        print_json({"report": str(path), "studies": [item.to_dict() for item in receipts]})
        return
    _print_counts(list_claims(receipts))
    console = make_output()
    for sentence in describe_receipts(receipts):
        print_sentence(console, sentence)
    if missing := describe_missing(receipts):
        console.print(missing)
    console.print(write_line(f"Report: {path}"), soft_wrap=True)


def _print_counts(checked: Sequence[StudyClaims]) -> None:
    """Count the verdicts: on published results by document, and on claims of each kind."""
    from headend.cli.tables import draw, fit
    from headend.study.sentences import (
        count_by_kind,
        count_results,
        name_results,
        tabulate_counts,
    )

    console = make_output()
    results = count_results(checked)
    tables = [tabulate_counts(name_results(group), own) for group, own in results.items() if own]
    for table in (*tables, tabulate_counts("kind of claim", count_by_kind(checked))):
        console.print(fit(console, draw(table)))


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
    return write_count(len(study.list_points()), "run") if study.has_runs else "calculated"


def _describe(study: Study) -> dict[str, object]:
    return {
        "name": study.name,
        "title": study.title,
        "source": study.source,
        "readings": [reading.to_dict() for reading in study.readings],
        "description": study.description,
        "grid": {factor.name: list(factor.values) for factor in study.design.factors},
        "seeds": list(study.seeds),
        "runs": len(study.list_points()),
        "measures": study.measures,
        "claims": [{key: getattr(claim, key) for key in _SHOWN} for claim in study.claims],
    }
