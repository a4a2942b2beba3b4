"""``headend report`` and ``headend figures``: pages and pictures remade from results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headend.cli.run import JsonOption, read_path
from headend.cli.terminal import answer_errors, make_output, print_json
from headend.errors import InputError

FoldersArgument = Annotated[
    list[str],
    typer.Argument(metavar="RESULTS_DIR…", help="Results folders; several: side by side."),
]


@answer_errors
def report(
    folders: FoldersArgument,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="By default report.html in the first folder.",
            parser=read_path,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make the report again from a results folder, or one over several."""
    from headend.comparison import load_results
    from headend.report import write_report
    from headend.result import read_manifest

    if out is None and len(folders) > 1:
        raise InputError(
            "a report over several folders needs --out FILE, such as --out compared.html"
        )
    title = str(read_manifest(Path(folders[0])).get("title", "")) if len(folders) == 1 else ""
    path = write_report(load_results(folders), out or Path(folders[0]) / "report.html", title=title)
    if as_json:
        print_json({"report": str(path)})
    else:
        make_output().print(f"Report: {path}", soft_wrap=True)


@answer_errors
def figures(
    folders: FoldersArgument,
    formats: Annotated[
        str, typer.Option("--format", metavar="LIST", help="Of svg, pdf, png; separated by commas.")
    ] = "svg",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="By default figures in the first folder.", parser=read_path
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write every figure of a report as SVG, PDF or PNG, for papers and slides."""
    from headend.comparison import load_results
    from headend.figures.export import export_figures

    results = load_results(folders)
    paths = export_figures(results, out or Path(folders[0]) / "figures", formats.split(","))
    if as_json:
        print_json({"figures": [str(path) for path in paths]})
    else:
        make_output().print(f"{len(paths)} figures in {paths[0].parent}", soft_wrap=True)
