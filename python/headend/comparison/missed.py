"""The missed expectations of runs, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from headend.comparison.caveats import write_seeds
from headend.results.outcome import NOTHING_MEASURED

if TYPE_CHECKING:
    from headend.comparison.comparison import Variant
    from headend.results.outcome import Outcome
    from headend.results.record import Record


def list_missed(variants: Sequence[Variant]) -> Iterator[tuple[str, str]]:
    """Give each missed expectation as the variant's label and a line, over all its seeds."""
    for variant in variants:
        count = len(variant.results)
        missed: dict[str, list[tuple[int, Outcome]]] = {}
        for result in variant.results:
            for outcome in result.expectations:
                if not outcome.met:
                    missed.setdefault(outcome.name, []).append((result.manifest["seed"], outcome))
        for name, found in missed.items():
            outcomes = [outcome for _, outcome in found]
            seeds = write_seeds([seed for seed, _ in found])
            of = f"in {len(found)} of {count} seeds"
            where = "" if count == 1 else f"{of}, " if len(found) == count else f"{of} ({seeds}), "
            yield (
                variant.label,
                f"{name}: {outcomes[0].expected},"
                f" {where}{tell_measured(outcomes)}{tell_so_far(variant.results[0])}",
            )


def tell_so_far(result: Record) -> str:
    """Give the words to add to a measured value of a run that was stopped before its end."""
    return " so far" if result.is_partial else ""


def tell_measured(outcomes: Sequence[Outcome]) -> str:
    """Give the measured value of one expectation, or the range over the seeds."""
    found = sorted(
        (outcome.measured, outcome.measured_text)
        for outcome in outcomes
        if outcome.measured is not None
    )
    if not found:
        # Where all have one reason, it is said.
        told = {outcome.measured_text for outcome in outcomes}
        return told.pop() if len(told) == 1 else NOTHING_MEASURED
    (_, low), (_, high) = found[0], found[-1]
    return f"measured {low}" if low == high else f"measured {low} to {high}"
