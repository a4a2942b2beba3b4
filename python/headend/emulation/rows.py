"""The rows of result tables that come during a run, and the tables that they make.

A run of days does not grow in memory: what has come goes to scratch files in large pieces.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from headend.engine.columns import build_frame, name_tables
from headend.results.scratch import Scratch, sweep_up

if TYPE_CHECKING:
    import polars as pl

#: A column as the engine gives it: texts, or a type code and the bytes of an array of it.
Column = list[str] | tuple[str, bytes]

#: Bytes that are held until they are written to a file.
LARGEST_HELD = 16 * 2**20

#: What a text counts, whatever its length: names of flows and queues are short.
_TEXT_BYTES = 24

#: What a column counts besides its values: most updates have few rows, and then Python's objects
#: are larger than what they hold.
_COLUMN_BYTES = 200


class Rows:
    """Rows by table, in the order in which they came.

    Parameters
    ----------
    held
        Bytes that are held in memory at most.
    """

    def __init__(self, held: int = LARGEST_HELD) -> None:
        self._most = held
        self._held: dict[str, list[Mapping[str, Column]]] = {}
        self._size = 0
        self._scratch: Path | None = None
        self._files: dict[str, list[Path]] = {}

    def append(self, tables: Mapping[str, Mapping[str, Column]]) -> None:
        """Take the rows of some tables."""
        for name, columns in tables.items():
            size = _measure(columns)
            if size:
                self._held.setdefault(name, []).append(columns)
                self._size += size
        if self._size > self._most:
            self._write_out()

    def complete(self, tables: Mapping[str, Mapping[str, Column]]) -> dict[str, pl.DataFrame]:
        """Give all tables as frames: the rows that came, and behind them the last ones.

        Parameters
        ----------
        tables
            The last rows of tables, and tables that only the end of a run gives.
        """
        import polars as pl

        self.append(tables)
        frames = {}
        for name in name_tables({*tables, *self._held, *self._files}):
            pieces = [pl.read_parquet(path) for path in self._files.get(name, ())]
            rest = {} if name in self._files else tables.get(name, {})
            held = self._held.get(name) or [rest]
            frames[name] = pl.concat([*pieces, build_frame(name, _join(held))], how="diagonal")
        return frames

    def _write_out(self) -> None:
        """Write what is held to files."""
        if self._scratch is None:
            parent = Path(tempfile.gettempdir())
            sweep_up(parent)
            scratch = Scratch(parent)
            self._scratch = scratch.path
            self._finalizer = weakref.finalize(self, scratch.remove)
        for name, pieces in self._held.items():
            files = self._files.setdefault(name, [])
            path = self._scratch / f"{name}-{len(files)}.parquet"
            build_frame(name, _join(pieces)).write_parquet(path, compression="zstd")
            files.append(path)
        self._held, self._size = {}, 0


def _measure(columns: Mapping[str, Column]) -> int:
    values = sum(
        _TEXT_BYTES * len(column) if isinstance(column, list) else len(column[1])
        for column in columns.values()
    )
    return values + _COLUMN_BYTES * len(columns) if values else 0


def _join(pieces: list[Mapping[str, Column]]) -> dict[str, Column]:
    """Put pieces of one table together, of which there is one at least."""
    return {name: _join_column([piece[name] for piece in pieces]) for name in pieces[0]}


def _join_column(parts: list[Column]) -> Column:
    texts: list[str] = []
    numbers: list[bytes] = []
    code = ""
    for part in parts:
        if isinstance(part, list):
            texts += part
        else:
            code = part[0]
            numbers.append(part[1])
    return (code, b"".join(numbers)) if code else texts
