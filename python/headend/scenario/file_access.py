"""Which files a scenario may read: those in its folder and below, and others allowed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headend.errors import InputError, refuse_argument, refuse_unwritable, take_path


class UnnamedCodeError(InputError):
    """Code would be executed that no person has named."""


@dataclass(frozen=True)
class FileAccess:
    """Where a scenario's files are looked for. Links are followed as far as they stay inside."""

    #: The folder of the scenario: for the files that its text names.
    scenario: Path = Path()
    #: The folder for those that overrides name: of the sweep's or study's file that writes them, or
    #: where the program runs.
    writer: Path = Path()
    #: Overrides, as ``PATH=VALUE``, that come from the command line and not from the writer's file:
    #: their paths start where the program runs.
    typed: frozenset[str] = frozenset()
    #: Files and folders from which may be read besides.
    allowed: tuple[Path, ...] = ()
    #: Overrides, as ``PATH=VALUE``, by which a person names the file of a modem: each is read
    #: wherever it is, and its path starts where the program runs.
    named: frozenset[str] = frozenset()
    #: Whether a person writes the overrides that are not typed too, and not a file.
    person_writes: bool = False
    #: Files with code that a person names otherwise; None where a program writes the scenario.
    codes: frozenset[str] | None = frozenset()

    def locate(self, name: str, set_by: str | None = None) -> Path:
        """Give the path of a file, which the scenario names or an override as ``PATH=VALUE``.

        What a person types, a command completes from where the program runs; but it may be the
        value of the scenario's own file too. So a file that is not there is looked for in the
        scenario's folder. What is not within reach, or in neither folder, is an InputError.
        """
        refuse_unwritable(name)
        is_named = set_by in self.named
        folder = self.scenario
        if set_by is not None:
            folder = Path() if is_named or set_by in self.typed else self.writer
        if folder == Path() and not (folder / name).exists() and (self.scenario / name).exists():
            folder, is_named = self.scenario, False
        if not is_named:
            self.check(folder / name, folder)
        if folder != self.scenario and folder == Path() and not (folder / name).exists():
            raise InputError(f"no such file in this folder or in the scenario's, {self.scenario}")
        return folder / name

    def check_code(self, name: str, set_by: str | None, path: Path) -> None:
        """Refuse code that no person has named: it would be executed with the user's rights.

        The error is an `UnnamedCodeError`.

        Parameters
        ----------
        name
            The file, as it is named; empty for code whose text the scenario holds.
        set_by
            The override that names it, as ``PATH=VALUE``; None where the scenario does.
        path
            Where the code is.
        """
        is_typed = set_by is not None and (set_by in self.typed or self.person_writes)
        if is_typed or self.codes is None or (name and name in self.codes):
            return
        # A folder may be allowed for its traces alone.
        if not any(one.is_file() and path.exists() and one.samefile(path) for one in self.allowed):
            what = f"names the code {name}" if name else "holds code"
            what += f" ({set_by})" if set_by else ""
            how = (
                f"--allow-files {path} lets it be executed (from Python, allow_files)"
                if path.is_file()
                else "save it as a file, and name that with --allow-files"
            )
            raise UnnamedCodeError(
                f"a file {what}, which would be executed with your rights; read it, and then {how}"
            )

    def check(self, path: Path, folder: Path) -> None:
        """Refuse a path that leads out of a folder and is not allowed either."""
        if not _is_below(path, (folder, *self.allowed)):
            raise InputError(
                f"it is not in {'this folder' if folder == Path() else f'the folder {folder}'} or"
                " below; --allow-files PATH lets files elsewhere be read (from Python,"
                " allow_files)"
            )


def _is_below(path: Path, roots: Sequence[Path]) -> bool:
    """Say whether a path is one of the roots, or below one, after all links."""
    real = Path(os.path.realpath(path))
    return any(real.is_relative_to(os.path.realpath(root)) for root in roots)


#: From the folder where the program runs, and no others.
HERE = FileAccess()


def read_allowed(paths: Sequence[str | os.PathLike[str]]) -> tuple[Path, ...]:
    """Take the files and folders that are allowed besides; an InputError for one not there."""
    if isinstance(paths, str | os.PathLike) or not isinstance(paths, Sequence):
        raise refuse_argument("allow_files", "a list of paths", paths)
    allowed = tuple(take_path(path, "allow_files") for path in paths)
    for path in allowed:
        if not path.exists():
            raise InputError(f"--allow-files {path}: no such file or folder")
    return allowed
