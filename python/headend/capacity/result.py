"""The result: the share of people who suffer with each number of homes, its folder and page."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.analysis.estimate import Estimate, estimate_mean
from headend.analysis.summary import summarise_means
from headend.capacity.counting import CAPACITY, JUDGED, USED, Cause
from headend.capacity.request import Request
from headend.capacity.search import Trial, find_crossing, find_failing, find_sure
from headend.design.design import Design, make_settings
from headend.design.factor import Factor
from headend.errors import InputError
from headend.pages.notebook import Presented
from headend.results.experiment import Experiment, check_fit, open_experiment, read_experiment
from headend.results.folder import MANIFEST

if TYPE_CHECKING:
    import polars as pl

    from headend.figures import Figure
    from headend.wording.answer import Answer

#: Shares lie between these.
_SHARES = (0.0, 1.0)

#: All people together, beside groups of them.
EVERYBODY = "people"


@dataclass(frozen=True)
class Channel:
    """A channel that the homes share, and the average that a home needs of it, bit/s.

    Parameters
    ----------
    name
        Link and direction, such as ``cable.down``.
    needed
        With the least number of homes that was tried, and so with the least that is held back.
    """

    name: str
    capacity: float
    needed: float


@dataclass(frozen=True, repr=False)
class Capacity(Experiment, Presented):
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
    """

    kind = "capacity"

    given_name: str
    given_title: str
    asked: Mapping[str, Any]
    seeds: tuple[int, ...]
    numbers: tuple[int, ...]

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

    @property
    def most(self) -> float:
        """The largest share of people who may suffer from sharing."""
        return float(self.asked["share"])

    @functools.cached_property
    def groups(self) -> list[str]:
        """The groups of people."""
        if self.table.is_empty():
            return []
        rows = self.table.filter(self.table["metric"] == JUDGED)
        return list(dict.fromkeys(rows["subject"].to_list()))

    @functools.cached_property
    def _counts(self) -> dict[tuple[int, int], dict[tuple[str, str], float]]:
        """The values of each point, by number of homes and seed, and by subject and metric."""
        found: dict[tuple[int, int], dict[tuple[str, str], float]] = {}
        if self.table.is_empty():
            return found
        rows = self.table.filter(self.table["error"].is_null())
        columns = rows.select("homes", "seed", "subject", "metric", "value")
        for homes, seed, subject, metric, value in columns.iter_rows():
            found.setdefault((homes, seed), {})[subject, metric] = value
        return found

    def estimate(self, homes: int, *causes: Cause, group: str = EVERYBODY) -> Estimate | None:
        """Estimate the share of a group, or of everybody, who suffer from any of some causes.

        None where nobody was judged with this number.
        """
        groups = self.groups if group == EVERYBODY else [group]
        shares = []
        for seed in self.seeds:
            counts = self._counts.get((homes, seed), {})
            judged = sum(counts.get((own, JUDGED), 0) for own in groups)
            suffering = sum(counts.get((own, cause), 0) for own in groups for cause in causes)
            if judged:
                shares.append(suffering / judged)
        return estimate_mean(shares, _SHARES) if shares else None

    @functools.cached_property
    def trials(self) -> dict[int, Trial]:
        """What came of each number of homes."""
        shared = [cause for cause in Cause if cause.is_shared]
        return {number: Trial(self.estimate(number, *shared), self.most) for number in self.numbers}

    @property
    def crossing(self) -> tuple[int, int | None]:
        """The largest number of homes that suits by the mean, and the next that does not."""
        return find_crossing(self.trials)

    @property
    def sure(self) -> int:
        """The largest number of homes that suits over the whole interval."""
        return find_sure(self.trials)

    @property
    def failing(self) -> int | None:
        """The least number of homes that does not suit over the whole interval."""
        return find_failing(self.trials)

    @functools.cached_property
    def channels(self) -> list[Channel]:
        """The channels, with what a home needs of them."""
        known = [number for number, trial in self.trials.items() if trial.share]
        if not known:
            return []
        least = min(known)
        points = [counts for (homes, _), counts in self._counts.items() if homes == least]
        names = dict.fromkeys(
            subject for counts in points for subject, metric in counts if metric == USED
        )

        def average(name: str, metric: str) -> float:
            return sum(counts[name, metric] for counts in points) / len(points)

        return [
            Channel(name, average(name, CAPACITY), average(name, USED) / least) for name in names
        ]

    @property
    def answer(self) -> Answer:
        """The answer with which a page or command begins."""
        from headend.capacity.sentences import answer_capacity

        return answer_capacity(self)

    def draw_figures(self) -> list[Figure]:
        """Draw the figures of its page."""
        from headend.capacity.figure import draw_capacity

        return draw_capacity(self)

    def present(self) -> tuple[Answer, list[Figure]]:
        """Give the answer and all figures of its page."""
        figures = self.draw_figures()
        return self.answer.settle_why([figure.name for figure in figures]), figures

    def describe(self) -> dict[str, Any]:
        """Give what the manifest keeps besides the design."""
        return {"asked": dict(self.asked), "numbers": list(self.numbers)}


def choose_capacity_folder(name: str) -> Path:
    """Give the folder of its results; another run goes on from what is there."""
    return Path("results") / "capacity" / name


def open_capacity_folder(folder: Path, request: Request, *, force: bool = False) -> None:
    """Make the folder before anything is run; refuse the results of another scenario."""

    def tell_apart(manifest: Mapping[str, Any]) -> tuple[str, str] | None:
        name = str(manifest.get("name", request.name))
        return None if name == request.name else (f"of {name}", f"of {request.name}")

    open_experiment(folder, Capacity.kind, tell_apart, force=force)


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
