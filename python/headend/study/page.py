"""One page over all studies: each document's figures, then every claim by its kind."""

from __future__ import annotations

import html
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headend.results.folder import write_file
from headend.study.answering import answer_studies
from headend.study.claims import COUNTED, Judgement, Kind
from headend.study.counting import (
    Counts,
    count_by_document,
    count_by_kind,
    split_studies,
    tell_results,
)
from headend.study.documents import is_of_five
from headend.study.exhibits import Exhibit, list_exhibits
from headend.study.gathering import Gathered, Picture, tell_seeds
from headend.study.readings import Reading
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


@dataclass(frozen=True)
class Document:
    """A document, and the studies of it that were run."""

    title: str
    studies: tuple[Gathered, ...]
    #: Its figures and tables, also those of studies that were not run.
    exhibits: tuple[Exhibit, ...]

    @property
    def readings(self) -> list[Reading]:
        """What its studies run where it leaves that open, each once."""
        return list(dict.fromkeys(one for item in self.studies for one in item.study.readings))

    def select(self, kind: Kind) -> list[tuple[Gathered, Judgement]]:
        """Give its claims of one kind, each with its study."""
        return [
            (item, judgement)
            for item in self.studies
            for judgement in item.judgements
            if judgement.claim.kind is kind
        ]


def list_judged(gathered: Sequence[Gathered]) -> list[tuple[str, Sequence[Judgement]]]:
    """Give the claims of each study that was run."""
    return [(item.study.name, item.judgements) for item in gathered if item.outcome]


def tell_headline(gathered: Sequence[Gathered]) -> list[str]:
    """Say what became of the published results: of the five documents, and of the others."""
    told = []
    for of, is_wanted in (("the five documents", True), ("other documents", False)):
        own = [item for item in gathered if is_of_five(item.study.name) is is_wanted]
        counts = count_by_kind(list_judged(own))[Kind.RESULT]
        left = [item.study.claims for item in own if item.outcome is None]
        not_run = sum(claim.kind is Kind.RESULT for claims in left for claim in claims)
        if counts:
            told.append(tell_results(counts, not_run, of))
    return told


def tell_missing(gathered: Sequence[Gathered]) -> str:
    """Say how many studies are not on a page, in one line; nothing where all are."""
    missing = sum(item.outcome is None for item in gathered)
    if not missing:
        return ""
    return f"{missing} of {len(gathered)} studies were not run in full, and so are not in it."


def write_studies_page(gathered: Sequence[Gathered], path: Path) -> Path:
    """Write the page over the studies that were run; it holds all it needs.

    Parameters
    ----------
    gathered
        The studies.
    path
        The HTML file.
    """
    from headend.pages.page import render_page, write_page
    from headend.pages.section import Page, Section

    judged = list_judged(gathered)
    of_five, others = split_studies(judged).values()
    content = {
        "others": count_by_document(others),
        "documents": _group(gathered),
        "kinds": count_by_kind(judged),
        "about": KINDS,
        "columns": COLUMNS,
        "standings": COUNTED,
        "describe": describe_run,
        "versions": sorted({item.outcome.version for item in gathered if item.outcome}),
    }
    answer = answer_studies(
        QUESTION, [*tell_headline(gathered), tell_missing(gathered)], count_by_document(of_five)
    )
    page = Page(TITLE, answer, [], [Section("studies", content)], columns="overview")
    return write_page(render_page(page), path)


def write_markdown(gathered: Sequence[Gathered], path: Path) -> Path:
    """Write the same page as Markdown, to be read beside the code, with pictures in a folder.

    Parameters
    ----------
    gathered
        The studies.
    path
        The Markdown file; its pictures are in the folder of its name.
    """
    pictures = path.with_suffix("")
    documents = _group(gathered)
    _draw_pictures(documents, pictures)
    text = "\n".join(_write_lines(gathered, documents, pictures.name)) + "\n"
    write_file(text.encode(), path)
    return path


def describe_run(item: Gathered) -> str:
    """Say how a study was run."""
    if item.outcome is None or item.study.scenario is None:
        return "calculated"
    seeds = item.outcome.seeds
    return f"{item.outcome.points} runs, {_name_seeds(seeds)}"


def _name_seeds(seeds: Sequence[int]) -> str:
    """Name seeds, a long row of them by its ends.

    Examples
    --------
    >>> _name_seeds([1]), _name_seeds([1, 2, 3]), _name_seeds([1, 3])
    ('seed 1', 'seeds 1 to 3', 'seeds 1, 3')
    """
    is_row = len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1))
    return f"seeds {seeds[0]} to {seeds[-1]}" if is_row else tell_seeds(seeds)


def _write_lines(
    gathered: Sequence[Gathered], documents: Sequence[Document], pictures: str
) -> Iterator[str]:
    judged = list_judged(gathered)
    yield f"# {TITLE}"
    yield ""
    yield " ".join(tell_headline(gathered))
    yield COLUMNS
    yield "Expectations, arithmetic, settings and our own questions are counted apart, below."
    yield (
        "`headend study run all` measures it anew with each study's own seeds, and `headend study"
        " report` makes a page of it. A picture leads to the whole figure."
    )
    if missing := tell_missing(gathered):
        yield missing
    yield ""
    for of, pairs in split_studies(judged).items():
        if counts := count_by_document(pairs):
            yield from _write_counts(of, counts)
            yield ""
    yield from _write_counts("kind of claim", count_by_kind(judged))
    for document in documents:
        exhibits = document.exhibits
        if exhibits or document.readings:
            yield from ("", f"## {_escape(document.title)}")
        yield from _write_readings(document.readings)
        for exhibit in exhibits:
            yield from _write_exhibit(exhibit, pictures)
    for kind in Kind:
        if not any(document.select(kind) for document in documents):
            continue
        yield from ("", f"## Claims: {kind}", "", KINDS[kind])
        for document in documents:
            if own := document.select(kind):
                yield from _write_claims(document.title, own)
    yield from ("", "## Studies", "", "| study | how it was run |", "|---|---|")
    for document in documents:
        for item in document.studies:
            yield f"| `{item.study.name}`: {_escape(item.study.title)} | {describe_run(item)} |"


def _write_counts(of: str, counts: Mapping[str, Counts] | Mapping[Kind, Counts]) -> Iterator[str]:
    yield f"| {of} | {' | '.join(COUNTED)} |"
    yield f"|---|{'---|' * len(COUNTED)}"
    for name, own in counts.items():
        cells = " | ".join(str(own.get(standing, 0)) for standing in COUNTED)
        yield f"| {_escape(name)} | {cells} |"


def _write_readings(readings: Sequence[Reading]) -> Iterator[str]:
    """Write what is run where the document leaves it open, folded: it is long."""
    if not readings:
        return
    titles = "; ".join(html.escape(one.title) for one in readings)
    yield from (
        "",
        "<details>",
        f"<summary>What is run where the document leaves it open: {titles}</summary>",
        "",
    )
    for one in readings:
        text = _escape(f"{one.reading} {one.tell_source()}")
        yield f"- Reading: **{_escape(one.title)}**. {text}"
    yield from ("", "</details>")


def _write_exhibit(exhibit: Exhibit, pictures: str) -> Iterator[str]:
    """Write a figure or table with our picture of it and its claims."""
    caption = f": {_escape(exhibit.entry.caption)}" if exhibit.entry.caption else ""
    by = f" (`{exhibit.study}`)" if exhibit.picture else ""
    yield from ("", f"**{_escape(exhibit.name)}**{caption}{by}", "")
    if exhibit.picture:
        yield from (_link_picture(exhibit.picture, exhibit.name, pictures), "")
    if not exhibit.judgements:
        yield exhibit.tell_nothing()
        return
    yield from ("| as published | measured here | verdict |", "|---|---|---|")
    for judgement in exhibit.judgements:
        claim, finding = judgement.claim, judgement.finding
        kind = "" if claim.kind is Kind.RESULT else f" ({claim.kind})"
        cells = (claim.published or claim.expected, finding.measured, judgement.standing + kind)
        yield f"| {' | '.join(map(_escape, cells))} |"


def _link_picture(picture: Picture, name: str, pictures: str) -> str:
    """Show a small picture, which leads to the whole one."""
    file, alt = f"{pictures}/{picture.id}", html.escape(f"{name} as headend draws it")
    # Of a link in Markdown's own way the site's builder copies the file, and of this class it
    # leaves the picture's link alone.
    small = f'<img src="{file}.png" class="no-scaled-link" alt="{alt}" width="{_SMALL}">'
    return f"[{small}]({file}.svg)"


def _write_claims(title: str, claims: Sequence[tuple[Gathered, Judgement]]) -> Iterator[str]:
    yield from ("", f"### {_escape(title)}", "")
    yield from ("| claim | expected | measured | verdict |", "|---|---|---|---|")
    for item, judgement in claims:
        claim, finding = judgement.claim, judgement.finding
        where = f"`{item.study.name}`<br>{_escape(claim.source)}"
        cells = (
            claim.expected,
            finding.measured + judgement.tell_interval(),
            judgement.tell_verdict(),
        )
        yield f"| {_escape(claim.id)}<br>{where} | {' | '.join(map(_escape, cells))} |"


def _draw_pictures(documents: Sequence[Document], folder: Path) -> None:
    """Write the pictures, small ones and whole ones as SVG, into a folder."""
    from headend.figures.export import write_small

    exhibits = [exhibit for document in documents for exhibit in document.exhibits]
    shown = {exhibit.picture.id: exhibit.picture for exhibit in exhibits if exhibit.picture}
    write_small({name: picture.path for name, picture in shown.items()}, folder, _SMALL)
    for name, picture in shown.items():
        write_file(picture.read_silent().encode(), folder / f"{name}.svg")


def _group(gathered: Sequence[Gathered]) -> list[Document]:
    """Give the documents of which studies were run."""
    documents = []
    for title, own in itertools.groupby(gathered, key=lambda item: item.document):
        items = list(own)
        if studies := tuple(item for item in items if item.outcome):
            documents.append(Document(title, studies, tuple(list_exhibits(items))))
    return documents


def _escape(text: str) -> str:
    """Keep a text from ending the cell of a Markdown table, or from meaning something in it."""
    plain = reveal(" ".join(text.split()))
    for mark in ("\\", "|", "<", "*", "_", "`", "~", "["):
        plain = plain.replace(mark, f"\\{mark}")
    return plain
