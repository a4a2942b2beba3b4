"""``headend export``: result tables as CSV or JSON lines, what TCP senders did, files of tools."""

from __future__ import annotations

from pathlib import Path

import click
from click.exceptions import Exit

from headend.cli.commands import Command, argument
from headend.cli.completers import complete_folders
from headend.cli.options import (
    RESULTS_HINT,
    allow_option,
    find_typed,
    json_option,
    memory_option,
    read_path,
)
from headend.cli.reading import reads_results
from headend.cli.terminal import ExitCode, make_output, print_json, show_progress, write_line
from headend.errors import InputError
from headend.results.folder import refuse_link
from headend.text.wording import write_count

#: What results are written as, and the folder of the results that it goes to by default.
FORMATS = {
    "csv": "tables",
    "jsonl": "tables",
    "qlog": "qlog",
    "tcp_info": "tables",
    "flent": "flent",
}

#: Formats for which the run is simulated again.
OBSERVED = ("qlog", "tcp_info")


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
    "--format",
    "form",
    metavar="FORMAT",
    help="csv (the default) or jsonl: the tables, as CSV or as JSON lines. qlog: what each TCP"
    " sender of a run did, event by event, for qvis. tcp_info: what ss -ti would say of each TCP"
    " sender of a run at the end of each interval, as CSV. flent: pings and transfers of a run as a"
    " data file of flent, of a comparison one for each run.",
    type=click.Choice(list(FORMATS)),
)
@click.option(
    "--out",
    metavar="DIR",
    help="Write to this folder. By default to the folder tables in the results folder, or qlog"
    " or flent.",
    type=read_path,
    shell_complete=complete_folders,
)
@click.option(
    "--csv",
    metavar="DIR",
    help="Short for --format csv --out DIR.",
    type=read_path,
    shell_complete=complete_folders,
)
@click.option(
    "--jsonl",
    metavar="DIR",
    help="Short for --format jsonl --out DIR. With --csv, both are written.",
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
@click.option(
    "--flow",
    "flows",
    metavar="NAME",
    help="For qlog and tcp_info: write only the connections of this flow; can be given several"
    " times. By default those of all flows that use TCP.",
    multiple=True,
)
@click.option("--force", help="Replace existing files.", is_flag=True)
@allow_option
@memory_option
@json_option
@reads_results("folder")
def export(
    folder: Path,
    form: str | None,
    out: Path | None,
    csv: Path | None,
    jsonl: Path | None,
    tables: tuple[str, ...],
    flows: tuple[str, ...],
    force: bool,
    allow_files: tuple[Path, ...],
    memory: str | None,
    as_json: bool,
) -> None:
    """Write the tables of results as CSV or JSON lines, what TCP senders did, or a file of flent.

    Tables have one file each, in full precision. The tables of a comparison hold the rows of all
    its runs, with the columns label and seed in front. Its table figures has the means over seeds,
    with intervals and with differences to the first choice of each tier.

    For qlog and tcp_info the run is simulated again from its results, and refused where its tables
    are not the same ones. Each end of a connection that sends data has a qlog of its own.

    flent opens and plots what --format flent writes: flent -i FILE -p ping_cdf -o ping.png.
    """
    _check(form)
    if form == "flent":
        _export_flent(folder, out or _choose_target(folder, form), force, as_json)
        return
    if form in OBSERVED:
        target = out or _choose_target(folder, form)
        _export_senders(
            folder, form, target, list(flows) or None, force, allow_files, memory, as_json
        )
        return
    targets = {kind: path for kind, path in (("csv", csv), ("jsonl", jsonl)) if path}
    if not targets:
        targets[form or "csv"] = out or _choose_target(folder, form or "csv")
    _export_tables(folder, targets, list(tables) or None, force, as_json)


def _check(form: str | None) -> None:
    """Refuse options that have no effect beside each other."""
    if (typed := find_typed(["csv", "jsonl"])) and (other := find_typed(["form", "out"])):
        raise InputError(f"{typed}: names a format and a folder already; leave out {other}")
    if form in (*OBSERVED, "flent") and find_typed(["tables"]):
        raise InputError(f"--table: has no effect with --format {form}")
    if form == "flent" and (typed := find_typed(["flows", "allow_files", "memory"])):
        raise InputError(
            f"{typed}: has no effect with --format flent, which has all flows as they were measured"
        )
    if form not in OBSERVED and (typed := find_typed(["flows", "allow_files", "memory"])):
        raise InputError(
            f"{typed}: has no effect on tables; --format qlog and --format tcp_info simulate the"
            " run again"
        )


def _choose_target(folder: Path, form: str) -> Path:
    target = folder / FORMATS[form]
    refuse_link(target)
    return target


def _export_tables(
    folder: Path, targets: dict[str, Path], tables: list[str] | None, force: bool, as_json: bool
) -> None:
    from headend.loading.tables import export_tables

    written = {
        kind: export_tables(folder, target, kind=kind, tables=tables, force=force)
        for kind, target in targets.items()
    }
    if as_json:
        print_json({"tables": [str(path) for paths in written.values() for path in paths]})
        return
    for kind, paths in written.items():
        _say(f"{write_count(len(paths), 'table')} in {targets[kind]}")


def _export_flent(folder: Path, target: Path, force: bool, as_json: bool) -> None:
    from headend.measurement.exporting import export_flent

    paths = export_flent(folder, target, force=force)
    if as_json:
        print_json({"files": [str(path) for path in paths]})
    elif len(paths) == 1:
        _say(f"{paths[0]}; flent draws it: flent -i {paths[0]} -p ping_cdf -o ping.png")
    else:
        _say(f"{write_count(len(paths), 'file')} in {target}; flent draws them")


def _export_senders(
    folder: Path,
    form: str,
    target: Path,
    flows: list[str] | None,
    force: bool,
    allow_files: tuple[Path, ...],
    memory: str | None,
    as_json: bool,
) -> None:
    from headend.loading.senders import plan_senders
    from headend.running.execution import stop_on_interrupt

    senders = plan_senders(folder, flows, allow_files=allow_files, memory=memory)
    with (
        stop_on_interrupt() as stop,
        show_progress([senders.label], senders.duration_ns, hidden=as_json) as bars,
    ):
        paths = senders.write(form, target, force=force, on_progress=bars[senders.label], stop=stop)
    if stop.is_set():
        raise Exit(ExitCode.INTERRUPTED)
    if as_json:
        print_json({"traces" if form == "qlog" else "tables": [str(path) for path in paths]})
    elif form == "qlog":
        _say(f"{write_count(len(paths), 'trace')} in {target}; qvis draws them")
    else:
        _say(f"{write_count(len(paths), 'table')} in {target}")


def _say(text: str) -> None:
    make_output().print(write_line(text), soft_wrap=True)
