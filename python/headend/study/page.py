"""One page over all studies: every claim with its verdict, then the figures of each document."""

from __future__ import annotations

import base64
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headend.errors import InputError
from headend.folder import MANIFEST, read_kind
from headend.library import list_studies
from headend.study.claims import Judgement, Verdict
from headend.study.definition import Study, read_study
from headend.study.outcome import CLAIMS, FIGURES, choose_study_folder

#: The documents, in the order of the page; a study's name begins with its document's.
DOCUMENTS = {
    "buffer-control": "Cable Modem Buffer Control (CableLabs, 2011)",
    "aqm-docsis": "Active Queue Management in DOCSIS 3.x Cable Modems (CableLabs, 2014)",
    "fast-docsis": "FAST TCP over low-speed DOCSIS links",
    "service-quality": "Quantitative Assessment of IP Service Quality in 802.11b and DOCSIS Networks (2004)",
    "cbt": "Lightweight Active Router-Queue Management for Multimedia Networking (1999)",
    "cable-plant": "The cable plant: request, grant and contention",
    "validation": "Models beside their closed forms and beside each other",
}


#: What screen readers are told of each mark of a picture; of one that is an image, nobody reads it.
_UNHEARD = re.compile(r' (?:aria-[a-z]+|role|pointer-events)="[^"]*"')


@dataclass(frozen=True)
class Drawing:
    """A figure as it was written: its words, and its panels as addresses that hold the picture itself."""

    name: str
    title: str
    explanation: str
    panels: tuple[str, ...]


@dataclass(frozen=True)
class Finished:
    """What a study's folder holds."""

    judgements: tuple[Judgement, ...]
    drawings: tuple[Drawing, ...]
    points: int
    seeds: tuple[int, ...]
    version: str
    quick: str


@dataclass(frozen=True)
class Gathered:
    """A shipped study, and what became of it where it was run."""

    study: Study
    outcome: Finished | None

    @property
    def document(self) -> str:
        """The document it belongs to."""
        return name_document(self.study.name)

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON can hold it."""
        claims = self.outcome and [item.to_dict() for item in self.outcome.judgements]
        return {"study": self.study.name, "document": self.document, "claims": claims}


def name_document(study: str) -> str:
    """Give the title of the document that a study belongs to.

    Examples
    --------
    >>> name_document("cable-plant/contention")
    'The cable plant: request, grant and contention'
    """
    document = study.split("/")[0]
    return DOCUMENTS.get(document, document)


def count_verdicts(
    studies: Iterable[tuple[str, Sequence[Judgement]]],
) -> dict[str, dict[Verdict, int]]:
    """Count the verdicts of each document, in the order of the page."""
    counts: dict[str, dict[Verdict, int]] = {}
    for name, judgements in studies:
        own = counts.setdefault(name_document(name), {})
        for judgement in judgements:
            verdict = judgement.finding.verdict
            own[verdict] = own.get(verdict, 0) + 1
    order = list(DOCUMENTS.values())
    return dict(
        sorted(counts.items(), key=lambda item: order.index(item[0]) if item[0] in order else 99)
    )


def list_judged(gathered: Iterable[Gathered]) -> list[tuple[str, Sequence[Judgement]]]:
    """Give the claims of each study that was run."""
    return [(item.study.name, item.outcome.judgements) for item in gathered if item.outcome]


def gather_studies(folder: Path) -> list[Gathered]:
    """Read what studies left in a folder, in the order of the page.

    Raises
    ------
    InputError
        When there is nothing, or what is there cannot be read.
    """
    order = list(DOCUMENTS)
    names = sorted(
        list_studies().items(),
        key=lambda item: _place(item[0].split("/")[0], order),
    )
    gathered = []
    for name, path in names:
        study = read_study(name, path)
        gathered.append(Gathered(study, _find(folder, study)))
    if not any(item.outcome for item in gathered):
        raise InputError(f"{folder}: {_tell_found(folder)}")
    return gathered


def _tell_found(folder: Path) -> str:
    """Say what is in a folder without the results of studies."""
    if folder.is_file():
        return "expected a folder with studies' results, found a file"
    if read_kind(folder) == "study":
        above = folder.resolve().parent
        return f"holds the results of one study; expected the folder with those of all, such as {above}"
    if kind := read_kind(folder):
        return f"holds the results of a {kind}; expected a folder with studies' results"
    return "no study's results are here; headend study run all makes them"


def write_studies_page(gathered: Sequence[Gathered], path: Path) -> Path:
    """Write the page over the studies that were run; it holds all it needs.

    Parameters
    ----------
    gathered
        The studies.
    path
        The HTML file.
    """
    from headend.report import render_page, write_page

    run = [item for item in gathered if item.outcome]
    page = render_page(
        "studies.html.j2",
        [],
        title="Receipts: what five documents say, and what headend measures",
        documents=list(_group(run)),
        counts=count_verdicts(list_judged(run)),
        verdicts=list(Verdict),
        missing=[item.study.name for item in gathered if not item.outcome],
        versions=sorted({item.outcome.version for item in run if item.outcome}),
    )
    return write_page(page, path)


def write_claims(gathered: Sequence[Gathered], path: Path) -> Path:
    """Write all claims with their verdicts as Markdown, for documents that are read beside the code.

    Parameters
    ----------
    gathered
        The studies.
    path
        The Markdown file.
    """
    from headend.report import write_page

    run = [item for item in gathered if item.outcome]
    counts = count_verdicts(list_judged(run))
    lines = [
        "# Receipts",
        "",
        "What the documents say, what headend measures, and whether the two agree. `headend study run all` measures it anew, and `headend study report` makes"
        " a page of it with the figures and the whole claims; where a number has an interval, that page has it.",
        "",
        f"| document | {' | '.join(verdict.value for verdict in Verdict)} |",
        f"|---|{'---|' * len(Verdict)}",
    ]
    for document, own in counts.items():
        numbers = " | ".join(str(own.get(verdict, 0)) for verdict in Verdict)
        lines.append(f"| {_escape(document)} | {numbers} |")
    for document, studies in _group(run):
        lines += ["", f"## {_escape(document)}"]
        for item in studies:
            lines += ["", f"### {_escape(item.study.title)}", ""]
            lines += [f"`headend study run {item.study.name}`: {_describe_run(item)}.", ""]
            lines += ["| claim | expected | measured | verdict |", "|---|---|---|---|"]
            lines += (
                [_write_row(judgement) for judgement in item.outcome.judgements]
                if item.outcome
                else []
            )
    return write_page("\n".join(lines) + "\n", path)


def _write_row(judgement: Judgement) -> str:
    claim, finding = judgement.claim, judgement.finding
    why = f": {finding.why}" if finding.why and finding.verdict is not Verdict.REPRODUCED else ""
    cells = (claim.id, claim.expected, finding.measured, f"{finding.verdict}{why}")
    return f"| {' | '.join(map(_escape, cells))} |"


def _place(document: str, order: Sequence[str]) -> int:
    return order.index(document) if document in order else len(order)


def _group(run: Sequence[Gathered]) -> Iterator[tuple[str, list[Gathered]]]:
    for document, own in itertools.groupby(run, key=lambda item: item.document):
        yield document, list(own)


def _find(folder: Path, study: Study) -> Finished | None:
    """Read a study's results, or where it was only run in its quick form, those."""
    forms = [study, study.make_quick()] if study.quick_settings else [study]
    found = (_read(folder / choose_study_folder(form).name) for form in forms)
    return next((outcome for outcome in found if outcome), None)


def _read(folder: Path) -> Finished | None:
    """Read one study's folder; None where it was not run to its end."""
    path = folder / CLAIMS
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return Finished(
            tuple(Judgement.from_dict(item) for item in content["claims"]),
            tuple(_read_drawing(folder / FIGURES, item) for item in content["figures"]),
            content["points"],
            tuple(content["seeds"]),
            manifest["headend"],
            content["quick"],
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: not what this version writes ({error}); run the study again"
        ) from error


def _read_drawing(folder: Path, item: dict[str, Any]) -> Drawing:
    panels = tuple(_embed(folder / name) for name in item["files"])
    return Drawing(item["name"], item["title"], item["explanation"], panels)


def _embed(path: Path) -> str:
    """Give a picture as an address that holds it, without what only a reader of the file itself could hear."""
    text = _UNHEARD.sub("", path.read_text(encoding="utf-8"))
    return "data:image/svg+xml;base64," + base64.b64encode(text.encode()).decode("ascii")


def _describe_run(item: Gathered) -> str:
    """Say how a study was run."""
    assert item.outcome is not None
    if item.study.scenario is None:
        return "calculated"
    seeds = item.outcome.seeds
    word = "seed" if len(seeds) == 1 else "seeds"
    quick = "; quick form" if item.outcome.quick else ""
    return f"{item.outcome.points} runs, {word} {', '.join(map(str, seeds))}{quick}"


def _escape(text: str) -> str:
    """Keep a text from ending the cell of a Markdown table, or from meaning something in it."""
    plain = " ".join(text.split())
    for mark in ("\\", "|", "<", "*", "_", "`", "~", "["):
        plain = plain.replace(mark, f"\\{mark}")
    return plain
