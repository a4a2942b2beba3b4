"""Verdicts in numbers and words: counts by document and kind, sentences, and answers."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headend.analysis.grading import Grade
from headend.study.claims import COUNTED, CheckedClaim, ClaimVerdict, Kind
from headend.study.documents import Group, find_group, name_document, place_study
from headend.text.wording import join_names, list_names, write_count
from headend.wording.answer import Answer
from headend.wording.table import Cell, Column, Row, Table, make_matrix

if TYPE_CHECKING:
    from headend.figures.figure import Figure
    from headend.study.definition import Study

#: The claims of a study with its name.
StudyClaims = tuple[str, Sequence[CheckedClaim]]

#: How many claims have each verdict.
Counts = Mapping[ClaimVerdict, int]

#: Claims that the matrix shows; the table below it has all.
MOST_CLAIMS = 6

#: Letters of a published or measured value that a cell of the matrix shows.
MOST_LETTERS = 64

#: Claims that a sentence names.
MOST_NAMED = 3

#: The colour of verdicts; others have none.
_GRADES = {
    ClaimVerdict.REPRODUCED: Grade.GOOD,
    ClaimVerdict.DIFFERS: Grade.BAD,
    ClaimVerdict.UNDECIDED: Grade.FAIR,
}

#: Verdicts in the order in which sentences and tables give them.
_FIRST = (
    ClaimVerdict.DIFFERS,
    ClaimVerdict.UNDECIDED,
    ClaimVerdict.UNTESTABLE,
    ClaimVerdict.WEAK,
    ClaimVerdict.REPRODUCED,
    ClaimVerdict.OPEN,
)


def count_by_document(
    studies: Iterable[StudyClaims], kind: Kind = Kind.RESULT
) -> dict[str, Counts]:
    """Count the verdicts on claims of one kind for each document with any, in page order."""
    counts: dict[str, Counter[ClaimVerdict]] = {}
    for name, claims in sorted(studies, key=lambda item: place_study(item[0])):
        if verdicts := [item.verdict for item in claims if item.claim.kind is kind]:
            counts.setdefault(name_document(name), Counter()).update(verdicts)
    return dict(counts)


def count_by_kind(studies: Iterable[StudyClaims]) -> dict[Kind, Counter[ClaimVerdict]]:
    """Count the verdicts on claims of every kind."""
    counts: dict[Kind, Counter[ClaimVerdict]] = {kind: Counter() for kind in Kind}
    for _, claims in studies:
        for item in claims:
            counts[item.claim.kind][item.verdict] += 1
    return counts


def count_results(studies: Iterable[StudyClaims]) -> dict[Group, dict[str, Counts]]:
    """Count the verdicts on published results by document, for each group of documents."""
    studies = list(studies)
    return {
        group: count_by_document(item for item in studies if find_group(item[0]) is group)
        for group in Group
    }


def name_results(group: Group) -> str:
    """Give the heading over a table of counts by document."""
    return "published results of" + (f" {group}" if group is Group.OTHERS else "")


def describe_results(counts: Counts, not_run: int, group: Group) -> str:
    """Say in a sentence how many published results have each verdict.

    Parameters
    ----------
    counts
        Of those that were run.
    not_run
        How many more there are.
    group
        Whose they are.

    Examples
    --------
    >>> numbers = {ClaimVerdict.REPRODUCED: 12, ClaimVerdict.WEAK: 2, ClaimVerdict.DIFFERS: 1}
    >>> describe_results(numbers, 0, Group.FIVE)
    'Of the 15 published results of the five documents, 12 are reproduced, 2 are weak and 1
    differs.'
    >>> describe_results({ClaimVerdict.DIFFERS: 2}, 1, Group.OTHERS)
    'Of the 3 published results of other documents, 2 differ and 1 was not run.'
    """
    words = [
        f"{counts[verdict]} {format_verb(verdict, counts[verdict])}"
        for verdict in ClaimVerdict
        if counts.get(verdict)
    ]
    if not_run:
        words.append(f"{not_run} {'was' if not_run == 1 else 'were'} not run")
    results = write_count(sum(counts.values()) + not_run, "published result")
    return f"Of the {results} of {group}, {join_names(words)}."


def format_verb(verdict: ClaimVerdict, count: int) -> str:
    """Give the verb for claims of one verdict.

    Examples
    --------
    >>> format_verb(ClaimVerdict.DIFFERS, 1), format_verb(ClaimVerdict.WEAK, 2)
    ('differs', 'are weak')
    """
    if verdict is ClaimVerdict.UNTESTABLE:
        return str(verdict)
    if verdict is ClaimVerdict.DIFFERS:
        return "differs" if count == 1 else "differ"
    return f"{'is' if count == 1 else 'are'} {verdict}"


def describe_claims(claims: Sequence[CheckedClaim]) -> list[str]:
    """Say how many claims of a study are reproduced, and name the others.

    Where there are published results and other claims, a second sentence counts the results.
    """
    counts, total = Counter(item.verdict for item in claims), len(claims)
    reproduced = counts[ClaimVerdict.REPRODUCED]
    verb = format_verb(ClaimVerdict.REPRODUCED, reproduced)
    if not total:
        return ["The study makes no claim."]
    if reproduced == total:
        few = {1: "The claim is", 2: "Both claims are"}
        sentences = [f"{few.get(total, f'All {total} claims are')} reproduced."]
    elif total == 1:
        sentences = [f"The claim {format_verb(claims[0].verdict, 1)} ({claims[0].claim.id})."]
    else:
        parts = [f"{reproduced} of {total:,} claims {verb}"]
        for verdict in _FIRST[: _FIRST.index(ClaimVerdict.REPRODUCED)]:
            if names := [item.claim.id for item in claims if item.verdict is verdict]:
                named = list_names(names, MOST_NAMED)
                parts.append(f"{len(names)} {format_verb(verdict, len(names))} ({named})")
        sentences = [f"{'; '.join(parts)}."]
    results = [item.verdict for item in claims if item.claim.kind is Kind.RESULT]
    if 0 < len(results) < total:
        reproduced = results.count(ClaimVerdict.REPRODUCED)
        verb = format_verb(ClaimVerdict.REPRODUCED, reproduced)
        of = write_count(len(results), "published result")
        sentences.append(f"Of {of}, {reproduced} {verb}.")
    return sentences


def order_claims(claims: Sequence[CheckedClaim]) -> list[CheckedClaim]:
    """Order claims by kind, published results first; within one, differing ones first."""
    kinds = list(Kind)
    return sorted(
        claims, key=lambda item: (kinds.index(item.claim.kind), _FIRST.index(item.verdict))
    )


def answer_study(study: Study, claims: Sequence[CheckedClaim], figures: Sequence[Figure]) -> Answer:
    """Answer a study's question by the verdicts on its claims, with a matrix of the first ones."""
    # Sentences name the claims that differ, so the matrix shows them first.
    shown = sorted(order_claims(claims), key=lambda item: not item.differs)[:MOST_CLAIMS]
    note = f"{len(shown)} of {len(claims)} claims." if len(claims) > len(shown) else ""

    def write(text: str) -> Cell:
        return Cell(textwrap.shorten(text, MOST_LETTERS, placeholder=" …"))

    rows = tuple(
        Row(
            item.claim.id,
            (
                write(item.claim.published or item.claim.expected),
                write(item.result.measured),
                Cell("", _GRADES.get(item.verdict, Grade.NONE), item.verdict),
            ),
        )
        for item in shown
    )
    return Answer(
        study.question or study.title,
        (study.describe_quick(),) if study.quick else tuple(describe_claims(claims)),
        make_matrix(("published", "measured", "verdict"), rows, "claim", note) if rows else None,
        figures[0].name if figures else "",
    )


def answer_studies(question: str, sentences: Sequence[str], counts: Mapping[str, Counts]) -> Answer:
    """Answer a question by how many published results of each document have each verdict."""

    def draw(verdict: ClaimVerdict, count: int) -> Cell:
        return Cell(str(count), _GRADES.get(verdict, Grade.NONE) if count else Grade.NONE)

    rows = tuple(
        Row(document, tuple(draw(verdict, own.get(verdict, 0)) for verdict in COUNTED))
        for document, own in counts.items()
    )
    matrix = make_matrix(COUNTED, rows, name_results(Group.FIVE)) if rows else None
    return Answer(question, tuple(filter(None, sentences)), matrix)


def tabulate_claims(claims: Sequence[CheckedClaim]) -> Table:
    """Give a row for each claim: what was expected, what was measured, the verdict."""
    names = ("kind", "expected", "measured")
    columns = (*map(Column, names), Column("verdict", is_unbroken=True))
    rows = []
    for item in claims:
        grade = _GRADES.get(item.verdict, Grade.NONE)
        verdict = Cell("", grade, item.verdict, item.describe_seeds())
        measured = item.result.measured + item.format_interval()
        texts = map(Cell, (item.claim.kind, item.claim.expected, measured))
        rows.append(Row(item.claim.id, (*texts, verdict)))
    return Table(columns, tuple(rows), "claim")


def tabulate_counts(of: str, counts: Mapping[Any, Counts]) -> Table:
    """Give how many claims have each verdict: a row for each document or kind, and one for all."""

    def write(own: Mapping[ClaimVerdict, int]) -> tuple[Cell, ...]:
        return tuple(Cell(str(own.get(verdict, 0))) for verdict in COUNTED)

    rows = [Row(str(name), write(own)) for name, own in counts.items()]
    total: Counter[ClaimVerdict] = sum((Counter(own) for own in counts.values()), Counter())
    columns = tuple(Column(verdict, is_number=True) for verdict in COUNTED)
    return Table(columns, (*rows, Row("all", write(total), "total")), of)
