"""Notes on a comparison: what to know before it is trusted, and expectations that were missed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from headend.analysis.diagnosis import find_reservations
from headend.results.outcome import NOTHING_MEASURED
from headend.results.record import list_names_of
from headend.text.quantity import format_quantity
from headend.text.wording import list_names
from headend.wording.emulation import name_kind
from headend.wording.facts import describe_facts
from headend.wording.run import describe_so_far

if TYPE_CHECKING:
    from headend.comparison.comparison import Variant
    from headend.results.outcome import Outcome

#: Seeds and runs that a sentence names at most.
MOST_NAMED = 6

#: What is no sign of another scenario, by kind: with or without what the key ``router`` makes is a
#: choice.
CHOSEN = {"flow": frozenset({"autorate"}), "link": frozenset({"router"})}

Key = TypeVar("Key")

#: Seeds that the runs of a variant were to have and that an interruption left out, by its label.
MissingSeeds = Mapping[str, Iterable[int]]


def warn_of_variants(
    variants: Sequence[Variant], missing_seeds: MissingSeeds = MappingProxyType({})
) -> list[str]:
    """Say what to read before variants are compared, in sentences without their full stop."""
    return [
        *_warn_of_kinds(variants),
        *_warn_of_others(variants),
        *_warn_of_seeds(variants, missing_seeds),
        *_warn_of_lengths(variants),
        *_warn_of_parts(variants),
    ]


def _group(pairs: Iterable[tuple[Key, str]]) -> dict[Key, list[str]]:
    """Gather the labels of all variants of which the same is to be said."""
    labels: dict[Key, list[str]] = {}
    for key, label in pairs:
        own = labels.setdefault(key, [])
        if label not in own:
            own.append(label)
    return labels


def _list_groups(labels: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{', '.join(own)}: {text}" for text, own in labels.items())


def _warn_of_kinds(variants: Sequence[Variant]) -> list[str]:
    """Say so where numbers come from different programs: simulated, real or recorded."""
    labels = _group((name_kind(run), one.label) for one in variants for run in one.results)
    if len(labels) < 2:
        return []
    told = _list_groups(labels)
    return [
        f"the runs compared did not come about in the same way ({told}), so what sets them apart"
        " may be that and not the choice"
    ]


def describe_caveats_of(variants: Sequence[Variant]) -> tuple[str, ...]:
    """Say of which runs no number is to be believed, and why: a comparison's first sentences."""
    labels = _group(
        (text, one.label)
        for one in variants
        for run in one.results
        for text in describe_facts(find_reservations(run))
    )
    if len(variants) == 1:
        return tuple(labels)
    return tuple(
        told.replace(":", f" ({list_names(own, MOST_NAMED)}):", 1) for told, own in labels.items()
    )


def _warn_of_others(variants: Sequence[Variant]) -> list[str]:
    """Say so where variants have other flows or links, and so are of different scenarios."""
    found = []
    for kind, chosen in CHOSEN.items():
        labels = _group(
            (tuple(sorted({*list_names_of(one.results[0], kind)} - chosen)), one.label)
            for one in variants
        )
        if len(labels) > 1:
            common = set.intersection(*map(set, labels))
            told = "; ".join(
                f"only {', '.join(own)}: {list_names(only, MOST_NAMED)}"
                for names, own in labels.items()
                if (only := [name for name in names if name not in common])
            )
            found.append(
                f"the runs compared do not have the same {kind}s ({told}): they are of different"
                " scenarios, so what sets them apart may be that and not the choice"
            )
    return found


def _warn_of_parts(variants: Sequence[Variant]) -> list[str]:
    """Say so where means hold runs that were stopped; a single or shown run says so itself."""
    names = [
        f"{variant.label}, seed {result.manifest['seed']}"
        for variant in variants
        for result in variant.results[1:]
        if result.is_partial
    ]
    told = list_names(names, MOST_NAMED, "; ")
    return [f"the means hold runs that were stopped before their end ({told})"] if names else []


def _warn_of_seeds(variants: Sequence[Variant], missing_seeds: MissingSeeds) -> list[str]:
    """Say so where variants were not to be run with the same seeds."""
    asked = {
        frozenset([*variant.seeds, *missing_seeds.get(variant.label, ())]) for variant in variants
    }
    if len(asked) < 2:
        return []
    labels = _group((tuple(sorted(variant.seeds)), variant.label) for variant in variants)
    told = "; ".join(f"{', '.join(own)}: {write_seeds(seeds)}" for seeds, own in labels.items())
    return [
        f"the runs compared do not have the same seeds ({told}): another seed is other traffic, so"
        " what sets them apart may be that and not the choice; run all of them with the same"
        " seeds"
    ]


def lacks_seeds(variants: Sequence[Variant], missing_seeds: MissingSeeds) -> bool:
    """Say whether a stop left out further seeds of any of some variants."""
    return any(set(missing_seeds.get(one.label, ())) - set(one.seeds) for one in variants)


def _warn_of_lengths(variants: Sequence[Variant]) -> list[str]:
    """Say so where whole runs were not measured over the same time; stopped runs are told apart."""
    labels: dict[str, list[str]] = {}
    for variant in variants:
        whole = [result.manifest for result in variant.results if not result.is_partial]
        lengths = sorted({run["simulated_ns"] - run.get("warmup_ns", 0) for run in whole})
        if lengths:
            own = ", ".join(format_quantity(length, "time") for length in lengths)
            labels.setdefault(own, []).append(variant.label)
    if len(labels) < 2:
        return []
    told = _list_groups(labels)
    return [
        f"the runs compared were not measured over the same time ({told}), so what sets them apart"
        " may be that: a longer run has more of what is rare and less of how it starts; to compare"
        " another choice, give all of them the same duration and warm-up"
    ]


def write_seeds(seeds: Sequence[int]) -> str:
    """Write seeds one after the other, the first ones where there are many."""
    more = ", …" if len(seeds) > MOST_NAMED else ""
    return ", ".join(map(str, seeds[:MOST_NAMED])) + more


def describe_unfinished(names: Sequence[str]) -> str:
    """Say which runs a comparison lacks, in a sentence; nothing where it has all."""
    if not names:
        return ""
    separator = "; " if any("," in name for name in names) else ", "
    return f"Not finished: {list_names(names, MOST_NAMED, separator)}."


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
                f" {where}{describe_measured(outcomes)}{describe_so_far(variant.results[0])}",
            )


def describe_measured(outcomes: Sequence[Outcome]) -> str:
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
