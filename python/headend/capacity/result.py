"""The result: the share of people who suffer with each number of homes, its folder and page."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.analysis.summary import summarise_means
from headend.capacity.findings import Findings, Street
from headend.capacity.request import Request
from headend.capacity.sentences import answer_capacity
from headend.design.design import Design, make_settings
from headend.design.factor import Factor
from headend.errors import InputError
from headend.pages.notebook import Drawn
from headend.results.experiment import Experiment, check_fit, open_named, read_experiment
from headend.results.folder import MANIFEST

if TYPE_CHECKING:
    import polars as pl

    from headend.figures import Figure
    from headend.wording.answer import Answer


@dataclass(frozen=True, repr=False)
class Capacity(Experiment, Drawn):
    """How many homes suit: ``crossing`` by the mean, ``sure`` over the whole interval.

    Parameters
    ----------
    given_name, given_title
        Of the scenario.
    asked
        What was asked, as the request gives it.
    seeds
        Those of every number.
    numbers
        The numbers of homes that were tried, in that order.
    files
        The scenario of the worst street, by the name of its file, as it is written; what is read
        back has none.
    """

    kind = "capacity"

    given_name: str
    given_title: str
    asked: Mapping[str, Any]
    seeds: tuple[int, ...]
    numbers: tuple[int, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Say how many homes suit."""
        state = "" if self.complete else ", not run to its end"
        return f"<Capacity {self.name!r}: {self.crossing[0]} homes{state}>"

    @property
    def name(self) -> str:
        """What the scenario is called."""
        return self.given_name

    @property
    def title(self) -> str:
        """The scenario's title, or nothing."""
        return self.given_title

    @functools.cached_property
    def design(self) -> Design:
        """The numbers of homes, one by one."""
        labels = tuple(dict.fromkeys(self.numbers))
        factor = Factor("homes", "homes", labels, labels, "given")
        rows = [(number,) for number in self.numbers]
        return Design(((factor,),), self.seeds, settings=make_settings(rows))

    @functools.cached_property
    def summary(self) -> pl.DataFrame:
        """Means over seeds with intervals."""
        keys = ["setting", "homes", "measure", "subject", "direction", "metric", "unit"]
        return summarise_means(self.table, keys)

    @functools.cached_property
    def findings(self) -> Findings:
        """Who suffers from what with each number of homes."""
        asked = self.asked
        return Findings(
            self.name,
            self.table,
            self.seeds,
            self.numbers,
            float(asked["share"]),
            asked.get("fastest", {}),
        )

    @property
    def crossing(self) -> tuple[int, int | None]:
        """The largest number of homes that suits by the mean, and the next that does not."""
        return self.findings.crossing

    @property
    def sure(self) -> int:
        """The largest number of homes that suits over the whole interval."""
        return self.findings.sure

    @property
    def answer(self) -> Answer:
        """The answer with which a page or command begins."""
        return answer_capacity(self.findings)

    def draw_figures(self) -> list[Figure]:
        """Draw the figures of its page."""
        from headend.capacity.figure import draw_capacity

        return draw_capacity(self.findings)

    @property
    def worst(self) -> Street | None:
        """The street with the most who suffer, whose scenario its folder has."""
        return self.findings.worst if self.complete else None

    def list_files(self) -> dict[str, bytes]:
        """Give the scenario of the worst street, by the name of its file."""
        return dict(self.files)

    def describe(self) -> dict[str, Any]:
        """Give what the manifest keeps besides the design."""
        return {"asked": dict(self.asked), "numbers": list(self.numbers)}


def choose_capacity_folder(name: str) -> Path:
    """Give the folder of its results; another run goes on from what is there."""
    return Path("results") / "capacity" / name


def open_capacity_folder(folder: Path, request: Request, *, force: bool = False) -> None:
    """Make the folder before anything is run; refuse the results of another scenario."""
    open_named(folder, Capacity.kind, request.name, force=force)


def load_capacity(folder: str | Path) -> Capacity:
    """Read a result back that was run to its end, without running anything.

    Raises
    ------
    InputError
        When it was not, when it is damaged, or when the folder holds something else.
    """
    folder = Path(folder)
    manifest, table = read_experiment(folder, Capacity.kind)
    try:
        result = Capacity(
            manifest["name"],
            manifest["title"],
            {**manifest["asked"], "share": float(manifest["asked"]["share"])},
            tuple(manifest["design"]["seeds"]),
            tuple(map(int, manifest["numbers"])),
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
