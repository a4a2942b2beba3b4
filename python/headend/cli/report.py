"""``headend report``: pages remade from results."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from headend.cli.commands import Command, argument
from headend.cli.completers import complete_any_file, complete_folders
from headend.cli.options import RESULTS_HINT, json_option, page_force_option, read_path
from headend.cli.reading import reads_results
from headend.cli.terminal import (
    make_messages,
    make_output,
    print_json,
    quote_path,
    write_line,
)
from headend.errors import InputError
from headend.results.folder import REPORT, RESUMABLE, is_results_folder, read_kind
from headend.results.seal import is_sealed_page

folders_argument = argument(
    "folders",
    metavar="RESULTS_DIR…",
    help="One or several results folders. Several are shown side by side.",
    hint=RESULTS_HINT,
    nargs=-1,
    required=True,
    shell_complete=complete_folders,
)


@click.command("report", cls=Command)
@folders_argument
@click.option(
    "--out",
    metavar="FILE",
    help="The file to write. By default report.html in the first folder.",
    type=read_path,
    shell_complete=complete_any_file,
)
@page_force_option
@json_option
@reads_results("folders")
def report(folders: tuple[str, ...], out: Path | None, force: bool, as_json: bool) -> None:
    """Write the page of saved results again from their folder, or one page of several runs."""
    from headend.results.record import read_manifest
    from headend.running.comparison import load_comparison

    if out is None and len(folders) > 1:
        raise InputError(
            "a report over several folders needs --out FILE, such as --out compared.html"
        )
    if out and not force:
        refuse_foreign(out)
    kind = find_kind(folders)
    if kind == "study":
        name = read_manifest(Path(folders[0])).get("study", "NAME")
        raise InputError(
            f"{folders[0]}: holds the results of a study; headend study run {quote_path(name)}"
            f" --out {quote_path(folders[0])} makes its report again: its finished points are kept"
        )
    first, note = Path(folders[0]), ""
    if kind == "sweep":
        from headend.sweeps.page import write_sweep_page
        from headend.sweeps.result import load_sweep

        swept = load_sweep(first, is_partial_read=True)
        path = write_sweep_page(swept, out)
        if not swept.complete:
            note = swept.notes[0]
    elif kind == "recommendation":
        from headend.recommendation.page import write_recommendation_page
        from headend.recommendation.result import load_recommendation

        path = write_recommendation_page(load_recommendation(first), out)
    elif kind == "capacity":
        from headend.capacity.page import write_capacity_page
        from headend.capacity.result import load_capacity

        path = write_capacity_page(load_capacity(first), out)
    elif kind == "line":
        from headend.fitting.page import write_fit_page
        from headend.fitting.result import load_fit

        path = write_fit_page(load_fit(first), out)
    elif kind == "evaluation":
        from headend.evaluation.page import write_evaluation_page
        from headend.evaluation.result import load_evaluation

        path = write_evaluation_page(load_evaluation(first), out)
    else:
        path = load_comparison(folders).report(out or first / REPORT)
    if as_json:
        print_json({"report": str(path)})
    else:
        make_output().print(write_line(f"Report: {path}"), soft_wrap=True)
    if note:
        make_messages().print(write_line(f"partial: {note}"), soft_wrap=True)


def refuse_foreign(page: Path) -> None:
    """Refuse to write a page in place of a file that is none of headend's."""
    own = page.name == REPORT and is_results_folder(page.parent)
    if os.path.lexists(page) and not page.is_dir() and not (own or is_sealed_page(page)):
        raise InputError(
            f"{page}: exists and is no page of headend; choose another file, or replace it with"
            " --force"
        )


def find_kind(folders: Sequence[str]) -> str | None:
    """Say which kind of results stands alone in a folder; None for runs, which go side by side."""
    kinds = [read_kind(Path(folder)) for folder in folders]
    for folder, kind in zip(folders, kinds, strict=True):
        if kind in RESUMABLE and len(folders) > 1:
            raise InputError(
                f"{folder}: holds the results of a {kind}, which has a page of its own; expected"
                " one such folder alone, or several folders of runs"
            )
    return kinds[0] if kinds[0] in RESUMABLE else None
