"""Counting verdicts: published results by document, and every kind of claim apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from headend.study.claims import Judgement, Kind, Standing
from headend.study.documents import is_of_five, name_document, place_study
from headend.text.wording import join_names, write_count

#: The claims of studies, each with the study's name.
Pair = tuple[str, Sequence[Judgement]]
Judged = Iterable[Pair]
#: How many claims have each verdict, weak ones apart.
Counts = Mapping[Standing, int]


def count_by_document(studies: Judged, kind: Kind = Kind.RESULT) -> dict[str, Counts]:
    """Count the verdicts on claims of one kind for each document with any, in page order."""
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


def split_studies(studies: Judged) -> dict[str, list[Pair]]:
    """Give the studies of the five documents and others, with names for their results."""
    known = list(studies)
    return {
        "published results of": [pair for pair in known if is_of_five(pair[0])],
        "published results of other documents": [pair for pair in known if not is_of_five(pair[0])],
    }


def tell_results(counts: Counts, not_run: int, of: str) -> str:
    """Say in a sentence how many published results have each verdict.

    Parameters
    ----------
    counts
        Of those that were run.
    not_run
        How many more there are.
    of
        Whose they are.

    Examples
    --------
    >>> numbers = {Standing.REPRODUCED: 12, Standing.WEAK: 2, Standing.DIFFERS: 1}
    >>> tell_results(numbers, 0, "the five documents")
    'Of the 15 published results of the five documents, 12 are reproduced, 2 are weak and 1
    differs.'
    >>> tell_results({Standing.DIFFERS: 2}, 1, "other documents")
    'Of the 3 published results of other documents, 2 differ and 1 was not run.'
    """
    words = [f"{counts[one]} {tell_verb(one, counts[one])}" for one in Standing if counts.get(one)]
    if not_run:
        words.append(f"{not_run} {'was' if not_run == 1 else 'were'} not run")
    results = write_count(sum(counts.values()) + not_run, "published result")
    return f"Of the {results} of {of}, {join_names(words)}."


def tell_verb(standing: Standing, count: int) -> str:
    """Give the verb for claims of one verdict.

    Examples
    --------
    >>> tell_verb(Standing.DIFFERS, 1), tell_verb(Standing.WEAK, 2)
    ('differs', 'are weak')
    """
    if standing is Standing.UNTESTABLE:
        return str(standing)
    if standing is Standing.DIFFERS:
        return "differs" if count == 1 else "differ"
    return f"{'is' if count == 1 else 'are'} {standing}"
