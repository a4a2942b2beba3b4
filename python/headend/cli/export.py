"""``headend export``: result tables as CSV or JSON lines."""

from __future__ import annotations

from pathlib import Path

import click

from headend.cli.commands import Command, argument
from headend.cli.completers import complete_folders
from headend.cli.options import RESULTS_HINT, json_option, read_path
from headend.cli.reading import reads_results
from headend.cli.terminal import make_output, print_json, write_line
from headend.results.folder import refuse_link


@click.command("export", cls=Command)
@argument(
    "folder",
    metavar="RESULTS_DIR",
    help="The results of a run, a comparison, a sweep, a recommendation or a study.",
    hint=RESULTS_HINT,
    type=read_path,
    shell_complete=complete_folders,
)
@click.option(
    "--csv",
    metavar="DIR",
    help="Write CSV files to this folder. By default to the folder tables in the results folder.",
    type=read_path,
    shell_complete=complete_folders,
)
@click.option(
    "--jsonl",
    metavar="DIR",
    help="Write JSON lines to this folder, in place of CSV or, with --csv, beside it.",
    type=read_path,
    shell_complete=complete_folders,
)
@click.option(
    "--table",
    "tables",
    metavar="NAME",
    help="Write only this table, such as flows; can be given several times.",
    multiple=True,
)
@click.option("--force", help="Replace existing files.", is_flag=True)
@json_option
@reads_results("folder")
def export(
    folder: Path,
    csv: Path | None,
    jsonl: Path | None,
    tables: tuple[str, ...],
    force: bool,
    as_json: bool,
) -> None:
    """Write the tables of results as CSV or JSON lines, one file per table, in full precision.

    The tables of a comparison hold the rows of all its runs, with the columns label and seed in
    front. Its table figures has the means over seeds, with intervals and with differences to the
    first choice of each tier.
    """
    from headend.loading.tables import export_tables

    targets = {kind: path for kind, path in (("csv", csv), ("jsonl", jsonl)) if path}
    if not targets:
        targets["csv"] = folder / "tables"
        refuse_link(targets["csv"])
    written = {
        kind: export_tables(folder, target, kind=kind, tables=list(tables) or None, force=force)
        for kind, target in targets.items()
    }
    if as_json:
        print_json({"tables": [str(path) for paths in written.values() for path in paths]})
        return
    for kind, paths in written.items():
        count = "1 table" if len(paths) == 1 else f"{len(paths)} tables"
        make_output().print(write_line(f"{count} in {targets[kind]}"), soft_wrap=True)
