"""Run the commands of the pages one learns from, and keep the outputs they show: ``make outputs``.

A page is followed from top to bottom in an empty folder, as its reader does. Comments of HTML,
which no reader sees, stand above a block and say what it is:

``<!-- file: NAME -->``
    The block is written to the file NAME. A second block for the same file replaces it.
``<!-- output -->``
    The block shows what the command above printed; ``<!-- output: first N -->`` its first N lines.
``<!-- picture: FILE -->``
    The image below is a copy of FILE, which the commands above have made.
``<!-- exit N -->``
    The commands of the block end with exit code N; without it, with 0.
``<!-- not run -->``
    The block is not run, since it needs a network, another program or more time than a test has.

Commands are the lines of ``console`` blocks; blocks of ``python`` are run as programs.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parent
PACKAGE = DOCS.parent / "python"

#: The pages that are followed, in the order of the documentation.
PAGES = [
    DOCS / "tutorial.md",
    *sorted((DOCS / "howto").glob("*.md")),
    *sorted((DOCS / "explanation").glob("*.md")),
]

#: Columns of the terminal in which outputs are shown.
WIDTH = 80

_BLOCK = re.compile(
    r"(?:^<!-- (?P<note>[^\n]*?) -->\n)?^```(?P<kind>\w*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)

_PICTURE = re.compile(
    r"^<!-- picture: (?P<made>\S+) -->\n!\[[^]]*\]\((?P<shown>\S+)\)$", re.MULTILINE
)

#: What differs from machine to machine: the time that a run took.
_TIME = re.compile(r"[\d.,]+ (?:ms|s|min), [\d.,]+ × real time")


class WrongPageError(Exception):
    """A page says what is not so."""


@dataclass
class Follower:
    """What has become of a page's commands so far."""

    folder: Path
    output: str = ""

    def follow(self, note: str, kind: str, body: str) -> str:
        """Do what a block asks, and give the block's text as it is to be.

        Raises
        ------
        WrongPageError
            A command ended with another exit code than the page says.
        """
        if note.startswith("file: "):
            (self.folder / note.removeprefix("file: ")).write_text(body, encoding="utf-8")
        elif note.startswith("output"):
            return self._show(note, body)
        elif note != "not run" and kind in ("console", "python"):
            expected = int(note.removeprefix("exit ")) if note.startswith("exit ") else 0
            self._run(kind, body, expected)
        return body

    def _run(self, kind: str, body: str, expected: int) -> None:
        words = ["bash", "-euc", body] if kind == "console" else [sys.executable, "-c", body]
        bin_folder = self.folder / ".bin"
        path = f"{bin_folder}:{os.environ['PATH']}"
        search = f"{PACKAGE}:{os.environ.get('PYTHONPATH', '')}"
        done = subprocess.run(
            words,
            cwd=self.folder,
            env={**os.environ, "PATH": path, "PYTHONPATH": search, "COLUMNS": str(WIDTH)},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        if done.returncode != expected:
            said = f"{done.stdout}{done.stderr}".strip()
            raise WrongPageError(f"exit code {done.returncode}, not {expected}:\n{body}{said}")
        self.output = done.stdout

    def _show(self, note: str, shown: str) -> str:
        lines = [line.rstrip() for line in self.output.strip("\n").splitlines()]
        _, _, count = note.partition("first ")
        text = "\n".join(lines[: int(count) if count else None]) + "\n"
        return shown if _TIME.sub("TIME", shown) == _TIME.sub("TIME", text) else text


def follow_page(page: Path, *, draw: bool = False) -> str:
    """Run a page's commands, and give its text with the outputs that they have now.

    Parameters
    ----------
    page
        The Markdown file.
    draw
        Also copy the pictures that the commands made to where the page shows them.

    Raises
    ------
    WrongPageError
        A command ended with another exit code than the page says, or made no such picture.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _install(folder / ".bin")
        follower = Follower(folder)

        def replace(block: re.Match[str]) -> str:
            body = follower.follow(block["note"] or "", block["kind"], block["body"])
            start, end = (place - block.start() for place in block.span("body"))
            return block[0][:start] + body + block[0][end:]

        text = _BLOCK.sub(replace, page.read_text(encoding="utf-8"))
        for picture in _PICTURE.finditer(text):
            made = folder / picture["made"]
            if not made.is_file():
                raise WrongPageError(f"no command made {picture['made']}")
            if draw:
                shutil.copyfile(made, page.parent / picture["shown"])
        return text


def _install(bin_folder: Path) -> None:
    """Put the command `headend` of this checkout into a folder."""
    bin_folder.mkdir()
    script = bin_folder / "headend"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m headend "$@"\n', encoding="utf-8")
    script.chmod(0o755)


def main() -> int:
    """Bring the outputs of all pages, or of those that are named, up to date."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="say which are stale; write nothing")
    parser.add_argument("pages", nargs="*", type=Path, help="pages; all of them by default")
    arguments = parser.parse_args()
    failed = False
    for page in arguments.pages or PAGES:
        try:
            text = follow_page(page, draw=not arguments.check)
        except WrongPageError as wrong:
            print(f"{page}: {wrong}")
            failed = True
            continue
        if text == page.read_text(encoding="utf-8"):
            continue
        if arguments.check:
            print(f"{page}: stale outputs; make outputs writes them anew")
            failed = True
        else:
            page.write_text(text, encoding="utf-8")
            print(f"{page}: written")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
