"""The result of a sweep: its table, what follows from it, its folder and its page."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.analysis.criteria import read_criteria
from headend.design.design import Design
from headend.design.factor import Factor
from headend.errors import InputError
from headend.pages.notebook import Drawn
from headend.results.experiment import Experiment, check_fit, open_experiment, read_experiment
from headend.results.folder import MANIFEST
from headend.sweeps.answering import answer_sweep
from headend.sweeps.concluding import conclude
from headend.sweeps.conclusion import Conclusion
from headend.sweeps.definition import Sweep
from headend.sweeps.summary import summarise
from headend.wording.answer import Answer

if TYPE_CHECKING:
    import polars as pl

    from headend.figures import Figure


@dataclass(frozen=True, repr=False)
class SweepResult(Experiment, Drawn):
    """A sweep's results: ``table`` has all points, ``summary`` means, ``conclusion`` the best.

    A notebook shows it with its question, its answer, the best settings, and the figure that shows
    why.
    """

    kind = "sweep"

    sweep: Sweep

    def __repr__(self) -> str:
        """Say what was swept; table and summary are attributes."""
        axes = ", ".join(f"{len(axis.labels)} × {axis.name}" for axis in self.design.factors)
        count = len(self.design.seeds)
        told = [axes, f"{count} seeds" if count != 1 else "1 seed"]
        if self.failures:
            told.append(f"{len(self.failures)} points failed")
        if not self.complete:
            told.append("not run to its end")
        return f"<SweepResult {self.title or self.name!r}: {'; '.join(told)}>"

    @property
    def name(self) -> str:
        """What the sweep is called."""
        return self.sweep.name

    @property
    def title(self) -> str:
        """The sweep's title, or nothing."""
        return self.sweep.title

    @property
    def design(self) -> Design:
        """What was varied, and with which seeds."""
        return self.sweep.design

    @functools.cached_property
    def summary(self) -> pl.DataFrame:
        """Means over seeds with intervals, and paired differences, as `summarise` gives them."""
        return summarise(self.sweep, self.table)

    @functools.cached_property
    def conclusion(self) -> Conclusion:
        """The best setting along each axis, knees, trade-off, and the variance by axis."""
        conclusion = conclude(self.sweep, self.table)
        return conclusion if self.complete else conclusion.leave_open()

    @property
    def answer(self) -> Answer:
        """The answer with which a page or command begins."""
        return answer_sweep(self.conclusion)

    def draw_figures(self) -> list[Figure]:
        """Draw the figures of its page."""
        from headend.sweeps.figure import draw_sweep

        return draw_sweep(self.conclusion, self.summary)

    def describe(self) -> dict[str, Any]:
        """Give what the manifest keeps besides the design, for figures without the sweep's file."""
        return {
            "scenarios": self.design.list_scenarios(),
            "description": self.sweep.description,
            "measures": dict(self.sweep.measures),
            "compare": self.sweep.compare,
            "wish": self.sweep.criteria.to_dict(),
        }


def choose_sweep_folder(name: str) -> Path:
    """Give the folder a sweep's results go to; running it again goes on from what is there."""
    return Path("results") / "sweeps" / name


def open_sweep_folder(folder: Path, sweep: Sweep, *, force: bool = False) -> None:
    """Make the folder; refuse the results of another name, or over none of the same scenarios."""

    def tell_apart(manifest: Mapping[str, Any]) -> tuple[str, str] | None:
        name, scenarios = manifest.get("name", sweep.name), manifest.get("scenarios")
        own = sweep.design.list_scenarios()
        # Where a sweep stopped short, or before scenarios were noted, the name alone tells.
        if name == sweep.name and (scenarios is None or set(scenarios) & set(own)):
            return None
        return _name_sweep(name, scenarios or []), _name_sweep(sweep.name, own)

    open_experiment(folder, SweepResult.kind, tell_apart, force=force)


def _name_sweep(name: str, scenarios: Sequence[str]) -> str:
    """Name a sweep with what it is over."""
    over = ", ".join(filter(None, scenarios))
    return f'"{name}" over {over}' if over else f'"{name}"'


def load_sweep(folder: str | Path, *, is_partial_read: bool = False) -> SweepResult:
    """Read the results of a sweep.

    Parameters
    ----------
    folder
        Of the results.
    is_partial_read
        Whether a sweep that was stopped is read too, as far as it was run; its notes then begin
        with how far that is.

    Raises
    ------
    InputError
        When it was not run to its end, when it is damaged, or when an older headend wrote it; then
        running it again mends that.
    """
    folder = Path(folder)
    manifest, table = read_experiment(folder, SweepResult.kind, is_partial_read=is_partial_read)
    try:
        sweep = Sweep(
            name=manifest["name"],
            design=_read_design(manifest),
            measures=manifest["measures"],
            compare=manifest["compare"],
            title=manifest["title"],
            description=manifest["description"],
            criteria=read_criteria(manifest.get("wish", {}), manifest["measures"]),
        )
        notes = tuple(map(str, manifest.get("warnings", ())))
        points = tuple(map(str, manifest.get("points", ())))
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{folder / MANIFEST}: damaged: {error}") from error
    if sweep.compare and sweep.compare not in sweep.design.names:
        raise InputError(f'{folder / MANIFEST}: damaged: no axis is called "{sweep.compare}"')
    check_fit(sweep.design, table, folder)
    complete = bool(manifest["complete"])
    result = SweepResult(
        sweep, table=table, complete=complete, folder=folder, notes=notes, points=points
    )
    if complete:
        return result
    return replace(result, notes=(_describe_partial(result), *notes))


def _describe_partial(result: SweepResult) -> str:
    """Say how far a sweep was run that was stopped, and how it goes on."""
    done, total = result.count_done(), result.design.count_points()
    return (
        f"The sweep was stopped: {done} of {total} points have a result. Run it again, with the"
        " same folder, and the others are run; these are kept."
    )


def _read_design(manifest: Mapping[str, Any]) -> Design:
    """Read the design, also of a manifest that holds its parts one by one."""
    if "design" in manifest:
        return Design.from_dict(manifest["design"])
    paths = manifest["axes"]
    return Design(
        tuple(
            tuple(
                Factor(paths[name], name, tuple(labels), tuple(labels))
                for name, labels in dimension.items()
            )
            for dimension in manifest["dimensions"]
        ),
        tuple(manifest["seeds"]),
    )
