"""Panels of a figure in one picture, in rows: by a factor or a group, or so many rows.

A figure whose panels are of several flows, rates or round trips gives a picture for each of them,
or here one of all: a row for each value of one factor, in it a panel for each of the others. What
all panels of a row or a column have in common is written once: the legend, and the titles of axes.
"""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headend.errors import InputError, find_near
from headend.figures.figure import Figure, Panel
from headend.figures.paper import (
    HIGHEST,
    LEFT,
    LETTERS,
    MOST_DRAWINGS,
    NOTE_LETTER,
    PADDING,
    SHAPE,
    TITLE_LETTER,
    UNITS,
    Paper,
    name_option,
)
from headend.figures.parts import list_parts
from headend.figures.svg import draw_svg, find_root, fit_specification
from headend.text.wording import keep_units, list_names

#: The least width of a panel with its axis, and the least height of its plot, in pixels before the
#: picture is scaled.
LEAST_WIDTH, LEAST_HEIGHT = 140, 50

#: Room between panels, in pixels.
GAP = 14

#: The width of a letter of a panel's title, in pixels.
LETTER = 6.8

#: The angle of labels that have no room beside each other.
TURNED = -40

#: Channels that have legends.
LEGENDS = ("color", "fill", "shape", "stroke", "strokeDash")

_SIZE = re.compile(r"\b(width|height)\b")


@dataclass(frozen=True)
class Rows:
    """How panels stand: a row for each value of a factor, or so many rows in the panels' order."""

    #: A factor's name, or a number of rows.
    by: str | int
    #: Whether it was typed as an option, for the errors.
    is_typed: bool = True

    @property
    def option(self) -> str:
        """What the caller calls it."""
        return name_option("rows", is_typed=self.is_typed)

    def arrange(self, panels: Sequence[Panel], most: int) -> list[list[Panel]]:
        """Give the panels row by row, with at most so many in each: others make further rows."""
        if isinstance(self.by, int):
            return [list(row) for row in _break(panels, min(-(-len(panels) // self.by), most))]
        rows: dict[str, list[Panel]] = {}
        for panel in panels:
            rows.setdefault(panel.place.get(self.by, ""), []).append(panel)
        return [list(line) for row in rows.values() for line in _break(row, most)]


def _break(panels: Sequence[Panel], most: int) -> Iterator[Sequence[Panel]]:
    """Give lines of nearly equal length, each of at most so many panels."""
    length = -(-len(panels) // -(-len(panels) // most))
    return (panels[start : start + length] for start in range(0, len(panels), length))


def read_rows(typed: str | int | None, *, is_typed: bool) -> Rows | None:
    """Read ``--rows``: the name of a factor, or a number of rows; None where nothing is given."""
    if typed is None:
        return None
    option = name_option("rows", is_typed=is_typed)
    is_number = isinstance(typed, int) and not isinstance(typed, bool)
    text = str(typed).strip()
    if not (is_number or (isinstance(typed, str) and text)):
        raise InputError(f'{option}: expected the name of a factor or a number, found "{text}"')
    if not re.fullmatch(r"[+-]?\d+", text):
        return Rows(text, is_typed)
    if int(text) < 1:
        raise InputError(f"{option}: expected 1 row or more, found {text}")
    return Rows(int(text), is_typed)


def check_rows(rows: Rows, figures: Sequence[Figure]) -> None:
    """Refuse a factor that no panel is of, with those that there are."""
    known = list_factors(figures)
    if isinstance(rows.by, int) or rows.by in known:
        return
    near = find_near(rows.by, known)
    hint = f'; did you mean "{near}"?' if near else ""
    there = f" There are {list_names(known, len(known))}." if known else " There is none."
    raise InputError(
        f'{rows.option}: no panels differ by "{rows.by}"{hint or "."}{there.removesuffix(".")}'
    )


def list_factors(figures: Sequence[Figure]) -> list[str]:
    """List what the panels of any figure differ by, such as flows and rates."""
    found: dict[str, None] = {}
    for figure in figures:
        values: dict[str, set[str]] = {}
        for panel in figure.panels:
            for name, value in panel.place.items():
                values.setdefault(name, set()).add(value)
        found |= dict.fromkeys(name for name, own in values.items() if len(own) > 1)
    return list(found)


def join_tiers(figures: Sequence[Figure]) -> list[Figure]:
    """Make figures of single tiers that show the same one figure of all tiers."""
    joined: dict[str, list[Figure]] = {}
    for figure in figures:
        joined.setdefault(figure.base_name or figure.name, []).append(figure)
    return [_join(name, own) if own[0].base_name else own[0] for name, own in joined.items()]


def _join(name: str, figures: Sequence[Figure]) -> Figure:
    panels = [
        replace(
            panel,
            title=", ".join(filter(None, (panel.title, figure.group))),
            # Where it is not laid out, its file has the name that it has without rows.
            name=panel.name or f"{panel.title} {figure.name}",
        )
        for figure in figures
        for panel in figure.panels
    ]
    notes = "".join(dict.fromkeys(figure.note for figure in figures))
    return replace(
        figures[0], name=name, title=figures[0].base_title, panels=panels, note=notes, group=""
    )


def is_laid_out(figure: Figure, rows: Rows) -> bool:
    """Say whether a figure becomes one picture: it has several panels, and they have rows."""
    if len(figure.panels) < 2:
        return False
    return isinstance(rows.by, int) or rows.by in list_factors([figure])


def draw_rows(figure: Figure, rows: Rows, paper: Paper) -> str:
    """Draw a figure's panels in one picture as SVG, in pixels and its width, not yet scaled."""
    width = paper.width / paper.scale
    most = max(int(width // LEAST_WIDTH), 1)
    lines = rows.arrange(figure.panels, most)
    columns = max(map(len, lines))
    plot = width / columns - LEFT - GAP
    high = max(min(plot * SHAPE, HIGHEST), 2 * LEAST_HEIGHT)
    for _ in range(MOST_DRAWINGS + 1):
        svg = draw_svg(_specify(lines, figure, paper, plot, high))
        root = find_root(svg)
        over = float(root[1]) - width
        more = float(root[2]) - paper.height / paper.scale if paper.height else 0.0
        if abs(over) <= 0.5 and abs(more) <= 0.5:
            break
        plot -= over / columns
        high -= more / len(lines)
        if high < LEAST_HEIGHT or plot < LEAST_HEIGHT:
            raise _refuse_size(rows, paper, len(lines), columns, is_low=high < LEAST_HEIGHT)
    height = paper.height / paper.scale if paper.height else float(root[2])
    size = f'width="{width:.5f}" height="{height:.5f}" viewBox="0 0 {width:.5f} {height:.5f}"'
    ground = f'<rect width="{width:.5f}" height="{height:.5f}" fill="white"/>'
    opening = root[0].split(" width=", 1)[0]
    return f"{svg[: root.start()]}{opening} {size}>{ground}{svg[root.end() :]}"


def _refuse_size(rows: Rows, paper: Paper, lines: int, columns: int, *, is_low: bool) -> InputError:
    """Give the error for a picture in which panels would be too small."""
    option = name_option("height" if is_low else "width", is_typed=rows.is_typed)
    size = paper.height if is_low else paper.width
    return InputError(
        f"{option}: expected more for {lines} rows of up to {columns} panels with letters of"
        f" {paper.font_size:g} pt, found {(size or 0.0) / UNITS['mm']:.4g}mm"
    )


def _specify(
    lines: Sequence[Sequence[Panel]], figure: Figure, paper: Paper, plot: float, high: float
) -> dict[str, Any]:
    """Give the specification of all panels, each with a plot of this size."""
    width = paper.width / paper.scale
    charts = [[_prepare(panel) for panel in line] for line in lines]
    every = [chart for line in charts for chart in line]
    data: dict[str, Any] = {}
    for number, chart in enumerate(every):
        sets = chart.pop("datasets", {})
        _number_data(chart, number)
        data |= {f"{name}_{number}": own for name, own in sets.items()}
    is_shared = _share_legends(every)
    for chart, edge in _list_repeated(charts):
        _drop_title(chart, edge)
    for panel, chart in zip(itertools.chain(*lines), every, strict=True):
        chart["width"] = plot
        chart.setdefault("height", high)
        fit_specification(chart, plot, chart["height"], width if is_shared else plot)
        _turn_labels(chart, plot)
        _put_sizes(chart, plot, chart["height"])
        if panel.title:
            chart["title"] = {
                "text": textwrap.wrap(keep_units(panel.title), max(int(plot / LETTER), 8)),
                "fontSize": LETTERS,
                "fontWeight": "normal",
                "frame": "group",
                "offset": 4,
            }
    apart = dict.fromkeys(LEGENDS, "shared" if is_shared else "independent")
    whole: dict[str, Any] = {
        "vconcat": [{"hconcat": line, "spacing": GAP} for line in charts],
        "spacing": GAP,
        "resolve": {"scale": apart, "legend": apart},
        "datasets": data,
        "padding": PADDING,
        "config": paper.configure(),
    }
    if paper.has_title:
        whole["title"] = {"text": textwrap.wrap(figure.title, int(width / TITLE_LETTER))}
        if figure.note.strip():
            note = textwrap.wrap(figure.note.strip(), int(width / NOTE_LETTER))
            whole["title"]["subtitle"] = note
    return whole


def _prepare(panel: Panel) -> dict[str, Any]:
    """Give a panel's specification without what a reader can choose in it."""
    chart = panel.specify()
    chosen = {own["name"] for own in chart.pop("params", [])}
    for part in list_parts(chart):
        part.pop("name", None)
        encoding = part.get("encoding", {})
        for name, channel in list(encoding.items()):
            condition = channel.get("condition") if isinstance(channel, dict) else None
            if isinstance(condition, dict) and condition.get("param") in chosen:
                # Nothing is chosen: all of it is drawn as what would be.
                encoding[name] = {"value": condition["value"]}
    return chart


def _number_data(chart: dict[str, Any], number: int) -> None:
    """Give the data of a panel names that no other panel has."""
    for part in list_parts(chart):
        if "name" in part.get("data", {}):
            part["data"] = {"name": f"{part['data']['name']}_{number}"}


def _list_legends(chart: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for part in list_parts(chart):
        for name in LEGENDS:
            channel = part.get("encoding", {}).get(name)
            if isinstance(channel, dict) and "field" in channel and channel.get("scale"):
                yield name, channel


def _share_legends(charts: Sequence[dict[str, Any]]) -> bool:
    """Give all panels one legend of all series, and say whether they can have it.

    They can where each series looks the same in every panel.
    """
    looks: dict[str, dict[Any, Any]] = {}
    fields: dict[str, str] = {}
    for chart in charts:
        for name, channel in _list_legends(chart):
            scale = channel["scale"]
            domain, forms = scale.get("domain"), scale.get("range")
            if not isinstance(domain, list) or not isinstance(forms, list):
                return False
            if (
                len(domain) != len(forms)
                or fields.setdefault(name, channel["field"]) != (channel["field"])
            ):
                return False
            for own, form in zip(domain, forms, strict=True):
                if looks.setdefault(name, {}).setdefault(own, form) != form:
                    return False
    for chart in charts:
        for name, channel in _list_legends(chart):
            names = list(looks[name])
            channel["scale"] = {
                **channel["scale"],
                "domain": names,
                "range": list(looks[name].values()),
            }
            if isinstance(channel.get("sort"), list):
                channel["sort"] = names
            if channel.get("legend"):
                shown = {
                    own
                    for other in charts
                    for _, one in _list_legends(other)
                    if one.get("legend", {}) is not None
                    for own in one.get("legend", {}).get("values", names)
                }
                channel["legend"] = {
                    **channel["legend"],
                    "values": [own for own in names if own in shown],
                }
    return True


def _find_titles(chart: dict[str, Any], edge: str) -> list[str]:
    """Give the titles along an edge, each once."""
    titles = (
        part["encoding"][edge].get("title")
        for part in list_parts(chart)
        if isinstance(part.get("encoding", {}).get(edge), dict)
    )
    return list(dict.fromkeys(title for title in titles if isinstance(title, str)))


def _list_repeated(
    charts: Sequence[Sequence[dict[str, Any]]],
) -> list[tuple[dict[str, Any], str]]:
    """List the axes whose titles another panel has: the first of the row, or the one below."""
    found = []
    for row, line in enumerate(charts):
        below = charts[row + 1] if row + 1 < len(charts) else []
        for column, chart in enumerate(line):
            others = {"y": line[0] if column else None}
            others["x"] = below[column] if column < len(below) else None
            found += [
                (chart, edge)
                for edge, other in others.items()
                if other and _find_titles(chart, edge) == _find_titles(other, edge)
            ]
    return found


def _drop_title(chart: dict[str, Any], edge: str) -> None:
    for part in list_parts(chart):
        channel = part.get("encoding", {}).get(edge)
        if isinstance(channel, dict) and "field" in channel:
            channel["title"] = None


def _turn_labels(chart: dict[str, Any], plot: float) -> None:
    """Turn the labels of categories along the bottom where they have no room beside each other."""
    for part in list_parts(chart):
        channel = part.get("encoding", {}).get("x")
        if not isinstance(channel, dict) or channel.get("type") != "nominal":
            continue
        names = channel.get("sort")
        if isinstance(names, list) and max(map(len, names)) * LETTER * len(names) > plot:
            channel["axis"] = {**(channel.get("axis") or {}), "labelAngle": TURNED}


def _put_sizes(part: Any, width: float, height: float) -> None:
    """Write the size of a panel into expressions: within a picture of several they have none."""
    sizes = {"width": f"{width:g}", "height": f"{height:g}"}
    if isinstance(part, list):
        for own in part:
            _put_sizes(own, width, height)
    elif isinstance(part, dict):
        for name, own in part.items():
            if name in ("expr", "calculate", "test", "filter") and isinstance(own, str):
                part[name] = _SIZE.sub(lambda found: sizes[found[1]], own)
            elif name != "data":
                _put_sizes(own, width, height)
