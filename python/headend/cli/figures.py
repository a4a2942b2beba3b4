"""``headend figures``: the figures of results as pictures, for papers and slides."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headend.cli.commands import Command
from headend.cli.completers import complete_folders
from headend.cli.options import json_option, read_path
from headend.cli.reading import reads_results
from headend.cli.report import find_kind, folders_argument
from headend.cli.terminal import make_output, print_json, write_line
from headend.results.folder import refuse_link

if TYPE_CHECKING:
    from headend.figures.figure import Figure
    from headend.figures.rows import Rows


@click.command("figures", cls=Command)
@folders_argument
@click.option(
    "--only",
    metavar="NAME",
    help="Write only this figure, or this chart of a figure. --list shows the names. Can be given"
    " several times.",
    multiple=True,
)
@click.option(
    "--list",
    "is_list",
    help="Print the names and titles of the figures, and write nothing.",
    is_flag=True,
)
@click.option(
    "--format",
    "formats",
    metavar="LIST",
    help="One or several of svg, pdf and png, separated by commas. By default svg.",
    default="svg",
)
@click.option(
    "--width",
    metavar="LENGTH",
    help="The width of the whole picture in mm, cm, in, pt or px, such as 85mm. By default as on a"
    " page, or 180mm with one of the next five options.",
)
@click.option(
    "--height",
    metavar="LENGTH",
    help="The height of the whole picture. By default in proportion to its width.",
)
@click.option(
    "--font-size",
    metavar="POINTS",
    help="The size of the letters. Lines and symbols are scaled with it. With one of the options"
    " around, 8 by default.",
)
@click.option(
    "--font", metavar="FAMILY", help="The font of the letters, such as Arial. It must be installed."
)
@click.option(
    "--no-title",
    help="Leave out the title and the note: a paper has them in its caption.",
    is_flag=True,
)
@click.option(
    "--rows",
    metavar="FACTOR",
    help="Put the panels of a figure into one picture, with a row for each value of this factor,"
    " such as flow or tier; or with so many rows.",
)
@click.option(
    "--rename",
    "renames",
    metavar="NAME=TEXT",
    help="Write this text in place of a name that a figure shows: the title of an axis, a series, a"
    " category along an axis, or a panel. Can be given several times.",
    multiple=True,
)
@click.option(
    "--out",
    metavar="DIR",
    help="The folder to write to. By default figures in the first results folder.",
    type=read_path,
    shell_complete=complete_folders,
)
@json_option
@reads_results("folders")
def figures(
    folders: tuple[str, ...],
    only: tuple[str, ...],
    is_list: bool,
    formats: str,
    width: str | None,
    height: str | None,
    font_size: str | None,
    font: str | None,
    no_title: bool,
    rows: str | None,
    renames: tuple[str, ...],
    out: Path | None,
    as_json: bool,
) -> None:
    """Write a report's figures as SVG, PDF or PNG: of runs, a sweep, a recommendation or a study.

    For a column of a paper, add --width 85mm --font-size 8 --no-title --format pdf.
    A file that is there is replaced where a new figure has the same name.
    """
    from headend.figures.export import convert_pictures, read_formats, write_figures
    from headend.figures.paper import read_paper
    from headend.figures.renaming import read_renames, rename_figures
    from headend.figures.rows import read_rows

    wanted = read_formats(formats.split(","))
    lines = read_rows(rows, is_typed=True)
    paper = read_paper(
        width,
        height,
        font_size,
        font,
        has_title=not no_title,
        is_typed=True,
        is_always=lines is not None,
    )
    if is_list:
        _list_figures(_draw(folders, only), as_json=as_json)
        return
    target = out or Path(folders[0]) / "figures"
    if out is None:
        refuse_link(target)
    is_converted = find_kind(folders) == "study" and not (only or renames or paper)
    drawn = [] if is_converted else _draw(folders, only, lines)
    if renames:
        drawn = rename_figures(drawn, read_renames(renames, drawn, "--rename"), "--rename")
    before = set(target.iterdir()) if target.is_dir() else set()
    if is_converted:
        from headend.study.outcome import find_pictures

        paths = convert_pictures(find_pictures(Path(folders[0])), target, wanted)
    else:
        paths = write_figures(drawn, target, wanted, paper, lines)
    replaced = [path for path in paths if path in before]
    if as_json:
        print_json(
            {"figures": [str(path) for path in paths], "replaced": [str(path) for path in replaced]}
        )
        return
    told = str(paths[0]) if len(paths) == 1 else f"{len(paths)} figures in {target}"
    if replaced:
        of_them = (
            "in place of one that was" if len(paths) == 1 else "of them in place of files that were"
        )
        told += f", {of_them} there" if len(paths) == 1 else f", {len(replaced)} {of_them} there"
    make_output().print(write_line(told), soft_wrap=True)


def _draw(folders: Sequence[str], only: Sequence[str], rows: Rows | None = None) -> list[Figure]:
    """Draw the figures of results of any kind: the requested ones, or all."""
    from headend.figures.export import choose_figures
    from headend.figures.rows import check_rows, join_tiers

    every = _draw_all(folders, () if rows else only)
    drawn = every
    if rows and isinstance(rows.by, str):
        # Of a grid, a figure of all tiers takes the place of those of one, which can be named too.
        drawn = join_tiers(every)
        every = [*drawn, *(figure for figure in every if figure.base_name)]
    drawn = choose_figures(every, only, "--only") if only else drawn
    if rows:
        check_rows(rows, drawn)
    return drawn


def _draw_all(folders: Sequence[str], only: Sequence[str]) -> list[Figure]:
    """Draw all figures of results of any kind; of runs, those of the names that are known."""
    kind, first = find_kind(folders), Path(folders[0])
    if kind == "study":
        from headend.study.outcome import redraw_figures

        drawn = redraw_figures(first)
    elif kind == "sweep":
        from headend.sweeps.result import load_sweep

        drawn = load_sweep(first).draw_figures()
    elif kind == "recommendation":
        from headend.recommendation.result import load_recommendation

        drawn = load_recommendation(first).draw_figures()
    elif kind == "capacity":
        from headend.capacity.result import load_capacity

        drawn = load_capacity(first).draw_figures()
    elif kind == "line":
        from headend.fitting.result import load_fit

        drawn = load_fit(first).draw_figures()
    elif kind == "evaluation":
        from headend.evaluation.result import load_evaluation

        drawn = load_evaluation(first).draw_figures()
    else:
        from headend.figures.catalogue import draw_figures, list_drawings
        from headend.running.comparison import load_results

        results = load_results(folders)
        # The name of a chart is known when its figure is drawn.
        is_known = set(only) <= set(list_drawings(results))
        drawn = draw_figures(results, only if only and is_known else None)
    return drawn


def _list_figures(drawn: Sequence[Figure], *, as_json: bool) -> None:
    """Print the names of figures with their titles, and the names of charts where several."""
    from headend.figures.export import name_panels
    from headend.figures.renaming import list_names_of

    listed = [(figure, list(figure.stems) or name_panels(figure)) for figure in drawn]
    if as_json:
        print_json(
            [
                {
                    "name": figure.name,
                    "title": figure.title,
                    "explanation": figure.explanation,
                    "charts": stems,
                    "names": list_names_of(figure),
                }
                for figure, stems in listed
            ]
        )
        return
    widest = max((len(figure.name) for figure in drawn), default=0)
    console = make_output()
    for figure, stems in listed:
        console.print(
            write_line((f"{figure.name:{widest}}", "bold"), f"  {figure.title}"), soft_wrap=True
        )
        if len(stems) > 1:
            for stem, panel in zip(stems, figure.panels, strict=True):
                title = f" ({panel.title})" if panel.title else ""
                console.print(write_line(f"{'':{widest}}    {stem}{title}"), soft_wrap=True)
