"""Gathers the content of the page of several runs for its template ``compare.html.j2``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headend.analysis.bottleneck import gather_queues
from headend.analysis.channels import gather_channels
from headend.analysis.flow_groups import FlowGroup, pair_groups
from headend.analysis.queue_state import QueueState, describe_shared_queue
from headend.comparison.caveats import MissingSeeds, tell_unfinished, warn_of_variants
from headend.comparison.comparison import (
    Row,
    Variant,
    compare_figures,
    explain_board,
    gather_variants,
)
from headend.comparison.contrast import answer_comparison
from headend.comparison.grid import Tier, find_grid
from headend.comparison.missed import list_missed
from headend.scenario.groups import MOST_LISTED
from headend.scenario.modems import tell_shared
from headend.wording.flows import describe_marks
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


@dataclass(frozen=True)
class ShownTier:
    """The tables of one tier; all values are over all seeds.

    Parameters
    ----------
    label
        Empty where there is one tier alone.
    variants
        The settings of the tier.
    results
        The result of each over its seeds.
    notes
        Sentences about facts that the table of people does not have.
    people
        How each flow or group fared under each setting, by its label.
    queues
        The compared queue under each setting.
    board
        The rows of the figures.
    reading
        A sentence on how to read the figures.
    """

    label: str
    variants: list[Variant]
    results: list[Record]
    notes: list[str]
    people: list[tuple[str, list[FlowGroup | None]]]
    queues: list[QueueState | None]
    board: list[Row]
    reading: str


def describe_comparison(
    results: Sequence[Record],
    figures: Sequence[Figure],
    unfinished: Sequence[str],
    missing_seeds: MissingSeeds,
) -> dict[str, Any]:
    """Gather what the template of several runs needs, besides the title and the figures.

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
    grid = find_grid(variants)
    of_runs = (text for result in pooled for text in result.warnings)
    warnings = [*warn_of_variants(variants, missing_seeds), *of_runs]
    missed = [(label, told.partition(": ")[2]) for label, told in list_missed(variants)]
    return {
        "grades": describe_marks(
            name for result in pooled for name in result.flows["application"].to_list()
        ),
        "missed": missed[:MOST_MISSED],
        "missed_besides": len(missed[MOST_MISSED:]),
        "answer": answer_comparison(variants).settle_why(
            [figure.name for figure in figures], INSTEAD
        ),
        "configured": tell_shared([result.manifest["scenario"] for result in pooled]),
        "modem_files": _gather_files(pooled),
        "shown": pooled,
        "variants": variants,
        "unfinished": tell_unfinished(unfinished),
        "warnings": list(dict.fromkeys(warnings)),
        "tiers": [_show_tier(tier) for tier in grid.tiers],
        "most_open": MOST_OPEN,
        **(_show_alone(pooled[0]) if len(pooled) == 1 else {}),
        "differences": find_differences([result.manifest["scenario"] for result in pooled]),
    }


def _gather_files(results: Sequence[Record]) -> list[dict[str, Any]]:
    """Give what each modem's file set, once for each file and the keys that it set."""
    found: list[dict[str, Any]] = []
    for result in results:
        found += [one for one in result.manifest.get("modem_files", []) if one not in found]
    return found


def _show_alone(result: Record) -> dict[str, Any]:
    """Gather the tables for a comparison of one setting, over its seeds."""
    return {
        "verdict": judge(result),
        "channels": gather_channels(result),
        "parties_of_queues": gather_queues(result),
        "most_listed": MOST_LISTED,
    }


def _show_tier(tier: Tier) -> ShownTier:
    variants = tier.present
    pooled = [variant.pool() for variant in variants]
    verdicts = [judge(result) for result in pooled]
    has_board = sum(len(variant.results) for variant in variants) > 1
    return ShownTier(
        tier.label,
        variants,
        pooled,
        note_comparison(pooled, verdicts),
        pair_groups([verdict.groups for verdict in verdicts]),
        describe_shared_queue(pooled),
        compare_figures(variants) if has_board else [],
        explain_board(variants),
    )


def find_differences(scenarios: Sequence[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """Find what differs between resolved scenarios: the path, and its value in each."""
    flat = [dict(_flatten(scenario)) for scenario in scenarios]
    paths = list(dict.fromkeys(path for item in flat for path in item))
    rows = [(path, [str(item.get(path, "–")) for item in flat]) for path in paths]
    return [(path, values) for path, values in rows if len(set(values)) > 1]


def _flatten(value: Any, path: str = "") -> list[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        return [
            pair
            for key, item in value.items()
            for pair in _flatten(item, f"{path}.{key}" if path else key)
        ]
    return [(path, value)]
