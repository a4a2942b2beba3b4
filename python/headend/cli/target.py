"""The output of a command, to ``-o`` or standard output. A file is never left incomplete."""

from __future__ import annotations

import sys
from pathlib import Path

from headend.cli.streams import close_output
from headend.cli.terminal import make_messages, print_text, write_line
from headend.errors import InputError
from headend.files import STANDARD_INPUT
from headend.results.output import check_output, write_output


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
    """

    def __init__(
        self, path: Path | None, *, force: bool = False, sources: tuple[str, ...] = ()
    ) -> None:
        self.path = None if path is None or str(path) == STANDARD_INPUT else path
        self._force = force
        if self.path:
            check_output(self.path, force=force, sources=sources)
        elif force:
            raise InputError(
                "--force: has no effect on standard output; -o FILE names a file to replace"
            )

    def refuse_terminal(self) -> None:
        """Refuse to write bytes to a terminal."""
        if self.path is None and sys.stdout.isatty():
            raise InputError(
                "standard output is a terminal, and a modem's file is binary; write it with -o"
                " FILE, or redirect it: > FILE"
            )

    def write_text(self, text: str) -> None:
        """Write a text: in UTF-8 to a file or pipe, in the terminal's letters to a terminal."""
        if self.path is None and sys.stdout.isatty():
            print_text(text)
        else:
            self.write(text.encode())

    def write(self, content: bytes) -> None:
        """Write bytes."""
        if self.path:
            write_output(self.path, content, force=self._force)
            return
        try:
            sys.stdout.flush()
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            close_output()

    def tell(self) -> None:
        """Print on standard error which file was written."""
        if self.path:
            make_messages().print(write_line(f"{self.path} written"), soft_wrap=True)
