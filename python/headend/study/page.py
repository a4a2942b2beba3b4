"""One page over all studies: each document's figures, then every claim by its kind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headend.results.folder import write_file
from headend.study.claims import COUNTED, Kind
from headend.study.documents import Group, find_group
from headend.study.receipts import Receipt, list_documents
from headend.study.sentences import (
    StudyClaims,
    answer_studies,
    count_by_kind,
    count_results,
    describe_results,
    name_results,
)

TITLE = "Receipts: what five documents say, and what headend measures"

QUESTION = "Does headend measure what the documents published?"

#: What the columns of counts mean that do not say it themselves.
COLUMNS = (
    "A result is weak where it holds and nearly any model would have it: it is not counted as"
    " reproduced. It is undecided where the interval over the seeds, or what a test can tell apart,"
    " reaches from what is accepted to what is not."
)

#: What each kind of claim is, in words for readers.
KINDS = {
    Kind.RESULT: "The document measured or simulated it. These alone are evidence that headend"
    " reproduces the document.",
    Kind.EXPECTATION: "The document says so, without data of its own.",
    Kind.ARITHMETIC: "It follows from the document's own numbers; no model is run.",
    Kind.SETTING: "A scenario carries a parameter of the document; read back, it is as the"
    " document has it.",
    Kind.OURS: "A question that the document does not ask, or what theory, an RFC or another"
    " model says.",
}

#: Pixels of a small picture's width beside a Markdown page.
_SMALL = 420


def list_claims(receipts: Sequence[Receipt]) -> list[StudyClaims]:
    """Give the claims of each study that was run."""
    return [(item.study.name, item.claims) for item in receipts if item.is_run]


def describe_receipts(receipts: Sequence[Receipt]) -> list[str]:
    """Say what became of the published results: of the five documents, and of the others."""
    sentences = []
    for group in Group:
        own = [item for item in receipts if find_group(item.study.name) is group]
        counts = count_by_kind(list_claims(own))[Kind.RESULT]
        left = [claim for item in own if not item.is_run for claim in item.study.claims]
        if counts:
            not_run = sum(claim.kind is Kind.RESULT for claim in left)
            sentences.append(describe_results(counts, not_run, group))
    return sentences


def describe_missing(receipts: Sequence[Receipt]) -> str:
    """Say how many studies are not on a page, in one line; nothing where all are."""
    missing = sum(not item.is_run for item in receipts)
    if not missing:
        return ""
    return f"{missing} of {len(receipts)} studies were not run in full, and so are not in it."


def write_studies_page(receipts: Sequence[Receipt], path: Path) -> Path:
    """Write the HTML page over the studies that were run; it holds all it needs."""
    from headend.pages.page import render_page, write_page
    from headend.pages.section import Page, Section

    results = count_results(list_claims(receipts))
    sentences = [*describe_receipts(receipts), describe_missing(receipts)]
    content = {
        "others": results[Group.OTHERS],
        "documents": list_documents(receipts),
        "versions": sorted({item.version for item in receipts if item.is_run}),
        **_list_content(receipts),
    }
    answer = answer_studies(QUESTION, sentences, results[Group.FIVE])
    page = Page(TITLE, answer, [], [Section("studies", content)], columns="overview")
    return write_page(render_page(page), path)


def write_markdown(receipts: Sequence[Receipt], path: Path) -> None:
    """Write the same page as Markdown, with its pictures in the folder of the file's name."""
    from headend.figures.export import write_small
    from headend.pages.page import render_fragment

    folder = path.with_suffix("")
    documents = list_documents(receipts)
    exhibits = [exhibit for document in documents for exhibit in document.exhibits]
    pictures = {exhibit.picture.id: exhibit.picture for exhibit in exhibits if exhibit.picture}
    write_small({name: picture.path for name, picture in pictures.items()}, folder, _SMALL)
    for name, picture in pictures.items():
        write_file(picture.read_silent().encode(), folder / f"{name}.svg")
    results = count_results(list_claims(receipts))
    text = render_fragment(
        "studies.md.j2",
        title=TITLE,
        sentences=describe_receipts(receipts),
        missing=describe_missing(receipts),
        results={name_results(group): counts for group, counts in results.items()},
        documents=documents,
        pictures=folder.name,
        width=_SMALL,
        **_list_content(receipts),
    )
    write_file(text.encode(), path)


def _list_content(receipts: Sequence[Receipt]) -> dict[str, Any]:
    """Give what both pages have."""
    kinds = count_by_kind(list_claims(receipts))
    return {
        "kinds": kinds,
        "about": KINDS,
        "columns": COLUMNS,
        "verdicts": COUNTED,
    }
