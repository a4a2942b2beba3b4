"""The answer of a study: question, verdicts in a sentence, and a matrix of its first claims."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from headend.analysis.grading import Grade
from headend.study.claims import COUNTED, Judgement, Kind, Standing
from headend.study.counting import Counts, tell_verb
from headend.text.wording import list_names, write_count
from headend.wording.answer import Answer
from headend.wording.table import Cell, Row, make_matrix

if TYPE_CHECKING:
    from headend.figures.figure import Figure
    from headend.study.definition import Study

#: Claims that the matrix shows; the table below it has all.
MOST_CLAIMS = 6

#: Letters of a published or measured value that a cell of the matrix shows.
MOST_LETTERS = 64

#: Claims that a sentence names.
MOST_NAMED = 3

#: The colour of each verdict, and of what is weak.
GRADES = {
    Standing.REPRODUCED: Grade.GOOD,
    Standing.WEAK: Grade.NONE,
    Standing.DIFFERS: Grade.BAD,
    Standing.UNDECIDED: Grade.FAIR,
    Standing.UNTESTABLE: Grade.NONE,
    Standing.OPEN: Grade.NONE,
}

#: Verdicts in the order in which sentences and tables give them.
_FIRST = (
    Standing.DIFFERS,
    Standing.UNDECIDED,
    Standing.UNTESTABLE,
    Standing.WEAK,
    Standing.REPRODUCED,
    Standing.OPEN,
)


def answer_study(
    study: Study, judgements: Sequence[Judgement], figures: Sequence[Figure]
) -> Answer:
    """Answer a study's question by the verdicts on its claims."""
    # Sentences name the claims that differ, so the matrix shows them first.
    ordered = order_claims(judgements)
    ordered.sort(key=lambda one: not one.is_missed)
    shown = ordered[:MOST_CLAIMS]
    more = len(judgements) - len(shown)
    note = f"{len(shown)} of {len(judgements)} claims." if more else ""
    rows = tuple(_draw_claim(judgement) for judgement in shown)
    return Answer(
        study.question or study.title,
        (study.tell_quick(),) if study.quick else tuple(tell_claims(judgements)),
        make_matrix(("published", "measured", "verdict"), rows, "claim", note) if rows else None,
        figures[0].name if figures else "",
    )


def answer_studies(question: str, sentences: Sequence[str], counts: Mapping[str, Counts]) -> Answer:
    """Answer a question by the verdicts on the published results of all documents.

    Parameters
    ----------
    question
        The headline.
    sentences
        The sentences of the answer.
    counts
        The number of published results with each verdict, by document.
    """
    rows = tuple(
        Row(document, tuple(_draw_count(standing, own.get(standing, 0)) for standing in COUNTED))
        for document, own in counts.items()
    )
    matrix = make_matrix(COUNTED, rows, "published results of")
    return Answer(question, tuple(filter(None, sentences)), matrix if rows else None)


def order_claims(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Order claims by kind, published results first; within one, differing ones first."""
    kinds = list(Kind)
    return sorted(
        judgements,
        key=lambda one: (kinds.index(one.claim.kind), _FIRST.index(one.standing)),
    )


def tell_claims(judgements: Sequence[Judgement]) -> list[str]:
    """Say how many claims are reproduced, and name the others.

    Where there are published results and other claims, a second one counts the results.

    Parameters
    ----------
    judgements
        The claims of a study.

    Returns
    -------
    list of str
        One or two sentences.
    """
    if not judgements:
        return ["The study makes no claim."]
    told = [_tell_verdicts(judgements)]
    results = [one for one in judgements if one.claim.kind is Kind.RESULT]
    if results and len(results) < len(judgements):
        reproduced = _count(results)[Standing.REPRODUCED]
        told.append(
            f"Of {write_count(len(results), 'published result')}, {reproduced}"
            f" {'is' if reproduced == 1 else 'are'} reproduced."
        )
    return told


def _tell_verdicts(judgements: Sequence[Judgement]) -> str:
    counts, total = _count(judgements), len(judgements)
    reproduced = counts[Standing.REPRODUCED]
    if reproduced == total:
        few = {1: "The claim is", 2: "Both claims are"}
        return f"{few.get(total, f'All {total} claims are')} reproduced."
    if total == 1:
        (judgement,) = judgements
        return f"The claim {tell_verb(judgement.standing, 1)} ({judgement.claim.id})."
    parts = [
        f"{reproduced} of {write_count(total, 'claim')} {'is' if reproduced == 1 else 'are'}"
        " reproduced"
    ]
    for standing in _FIRST:
        own = [one.claim.id for one in judgements if one.standing is standing]
        if own and standing not in (Standing.REPRODUCED, Standing.OPEN):
            verb = tell_verb(standing, len(own))
            parts.append(f"{len(own)} {verb} ({list_names(own, MOST_NAMED)})")
    return f"{'; '.join(parts)}."


def _count(judgements: Sequence[Judgement]) -> Counter[Standing]:
    return Counter(one.standing for one in judgements)


def _draw_claim(judgement: Judgement) -> Row:
    claim, finding = judgement.claim, judgement.finding
    return Row(
        claim.id,
        (
            Cell(_shorten(claim.published or claim.expected)),
            Cell(_shorten(finding.measured)),
            Cell("", GRADES[judgement.standing], judgement.standing),
        ),
    )


def _shorten(text: str) -> str:
    """Keep the beginning of a long text.

    Examples
    --------
    >>> _shorten("rises with the buffer")
    'rises with the buffer'
    """
    return textwrap.shorten(text, MOST_LETTERS, placeholder=" …")


def _draw_count(standing: Standing, count: int) -> Cell:
    return Cell(str(count), GRADES[standing] if count else Grade.NONE, "")
