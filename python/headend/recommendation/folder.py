"""The results folder of a recommendation: points, tables, request, scenarios and page."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headend.errors import InputError, tell_system
from headend.recommendation.candidate import Candidate, Feature
from headend.recommendation.exporting import write_scenario_file
from headend.recommendation.page import write_recommendation_page
from headend.recommendation.request import Request
from headend.recommendation.result import Recommendation
from headend.recommendation.tier import Tier
from headend.recommendation.writing import name_files
from headend.results.experiment import RESULTS, SUMMARY, remove_page
from headend.results.folder import (
    MANIFEST,
    REPORT,
    encode_json,
    encode_table,
    make_folder,
    read_own_manifest,
    read_table,
    write_file,
)
from headend.results.record import RESULT_FORMAT, read_manifest
from headend.results.seal import SEALS, is_page_of, read_seals, seal
from headend.results.store import POINT_FOLDER, check_point_folder
from headend.sweeps.wish import Condition, Term, Wish

#: The kind of results.
KIND = "recommendation"


def choose_recommendation_folder(name: str) -> Path:
    """Give the folder of a recommendation's results; another run goes on from what is there."""
    return Path("results") / "recommend" / name


def open_recommendation_folder(folder: Path, request: Request, *, force: bool = False) -> None:
    """Make the folder before anything is run, or refuse one with other things or not writable.

    Parameters
    ----------
    folder
        Of the results.
    request
        Whose they will be.
    force
        Let them take the place of another recommendation's.
    """
    check_point_folder(folder, KIND)
    if not force:
        _check_same(folder, request)
    make_folder(folder)
    make_folder(folder / POINT_FOLDER)


def _check_same(folder: Path, request: Request) -> None:
    """Refuse the results of another recommendation: of none of the same tiers."""
    manifest = read_own_manifest(folder)
    if manifest is None:
        return
    found = [str(own.get("name")) for own in manifest.get("tiers", ())]
    wanted = [tier.name for tier in request.tiers]
    if not found or set(found) & set(wanted):
        return
    raise InputError(
        f"{folder}: holds another recommendation, of {', '.join(found)} and not of"
        f" {', '.join(wanted)}; choose another folder with --out, or replace it with --force (from"
        " Python, out= and force=True)"
    )


def write_outcome(recommendation: Recommendation, folder: Path, *, report: bool = True) -> None:
    """Write table, manifest, tiers' scenarios, seals and page; each file is whole or as it was."""
    from headend.version import read_version

    manifest = {
        "headend": read_version(),
        "format": RESULT_FORMAT,
        "kind": KIND,
        "name": recommendation.request.name,
        "title": recommendation.request.title,
        "complete": recommendation.complete,
        "request": recommendation.request.to_dict(),
        "tiers": [
            {
                "name": tier.name,
                "wish": _write_wish(wish),
                "candidates": [_write_candidate(own) for own in candidates],
            }
            for tier, candidates, wish in recommendation.tiers
        ],
        "failed": len(recommendation.failures),
        "points": list(recommendation.points),
        "warnings": list(recommendation.notes),
    }
    scenarios = _write_scenarios(recommendation) if recommendation.complete else {}
    files = {
        RESULTS: encode_table(recommendation.table),
        SUMMARY: encode_table(recommendation.summary),
        MANIFEST: encode_json(manifest),
        **scenarios,
    }
    before = _list_scenario_files(folder)
    for name, content in files.items():
        write_file(content, folder / name)
    seal(folder, files)
    for name in before - set(files):
        _remove(folder / name)
    if not recommendation.complete:
        remove_page(folder)
    elif report:
        write_own_page(recommendation, folder)
    elif not is_page_of(folder / REPORT, _fingerprint(folder)):
        remove_page(folder)  # it has the answer to other conditions


def write_own_page(recommendation: Recommendation, folder: Path, path: Path | None = None) -> None:
    """Write the page of a recommendation whose tables are in a folder, by default there."""
    write_recommendation_page(recommendation, path or folder / REPORT, _fingerprint(folder))


def rewrite_page(folder: Path, path: Path | None = None) -> Path:
    """Write the page of a recommendation again from its folder alone."""
    path = path or folder / REPORT
    write_own_page(load_recommendation(folder), folder, path)
    return path


def _fingerprint(folder: Path) -> str:
    """Tell what a page is made of: its numbers, its words, and how it is drawn."""
    from headend.pages.page import fingerprint_drawing

    digest = hashlib.sha256(f"{fingerprint_drawing()}\n".encode())
    for name in (MANIFEST, RESULTS):
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()


def _write_scenarios(recommendation: Recommendation) -> dict[str, bytes]:
    """Write each tier's scenario with its recommended or nearest setting, by file name."""
    decisions = recommendation.decisions
    names = name_files([own.tier for own in decisions])
    return {
        f"{name}.toml": write_scenario_file(recommendation.request, decision).encode()
        for name, decision in zip(names, decisions, strict=True)
        if decision.chosen.setting
    }


def _list_scenario_files(folder: Path) -> set[str]:
    """List the scenarios that a recommendation wrote to a folder before."""
    if not (folder / SEALS).is_file():
        return set()
    try:
        return {name for name in read_seals(folder) if name.endswith(".toml") and "/" not in name}
    except InputError:
        return set()


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be removed: {tell_system(error)}") from error


def load_recommendation(folder: str | Path) -> Recommendation:
    """Read a recommendation back that was run to its end, without running anything.

    Raises
    ------
    InputError
        When it was not, when it is damaged, or when the folder holds something else.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    kind = manifest.get("kind", "run")
    if kind != KIND:
        raise InputError(f"{folder}: expected the results of a {KIND}, found those of a {kind}")
    if not manifest.get("complete", False):
        raise InputError(
            f"{folder}: the recommendation was not run to its end; run it again to go on"
        )
    try:
        request = Request.from_dict(manifest["request"])
        tiers = tuple(
            _read_tier(tier, own)
            for tier, own in zip(request.tiers, manifest["tiers"], strict=True)
        )
        notes = tuple(map(str, manifest.get("warnings", ())))
        points = tuple(map(str, manifest.get("points", ())))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{folder / MANIFEST}: damaged: {error}") from error
    table = read_table(folder, RESULTS)
    return Recommendation(
        request, tiers, table, complete=True, folder=folder, notes=notes, points=points
    )


def _read_tier(tier: Tier, content: Mapping[str, Any]) -> tuple[Tier, tuple[Candidate, ...], Wish]:
    candidates = tuple(
        Candidate(
            own["label"],
            Feature(own["feature"]),
            own["upstream"],
            own["downstream"],
            is_settable=own["is_settable"],
            target=own["target"],
            size=own["size"],
        )
        for own in content["candidates"]
    )
    return tier, candidates, _read_wish(content["wish"])


def _write_candidate(candidate: Candidate) -> dict[str, Any]:
    return {
        "label": candidate.label,
        "feature": str(candidate.feature),
        "upstream": candidate.upstream,
        "downstream": candidate.downstream,
        "is_settable": candidate.is_settable,
        "target": candidate.target,
        "size": candidate.size,
    }


def _write_wish(wish: Wish) -> dict[str, Any]:
    """Write what must hold, with absolute bounds: those that are shares are of the tier's rates."""
    content: dict[str, Any] = {
        "hold": [
            {
                "text": one.text,
                "quantity": list(one.term.measures),
                "operator": one.operator,
                "bound": one.limit,
            }
            for one in wish.hold
        ]
    }
    if wish.objective:
        content["most" if wish.is_rising else "least"] = list(wish.objective.measures)
    return content


def _read_wish(content: Mapping[str, Any]) -> Wish:
    hold = tuple(
        Condition(own["text"], _read_term(own["quantity"]), own["operator"], own["bound"])
        for own in content["hold"]
    )
    for word in ("most", "least"):
        if word in content:
            return Wish(hold, _read_term(content[word]), word == "most")
    return Wish(hold)


def _read_term(measures: list[str]) -> Term:
    return Term(" / ".join(measures), tuple(measures))
