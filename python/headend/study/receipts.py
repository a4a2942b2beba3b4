"""What studies left in a folder, and each document's figures and tables with what was found."""

from __future__ import annotations

import base64
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headend.errors import InputError
from headend.results.folder import read_json, read_kind
from headend.results.record import read_manifest
from headend.results.seal import check_whole
from headend.scenario.shipped import list_studies
from headend.study.claims import CheckedClaim, ClaimVerdict, Kind
from headend.study.definition import Study, read_study
from headend.study.documents import (
    NUMBERED,
    Entry,
    Reading,
    find_all,
    name_document,
    place_study,
    read_catalogue,
)
from headend.study.locating import choose_study
from headend.study.named_run import NamedRun, find_run
from headend.study.outcome import CLAIMS, FIGURES, check_pictures, choose_study_folder

#: What screen readers are told of each mark of a picture; of one that is an image, nobody reads it.
_UNHEARD = re.compile(r' (?:aria-[a-z]+|role|pointer-events)="[^"]*"')

#: Claims beside a figure or table of which no published result is checked.
_BESIDE = (Kind.EXPECTATION, Kind.ARITHMETIC, Kind.SETTING)


@dataclass(frozen=True)
class Picture:
    """A panel of a figure, as SVG."""

    id: str
    path: Path

    @property
    def address(self) -> str:
        """An address that holds the picture itself, without text for other readers."""
        return "data:image/svg+xml;base64," + base64.b64encode(self.read_silent().encode()).decode()

    def read_silent(self) -> str:
        """Read the SVG without what only a reader of the file could hear."""
        return _UNHEARD.sub("", self.path.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Drawing:
    """A figure as written: words, panels, and the figures and tables that it shows anew."""

    title: str
    explanation: str
    pictures: tuple[Picture, ...]
    shows: tuple[str, ...] = ()


@dataclass(frozen=True)
class Receipt:
    """A shipped study, with its results where it was run in full and with its own seeds.

    ``version`` is that of headend that ran it; empty where it was not run.
    """

    study: Study
    claims: tuple[CheckedClaim, ...] = ()
    drawings: tuple[Drawing, ...] = ()
    points: int = 0
    seeds: tuple[int, ...] = ()
    version: str = ""

    @property
    def is_run(self) -> bool:
        """Whether there are results."""
        return bool(self.version)

    @property
    def document(self) -> str:
        """The document it belongs to."""
        return name_document(self.study.name)

    def describe_run(self) -> str:
        """Say how it was run.

        Examples
        --------
        >>> study = read_study("cbt/blast", list_studies()["cbt/blast"])
        >>> Receipt(study, points=3, seeds=(1, 2, 3), version="1").describe_run()
        '3 runs, seeds 1 to 3'
        """
        if not self.study.has_runs:
            return "calculated"
        seeds = self.seeds
        if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
            return f"{self.points} runs, seeds {seeds[0]} to {seeds[-1]}"
        return f"{self.points} runs, {name_seeds(seeds)}"

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON can hold it."""
        claims = [item.to_dict() for item in self.claims] if self.is_run else None
        return {"study": self.study.name, "document": self.document, "claims": claims}


def name_seeds(seeds: Sequence[int]) -> str:
    """Name seeds in words.

    Examples
    --------
    >>> name_seeds([1]), name_seeds([1, 2])
    ('seed 1', 'seeds 1, 2')
    """
    return f"{'seed' if len(seeds) == 1 else 'seeds'} {', '.join(map(str, seeds))}"


def read_receipts(folder: Path) -> list[Receipt]:
    """Read what studies left in a folder, in the order of the page.

    Raises
    ------
    InputError
        When there is nothing; or a study was run with other seeds than its own, or checked by other
        claims than its file has now; or what is there cannot be read.
    """
    receipts = []
    for name, path in sorted(list_studies().items(), key=lambda item: place_study(item[0])):
        study = read_study(name, path)
        receipts.append(_read(folder / choose_study_folder(study).name, study))
    if not any(item.is_run for item in receipts):
        raise InputError(f"{folder}: {_explain_none(folder)}")
    return receipts


def _explain_none(folder: Path) -> str:
    """Say what is in a folder without the results of studies."""
    if folder.is_file():
        return "expected a folder with studies' results, found a file"
    if (kind := read_kind(folder)) == "study":
        return (
            "holds the results of one study; expected the folder with those of all, such as"
            f" {folder.resolve().parent}"
        )
    if kind:
        return f"holds the results of a {kind}; expected a folder with studies' results"
    if any(folder.glob(f"*-quick/{CLAIMS}")):
        return (
            "only quick forms of studies are here, which are no receipts; headend study run NAME,"
            " or all, makes them"
        )
    return "no study's results are here; headend study run all makes them"


def _read(folder: Path, study: Study) -> Receipt:
    """Read one study's folder; without results where it was not run to its end."""
    path = folder / CLAIMS
    if not path.is_file():
        return Receipt(study)
    manifest = read_manifest(folder)
    sealed = check_whole(folder)
    content = read_json(folder, CLAIMS)
    try:
        figures = content["figures"]
        check_pictures([name for item in figures for name in item["files"]], sealed, folder)
        drawings = []
        for item in figures:
            files = [folder / FIGURES / name for name in item["files"]]
            pictures = tuple(Picture(f"{folder.name}-{file.stem}", file) for file in files)
            shows = tuple(item["shows"])
            drawings.append(Drawing(item["title"], item["explanation"], pictures, shows))
        receipt = Receipt(
            study,
            tuple(CheckedClaim.from_dict(item) for item in content["claims"]),
            tuple(drawings),
            content["points"],
            tuple(map(int, content["seeds"])),
            manifest["headend"],
        )
        quick = content["quick"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: not what this version writes ({error}); run the study again"
        ) from error
    # What was run otherwise is no evidence for the claims that the study makes now.
    again = f"headend study run {study.name} makes the receipt"
    if quick:
        raise InputError(f"{folder}: was run in its quick form, which judges nothing; {again}")
    if study.has_runs and (missing := sorted(set(study.seeds) - set(receipt.seeds))):
        raise InputError(
            f"{folder}: was run with {name_seeds(receipt.seeds)}, and a receipt needs the study's"
            f" own seeds {', '.join(map(str, study.seeds))} (missing: {name_seeds(missing)});"
            f" {again}"
        )
    if [item.claim for item in receipt.claims] != [
        replace(claim, check="") for claim in study.claims
    ]:
        raise InputError(
            f"{folder}: the study's claims have changed since it was judged; {again}: its finished"
            " points are kept"
        )
    return receipt


@dataclass(frozen=True)
class Exhibit:
    """A figure or table of a document.

    Parameters
    ----------
    entry
        What the document calls it.
    study
        The study that draws it anew, or runs what a diagram shows, else the first with a claim.
    picture
        Our picture of it; None where no study draws it, or its study was not run.
    claims
        The published results that have it as their source, or if none, other claims.
    is_run
        Whether the study was run.
    """

    entry: Entry
    study: str
    picture: Picture | None
    claims: tuple[CheckedClaim, ...]
    is_run: bool = True
    #: A run of it for a browser, where its study names one.
    run: NamedRun | None = None

    @property
    def counts(self) -> dict[ClaimVerdict, int]:
        """How many of its claims have each verdict, without those that none has."""
        verdicts = [item.verdict for item in self.claims]
        return {item: verdicts.count(item) for item in ClaimVerdict if item in verdicts}

    def explain_no_claim(self) -> str:
        """Say why there is no claim beside it."""
        if self.entry.note:
            return self.entry.note
        if self.study and not self.is_run:
            return f"`{self.study}` was not run."
        by = f"; `{self.study}` draws it" if self.study else ""
        return f"No published result is judged{by}."


def list_exhibits(receipts: Sequence[Receipt]) -> list[Exhibit]:
    """List the figures and tables of a document, in the order of the page, from all its studies.

    Where it has no list of its figures and tables, they are those that published results have as
    their source.
    """
    catalogue = read_catalogue(receipts[0].study.folder.parent) if receipts else {}
    shown = {name for item in receipts for figure in item.study.figures for name in figure.shows}
    # Claims by figure or table, with their studies: published results, or else others.
    results: dict[str, list[tuple[Receipt, CheckedClaim]]] = {}
    others: dict[str, list[tuple[Receipt, CheckedClaim]]] = {}
    for item in receipts:
        for checked in item.claims:
            kind = checked.claim.kind
            if kind is Kind.RESULT or kind in _BESIDE:
                claims = results if kind is Kind.RESULT else others
                for name in find_all(checked.claim.source, [*catalogue, *shown]):
                    claims.setdefault(name, []).append((item, checked))
    if not catalogue:
        numbers = {name: number for number, name in enumerate({**others, **results})}

        def place(name: str) -> tuple[str, int, str]:
            """Sort by number; after those, in the order of the claims."""
            match = NUMBERED.fullmatch(name)
            return (match[1], int(match[2]), match[3]) if match else ("~", numbers[name], "")

        catalogue = {name: Entry(name) for name in sorted(results, key=place)}
    exhibits = []
    for entry in catalogue.values():
        pairs = results.get(entry.name) or others.get(entry.name, [])
        drawer = choose_study(entry, [item.study for item in receipts])
        name = drawer.name if drawer else pairs[0][0].study.name if pairs else ""
        receipt = next((item for item in receipts if item.study.name == name), None)
        picture = _find_picture(entry, receipt.drawings) if receipt else None
        is_run = not receipt or receipt.is_run
        own = tuple(checked for _, checked in pairs)
        run = find_run(receipt.study, entry.name) if receipt and picture else None
        exhibits.append(Exhibit(entry, name, picture, own, is_run, run))
    return exhibits


def _find_picture(entry: Entry, drawings: Sequence[Drawing]) -> Picture | None:
    """Find the panel that shows a figure or table: its own, or else the first of its drawing."""
    if entry.note:
        return None
    for drawing in drawings:
        for number, name in enumerate(drawing.shows):
            if name == entry.name:
                has_own = len(drawing.shows) == len(drawing.pictures)
                return drawing.pictures[number if has_own else 0]
    return None


@dataclass(frozen=True)
class Document:
    """A document, and the studies of it that were run."""

    title: str
    receipts: tuple[Receipt, ...]
    #: Its figures and tables, also those of studies that were not run.
    exhibits: tuple[Exhibit, ...]

    @property
    def readings(self) -> list[Reading]:
        """What its studies run where it leaves that open, each once."""
        return list(dict.fromkeys(one for item in self.receipts for one in item.study.readings))

    def select(self, kind: Kind) -> list[tuple[Receipt, CheckedClaim]]:
        """Give its claims of one kind, each with its study."""
        pairs = ((item, checked) for item in self.receipts for checked in item.claims)
        return [(item, checked) for item, checked in pairs if checked.claim.kind is kind]


def list_documents(receipts: Sequence[Receipt]) -> list[Document]:
    """Give the documents of which studies were run."""
    documents = []
    for title, group in itertools.groupby(receipts, key=lambda item: item.document):
        own = list(group)
        if run := tuple(item for item in own if item.is_run):
            documents.append(Document(title, run, tuple(list_exhibits(own))))
    return documents
