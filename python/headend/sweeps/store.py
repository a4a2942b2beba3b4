"""Where finished points are kept: a Parquet file for each, under the key of its content, whole or not there."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from headend.errors import InputError
from headend.folder import describe

if TYPE_CHECKING:
    import polars as pl


class PointStore:
    """The points that are done.

    Parameters
    ----------
    folder
        Where they are; it need not exist.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, keys: Iterable[str]) -> set[str]:
        """Say which of some points are kept and can be read; what is damaged is run again."""
        return {key for key in keys if self._is_whole(key)}

    def add(self, key: str, frame: pl.DataFrame) -> None:
        """Keep a point, at once.

        Raises
        ------
        InputError
            When it cannot be written; what was kept before is not touched.
        """
        import polars as pl

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".point.", dir=self.folder) as scratch:
                fresh = Path(scratch) / key
                frame.write_parquet(fresh)
                fresh.replace(self._locate(key))
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(f"{self.folder}: cannot be written: {describe(error)}") from error

    def read(self, key: str) -> pl.DataFrame:
        """Give what was kept of a point."""
        import polars as pl

        return pl.read_parquet(self._locate(key), glob=False)

    def _locate(self, key: str) -> Path:
        return self.folder / f"{key}.parquet"

    def _is_whole(self, key: str) -> bool:
        import polars as pl

        if not self._locate(key).is_file():
            return False
        try:
            pl.read_parquet_schema(self._locate(key))
        except (OSError, pl.exceptions.PolarsError):
            return False
        return True
