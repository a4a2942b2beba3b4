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

from headend.errors import InputError, describe_system
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
    read_table,
    refuse_link,
    write_file,
)
from headend.results.record import RESULT_FORMAT, read_manifest
from headend.results.scratch import sweep_up
from headend.results.seal import SEALS, check_whole, find_damage, is_page_of, seal
from headend.results.store import check_point_folder
from headend.scenario.shipped import list_studies
from headend.study.analysis import call, refuse_answer
from headend.study.claims import CheckedClaim
from headend.study.definition import Study, read_study
from headend.study.evaluated import describe_cases, draw_verdicts
from headend.study.points import select_rows
from headend.study.sentences import answer_study, order_claims
from headend.wording.table import Column, make_table

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
    claims: list[CheckedClaim]
    figures: list[Figure]
    #: What the engine says of the scenarios, to be read before the claims are trusted.
    warnings: Sequence[str] = ()
    #: What the manifest lists of the points that are kept.
    kept: tuple[str, ...] = ()
    #: Why not all of it could be written; its points are kept.
    unwritten: BaseException | None = None

    @property
    def count(self) -> int:
        """How many points were run; an evaluation has several rows for each."""
        if self.study.request is None:
            return self.points.height
        return self.points.select("setting", "seed").n_unique()

    @property
    def answer(self) -> Answer:
        """What a page or command says first."""
        return answer_study(self.study, self.claims, self.figures)

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON can hold it."""
        return {
            "study": self.study.name,
            "title": self.study.title,
            "source": self.study.source,
            "readings": [reading.to_dict() for reading in self.study.readings],
            "quick": self.study.quick,
            "points": self.count,
            "seeds": list(self.study.seeds) if self.study.has_runs else [],
            "warnings": list(self.warnings),
            "claims": [item.to_dict() for item in self.claims],
        }

    def write_into(self, folder: Path) -> None:
        """Write points, claims, figures as SVG, manifest, seals, report; each file whole or absent.

        Figures and report are left as they are where they would be the same.
        """
        from headend.figures.export import name_panels, write_figures
        from headend.pages.page import fingerprint_drawing, render_page, write_page
        from headend.pages.section import Page, Section
        from headend.version import read_version

        content = {
            "study": self.study,
            "checked": order_claims(self.claims),
            "points": self.count,
        }
        page = render_page(
            Page(
                self.study.title,
                self.answer,
                self.figures,
                [Section("study", content)],
                self._list_points(),
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
        drawn = "\n".join((fingerprint_drawing(), json.dumps(figures), page))
        fingerprint = hashlib.sha256(drawn.encode()).hexdigest()
        is_drawn = _is_drawn(folder, fingerprint)
        if not is_drawn:
            # Until the figures are drawn, there are no claims, no seals and no report.
            try:
                with suppress(OSError):  # what is no file is found when the report is written
                    (folder / REPORT).unlink(missing_ok=True)
                for name in (SEALS, CLAIMS):
                    (folder / name).unlink(missing_ok=True)
            except OSError as error:
                raise InputError(
                    f"{folder}: cannot be written: {describe_system(error)}"
                ) from error
            if self.figures:
                write_figures(self.figures, folder / FIGURES, ["svg"])
        manifest = {
            "headend": read_version(),
            "format": RESULT_FORMAT,
            "kind": "study",
            "study": self.study.name,
            "quick": self.study.quick,
            "design": self.study.design.to_dict(),
            "points": list(self.kept),
        }
        write_file(encode_json(manifest), folder / MANIFEST)
        write_file(encode_table(self.points), folder / POINTS)
        # Comes last: a study without its claims was not run to its end.
        write_file(encode_json({**self.to_dict(), "figures": figures}), folder / CLAIMS)
        pictures = [f"{FIGURES}/{name}" for figure in figures for name in figure["files"]]
        seal(folder, [POINTS, MANIFEST, CLAIMS, *pictures])
        if not is_drawn:
            write_page(page, folder / REPORT, fingerprint)

    def _list_points(self) -> list[Section]:
        """Make the section of all points, without distributions and courses over time."""
        from headend.pages.section import fold

        if self.study.request is not None:
            return describe_cases(self.study.request, self.points)
        if not self.study.has_runs:
            return []
        shown = self.points.drop([*self.study.distributions, *self.study.series])
        rows = [
            [f"{value:.6g}" if isinstance(value, float) else str(value) for value in row]
            for row in shown.iter_rows()
        ]
        first, *names = shown.columns
        columns = [Column(name, is_number=True) for name in names]
        table = make_table(first, columns, rows, note="Times in ns, rates in bit/s.")
        return [fold("All points", table, is_minor=True)]


def _is_drawn(folder: Path, fingerprint: str) -> bool:
    """Say whether a folder holds the report and the figures of a finished study, all whole."""
    try:
        return is_page_of(folder / REPORT, fingerprint) and not any(find_damage(folder))
    except InputError:
        return False


def draw_study_figures(study: Study, analysis: ModuleType, points: pl.DataFrame) -> list[Figure]:
    """Draw a study's figures with the functions of its ``analysis.py``, then an evaluation's."""
    figures = []
    rows = select_rows(study, points)
    for own in study.figures:
        panels: Sequence[Panel] = call(analysis, own.draw, f"figure {own.name}", rows)
        if not isinstance(panels, Sequence) or not all(isinstance(one, Panel) for one in panels):
            found = type(panels).__name__
            problem = f"expected it to return a list of panels, found {found}"
            raise refuse_answer(analysis, own.draw, problem)
        for panel in panels:
            try:
                panel.specify()
            except Exception as error:
                why = " ".join(str(error).split())
                problem = f"a chart that cannot be drawn: {why}"
                raise refuse_answer(analysis, own.draw, problem) from error
        figures.append(Figure(own.name, own.title, own.explanation, list(panels)))
    return figures if study.request is None else figures + draw_verdicts(study.request, points)


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


def redraw_figures(folder: Path) -> list[Figure]:
    """Draw the figures of a study whose results a folder holds.

    Raises
    ------
    InputError
        When the study was not run to its end, is not shipped, or a file is damaged.
    """
    find_pictures(folder)
    name = read_manifest(folder)["study"]
    studies = list_studies()
    if name not in studies:
        raise InputError(
            f'{folder}: "{name}" is no shipped study, so its figures cannot be drawn in another'
            f" way;"
            " headend figures DIR --format LIST converts them as they are"
        )
    study = read_study(name, studies[name])
    return draw_study_figures(study, study.load_analysis(), read_table(folder, POINTS))


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
    if (folder / POINTS).is_file():
        check_kind(folder, "study")
    else:
        check_point_folder(folder, "study")
    manifest = read_own_manifest(folder)
    if manifest and manifest.get("study", study.name) != study.name:
        raise InputError(
            f'{folder}: holds the results of another study, "{manifest["study"]}" and not'
            f' "{study.name}"; choose another folder'
        )
