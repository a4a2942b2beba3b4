"""The result of fitting a line to a measurement: what was found, its folder, its scenario."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.analysis.summary import summarise_means
from headend.design.design import Design, make_settings
from headend.design.factor import Factor
from headend.errors import InputError
from headend.fitting.estimates import LineEstimates, QueueGuess
from headend.fitting.finding import Found
from headend.fitting.line_scenario import FILE
from headend.fitting.owner import answer_fit
from headend.measurement.record import Direction
from headend.pages.notebook import Drawn
from headend.results.experiment import Experiment, check_fit, open_named, read_experiment
from headend.results.folder import MANIFEST

if TYPE_CHECKING:
    import polars as pl

    from headend.figures import Figure
    from headend.wording.answer import Answer

#: What varies between the points: the load, the queue of each direction, and who loads the line.
FACTORS = ("load", "up", "down", "congestion")

Row = tuple[str, str, str, str]


@dataclass(frozen=True, repr=False)
class LineFit(Experiment, Drawn):
    """A line that was fitted to a measurement.

    Parameters
    ----------
    given_name
        What the results are called.
    found
        What was found.
    seeds
        Those of every point.
    rows
        What was simulated: load, queue up, queue down, and congestion control.
    """

    kind = "line"

    given_name: str
    found: Found
    seeds: tuple[int, ...]
    rows: tuple[Row, ...]

    def __repr__(self) -> str:
        """Say what was fitted, and how well."""
        grade = f", fit {self.grade}" if self.grade else ""
        return f"<LineFit {self.given_name!r}: {self.found.source}{grade}>"

    @property
    def name(self) -> str:
        """What its results are called."""
        return self.given_name

    @property
    def title(self) -> str:
        """Nothing: a measurement has no title."""
        return ""

    @property
    def estimates(self) -> LineEstimates:
        """What was estimated of the line."""
        return self.found.estimates

    @property
    def queues(self) -> Mapping[Direction, QueueGuess]:
        """Which queue each direction has."""
        return self.found.guesses

    @property
    def grade(self) -> str:
        """How well the simulated line agrees with the measurement; empty where nobody knows."""
        return self.found.grade

    @property
    def scenario(self) -> str:
        """The line as the text of a scenario."""
        return self.found.scenario

    @functools.cached_property
    def design(self) -> Design:
        """What was simulated, one by one."""
        columns: Sequence[Sequence[str]] = list(zip(*self.rows, strict=True)) or [()] * len(FACTORS)
        factors = []
        for name, values in zip(FACTORS, columns, strict=True):
            labels = tuple(dict.fromkeys(values))
            factors.append((Factor(name, name, labels, labels, "given"),))
        return Design(tuple(factors), self.seeds, settings=make_settings(list(self.rows)))

    @functools.cached_property
    def summary(self) -> pl.DataFrame:
        """Means over seeds with intervals."""
        if self.table.is_empty():
            return self.table
        keys = ["setting", *FACTORS, "measure", "subject", "direction", "metric", "unit"]
        return summarise_means(self.table, keys)

    @property
    def answer(self) -> Answer:
        """The answer with which a page or command begins."""
        return answer_fit(self.found)

    def draw_figures(self) -> list[Figure]:
        """Draw the figures of its page."""
        from headend.fitting.figure import draw_fit

        return draw_fit(self.found)

    def list_files(self) -> dict[str, bytes]:
        """Give the scenario, by the name of its file."""
        return {FILE: self.found.scenario.encode()}

    def describe(self) -> dict[str, Any]:
        """Give what the manifest keeps besides the design."""
        return {"found": self.found.to_dict(), "simulated": [list(row) for row in self.rows]}


def choose_fit_folder(name: str) -> Path:
    """Give the folder of its results."""
    return Path("results") / "import" / name


def open_fit_folder(folder: Path, name: str, *, force: bool = False) -> None:
    """Make the folder before anything is run; refuse the results of another line."""
    open_named(folder, LineFit.kind, name, force=force)


def load_fit(folder: str | Path) -> LineFit:
    """Read a result back, without running anything.

    Raises
    ------
    InputError
        When it is damaged, or when the folder holds something else.
    """
    folder = Path(folder)
    manifest, table = read_experiment(folder, LineFit.kind)
    try:
        rows = [tuple(map(str, row)) for row in manifest["simulated"]]
        result = LineFit(
            str(manifest["name"]),
            Found.from_dict(manifest["found"]),
            tuple(map(int, manifest["design"]["seeds"])),
            tuple((load, up, down, congestion) for load, up, down, congestion in rows),
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
