"""The page of several runs beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headend.comparison.board import tabulate_board, tabulate_outcomes
from headend.comparison.comparison import Variant, compare_figures, gather_variants
from headend.comparison.contrast import answer_comparison
from headend.comparison.grid import Tier, find_grid
from headend.comparison.notes import (
    MissingSeeds,
    describe_unfinished,
    list_missed,
    warn_of_variants,
)
from headend.pages.run import describe_partial, section_method, section_modem_files, section_tables
from headend.pages.section import Line, Page, Section, capitalise_first, fold, text
from headend.scenario.modems import describe_shared
from headend.wording.flow_tables import tabulate_expectations
from headend.wording.run import describe_so_far
from headend.wording.table import Table, make_table
from headend.wording.verdict import judge, note_comparison

if TYPE_CHECKING:
    from headend.figures import Figure
    from headend.results.record import Record

#: The most rows of an open board; a longer one is folded.
MOST_OPEN = 14

#: Missed expectations that the first screen names; the table has them all.
MOST_MISSED = 3

#: Figures to show where the page does not have the one that the answer names, the best first.
INSTEAD = ("queue", "queue-delay", "delay")


def describe_comparison(
    results: Sequence[Record],
    figures: Sequence[Figure],
    unfinished: Sequence[str],
    missing_seeds: MissingSeeds,
) -> Page:
    """Make the page of several runs.

    Parameters
    ----------
    results
        The runs; those of one label are of one setting, with different seeds.
    figures
        Those of the page.
    unfinished
        Requested runs that did not finish.
    missing_seeds
        The seeds of the unfinished runs, by the label of their setting.
    """
    variants = gather_variants(results)
    pooled = [variant.pool() for variant in variants]
    is_alone = len(pooled) == 1
    files: list[dict[str, Any]] = []
    for result in pooled:
        files += [file for file in result.manifest.get("modem_files", []) if file not in files]
    tiers = find_grid(variants).tiers
    differences = tabulate_differences(
        [(result.label, result.manifest["scenario"]) for result in pooled]
    )
    sections = [*_section_description(pooled), *_section_expectations(variants, pooled)]
    for tier in tiers:
        if is_alone:
            sections += section_tables(pooled[0], judge(pooled[0]), "People")
        sections += _section_tier(tier, missing_seeds, is_alone=is_alone, is_only=len(tiers) == 1)
    sections += section_modem_files(files)
    if differences.rows:
        sections.append(fold("What differs between the runs", differences, is_minor=True))
    of_runs = (text for result in pooled for text in result.warnings)
    labels = ["" if is_alone else result.label for result in pooled]
    seeds = [variant.seeds for variant in variants]
    return Page(
        pooled[0].title,
        answer_comparison(variants, missing_seeds).settle_why(
            [figure.name for figure in figures], INSTEAD
        ),
        figures,
        sections,
        section_method(list(zip(pooled, seeds, labels, strict=True))),
        _list_notices(variants, pooled, unfinished),
        capitalise_first([describe_shared([result.manifest["scenario"] for result in pooled])]),
        list(dict.fromkeys([*warn_of_variants(variants, missing_seeds), *of_runs])),
        columns="choices",
    )


def _list_notices(
    variants: Sequence[Variant], pooled: Sequence[Record], unfinished: Sequence[str]
) -> list[Line]:
    """Write what the first screen must say: unfinished runs, partial runs, missed expectations."""
    notices: list[Line] = []
    if unfinished:
        sentences = (
            f" The comparison was stopped. {describe_unfinished(unfinished)} Everything here is of"
            " what is kept."
        )
        notices.append((("Partial.", "strong"), sentences))
    notices += describe_partial(pooled, is_named=True)
    missed = [(label, line.partition(": ")[2]) for label, line in list_missed(variants)]
    for label, outcome in missed[:MOST_MISSED]:
        under = f" under {label}" if len(pooled) > 1 else ""
        notices.append(((f"Missed{under}:", "strong"), f" {outcome}"))
    if more := len(missed[MOST_MISSED:]):
        notices.append(((f"{more} more missed", "#expectations"),))
    return notices


def _section_description(pooled: Sequence[Record]) -> list[Section]:
    """Make the section of what the scenario says of itself, if it is one scenario."""
    description = pooled[0].manifest["description"]
    is_shared = len({result.title for result in pooled}) == 1
    return [text(description, title=pooled[0].title)] if description and is_shared else []


def _section_expectations(variants: Sequence[Variant], pooled: Sequence[Record]) -> list[Section]:
    """Make the section of each expectation of each run; over several seeds, of those missed."""
    runs = [result for variant in variants for result in variant.results]
    outcomes = [(outcome, result) for result in runs for outcome in result.expectations]
    if not outcomes:
        return []
    parts = []
    is_brief = len(runs) > len(pooled)
    missed = [(outcome, result) for outcome, result in outcomes if not outcome.met]
    if is_brief:
        met = len(outcomes) - len(missed)
        ending = "; those missed:" if missed else "."
        so_far = next(filter(None, map(describe_so_far, runs)), "")
        parts.append(text(f"Met in {met} of {len(outcomes)} cases over all seeds{so_far}{ending}"))
    listed = missed if is_brief else outcomes
    labels = [
        result.label + (f", seed {result.manifest['seed']}" if is_brief else "")
        for _, result in listed
    ]
    if listed:
        table = tabulate_expectations(
            [outcome for outcome, _ in listed], [run for _, run in listed], labels
        )
        parts.append(Section("table", table))
    return [Section("sections", parts, "Expectations", anchor="expectations")]


def _section_tier(
    tier: Tier, missing_seeds: MissingSeeds, *, is_alone: bool, is_only: bool
) -> list[Section]:
    """Make the sections of a tier: how flows fared in words, then the figures; over all seeds."""
    variants = tier.present
    suffix = f", {tier.label}" if tier.label else ""
    sections = []
    if not is_alone:
        pooled = [variant.pool() for variant in variants]
        verdicts = [judge(result) for result in pooled]
        notes = text(*note_comparison(pooled, verdicts))
        sections.append(fold(f"In words{suffix}", tabulate_outcomes(pooled, verdicts), notes))
    if sum(len(variant.results) for variant in variants) > 1:
        rows = compare_figures(variants)
        is_open = is_only and len(rows) <= MOST_OPEN
        sections.append(
            fold(
                f"In figures{suffix}",
                tabulate_board(variants, rows, missing_seeds),
                is_open=is_open,
            )
        )
    return sections


def tabulate_differences(scenarios: Sequence[tuple[str, dict[str, Any]]]) -> Table:
    """Give a row for each path in which labelled, resolved scenarios differ."""
    flat = [dict(_flatten(scenario)) for _, scenario in scenarios]
    paths = list(dict.fromkeys(path for item in flat for path in item))
    values = {path: [str(item.get(path, "–")) for item in flat] for path in paths}
    rows = [(path, *texts) for path, texts in values.items() if len(set(texts)) > 1]
    return make_table("path", [label for label, _ in scenarios], rows)


def _flatten(value: Any, path: str = "") -> list[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        return [
            pair
            for key, item in value.items()
            for pair in _flatten(item, f"{path}.{key}" if path else key)
        ]
    return [(path, value)]
