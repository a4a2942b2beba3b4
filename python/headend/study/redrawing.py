"""Figures of a study drawn again from the points that its results hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headend.errors import InputError
from headend.results.folder import read_table
from headend.results.record import read_manifest
from headend.scenario.shipped import list_studies
from headend.study.definition import read_study
from headend.study.outcome import POINTS, draw_study_figures, find_pictures

if TYPE_CHECKING:
    from headend.figures.figure import Figure


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
