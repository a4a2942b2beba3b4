"""What a reader of one tool's files is: how it knows them, and how it reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headend.measurement.record import Measurement


@dataclass(frozen=True)
class Content:
    """The content of a file, unpacked where it was packed.

    Parameters
    ----------
    path
        Where it is from, for errors.
    data
        Its bytes.
    json
        The value, where all of it is one JSON value; a list of values, where each line is one; else
        None.
    """

    path: Path
    data: bytes
    json: Any = None

    def list_values(self) -> list[Any]:
        """Give the JSON values of the file, one for each line where each line is one."""
        return self.json if isinstance(self.json, list) else [self.json]


@dataclass(frozen=True)
class Reader:
    """A reader of one tool's files.

    Parameters
    ----------
    name
        Of the tool.
    files
        What its files are called in errors, such as ``"a data file of flent"``.
    recognises
        Whether some content is of this tool. It never fails.
    read
        Gives what was measured.

        Raises InputError that begins with the path: what was found and what is expected.
    """

    name: str
    files: str
    recognises: Callable[[Content], bool]
    read: Callable[[Content], Measurement]
