"""One page over all studies: each document's figures, then every claim by its kind."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from headend.results.folder import write_file
from headend.study.claims import COUNTED, CheckedClaim, Kind
from headend.study.documents import Group, Reading, find_group
from headend.study.receipts import Document, Exhibit, Receipt, list_documents
from headend.study.sentences import (
    Counts,
    StudyClaims,
    answer_studies,
    count_by_kind,
    count_results,
    describe_results,
    name_results,
)
from headend.text.reveal import reveal

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

    claims = list_claims(receipts)
    results = count_results(claims)
    sentences = [*describe_receipts(receipts), describe_missing(receipts)]
    page = render_page(
        "studies.html.j2",
        [],
        title=TITLE,
        answer=answer_studies(QUESTION, sentences, results[Group.FIVE]),
        others=results[Group.OTHERS],
        documents=list_documents(receipts),
        kinds=count_by_kind(claims),
        about=KINDS,
        columns=COLUMNS,
        verdicts=COUNTED,
        versions=sorted({item.version for item in receipts if item.is_run}),
    )
    return write_page(page, path)


def write_markdown(receipts: Sequence[Receipt], path: Path) -> None:
    """Write the same page as Markdown, with its pictures in the folder of the file's name."""
    from headend.figures.export import write_small

    folder = path.with_suffix("")
    documents = list_documents(receipts)
    exhibits = [exhibit for document in documents for exhibit in document.exhibits]
    pictures = {exhibit.picture.id: exhibit.picture for exhibit in exhibits if exhibit.picture}
    write_small({name: picture.path for name, picture in pictures.items()}, folder, _SMALL)
    for name, picture in pictures.items():
        write_file(picture.read_silent().encode(), folder / f"{name}.svg")
    text = "\n".join(_write_lines(receipts, documents, folder.name)) + "\n"
    write_file(text.encode(), path)


def _write_lines(
    receipts: Sequence[Receipt], documents: Sequence[Document], pictures: str
) -> Iterator[str]:
    claims = list_claims(receipts)
    yield from (f"# {TITLE}", "", " ".join(describe_receipts(receipts)), COLUMNS)
    yield "Expectations, arithmetic, settings and our own questions are counted apart, below."
    yield (
        "`headend study run all` measures it anew with each study's own seeds, and `headend study"
        " report` makes a page of it. A picture leads to the whole figure."
    )
    if missing := describe_missing(receipts):
        yield missing
    yield ""
    for group, counts in count_results(claims).items():
        if counts:
            yield from (*_write_counts(name_results(group), counts), "")
    yield from _write_counts("kind of claim", count_by_kind(claims))
    for document in documents:
        if document.exhibits or document.readings:
            yield from ("", f"## {_escape(document.title)}")
        yield from _write_readings(document.readings)
        for exhibit in document.exhibits:
            yield from _write_exhibit(exhibit, pictures)
    for kind in Kind:
        own = {document.title: document.select(kind) for document in documents}
        if any(own.values()):
            yield from ("", f"## Claims: {kind}", "", KINDS[kind])
        for title, pairs in own.items():
            if pairs:
                yield from ("", f"### {_escape(title)}", "")
                yield from _write_table("claim", "expected", "measured", "verdict")
                for receipt, item in pairs:
                    yield _write_claim(receipt, item)
    yield from ("", "## Studies", "", *_write_table("study", "how it was run"))
    for document in documents:
        for receipt in document.receipts:
            study = receipt.study
            yield f"| `{study.name}`: {_escape(study.title)} | {receipt.describe_run()} |"


def _write_table(*headings: str) -> tuple[str, str]:
    """Write the first two lines of a table."""
    return f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}"


def _write_counts(of: str, counts: Mapping[str, Counts] | Mapping[Kind, Counts]) -> Iterator[str]:
    yield from _write_table(of, *COUNTED)
    for name, own in counts.items():
        cells = " | ".join(str(own.get(verdict, 0)) for verdict in COUNTED)
        yield f"| {_escape(name)} | {cells} |"


def _write_readings(readings: Sequence[Reading]) -> Iterator[str]:
    """Write what is run where the document leaves it open, folded: it is long."""
    if not readings:
        return
    titles = "; ".join(html.escape(item.title) for item in readings)
    summary = f"What is run where the document leaves it open: {titles}"
    yield from ("", "<details>", f"<summary>{summary}</summary>", "")
    for item in readings:
        text = _escape(f"{item.reading} {item.describe_source()}")
        yield f"- Reading: **{_escape(item.title)}**. {text}"
    yield from ("", "</details>")


def _write_exhibit(exhibit: Exhibit, pictures: str) -> Iterator[str]:
    """Write a figure or table with our picture of it and its claims."""
    name, picture = exhibit.entry.name, exhibit.picture
    caption = f": {_escape(exhibit.entry.caption)}" if exhibit.entry.caption else ""
    by = f" (`{exhibit.study}`)" if picture else ""
    yield from ("", f"**{_escape(name)}**{caption}{by}", "")
    if picture:
        # A small picture, which leads to the whole one. Of a link in Markdown's own way the site's
        # builder copies the file, and of this class it leaves the picture's link alone.
        file, alt = f"{pictures}/{picture.id}", html.escape(f"{name} as headend draws it")
        small = f'<img src="{file}.png" class="no-scaled-link" alt="{alt}" width="{_SMALL}">'
        yield from (f"[{small}]({file}.svg)", "")
    if not exhibit.claims:
        yield exhibit.explain_no_claim()
        return
    yield from _write_table("as published", "measured here", "verdict")
    for item in exhibit.claims:
        claim = item.claim
        kind = "" if claim.kind is Kind.RESULT else f" ({claim.kind})"
        cells = (claim.published or claim.expected, item.result.measured, item.verdict + kind)
        yield f"| {' | '.join(map(_escape, cells))} |"


def _write_claim(receipt: Receipt, item: CheckedClaim) -> str:
    claim = item.claim
    measured = item.result.measured + item.format_interval()
    cells = map(_escape, (claim.expected, measured, item.describe_verdict()))
    where = f"`{receipt.study.name}`<br>{_escape(claim.source)}"
    return f"| {_escape(claim.id)}<br>{where} | {' | '.join(cells)} |"


def _escape(text: str) -> str:
    """Keep a text from ending the cell of a Markdown table, or from meaning something in it."""
    plain = reveal(" ".join(text.split()))
    for mark in ("\\", "|", "<", "*", "_", "`", "~", "["):
        plain = plain.replace(mark, f"\\{mark}")
    return plain
