"""A figure in Python: shown by a notebook, and saved as a file for a paper."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from headend.errors import InputError, refuse_argument, suggest, take_path
from headend.extras import PAPER
from headend.figures.export import (
    FORMATS,
    draw_picture,
    draw_specification,
    draw_together,
    name_panels,
)
from headend.figures.figure import Figure
from headend.figures.paper import read_paper
from headend.figures.parts import LEGENDS
from headend.figures.renaming import rename_figures
from headend.figures.rows import check_rows, is_laid_out, read_rows
from headend.figures.theme import HEIGHT, WIDTH, configure
from headend.results.folder import make_folder, write_file

#: The media type of a Vega-Lite chart in notebooks, and the schema of its language version.
VEGALITE = "application/vnd.vegalite.v5+json"
SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"

#: The largest specification that a notebook is given beside the picture, in characters of JSON.
MOST_DATA = 1_000_000


class Plot:
    """One figure, as ``Result.figure("queue")`` gives it: notebooks show it, ``save`` writes it.

    Parameters
    ----------
    figure
        What is drawn.
    name
        The requested name: that of the figure, or of one of its charts.
    """

    def __init__(self, figure: Figure, name: str) -> None:
        self._figure = figure
        self._name = name

    def __repr__(self) -> str:
        """Say what it shows."""
        count = len(self._figure.panels)
        panels = f", {count} panels" if count > 1 else ""
        return f"<Plot {self.name!r}: {self.title}{panels}>"

    @property
    def name(self) -> str:
        """The name of the figure, such as ``queue``, or of the one chart that it shows."""
        return self._name

    @property
    def title(self) -> str:
        """What it shows."""
        return self._figure.title

    @property
    def explanation(self) -> str:
        """What to look at, and what good looks like."""
        return self._figure.explanation

    @functools.cached_property
    def spec(self) -> dict[str, Any]:
        """Its Vega-Lite specification with its data; several panels stand one below the other."""
        panels = []
        for panel in self._figure.panels:
            specification = panel.specify()
            specification.setdefault("width", WIDTH)
            specification.setdefault("height", HEIGHT)
            if panel.title:
                specification["title"] = panel.title
            panels.append(specification)
        content = panels[0] if len(panels) == 1 else _stack(panels)
        return {"$schema": SCHEMA, "config": {**configure(), "background": "white"}, **content}

    def save(
        self,
        path: str | Path,
        *,
        width: str = "",
        height: str = "",
        font_size: float | str | None = None,
        font: str = "",
        title: bool = True,
        rename: Mapping[str, str] | None = None,
        rows: str | int | None = None,
    ) -> list[Path]:
        """Write the figure to a file for a paper or a slide.

        Parameters
        ----------
        path
            The file; its ending says what it is: ``.pdf``, ``.svg``, ``.png``, or ``.json`` for the
            specification.
        width, height
            In print, such as ``"85mm"``. Where nothing is said of the print, the picture is as on a
            page; where only other things are, it is 180 mm wide.
        font_size
            Of the letters in print: points, or a length such as ``"8pt"``; 8 points by default.
        font
            The family of the letters, which must be installed.
        title
            Whether the title stands above.
        rename
            Texts in place of names that the figure shows: of its axes, its series, the categories
            along an axis, and its panels.
        rows
            Put all panels into one picture: a row for each value of this factor, such as
            ``"flow"``, or so many rows. It is 180 mm wide where nothing else is said. A file that
            ends in ``.json`` has the panels one below the other as before.

        Returns
        -------
        list of Path
            The file; where the figure has several panels and no rows, one file for each panel.

        Raises
        ------
        InputError
            For an ending or a size that is none, a name that the figure does not show, a
            factor that its panels do not differ by, a file that
            cannot be written, or where what draws pictures is not installed.

        Examples
        --------
        >>> import headend, tempfile
        >>> line = {"line": {"point_to_point": {"up": {"rate": "1 Mbit/s"}}}}
        >>> flow = {"ping": {"application": "ping"}}
        >>> result = headend.run({"duration": "2 s", "link": line, "flow": flow})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     files = result.figure("ping").save(f"{folder}/ping.svg", width="85mm")
        ...     print(files[0].name)
        ping.svg
        """
        file = take_path(path, "path")
        kind = file.suffix.removeprefix(".").lower()
        known = (*FORMATS, "json")
        if kind not in known:
            raise InputError(
                f"{file}: expected a file that ends in {', '.join(f'.{kind}' for kind in known)}"
                f"{suggest(kind, known) if kind else ''}"
            )
        lines = read_rows(rows, is_typed=False)
        paper = read_paper(
            width,
            height,
            font_size,
            font,
            has_title=title,
            is_typed=False,
            is_always=lines is not None,
        )
        if lines:
            check_rows(lines, [self._figure])
        (figure,) = rename_figures([self._figure], _take_names(rename), "rename")
        if file.parent != Path():
            make_folder(file.parent)
        if kind == "json":
            specification = Plot(figure, self._name).spec
            write_file(json.dumps(specification, ensure_ascii=False).encode(), file)
            return [file]
        if lines and paper and is_laid_out(figure, lines):
            write_file(draw_together(figure, kind, paper, lines), file)
            return [file]
        files = [file]
        if len(figure.panels) > 1:
            stems = name_panels(figure)
            files = [file.with_name(f"{file.stem}-{stem}{file.suffix}") for stem in stems]
        for panel, path in zip(figure.panels, files, strict=True):
            text = ": ".join(filter(None, (figure.title, panel.title)))
            write_file(draw_picture(panel, text, figure.note, kind, paper), path)
        return files

    def _repr_mimebundle_(
        self, include: Sequence[str] | None = None, exclude: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """Give a notebook the chart, and a picture where vl-convert is installed."""
        bundle: dict[str, Any] = {"text/plain": repr(self)}
        if len(json.dumps(self.spec)) <= MOST_DATA:
            bundle[VEGALITE] = self.spec
        if not PAPER.describe_absent(""):
            bundle["image/svg+xml"] = draw_specification(self.spec)
        return bundle


def _take_names(names: object) -> dict[str, str]:
    """Give texts for names that were passed from Python, and refuse what is none."""
    if names is None:
        return {}
    are_texts = isinstance(names, Mapping) and all(
        isinstance(own, str) and own.strip() for pair in names.items() for own in pair
    )
    if not are_texts:
        raise refuse_argument("rename", "a dictionary of texts by name", names)
    return dict(cast("Mapping[str, str]", names))


def _stack(panels: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Put charts one below the other, each with data, scales and choices of its own."""
    data: dict[str, Any] = {}
    choices: list[Any] = []
    stacked = []
    for number, panel in enumerate(panels):
        rows = panel.pop("datasets", {})
        parameters = panel.get("params", [])
        names = {parameter["name"] for parameter in parameters}
        names.update(view for parameter in parameters for view in parameter.get("views", []))
        renamed = _rename(panel, {name: f"{name}_{number}" for name in {*names, *rows}})
        data |= {f"{name}_{number}": values for name, values in rows.items()}
        choices += renamed.pop("params", [])
        stacked.append(renamed)
    apart = dict.fromkeys(LEGENDS, "independent")
    content: dict[str, Any] = {"vconcat": stacked, "resolve": {"scale": apart, "legend": apart}}
    return content | ({"params": choices} if choices else {}) | ({"datasets": data} if data else {})


def _rename(part: Any, names: Mapping[str, str]) -> Any:
    """Rename the views and parameters in a part of a specification."""
    if isinstance(part, dict):
        return {
            key: names.get(value, value)
            if key in ("name", "param") and isinstance(value, str)
            else [names.get(view, view) for view in value]
            if key == "views"
            else _rename(value, names)
            for key, value in part.items()
        }
    return [_rename(item, names) for item in part] if isinstance(part, list) else part
