"""The result: what was measured of each name, its verdicts, its folder and its page."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from headend.analysis.ranking import Feasibility
from headend.analysis.summary import summarise_means
from headend.design.design import Design
from headend.errors import InputError
from headend.evaluation.findings import Findings
from headend.evaluation.request import FACTORS, Request
from headend.evaluation.sentences import answer_evaluation
from headend.evaluation.tables import tabulate_verdicts
from headend.pages.notebook import Drawn
from headend.results.experiment import (
    TABLES,
    Experiment,
    check_fit,
    open_named,
    read_experiment,
)
from headend.results.folder import MANIFEST

if TYPE_CHECKING:
    import polars as pl

    from headend.figures import Figure
    from headend.wording.answer import Answer


@dataclass(frozen=True, repr=False)
class Evaluation(Experiment, Drawn):
    """How some names fare in the tests of an RFC.

    Parameters
    ----------
    request
        What was asked.
    """

    kind = "evaluation"

    #: The names of its tables.
    tables: ClassVar[tuple[str, ...]] = (*TABLES, "verdicts")

    request: Request
    #: The scenarios of the worst conditions by the names of their files; what is read back has
    #: none.
    files: Mapping[str, bytes] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Say of what it is."""
        state = "" if self.complete else ", not run to its end"
        return f"<Evaluation {self.name!r} by {self.request.family.document}{state}>"

    @property
    def name(self) -> str:
        """What its results are called."""
        return self.request.name

    @property
    def title(self) -> str:
        """What is evaluated, and by what."""
        return f"{', '.join(self.request.names)} by {self.request.family.document}"

    @functools.cached_property
    def design(self) -> Design:
        """What was run."""
        return self.request.make_design()

    @functools.cached_property
    def summary(self) -> pl.DataFrame:
        """Means over seeds with intervals."""
        keys = ["setting", *FACTORS, "measure", "subject", "direction", "metric", "unit"]
        return summarise_means(self.table, keys)

    @functools.cached_property
    def findings(self) -> Findings:
        """The verdicts."""
        return Findings(self.request, self.table)

    @property
    def answer(self) -> Answer:
        """The answer with which a page or command begins."""
        return answer_evaluation(self.findings)

    @property
    def verdicts(self) -> pl.DataFrame:
        """A row for each name, criterion and condition, worst conditions first."""
        return tabulate_verdicts(self.findings)

    @property
    def is_missed(self) -> bool:
        """Whether a criterion fails for a name that is evaluated."""
        names = self.request.names
        return any(self.findings.count(name)[Feasibility.FAILS] for name in names)

    def list_tables(self) -> dict[str, pl.DataFrame]:
        """Give its tables by name: also the verdicts."""
        return {**super().list_tables(), "verdicts": self.verdicts}

    def draw_figures(self) -> list[Figure]:
        """Draw the figures of its page."""
        from headend.evaluation.figure import draw_evaluation

        return draw_evaluation(self.findings)

    def list_files(self) -> dict[str, bytes]:
        """Give the scenarios of the worst conditions, by the names of their files."""
        return dict(self.files)

    def describe(self) -> dict[str, Any]:
        """Give what the manifest keeps besides the design."""
        return {"asked": self.request.to_dict()}


def choose_evaluation_folder(name: str) -> Path:
    """Give the folder of its results; another run goes on from what is there."""
    return Path("results") / "evaluation" / name


def open_evaluation_folder(folder: Path, request: Request, *, force: bool = False) -> None:
    """Make the folder before anything is run; refuse the results of other names."""
    open_named(folder, Evaluation.kind, request.name, force=force)


def load_evaluation(folder: str | Path) -> Evaluation:
    """Read a result back that was run to its end, without running anything.

    Raises
    ------
    InputError
        When it was not, when it is damaged, or when the folder holds something else.
    """
    folder = Path(folder)
    manifest, table = read_experiment(folder, Evaluation.kind)
    try:
        result = Evaluation(
            Request.from_dict(manifest["asked"], manifest["design"]["seeds"]),
            table=table,
            complete=True,
            folder=folder,
            notes=tuple(map(str, manifest.get("warnings", ()))),
            points=tuple(map(str, manifest.get("points", ()))),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{folder / MANIFEST}: damaged: {error}") from error
    check_fit(result.design, table, folder)
    return result
