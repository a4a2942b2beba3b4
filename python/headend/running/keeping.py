"""Results that are saved to a folder with a report: of one run, or of several side by side."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from headend.errors import InputError, take_path
from headend.pages.notebook import Presented
from headend.results.folder import REPORT, create_folder


class Saved(Presented):
    """Results that can be saved to a folder."""

    folder: Path | None

    @abstractmethod
    def write_into(self, folder: Path) -> None:
        """Write what was measured into a folder that exists."""

    @abstractmethod
    def report(self, path: str | Path) -> Path:
        """Write the self-contained report."""

    def save(self, folder: str | Path, *, force: bool = False, report: bool = True) -> Path:
        """Write a results folder, whole or not at all.

        Parameters
        ----------
        folder
            Where; it must not exist yet.
        force
            Replace a results folder that is there.
        report
            Also write ``report.html``.
        """
        folder = take_path(folder, "folder")
        with create_folder(folder, force=force) as fresh:
            self.write_into(fresh)
        self.folder = folder
        if report:
            self.report(folder / REPORT)
        return folder


Kept = TypeVar("Kept", bound=Saved)


def keep_run(
    carry_out: Callable[[], Kept], out: str | Path | None, *, force: bool, report: bool
) -> Kept:
    """Carry out one or several runs and, where a folder is named, keep the results there.

    Raises
    ------
    InputError
        When the folder is not usable, or the report cannot be written: results are kept.
    """
    if out is None:
        return carry_out()
    folder = take_path(out, "out")
    with create_folder(folder, force=force) as fresh:
        result = carry_out()
        result.write_into(fresh)
    result.folder = folder
    if report:
        try:
            result.report(folder / REPORT)
        except InputError as error:
            raise InputError(f"{error}; the results are kept in {folder}") from error
    return result
