"""A comparison in Python: its runs, its folder and its report; and reading its runs back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.comparison.board import NAME as FIGURES
from headend.comparison.board import tabulate_figures
from headend.comparison.comparison import (
    Variant,
    gather_variants,
    label_distinctly,
)
from headend.comparison.contrast import answer_comparison
from headend.comparison.grid import Grid, find_grid, name_choices
from headend.comparison.notes import warn_of_variants
from headend.design.varying import check_labels
from headend.errors import InputError, refuse_unwritable, take_path
from headend.results.export import export_results
from headend.results.folder import MANIFEST, REPORT, encode_json, name_folders
from headend.results.record import RESULT_FORMAT, list_names_of, read_manifest
from headend.results.scratch import write_bytes
from headend.results.seal import SEALS, read_sealed
from headend.running.keeping import Saved
from headend.running.result import Result
from headend.text.wording import list_names
from headend.version import read_version
from headend.wording.answer import Answer

if TYPE_CHECKING:
    import polars as pl

    from headend.figures import Figure

#: Flows that one error names at most.
MOST_NAMED = 6

#: Names in a comparison's folder that no folder of a run may have.
TAKEN = (MANIFEST, SEALS, REPORT, "figures")


@dataclass(repr=False)
class Comparison(Saved):
    """Several runs side by side."""

    results: list[Result]
    name: str
    title: str = ""
    folder: Path | None = field(default=None, compare=False)
    #: The names of requested runs that did not finish.
    unfinished: list[str] = field(default_factory=list)
    #: The seeds of the unfinished runs, by the label of their setting.
    missing_seeds: dict[str, list[int]] = field(default_factory=dict)

    @property
    def variants(self) -> list[Variant]:
        """The settings, each with its runs."""
        return gather_variants(self.results)

    @property
    def grid(self) -> Grid:
        """What was varied: one choice, or a grid of tiers and choices."""
        return find_grid(self.variants)

    @property
    def answer(self) -> Answer:
        """Which setting suits the people on the line: question, answer, matrix, and figure."""
        return answer_comparison(self.variants, self.missing_seeds)

    def present(self) -> tuple[Answer, list[Figure]]:
        """Give the answer and all figures of its page."""
        from headend.figures import draw_figures
        from headend.pages.comparison import INSTEAD

        figures = draw_figures(self.results)
        names = [figure.name for figure in figures]
        return self.answer.settle_why(names, INSTEAD), figures

    def __repr__(self) -> str:
        """Say what was compared; the runs are in ``results``."""
        labels = list_names([variant.label for variant in self.variants], MOST_NAMED)
        count = len({result.manifest["seed"] for result in self.results})
        seeds = f"{count} seeds" if count != 1 else "1 seed"
        lacking = f", {len(self.unfinished)} not finished" if self.unfinished else ""
        return f"<Comparison {self.title or self.name!r}: {labels}; {seeds}{lacking}>"

    def to_csv(
        self, folder: str | Path, *, tables: Sequence[str] | None = None, force: bool = False
    ) -> list[Path]:
        """Write the tables of all runs as CSV, with ``label`` and ``seed``; and ``figures_table``.

        Parameters
        ----------
        folder, tables, force
            As of ``Result.to_csv``.

        Returns
        -------
        list of Path
            The files that were written.
        """
        return export_results(
            self.results, folder, tables=tables, force=force, beside={FIGURES: self.figures_table}
        )

    @property
    def figures_table(self) -> pl.DataFrame:
        """Means over seeds, intervals, differences, marks, as ``tabulate_figures`` gives them."""
        return tabulate_figures(self.variants)

    @property
    def warnings(self) -> list[str]:
        """Warnings about the comparison, besides those of its runs."""
        return warn_of_variants(self.variants, self.missing_seeds)

    def report(self, path: str | Path) -> Path:
        """Write the self-contained report over all runs."""
        from headend.pages.page import write_report

        return write_report(
            self.results,
            take_path(path, "path"),
            title=self.title,
            unfinished=self.unfinished,
            missing_seeds=self.missing_seeds,
        )

    def rename(self, labels: Sequence[str]) -> None:
        """Call the settings by other labels: one for each or, of a grid, for each choice.

        Raises
        ------
        InputError
            When there are not as many, or two are alike.
        """
        variants, grid = self.variants, self.grid
        check_labels(labels, len(variants), len(grid.choice.values) if grid.is_several else 0)
        if len(labels) == len(variants):
            for variant, label in zip(variants, labels, strict=True):
                for result in variant.results:
                    result.label = label
        elif labels:
            name_choices(grid, labels)
        self.missing_seeds = {
            variant.results[0].label: self.missing_seeds[variant.label]
            for variant in variants
            if variant.label in self.missing_seeds
        }

    def write_into(self, folder: Path) -> None:
        """Write runs and manifest into a folder that exists."""
        variants = self.variants
        names = []
        for variant, stem in zip(
            variants, name_folders([variant.label for variant in variants], TAKEN), strict=True
        ):
            for result in variant.results:
                several = len(variant.results) > 1
                names.append(f"{stem}/seed-{result.manifest['seed']}" if several else stem)
                (folder / names[-1]).mkdir(parents=True)
                result.write_into(folder / names[-1])
        first = self.results[0].manifest
        manifest = {
            "headend": read_version(),
            "format": RESULT_FORMAT,
            "kind": "comparison",
            "name": self.name,
            "title": self.title,
            **{key: first[key] for key in ("design",) if key in first},
            "runs": names,
            "unfinished": self.unfinished,
            "missing_seeds": self.missing_seeds,
        }
        write_bytes(folder / MANIFEST, encode_json(manifest))


def load_comparison(folders: Sequence[str | Path]) -> Comparison:
    """Read the runs of results folders side by side, with what those of comparisons lack."""
    results = load_results(folders)
    first = Path(folders[0])
    manifest = read_manifest(first) if len(folders) == 1 else {}
    unfinished: list[str] = []
    missing: dict[str, list[int]] = {}
    for folder in map(Path, folders):
        own = read_manifest(folder)
        names = map(str, own.get("unfinished", []))
        unfinished += [f"{name} of {folder}" if len(folders) > 1 else name for name in names]
        for result in results:
            if result.folder and folder in result.folder.parents:
                seeds = own.get("missing_seeds", {}).get(result.manifest["label"], [])
                known = missing.setdefault(result.label, [])
                known += [seed for seed in seeds if seed not in known]
    return Comparison(
        results,
        str(manifest.get("name", first.name)),
        str(manifest.get("title", "")),
        first if len(folders) == 1 else None,
        unfinished,
        {label: seeds for label, seeds in missing.items() if seeds},
    )


def load_results(folders: Sequence[str | Path]) -> list[Result]:
    """Read the runs of results folders; a comparison's folder stands for all its runs."""
    results: list[Result] = []
    found: set[Path] = set()
    for folder in map(Path, folders):
        manifest = read_manifest(folder)
        is_run = manifest.get("kind") != "comparison"
        for run in [folder] if is_run else _list_runs(folder, manifest):
            if run.resolve() in found:
                raise InputError(f"{run}: given twice")
            found.add(run.resolve())
            results.append(Result.load(run))
    label_distinctly(results)
    if len(folders) > 1:
        _refuse_unrelated(results)
    return results


def _refuse_unrelated(results: Sequence[Result]) -> None:
    """Refuse a run that shares no flow with any other run, since it cannot be compared."""
    flows = [list_names_of(result, "flow") for result in results]
    for number, own in enumerate(flows):
        others = set().union(*(other for at, other in enumerate(flows) if at != number))
        if others and not own & others:
            raise InputError(
                f"{results[number].folder}: nothing to compare: none of its flows"
                f" ({list_names(sorted(own), MOST_NAMED)}) is in the other runs"
                f" ({list_names(sorted(others), MOST_NAMED)}); compare runs of one scenario"
            )


def _list_runs(folder: Path, manifest: Mapping[str, Any]) -> list[Path]:
    """List the folders of a comparison's runs; its own seals cover those of the runs."""
    names = manifest.get("runs")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f'{folder / MANIFEST}: damaged: expected a list of folders in "runs"')
    for name in names:
        refuse_unwritable(name)
        read_sealed(folder, f"{name}/{SEALS}")
    return [folder / name for name in names]
