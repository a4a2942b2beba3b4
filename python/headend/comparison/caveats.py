"""What to know before a comparison is trusted: other seeds or lengths, parts, missing runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from headend.analysis.diagnosis import find_reservations
from headend.results.record import list_names_of
from headend.text.quantity import format_quantity
from headend.text.wording import list_names
from headend.wording.emulation import name_kind
from headend.wording.facts import describe_facts

if TYPE_CHECKING:
    from headend.comparison.comparison import Variant

#: Seeds that a sentence lists at most.
MOST_SEEDS_LISTED = 6

#: Runs that a sentence names at most.
MOST_NAMED = 6


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


def _warn_of_kinds(variants: Sequence[Variant]) -> list[str]:
    """Say so where numbers come from different programs: simulated, real or recorded."""
    labels: dict[str, list[str]] = {}
    for variant in variants:
        for kind in dict.fromkeys(map(name_kind, variant.results)):
            labels.setdefault(kind, []).append(variant.label)
    if len(labels) < 2:
        return []
    told = "; ".join(f"{', '.join(own)}: {kind}" for kind, own in labels.items())
    return [
        f"the runs compared did not come about in the same way ({told}), so what sets them apart"
        " may be that and not the choice"
    ]


def tell_caveats_of(variants: Sequence[Variant]) -> tuple[str, ...]:
    """Say of which runs no number is to be believed, and why: a comparison's first sentences."""
    labels: dict[str, list[str]] = {}
    for variant in variants:
        for told in dict.fromkeys(
            text for run in variant.results for text in describe_facts(find_reservations(run))
        ):
            labels.setdefault(told, []).append(variant.label)
    if len(variants) == 1:
        return tuple(labels)
    return tuple(
        told.replace(":", f" ({list_names(own, MOST_NAMED)}):", 1) for told, own in labels.items()
    )


def _warn_of_others(variants: Sequence[Variant]) -> list[str]:
    """Say so where variants have other flows or links, and so are of different scenarios."""
    found = []
    for kind in ("flow", "link"):
        labels: dict[tuple[str, ...], list[str]] = {}
        for variant in variants:
            own = tuple(sorted(list_names_of(variant.results[0], kind)))
            labels.setdefault(own, []).append(variant.label)
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
    labels: dict[tuple[int, ...], list[str]] = {}
    for variant in variants:
        labels.setdefault(tuple(sorted(variant.seeds)), []).append(variant.label)
    told = "; ".join(f"{', '.join(own)}: {write_seeds(seeds)}" for seeds, own in labels.items())
    return [
        f"the runs compared do not have the same seeds ({told}): another seed is other traffic, so"
        " what sets them apart may be that and not the choice; run all of them with the same"
        " seeds"
    ]


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
    told = "; ".join(f"{', '.join(own)}: {lengths}" for lengths, own in labels.items())
    return [
        f"the runs compared were not measured over the same time ({told}), so what sets them apart"
        " may be that: a longer run has more of what is rare and less of how it starts; to compare"
        " another choice, give all of them the same duration and warm-up"
    ]


def write_seeds(seeds: Sequence[int]) -> str:
    """Write seeds one after the other, the first ones where there are many."""
    more = ", …" if len(seeds) > MOST_SEEDS_LISTED else ""
    return ", ".join(map(str, seeds[:MOST_SEEDS_LISTED])) + more


def tell_unfinished(names: Sequence[str]) -> str:
    """Say which runs a comparison lacks, in a sentence; nothing where it has all."""
    if not names:
        return ""
    separator = "; " if any("," in name for name in names) else ", "
    return f"Not finished: {list_names(names, MOST_NAMED, separator)}."
