"""Studies of an evaluation: what an RFC says should be tested, and claims on its verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headend.design.reading import refuse_unknown
from headend.errors import InputError, suggest
from headend.evaluation.experiment import check_names, prepare_jobs
from headend.evaluation.family import FAMILIES
from headend.evaluation.findings import Findings
from headend.evaluation.page import list_case_sections, list_closing
from headend.evaluation.request import Request, make_request, read_quantities
from headend.evaluation.tables import tabulate_verdicts
from headend.results.store import PointStore
from headend.running.executor import Finished
from headend.running.job import Job
from headend.running.memory import Allowance
from headend.running.points import gather_points, join_frames
from headend.text.quantity import Kind

if TYPE_CHECKING:
    import polars as pl

    from headend.figures.figure import Figure
    from headend.pages.section import Section

_LISTS = ("names", "against", "sections")
#: The conditions, and what their quantities are.
_CONDITIONS: dict[str, Kind] = {"rates": "rate", "rtts": "time", "buffers": "number"}


def read_request(content: Mapping[str, Any], seeds: Sequence[int]) -> Request:
    """Take what is evaluated from the table ``evaluation`` of a ``study.toml``.

    Raises
    ------
    InputError
        For a key that it has not, and for what cannot be evaluated.
    """
    refuse_unknown(content, {"of", *_LISTS, *_CONDITIONS}, "evaluation.")
    for name in (*_LISTS, *_CONDITIONS):
        found = content.get(name, [])
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            raise InputError(f"evaluation.{name}: expected a list of texts, found {found!r}")
    of = content.get("of", "")
    if of not in FAMILIES:
        known = f"{', '.join(FAMILIES)}, found {of!r}{suggest(str(of), FAMILIES)}"
        raise InputError(f"evaluation.of: expected one of {known}")

    def read(name: str) -> tuple[float, ...] | None:
        if name not in content:
            return None
        return read_quantities(f"evaluation.{name}", ", ".join(content[name]), _CONDITIONS[name])

    names, against, sections = (content.get(name, []) for name in _LISTS)
    return make_request(
        FAMILIES[of],
        names,
        against=against,
        rates=read("rates"),
        rtts=read("rtts"),
        buffers=read("buffers"),
        sections=sections,
        seeds=seeds,
    )


def prepare_evaluation(request: Request, allowance: Allowance | None) -> list[Job]:
    """Check all points of a study's evaluation.

    Raises
    ------
    InputError
        For a name that the engine does not know, or a point that needs more memory than there is.
    """
    check_names(request, ())
    return prepare_jobs(request, (), allowance)


def gather_evaluation(
    request: Request, jobs: Sequence[Job], store: PointStore, finished: Finished
) -> pl.DataFrame:
    """Put the points into the table that an evaluation has: a row for each point and measure."""
    points = list(zip(request.list_columns(), jobs, strict=True))
    return join_frames(gather_points(points, store, finished))


def list_verdicts(request: Request, table: pl.DataFrame) -> pl.DataFrame:
    """Give what claims are judged by: a row for each name, criterion and condition."""
    return tabulate_verdicts(Findings(request, table))


def draw_verdicts(request: Request, table: pl.DataFrame) -> list[Figure]:
    """Draw the figures that an evaluation of the same names has."""
    from headend.evaluation.figure import draw_evaluation

    return draw_evaluation(Findings(request, table))


def describe_cases(request: Request, table: pl.DataFrame) -> list[Section]:
    """Give what the page of an evaluation has below its answer: each case, and what is not run."""
    found = Findings(request, table)
    return [*list_case_sections(found), *list_closing(found)]
