"""What the page of several runs shows, for its template ``compare.html.j2``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headend.judging.bottleneck import gather_queues
from headend.judging.caveats import MissingSeeds, tell_unfinished, warn_of_variants
from headend.judging.channels import gather_channels
from headend.judging.comparison import (
    compare_figures,
    explain_board,
    gather_variants,
    name_shown_seed,
)
from headend.judging.verdict import (
    Verdict,
    describe_shared_queue,
    judge,
    pair_parties,
    summarise_comparison,
)
from headend.scenario.groups import MOST_LISTED

if TYPE_CHECKING:
    from headend.results.record import Record


@dataclass(frozen=True)
class Shown:
    """One run as the page shows it."""

    result: Record
    verdict: Verdict


def describe_comparison(
    results: Sequence[Record], unfinished: Sequence[str], missing_seeds: MissingSeeds
) -> dict[str, Any]:
    """Gather what the template of several runs needs, besides the title and the figures.

    Parameters
    ----------
    results
        The runs; those of one label are of one setting, with different seeds.
    unfinished
        Runs that were asked for too and did not come to their end.
    missing_seeds
        The seeds that these were to have, by the label of their setting.
    """
    variants = gather_variants(results)
    has_board = len(results) > 1
    results = [variant.results[0] for variant in variants]
    verdicts = [judge(result) for result in results]
    of_runs = (text for result in results for text in result.warnings)
    warnings = [*warn_of_variants(variants, missing_seeds), *of_runs]
    return {
        "shown": [Shown(*pair) for pair in zip(results, verdicts, strict=True)],
        "unfinished": tell_unfinished(unfinished),
        "warnings": list(dict.fromkeys(warnings)),
        "summary": summarise_comparison(results, verdicts) if len(results) > 1 else [],
        "people": pair_parties(verdicts),
        "channels": gather_channels(results[0]) if len(results) == 1 else [],
        "parties_of_queues": gather_queues(results[0]) if len(results) == 1 else [],
        "most_listed": MOST_LISTED,
        "variants": variants,
        "shown_seed": name_shown_seed(variants),
        "board": compare_figures(variants) if has_board else [],
        "reading": explain_board(variants) if has_board else "",
        "queues": describe_shared_queue(results),
        "differences": find_differences([result.manifest["scenario"] for result in results]),
    }


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
