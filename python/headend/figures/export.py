"""Figures as files: SVG, PDF and PNG for papers and slides."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headend.errors import InputError, describe_system, find_near, suggest
from headend.extras import PAPER
from headend.figures.figure import Figure, Panel
from headend.figures.paper import Paper
from headend.figures.rows import Rows, draw_rows, is_laid_out
from headend.figures.svg import draw_svg, fit_specification
from headend.figures.theme import HEIGHT, WIDTH, configure
from headend.results.folder import make_folder, name_folders, write_file

FORMATS = ("svg", "pdf", "png")

#: What is asked for, in the error where it cannot be drawn.
DRAWING = "a picture as SVG, PDF or PNG"

#: Of a picture as PNG that has a size in print.
DOTS_PER_INCH = 300

#: Letters of a note that fit on a line.
NOTE_LETTERS = 105


def write_figures(
    figures: Sequence[Figure],
    folder: Path,
    formats: Sequence[str],
    paper: Paper | None = None,
    rows: Rows | None = None,
) -> list[Path]:
    """Write figures in every format asked for; a figure of several panels gives several files.

    Without a paper they are as on a page, with titles. With a paper and rows, the panels of a
    figure that has them are in one file. An InputError is raised for a format that is
    none, a folder that cannot be written, or where what draws pictures is not installed.
    """
    wanted = read_formats(formats)
    PAPER.require(DRAWING)
    paths = []
    make_folder(folder)
    for figure in figures:
        if paper and rows and is_laid_out(figure, rows):
            svg = draw_rows(figure, rows, paper)
            for name in wanted:
                paths.append(folder / f"{name_folders([figure.name])[0]}.{name}")
                write_file(_convert(svg, name, paper), paths[-1])
            continue
        for panel, stem in zip(figure.panels, figure.stems or name_panels(figure), strict=True):
            title = ": ".join(filter(None, (figure.title, panel.title)))
            svg = _draw(panel, title, figure.note, paper)  # not yet scaled to the paper
            for name in wanted:
                paths.append(folder / f"{stem}.{name}")
                write_file(_convert(svg, name, paper), paths[-1])
    return paths


def draw_picture(
    panel: Panel, title: str, note: str = "", kind: str = "svg", paper: Paper | None = None
) -> bytes:
    """Draw one panel as the content of a file of a kind, as `write_figures` does."""
    PAPER.require(DRAWING)
    return _convert(_draw(panel, title, note, paper), kind, paper)


def draw_together(figure: Figure, kind: str, paper: Paper, rows: Rows) -> bytes:
    """Draw all panels of a figure, in rows, as the content of a file of a kind."""
    PAPER.require(DRAWING)
    return _convert(draw_rows(figure, rows, paper), kind, paper)


def draw_specification(specification: Mapping[str, Any]) -> str:
    """Draw a whole Vega-Lite specification as SVG, as it stands."""
    PAPER.require(DRAWING)
    return draw_svg(specification)


def convert_pictures(pictures: Sequence[Path], folder: Path, formats: Sequence[str]) -> list[Path]:
    """Write pictures that are there as SVG in every format asked for; errors are InputErrors."""
    wanted = read_formats(formats)
    if set(wanted) != {"svg"}:
        PAPER.require(DRAWING)
    paths = []
    for picture in pictures:
        text = _read_picture(picture)
        make_folder(folder)
        for name in wanted:
            paths.append(folder / f"{picture.stem}.{name}")
            write_file(_convert(text, name), paths[-1])
    return paths


def choose_figures(
    figures: Sequence[Figure], only: Sequence[str], option: str = ""
) -> list[Figure]:
    """Choose figures by name, or single panels by the names of their files, in the order given.

    For a name that none has, the InputError has the one that was perhaps meant.
    """
    chosen: dict[str, Figure] = {}
    stems = {figure.name: name_panels(figure) for figure in figures}
    for name in only:
        named = [figure for figure in figures if figure.name == name or name in stems[figure.name]]
        if not named:
            raise InputError(_refuse_name(name, stems, option))
        for figure in named:
            all_stems = stems[figure.name]
            kept = all_stems if name == figure.name else [name]
            before = chosen[figure.name].stems if figure.name in chosen else ()
            kept = [stem for stem in all_stems if stem in kept or stem in before]
            panels = [figure.panels[all_stems.index(stem)] for stem in kept]
            chosen[figure.name] = replace(figure, panels=panels, stems=tuple(kept))
    return list(chosen.values())


def _refuse_name(name: str, stems: Mapping[str, Sequence[str]], option: str) -> str:
    """Say that no figure or chart has a name, and which one was perhaps meant, or which exist."""
    charts = [stem for own in stems.values() if len(own) > 1 for stem in own]
    near = find_near(name, [*stems, *charts])
    known = f"; there are {', '.join(stems)}" if stems else "; there is none"
    hint = f'; did you mean "{near}"?' if near else known
    where, more = (f"{option}: ", "; --list shows them") if option else ("", "")
    return f'{where}no figure is called "{name}"{hint}{more}'


def write_small(pictures: Mapping[str, Path], folder: Path, width: int) -> None:
    """Write pictures that are there as SVG, each by its file's name, as PNG so many pixels wide."""
    PAPER.require(DRAWING)
    import vl_convert

    for name, path in pictures.items():
        svg = _read_picture(path)
        found = re.search(r'<svg[^>]* width="([\d.]+)"', svg)
        scale = width / float(found[1]) if found else 1.0
        make_folder(folder)
        write_file(bytes(vl_convert.svg_to_png(svg, scale=scale)), folder / f"{name}.png")


def _read_picture(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {describe_system(error)}") from error


def read_formats(formats: Sequence[str]) -> list[str]:
    """Read the names of formats, each once; an InputError for one that is none."""
    wanted = list(dict.fromkeys(name.strip().lower() for name in formats))
    for name in wanted:
        if name not in FORMATS:
            raise InputError(f'no figure format is called "{name}"{suggest(name, FORMATS)}')
    return wanted


def name_panels(figure: Figure) -> list[str]:
    """Give the names of a figure's files, one for each panel, without what tells formats apart."""
    names = [panel.name or f"{panel.title} {figure.name}" for panel in figure.panels]
    # File names have no arrows; without a word, what is up would not be told from what is down.
    return name_folders([name.replace("↑", "up").replace("↓", "down") for name in names])


def fix_size(panel: Panel, title: str, note: str = "") -> dict[str, Any]:
    """Give a panel's Vega-Lite specification with size, title, note and a white background."""
    specification = panel.specify()
    specification["width"] = WIDTH
    specification.setdefault("height", HEIGHT)
    fit_specification(specification, WIDTH, specification["height"])
    # An empty subtitle would still take its room.
    lines = textwrap.wrap(note.strip(), NOTE_LETTERS)
    specification["title"] = {"text": title, "subtitle": lines} if lines else title
    specification["config"] = {**configure(), "background": "white"}
    return specification


def _draw(panel: Panel, title: str, note: str, paper: Paper | None) -> str:
    if paper:
        return paper.draw(panel.specify(), title, note)
    return draw_svg(fix_size(panel, title, note))


def _convert(svg: str, name: str, paper: Paper | None = None) -> bytes:
    if name == "svg":
        return (paper.print_svg(svg) if paper else svg).encode()
    import vl_convert

    if paper:
        svg = paper.print_points(svg)
    if name == "pdf":
        return bytes(vl_convert.svg_to_pdf(svg))
    size: dict[str, Any] = {"ppi": DOTS_PER_INCH} if paper else {"scale": 2}
    return bytes(vl_convert.svg_to_png(svg, **size))
