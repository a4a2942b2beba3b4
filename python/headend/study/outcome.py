"""What a study leaves behind: points, claims, figures and a report in one folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from headend.errors import InputError, tell_system
from headend.figures.figure import Figure, Panel
from headend.results.folder import (
    MANIFEST,
    REPORT,
    check_kind,
    encode_json,
    encode_table,
    make_folder,
    read_json,
    read_own_manifest,
    refuse_link,
    write_file,
)
from headend.results.record import RESULT_FORMAT, read_manifest
from headend.results.scratch import sweep_up
from headend.results.seal import SEALS, check_whole, find_damage, is_page_of, seal
from headend.results.store import POINT_FOLDER
from headend.study.analysis import call, refuse_answer, refuse_chart
from headend.study.answering import answer_study, order_claims
from headend.study.claims import Judgement
from headend.study.definition import Study
from headend.wording.table import Cell, Column, Row, Table

if TYPE_CHECKING:
    import polars as pl

    from headend.pages.section import Section
    from headend.wording.answer import Answer

CLAIMS = "claims.json"
FIGURES = "figures"
POINTS = "points.parquet"


@dataclass(frozen=True)
class StudyOutcome:
    """A finished study."""

    study: Study
    points: pl.DataFrame
    judgements: list[Judgement]
    figures: list[Figure]
    #: What the engine says of the scenarios, to be read before the claims are trusted.
    warnings: Sequence[str] = ()
    #: What the manifest lists of the points that are kept.
    kept: tuple[str, ...] = ()
    #: Why not all of it could be written; its points are kept.
    unwritten: BaseException | None = None

    @property
    def answer(self) -> Answer:
        """What a page or command says first."""
        return answer_study(self.study, self.judgements, self.figures)

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON can hold it."""
        return {
            "study": self.study.name,
            "title": self.study.title,
            "source": self.study.source,
            "readings": [reading.to_dict() for reading in self.study.readings],
            "quick": self.study.quick,
            "points": self.points.height,
            "seeds": list(self.study.seeds) if self.study.scenario else [],
            "warnings": list(self.warnings),
            "claims": [judgement.to_dict() for judgement in self.judgements],
        }

    def write_into(self, folder: Path) -> None:
        """Write points, claims, figures as SVG, manifest, seals, report; each file whole or absent.

        Figures and report are left as they are where they would be the same.
        """
        from headend.figures.export import name_panels
        from headend.pages.page import render_page, write_page
        from headend.pages.section import Page, Section
        from headend.version import read_version

        content = {
            "study": self.study,
            "judgements": order_claims(self.judgements),
            "points": self.points,
        }
        page = render_page(
            Page(
                self.study.title,
                self.answer,
                self.figures,
                [Section("study", content)],
                self._section_points() if self.study.scenario else [],
                warnings=self.warnings,
                columns="of-claims",
            )
        )
        shown = {definition.name: definition.shows for definition in self.study.figures}
        figures = [
            {
                "name": figure.name,
                "title": figure.title,
                "explanation": figure.explanation,
                "files": [f"{stem}.svg" for stem in name_panels(figure)],
                "shows": list(shown.get(figure.name, ())),
            }
            for figure in self.figures
        ]
        make_folder(folder)
        refuse_link(folder / FIGURES)
        sweep_up(folder / FIGURES)
        fingerprint = _fingerprint(page, figures)
        is_drawn = _is_drawn(folder, fingerprint)
        if not is_drawn:
            self._draw_into(folder)
        manifest = {
            "headend": read_version(),
            "format": RESULT_FORMAT,
            "kind": "study",
            "study": self.study.name,
            "quick": self.study.quick,
            "points": list(self.kept),
        }
        write_file(encode_table(self.points), folder / POINTS)
        write_file(encode_json(manifest), folder / MANIFEST)
        # Comes last: a study without its claims was not run to its end.
        write_file(encode_json({**self.to_dict(), "figures": figures}), folder / CLAIMS)
        drawn = [f"{FIGURES}/{name}" for figure in figures for name in figure["files"]]
        seal(folder, [POINTS, MANIFEST, CLAIMS, *drawn])
        if not is_drawn:
            write_page(page, folder / REPORT, fingerprint)

    def _section_points(self) -> list[Section]:
        """Make the section of all points, without distributions and courses over time."""
        from headend.pages.section import fold

        left_out = [*self.study.distributions, *self.study.series]
        shown = self.points.drop(left_out)
        rows = [
            [f"{value:.6g}" if isinstance(value, float) else str(value) for value in row]
            for row in shown.iter_rows()
        ]
        first, *names = shown.columns
        table = Table(
            tuple(Column(name, is_number=True) for name in names),
            tuple(Row(label, tuple(map(Cell, texts))) for label, *texts in rows),
            first,
            note="Times in ns, rates in bit/s.",
        )
        return [fold("All points", table, is_minor=True)]

    def _draw_into(self, folder: Path) -> None:
        """Write the figures; the claims, their seals and the report are gone until that is done."""
        from headend.figures.export import write_figures

        with suppress(OSError):  # what is no file is found when the report is written
            (folder / REPORT).unlink(missing_ok=True)
        try:
            for name in (SEALS, CLAIMS):
                (folder / name).unlink(missing_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: cannot be written: {tell_system(error)}") from error
        if self.figures:
            write_figures(self.figures, folder / FIGURES, ["svg"])


def _fingerprint(page: str, figures: Sequence[Mapping[str, Any]]) -> str:
    """Tell what a report and its figures show, and what draws them."""
    from headend.pages.page import fingerprint_drawing

    parts = [fingerprint_drawing(), json.dumps(figures), page]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _is_drawn(folder: Path, fingerprint: str) -> bool:
    """Say whether a folder holds the report and the figures of a finished study, all whole."""
    try:
        return is_page_of(folder / REPORT, fingerprint) and not any(find_damage(folder))
    except InputError:
        return False


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


def find_pictures(folder: Path) -> list[Path]:
    """Give the figures that a study's results hold, as SVG, in the order of its report.

    Raises
    ------
    InputError
        When the study was not run to its end, or a file is damaged.
    """
    read_manifest(folder)
    if not (folder / CLAIMS).is_file():
        raise InputError(f"{folder}: the study was not run to its end; run it again to go on")
    sealed = check_whole(folder)
    try:
        figures = read_json(folder, CLAIMS)["figures"]
        names = [name for figure in figures for name in figure["files"]]
    except (KeyError, TypeError) as error:
        raise InputError(f"{folder / CLAIMS}: damaged: {error}") from error
    check_pictures(names, sealed, folder)
    return [folder / FIGURES / name for name in names]


def check_pictures(names: Iterable[str], sealed: Mapping[str, str], folder: Path) -> None:
    """Refuse a picture that is not among the sealed files: strangers' results may name any."""
    for name in names:
        if f"{FIGURES}/{name}" not in sealed:
            raise InputError(
                f"{folder / CLAIMS}: damaged: it names {name}, which is none of its figures"
            )


def choose_study_folder(study: Study) -> Path:
    """Give the folder a study's results go to; running it again goes on from what is there."""
    name = study.name.replace("/", "-") + ("-quick" if study.quick else "")
    return Path("results") / "studies" / name


def check_study_folder(folder: Path, study: Study) -> None:
    """Refuse a folder that holds something else, such as another study's results."""
    if folder.is_file():
        raise InputError(f"{folder}: expected a folder to write results to, found a file")
    check_kind(folder, "study")
    manifest = read_own_manifest(folder)
    if manifest and manifest.get("study", study.name) != study.name:
        raise InputError(
            f'{folder}: holds the results of another study, "{manifest["study"]}" and not'
            f' "{study.name}"; choose another'
            " folder"
        )
    if not folder.is_dir() or (folder / POINTS).is_file() or (folder / POINT_FOLDER).is_dir():
        return
    # A hidden file is what an interruption left of a write.
    if any(not path.name.startswith(".") for path in folder.iterdir()):
        raise InputError(
            f"{folder}: holds something other than a study's results; choose another folder"
        )
