"""The output of a command, to a file that ``-o`` names or to standard output. A file is never left incomplete."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from headend.cli.streams import close_output
from headend.cli.terminal import make_messages, print_text, write_line
from headend.errors import InputError, refuse_unwritable, tell_system
from headend.files import STANDARD_INPUT
from headend.results.scratch import write_whole


class Target:
    """Where the result of a command goes: a file, or standard output.

    Parameters
    ----------
    path
        The file; None and ``-`` are standard output.
    force
        Whether the file may be there already.
    sources
        The files that are read, none of which is replaced.

    Raises
    ------
    InputError
        In one line, if the file cannot be written for a reason that is known in advance.
    """

    def __init__(
        self, path: Path | None, *, force: bool = False, sources: tuple[str, ...] = ()
    ) -> None:
        self.path = None if path is None or str(path) == STANDARD_INPUT else path
        self._force = force
        if self.path:
            _check(self.path, force, sources)
        elif force:
            raise InputError(
                "--force: has no effect on standard output; -o FILE names a file to replace"
            )

    def refuse_terminal(self) -> None:
        """Refuse to write bytes to a terminal."""
        if self.path is None and sys.stdout.isatty():
            raise InputError(
                "standard output is a terminal, and a modem's file is binary; write it with -o FILE, or redirect it: > FILE"
            )

    def write_text(self, text: str) -> None:
        """Write a text: in UTF-8 to a file or a pipe, and in the letters of the terminal to a terminal."""
        if self.path is None and sys.stdout.isatty():
            print_text(text)
        else:
            self.write(text.encode())

    def write(self, content: bytes) -> None:
        """Write bytes.

        Raises
        ------
        InputError
            In one line that begins with the path.
        """
        if self.path is None:
            _print_bytes(content)
            return
        try:
            if self._force and self.path.exists():
                write_whole(Path(os.path.realpath(self.path)), content)
            else:
                _create(self.path, content)
        except FileExistsError as error:
            raise InputError(f"{self.path}: exists already; --force replaces it") from error
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written: {tell_system(error)}") from error

    def tell(self) -> None:
        """Print on standard error which file was written."""
        if self.path:
            make_messages().print(write_line(f"{self.path} written"), soft_wrap=True)


def _check(path: Path, force: bool, sources: tuple[str, ...]) -> None:
    refuse_unwritable(str(path))
    if path.is_dir():
        raise InputError(f"{path}: expected a file to write, found a directory")
    if any(_is_same(path, Path(source)) for source in sources):
        raise InputError(f"{path}: is the file that is read; give another name")
    if not os.path.lexists(path):
        return
    if not force:
        raise InputError(f"{path}: exists already; --force replaces it")
    if not path.is_file():
        raise InputError(f"{path}: expected a file to replace, found a pipe, a device or a link")


def _create(path: Path, content: bytes) -> None:
    """Write a new file; one that cannot be written whole is removed."""
    with path.open("xb") as file:
        try:
            file.write(content)
            file.flush()
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def _print_bytes(content: bytes) -> None:
    """Write bytes to standard output."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        close_output()


def _is_same(path: Path, source: Path) -> bool:
    try:
        return path.samefile(source)
    except OSError:
        return False
