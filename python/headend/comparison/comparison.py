"""Runs side by side: variants, each run with the same seeds, and what sets them apart."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from headend.analysis.estimate import (
    Estimate,
    estimate_mean,
    format_cell,
    format_difference,
    format_difference_cell,
)
from headend.analysis.lateness import find_emulation
from headend.analysis.ties import average, compare_seeds
from headend.comparison.pooling import pool_runs
from headend.comparison.scores import Mark, ScoredMetric, mark_values, score_runs
from headend.design.varying import label_values
from headend.results.record import Record
from headend.text.quantity import Unit, choose_unit, name_column


@dataclass(frozen=True)
class Variant:
    """One setting, with its run for each seed in the order they were asked for."""

    label: str
    results: list[Record]

    @property
    def seeds(self) -> list[int]:
        """The seeds it was run with."""
        return [result.manifest["seed"] for result in self.results]

    def pool(self) -> Record:
        """Give its runs as one result: means over seeds, distributions of all, and single runs."""
        pooled = pool_runs(self.results)
        return pooled if pooled.label == self.label else replace(pooled, label=self.label)


@dataclass(frozen=True)
class MetricCell:
    """A metric of one variant: over its seeds, beside the others, and against the first."""

    estimate: Estimate
    mark: Mark
    difference: Estimate | None


@dataclass(frozen=True)
class MetricRow:
    """A metric of all variants; None where one has not got it."""

    metric: ScoredMetric
    cells: list[MetricCell | None]

    @property
    def unit(self) -> Unit:
        """The unit that all its numbers are written in."""
        means = [cell.estimate.mean for cell in self.cells if cell]
        return choose_unit(means, self.metric.kind)

    @property
    def heading(self) -> str:
        """What it is called, with that unit; an arrow where more is better."""
        return f"{name_column(self.metric.name, self.unit)}{' ↑' if self.metric.rising else ''}"

    def write(self, cell: MetricCell) -> str:
        """Write the mean of a variant with its interval, in the row's unit."""
        return format_cell(cell.estimate, self.metric.kind, self.unit)

    def write_difference(self, cell: MetricCell) -> str:
        """Write the difference to the first variant; that between shares names its unit."""
        kind, level = self.metric.kind, cell.estimate.mean
        if cell.difference is None:
            return ""
        if kind == "ratio":
            return format_difference(cell.difference, kind, level=level)
        return format_difference_cell(cell.difference, kind, self.unit, level)


#: How runs of one seed get intervals: newly made ones, and finished ones.
ONE_SEED = (
    "One seed has no interval: with --vary, add --seeds 10; finished runs, run again with --seed 2,"
    " 3, … and compare all folders."
)

#: Why there is only one seed where more were asked for.
STOPPED_AT_ONE = "One seed has no interval: the comparison was stopped before it ran more."

#: Why runs that were stopped are not set against others.
UNEVEN = (
    "Some of these runs were stopped before their end, so they were not measured over the same"
    " time: they are not set against each other, and there is no best, worst or difference."
)


def gather_variants(results: Sequence[Record]) -> list[Variant]:
    """Put together the runs that are called the same: one setting with several seeds.

    Their runs are in the order of the results, but for a seed that all have, which comes first.
    """
    found: dict[str, list[Record]] = {}
    for result in results:
        found.setdefault(result.label, []).append(result)
    variants = [Variant(label, own) for label, own in found.items()]
    first = variants[0].seeds if variants else []
    common = next((s for s in first if all(s in variant.seeds for variant in variants)), None)
    for variant in variants:
        variant.results.sort(key=lambda result: result.manifest["seed"] != common)
    return variants


def share_seeds(variants: Sequence[Variant]) -> bool:
    """Say whether all variants were run with the same seeds."""
    return len({frozenset(variant.seeds) for variant in variants}) < 2


def is_uneven(variants: Sequence[Variant]) -> bool:
    """Say whether runs were stopped, and so measured over another time than others."""
    runs = [result for variant in variants for result in variant.results]
    lengths = {(run.manifest["simulated_ns"], run.manifest["warmup_ns"]) for run in runs}
    return len(lengths) > 1 and any(run.is_partial for run in runs)


def label_distinctly(results: Sequence[Record]) -> None:
    """Call settings by names of their own: if equal, by what was changed, by folder or by number.

    Runs of one setting with different seeds keep one name. Runs with real programs, which nobody
    names, are called by their folders.
    """
    if any(map(find_emulation, results)):
        settings = _gather_settings(results)
        names = [_name_folder(setting) for setting in settings]
        if len(settings) > 1 and all(names) and len(set(names)) == len(names):
            _rename(settings, names)
            return
    for label in dict.fromkeys(result.label for result in results):
        settings = _gather_settings([result for result in results if result.label == label])
        if len(settings) > 1:
            _rename(settings, _name_settings(label, settings))


def _rename(settings: Sequence[Sequence[Record]], names: Sequence[str]) -> None:
    for setting, name in zip(settings, names, strict=True):
        for result in setting:
            result.label = name


def _name_folder(setting: Sequence[Record]) -> str:
    return setting[0].folder.name if setting[0].folder else ""


def _gather_settings(results: Iterable[Record]) -> list[list[Record]]:
    """Put together the runs of each setting, which differ in their seeds."""
    settings: list[list[Record]] = []
    for result in results:
        own = next((one for one in settings if _is_same_setting(one, result)), None)
        if own is None:
            settings.append([result])
        else:
            own.append(result)
    return settings


def _is_same_setting(setting: Sequence[Record], result: Record) -> bool:
    seeds = {other.manifest["seed"] for other in setting}
    before, own = ({**run.manifest["scenario"], "seed": None} for run in (setting[0], result))
    return result.manifest["seed"] not in seeds and before == own


def _name_settings(label: str, settings: Sequence[Sequence[Record]]) -> list[str]:
    folders = list(map(_name_folder, settings))
    changes = [
        label_values(setting[0].manifest.get("overrides", [])) or f"{label} as written"
        for setting in settings
    ]
    chosen = [not re.fullmatch(rf"{re.escape(label)}(-\d+)?", folder) for folder in folders]
    for names in (folders, changes) if any(chosen) else (changes, folders):
        if all(names) and len(set(names)) == len(names):
            return names
    return [f"{label} ({number})" for number in range(1, len(settings) + 1)]


def compare_figures(variants: Sequence[Variant]) -> list[MetricRow]:
    """Compare variants by figure: means over seeds, best, worst, paired differences to the first.

    Runs that were stopped and measured over another time than the others are not set against them:
    there are only the means.
    """
    uneven = is_uneven(variants)
    scores = iter(score_runs([result for variant in variants for result in variant.results]))
    scored = [{seed: next(scores) for seed in variant.seeds} for variant in variants]
    metrics = dict.fromkeys(
        metric for by_seed in scored for score in by_seed.values() for metric in score
    )
    rows = []
    for metric in metrics:
        values = [
            {seed: score[metric] for seed, score in by_seed.items() if metric in score}
            for by_seed in scored
        ]
        means = [average(own) for own in values]
        if all(map(math.isnan, means)):
            continue
        marks: list[Mark] = [""] * len(values) if uneven else mark_values(values, metric)
        bounds = metric.bounds
        cells = [
            MetricCell(
                estimate_mean(list(own.values()), bounds),
                mark,
                compare_seeds(own, values[0], bounds)
                if number and not uneven and not math.isnan(means[number] + means[0])
                else None,
            )
            if own
            else None
            for number, (own, mark) in enumerate(zip(values, marks, strict=True))
        ]
        rows.append(MetricRow(metric, cells))
    order = list(dict.fromkeys(row.metric.subject for row in rows))
    return sorted(rows, key=lambda row: order.index(row.metric.subject))


def explain_board(variants: Sequence[Variant], *, is_stopped: bool = False) -> str:
    """Say how the figures of variants, or over the seeds of one, are to be read.

    Parameters
    ----------
    is_stopped
        Whether a stop left out further seeds.
    """
    base, others = variants[0], variants[1:]
    has_seeds = any(len(variant.results) > 1 for variant in variants)
    seeds = f"{len(base.seeds)} seeds ({', '.join(map(str, base.seeds))})"
    over = seeds if share_seeds(variants) else "the seeds of each run"
    means = f"Means over {over} with their 95 % intervals, as ± half the width or (from–to)."
    if not others:
        return means
    if is_uneven(variants):
        return f"{means} {UNEVEN}" if has_seeds else UNEVEN
    near = "5 % (a MOS: 0.1; a share: 0.1 pp too)"
    interval = " or within their interval" if has_seeds else ""
    worst = ", ✗ worst" if len(others) > 1 else ""
    parts = [f"✓ best{worst}; differences within {near}{interval} are ties."]
    if any(set(base.seeds) & set(variant.seeds) for variant in others):
        paired = ", paired by seed, with its own interval; * where that leaves out zero"
        parts.append(f"Δ is the difference to {base.label}{paired if has_seeds else ''}.")
    one_has = STOPPED_AT_ONE if is_stopped else ONE_SEED
    return " ".join([means, *parts] if has_seeds else [*parts, one_has])
