"""The packets that a run captured: pcapng files that grow on disk, then go into results."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path

from headend.results.folder import name_folders
from headend.results.scratch import Scratch, sweep_up

#: The folder among the results that holds them.
FOLDER = "capture"


class Capture:
    """A pcapng file for each point, under a temporary name that is gone with this object.

    However long the run, memory holds what it captured within one slice of wall-clock time.
    """

    def __init__(self) -> None:
        parent = Path(tempfile.gettempdir())
        sweep_up(parent)
        scratch = Scratch(parent)
        self.folder = scratch.path / FOLDER
        self.folder.mkdir()
        self._finalizer = weakref.finalize(self, scratch.remove)

    def append(self, pieces: Mapping[str, bytes]) -> None:
        """Write each point's piece behind those that came before."""
        for name, piece in zip(name_folders(list(pieces)), pieces.values(), strict=True):
            # The first has the file's header; later ones are empty where nothing passed.
            if not piece:
                continue
            with (self.folder / f"{name}.pcapng").open("ab") as file:
                file.write(piece)

    def write_into(self, results: Path) -> None:
        """Copy the files into a results folder, readable by whoever may read the results."""
        (results / FOLDER).mkdir()
        for path in self.folder.iterdir():
            shutil.copyfile(path, results / FOLDER / path.name)
