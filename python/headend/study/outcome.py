"""What a study leaves behind: points, claims with their verdicts, figures and a report in one folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from headend.errors import InputError
from headend.figures.figure import Figure, Panel
from headend.folder import MANIFEST, check_kind, describe, write_json, write_table
from headend.result import RESULT_FORMAT
from headend.study.analysis import call, refuse_answer, refuse_chart
from headend.study.claims import Judgement
from headend.study.definition import Study

if TYPE_CHECKING:
    import polars as pl

CLAIMS = "claims.json"
FIGURES = "figures"
POINTS = "points.parquet"
#: Where finished points are kept.
POINT_FOLDER = "points"


@dataclass(frozen=True)
class StudyOutcome:
    """A finished study."""

    study: Study
    points: pl.DataFrame
    judgements: list[Judgement]
    figures: list[Figure]

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON can hold it."""
        return {
            "study": self.study.name,
            "title": self.study.title,
            "source": self.study.source,
            "quick": self.study.quick,
            "points": self.points.height,
            "seeds": list(self.study.seeds) if self.study.scenario else [],
            "claims": [judgement.to_dict() for judgement in self.judgements],
        }

    def write_into(self, folder: Path) -> None:
        """Write points, claims, figures as SVG, report and manifest; each file is whole or absent."""
        from headend import __version__
        from headend.figures.export import write_figures
        from headend.report import render_page, write_page

        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: cannot be written: {describe(error)}") from error
        drawn = {
            figure.name: write_figures([figure], folder / FIGURES, ["svg"])
            for figure in self.figures
        }
        page = render_page(
            "study.html.j2",
            self.figures,
            title=self.study.title,
            study=self.study,
            judgements=self.judgements,
            points=self.points,
        )
        write_page(page, folder / "report.html")
        manifest = {
            "headend": __version__,
            "format": RESULT_FORMAT,
            "kind": "study",
            "study": self.study.name,
            "quick": self.study.quick,
        }
        write_table(self.points, folder / POINTS)
        figures = [
            {
                "name": figure.name,
                "title": figure.title,
                "explanation": figure.explanation,
                "files": [path.name for path in drawn[figure.name]],
            }
            for figure in self.figures
        ]
        write_json({**self.to_dict(), "figures": figures}, folder / CLAIMS)
        write_json(manifest, folder / MANIFEST)


def draw_study_figures(study: Study, analysis: ModuleType, points: pl.DataFrame) -> list[Figure]:
    """Draw a study's figures with the functions of its ``analysis.py``."""
    figures = []
    for definition in study.figures:
        panels: Sequence[Panel] = call(
            analysis, definition.draw, f"figure {definition.name}", points
        )
        if not isinstance(panels, Sequence) or not all(isinstance(one, Panel) for one in panels):
            raise refuse_answer(analysis, definition.draw, "a list of panels", panels)
        for panel in panels:
            try:
                panel.specify()
            except Exception as error:
                raise refuse_chart(analysis, definition.draw, error) from error
        figures.append(
            Figure(definition.name, definition.title, definition.explanation, list(panels))
        )
    return figures


def choose_study_folder(study: Study) -> Path:
    """Give the folder a study's results go to; running it again goes on from what is there."""
    name = study.name.replace("/", "-") + ("-quick" if study.quick else "")
    return Path("results") / "studies" / name


def check_study_folder(folder: Path) -> None:
    """Refuse a folder that holds something else."""
    if folder.is_file():
        raise InputError(f"{folder}: expected a folder to write results to, found a file")
    check_kind(folder, "study")
    if not folder.is_dir() or (folder / POINTS).is_file() or (folder / POINT_FOLDER).is_dir():
        return
    # A hidden file is what an interruption left of a write.
    if any(not path.name.startswith(".") for path in folder.iterdir()):
        raise InputError(
            f"{folder}: holds something other than a study's results; choose another folder"
        )
