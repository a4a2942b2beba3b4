"""What studies left in a folder, and whether it is evidence: own seeds, today's claims."""

from __future__ import annotations

import base64
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
from headend.study.claims import Judgement
from headend.study.definition import Study, read_study
from headend.study.documents import name_document, place_study
from headend.study.outcome import CLAIMS, FIGURES, check_pictures, choose_study_folder

#: What screen readers are told of each mark of a picture; of one that is an image, nobody reads it.
_UNHEARD = re.compile(r' (?:aria-[a-z]+|role|pointer-events)="[^"]*"')


@dataclass(frozen=True)
class Picture:
    """A panel of a figure, as SVG."""

    id: str
    path: Path

    @property
    def address(self) -> str:
        """An address that holds the picture itself, without text for other readers."""
        text = self.read_silent()
        return "data:image/svg+xml;base64," + base64.b64encode(text.encode()).decode("ascii")

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
class Finished:
    """What a study's folder holds."""

    judgements: tuple[Judgement, ...]
    drawings: tuple[Drawing, ...]
    quick: str
    points: int
    seeds: tuple[int, ...]
    version: str


@dataclass(frozen=True)
class Gathered:
    """A shipped study, and its results where it was run, with its own seeds and in full."""

    study: Study
    outcome: Finished | None

    @property
    def judgements(self) -> tuple[Judgement, ...]:
        """Its claims with what was found; none where it was not run."""
        return self.outcome.judgements if self.outcome else ()

    @property
    def document(self) -> str:
        """The document it belongs to."""
        return name_document(self.study.name)

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON can hold it."""
        claims = self.outcome and [item.to_dict() for item in self.outcome.judgements]
        return {"study": self.study.name, "document": self.document, "claims": claims}


def tell_seeds(seeds: Sequence[int]) -> str:
    """Name seeds in words.

    Examples
    --------
    >>> tell_seeds([1]), tell_seeds([1, 2])
    ('seed 1', 'seeds 1, 2')
    """
    return f"{'seed' if len(seeds) == 1 else 'seeds'} {', '.join(map(str, seeds))}"


def gather_studies(folder: Path) -> list[Gathered]:
    """Read what studies left in a folder, in the order of the page.

    Raises
    ------
    InputError
        When there is nothing; or a study was run with other seeds than its own, or judged by other
        claims than its file has now; or what is there cannot be read.
    """
    gathered = []
    for name, path in sorted(list_studies().items(), key=lambda item: place_study(item[0])):
        study = read_study(name, path)
        gathered.append(Gathered(study, _read(folder / choose_study_folder(study).name, study)))
    if not any(item.outcome for item in gathered):
        raise InputError(f"{folder}: {_tell_found(folder)}")
    return gathered


def _tell_found(folder: Path) -> str:
    """Say what is in a folder without the results of studies."""
    if folder.is_file():
        return "expected a folder with studies' results, found a file"
    if read_kind(folder) == "study":
        above = folder.resolve().parent
        return (
            "holds the results of one study; expected the folder with those of all, such as"
            f" {above}"
        )
    if kind := read_kind(folder):
        return f"holds the results of a {kind}; expected a folder with studies' results"
    if any(folder.glob(f"*-quick/{CLAIMS}")):
        return (
            "only quick forms of studies are here, which are no receipts; headend study run NAME,"
            " or all, makes them"
        )
    return "no study's results are here; headend study run all makes them"


def _read(folder: Path, study: Study) -> Finished | None:
    """Read one study's folder; None where it was not run to its end."""
    path = folder / CLAIMS
    if not path.is_file():
        return None
    manifest = read_manifest(folder)
    sealed = check_whole(folder)
    content = read_json(folder, CLAIMS)
    try:
        check_pictures(
            [name for item in content["figures"] for name in item["files"]], sealed, folder
        )
        outcome = Finished(
            tuple(Judgement.from_dict(item) for item in content["claims"]),
            tuple(_read_drawing(folder, item) for item in content["figures"]),
            content["quick"],
            content["points"],
            tuple(map(int, content["seeds"])),
            manifest["headend"],
        )
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: not what this version writes ({error}); run the study again"
        ) from error
    _check(outcome, study, folder)
    return outcome


def _check(outcome: Finished, study: Study, folder: Path) -> None:
    """Refuse what is no evidence for the claims that a study makes now."""
    again = f"headend study run {study.name} makes the receipt"
    if outcome.quick:
        raise InputError(f"{folder}: was run in its quick form, which judges nothing; {again}")
    if study.scenario and (lacking := sorted(set(study.seeds) - set(outcome.seeds))):
        raise InputError(
            f"{folder}: was run with {tell_seeds(outcome.seeds)}, and a receipt needs the study's"
            f" own seeds {', '.join(map(str, study.seeds))} (missing: {tell_seeds(lacking)});"
            f" {again}"
        )
    judged = [judgement.claim for judgement in outcome.judgements]
    if judged != [replace(claim, check="") for claim in study.claims]:
        raise InputError(
            f"{folder}: the study's claims have changed since it was judged; {again}: its finished"
            " points are kept"
        )


def _read_drawing(folder: Path, item: dict[str, Any]) -> Drawing:
    pictures = tuple(_find_picture(folder, name) for name in item["files"])
    return Drawing(item["title"], item["explanation"], pictures, tuple(item["shows"]))


def _find_picture(folder: Path, name: str) -> Picture:
    path = folder / FIGURES / name
    return Picture(f"{folder.name}-{path.stem}", path)
