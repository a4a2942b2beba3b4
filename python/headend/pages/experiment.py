"""An experiment in its folder, and its page: made again only when what it shows has changed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from headend.pages import page
from headend.results.experiment import RESULTS, Experiment, remove_page
from headend.results.folder import MANIFEST, REPORT
from headend.results.seal import is_page_of


def write_experiment(
    experiment: Experiment, render: Callable[[], str], *, report: bool = True
) -> None:
    """Write an experiment to its folder, with its page, or without one that shows something else.

    Parameters
    ----------
    experiment
        One that has a folder.
    render
        Gives the HTML of its page; called only where that is written.
    report
        Whether to write the page.
    """
    folder = experiment.folder
    assert folder, "an experiment that is written has a folder"
    experiment.write(folder)
    if not experiment.complete:
        return  # its page is gone already
    path = folder / REPORT
    if report:
        write_experiment_page(experiment, render)
    # What is no file is no page of other results, and is left where it is.
    elif path.is_file() and not is_page_of(path, _fingerprint(folder)):
        remove_page(folder)


def write_experiment_page(
    experiment: Experiment, render: Callable[[], str], path: Path | None = None
) -> Path:
    """Write the page of an experiment that has a folder, by default there, unless it is there."""
    folder = experiment.folder
    assert folder, "an experiment whose page is written has a folder"
    path, fingerprint = path or folder / REPORT, _fingerprint(folder)
    if not is_page_of(path, fingerprint):
        page.write_page(render(), path, fingerprint)
    return path


def _fingerprint(folder: Path) -> str:
    """Tell what a page is made of: its numbers, its words, and how it is drawn."""
    digest = hashlib.sha256(f"{page.fingerprint_drawing()}\n".encode())
    for name in (MANIFEST, RESULTS):
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()
