"""Counting verdicts: published results by document, and every kind of claim apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from headend.study.claims import Judgement, Kind, Standing
from headend.study.documents import name_document, place_study

#: The claims of studies, each with the study's name.
Judged = Iterable[tuple[str, Sequence[Judgement]]]
#: How many claims have each verdict, weak ones apart.
Counts = Mapping[Standing, int]


def count_by_document(studies: Judged, kind: Kind = Kind.RESULT) -> dict[str, Counts]:
    """Count the verdicts on claims of one kind for each document that has any, in the order of the page."""
    counts: dict[str, Counter[Standing]] = {}
    for name, judgements in sorted(studies, key=lambda item: place_study(item[0])):
        own = [one.standing for one in judgements if one.claim.kind is kind]
        if own:
            counts.setdefault(name_document(name), Counter()).update(own)
    return dict(counts)


def count_by_kind(studies: Judged) -> dict[Kind, Counts]:
    """Count the verdicts on claims of every kind."""
    counts: dict[Kind, Counter[Standing]] = {kind: Counter() for kind in Kind}
    for _, judgements in studies:
        for judgement in judgements:
            counts[judgement.claim.kind][judgement.standing] += 1
    return dict(counts)


def tell_counts(counts: Counts) -> str:
    """Say how many claims have each verdict.

    Examples
    --------
    >>> tell_counts({Standing.REPRODUCED: 12, Standing.WEAK: 2, Standing.DIFFERS: 1})
    '12 reproduced, 2 weak, 1 differs'
    >>> tell_counts({})
    'none'
    """
    words = [_tell(standing, counts[standing]) for standing in Standing if counts.get(standing)]
    return ", ".join(words) or "none"


def _tell(standing: Standing, count: int) -> str:
    plural = {Standing.DIFFERS: "differ"}
    return f"{count} {standing if count == 1 else plural.get(standing, standing)}"
