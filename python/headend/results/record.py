"""The record of a run: its tables as Polars frames, its manifest, and its folder.

Functions of higher packages analyse a record, such as the grades of its flows; several callers need
their values, which `cached_on_record` keeps beside the record.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from headend.engine.columns import Frames, Lists
from headend.errors import InputError, describe_system, take_path
from headend.results.folder import (
    MANIFEST,
    encode_json,
    encode_table,
    read_json,
    read_table,
)
from headend.results.outcome import Outcome
from headend.results.scratch import write_bytes
from headend.scenario.library import guide_to_results

if TYPE_CHECKING:
    import polars as pl

    from headend.engine.columns import Kind
    from headend.results.capture import Capture

Found = TypeVar("Found")

#: Raised when the tables or the manifest change so that older results cannot be read.
RESULT_FORMAT = 5


#: What the column ``direction`` of any table holds.
DIRECTIONS = frozenset({"up", "down"})


class OtherFormatError(InputError):
    """Results that another headend wrote."""


@dataclass
class Record:
    """Tables and manifest of one run; docs/reference/results.md says what each column means.

    Parameters
    ----------
    tables
        Frames by name.
    manifest
        A description of the run: the resolved scenario, seed, versions, whether the run is partial.
    label
        The run's name beside other runs.
    wall_seconds
        How long the run took; not kept in the folder, so that equal runs give equal folders.
    capture
        The captured packets; None if there are none, or if the run was read back from a folder.
    """

    tables: MutableMapping[str, pl.DataFrame]
    manifest: dict[str, Any]
    label: str = ""
    folder: Path | None = None
    wall_seconds: float | None = field(default=None, compare=False)
    capture: Capture | None = field(default=None, compare=False)
    #: Return values of functions of this record, by function; see `cached_on_record`.
    cache: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Give a table as a dict of each row, without making a frame; an absent one has none.

        Never change a row.
        """
        return self.lists(name).rows if name in self.tables else []

    def lists(self, name: str) -> Lists:
        """Give the columns of a table as lists, without making a frame."""
        if isinstance(self.tables, Frames):
            return self.tables.lists(name)
        table = self.tables[name]
        # Another frame may have been put in a table's place.
        known, lists = self.cache.get(("lists", name), (None, None))
        if known is not table:
            lists = Lists(table)
            self.cache["lists", name] = table, lists
        return lists  # type: ignore[no-any-return]

    @property
    def flows(self) -> pl.DataFrame:
        """A row per flow and direction."""
        return self.tables["flows"]

    @property
    def queues(self) -> pl.DataFrame:
        """A row per queue."""
        return self.tables["queues"]

    @property
    def channels(self) -> pl.DataFrame:
        """A row per channel that the queues of a cable line share."""
        return self.tables["channels"]

    @property
    def air_time(self) -> pl.DataFrame:
        """A row per use of a cell's channel: stations up and down, collisions and idle time."""
        return self._take_optional("air_time")

    @property
    def rate_control(self) -> pl.DataFrame:
        """A row per station, direction and mode that the rate control of a cell has used."""
        return self._take_optional("rate_control")

    @property
    def tins(self) -> pl.DataFrame:
        """A row per tin of each CAKE; no rows without one."""
        return self._take_optional("tins")

    @property
    def collisions(self) -> pl.DataFrame:
        """A row per flow direction and hashed queue of a scheduler shared with other flows."""
        return self.tables["collisions"]

    @property
    def mib(self) -> pl.DataFrame:
        """Settings and counters of a cable line's service flows as DOCS-QOS3-MIB names them."""
        return self._take_optional("mib")

    @property
    def low_latency(self) -> pl.DataFrame:
        """A row per flow direction and queue of a low-latency aggregate; none without one."""
        return self._take_optional("low_latency")

    @property
    def queue_protection(self) -> pl.DataFrame:
        """A row per flow direction and low-latency queue: what queue protection found."""
        return self._take_optional("queue_protection")

    @property
    def real_flows(self) -> pl.DataFrame:
        """A row per flow that a real program opened; no rows without a real host."""
        return self._take_optional("real_flows")

    @property
    def lateness(self) -> pl.DataFrame:
        """How late frames were written, a row per interval; no rows but of an emulated run."""
        return self._take_optional("lateness")

    @property
    def measures(self) -> pl.DataFrame:
        """A row per flow and measure its application reports."""
        return self.tables["measures"]

    @property
    def samples(self) -> pl.DataFrame:
        """A row per single measurement behind ``measures``."""
        return self.tables["samples"]

    @property
    def flow_series(self) -> pl.DataFrame:
        """Flows over time, one row per interval."""
        return self.tables["flow_series"]

    @property
    def queue_series(self) -> pl.DataFrame:
        """Queues over time, one row per interval."""
        return self.tables["queue_series"]

    @property
    def connection_series(self) -> pl.DataFrame:
        """TCP connections over time, one row per interval."""
        return self.tables["connection_series"]

    @property
    def histograms(self) -> pl.DataFrame:
        """Delay distributions: a row per non-empty bucket."""
        return self.tables["histograms"]

    @property
    def summary(self) -> pl.DataFrame:
        """One row for the whole run."""
        return self.tables["summary"]

    def _take_optional(self, name: str) -> pl.DataFrame:
        """Give a table that only some runs have; without rows where this one does not have it."""
        import polars as pl

        from headend.engine.columns import OPTIONAL_TABLES

        found = self.tables.get(name)
        return pl.DataFrame(schema=OPTIONAL_TABLES[name]) if found is None else found

    @property
    def is_partial(self) -> bool:
        """Whether the run was stopped before its end."""
        return bool(self.manifest.get("partial", False))

    @property
    def failure(self) -> str | None:
        """What code of the user's own said when it failed and ended the run; None if none did."""
        return self.manifest.get("failure")

    @property
    def title(self) -> str:
        """What the scenario calls itself."""
        return str(self.manifest.get("title") or self.manifest.get("name") or "run")

    @property
    def bottleneck(self) -> str | None:
        """The queue the scenario calls its bottleneck."""
        return self.manifest.get("bottleneck")

    @property
    def expectations(self) -> list[Outcome]:
        """The scenario's expectations, each with its measured value and whether it was met."""
        return [Outcome(**row) for row in self.manifest.get("expectations", [])]

    @property
    def warnings(self) -> list[str]:
        """Warnings to read before the results are trusted."""
        return list(self.manifest.get("warnings", []))

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a results folder back.

        Raises
        ------
        InputError
            When it is not one, or a table is missing or damaged.
        """
        from headend.engine.columns import OPTIONAL_TABLES, TABLES

        folder = take_path(folder, "folder")
        manifest = read_manifest(folder)
        if manifest.get("kind", "run") != "run":
            raise InputError(
                f"{folder}: expected the results of one run, found a {manifest['kind']}"
            )
        for key in ("scenario", "seed", "duration_ns", "simulated_ns"):
            if key not in manifest:
                raise InputError(f'{folder / MANIFEST}: damaged: it has no "{key}"')
        tables = {}
        present = {
            name: types
            for name, types in OPTIONAL_TABLES.items()
            if (folder / f"{name}.parquet").exists()
        }
        for name, types in (TABLES | present).items():
            tables[name] = read_table(folder, f"{name}.parquet")
            _check_columns(folder / f"{name}.parquet", tables[name], types)
        label = str(manifest.get("label") or manifest.get("name") or folder.name)
        return cls(tables, manifest, label, folder)

    def write_into(self, folder: Path) -> None:
        """Write manifest, tables and captured packets into a folder that exists."""
        for name in self.tables:
            write_bytes(folder / f"{name}.parquet", self._encode(name))
        if self.capture:
            self.capture.write_into(folder)
        write_bytes(folder / MANIFEST, encode_json({**self.manifest, "label": self.label}))

    def _encode(self, name: str) -> bytes:
        """Give a table as the bytes of a Parquet file, without making a frame if possible."""
        content = self.tables.encode(name) if isinstance(self.tables, Frames) else None
        return encode_table(self.tables[name]) if content is None else content


def cached_on_record(find: Callable[[Record], Found]) -> Callable[[Record], Found]:
    """Call a function of a record once, and keep the value beside it for later calls.

    Parameters
    ----------
    find
        A function that always returns the same for one record. Never change its result.

    Examples
    --------
    >>> @cached_on_record
    ... def count_tables(record):
    ...     print("counted")
    ...     return len(record.tables)
    >>> record = Record({}, {})
    >>> count_tables(record), count_tables(record)
    counted
    (0, 0)
    """

    @functools.wraps(find)
    def look(record: Record) -> Found:
        if find not in record.cache:
            record.cache[find] = find(record)
        return record.cache[find]  # type: ignore[no-any-return]

    return look


def list_names_of(record: Record, kind: str) -> set[str]:
    """Give the names of the flows (``flow``) or links (``link``) of a run's scenario."""
    return set(record.manifest["scenario"].get(kind, {}))


def _check_columns(path: Path, table: pl.DataFrame, types: Mapping[str, Kind]) -> None:
    import polars as pl

    for name, kind in types.items():
        if name not in table.columns:
            raise InputError(f'{path}: damaged: it has no column "{name}"')
        if table.schema[name].to_python() is not kind:
            expected = pl.DataFrame(schema={name: kind}).schema[name]
            raise InputError(
                f'{path}: damaged: the column "{name}" holds {table.schema[name]},'
                f" expected {expected}"
            )
    if "direction" in types and (other := set(table["direction"].unique().to_list()) - DIRECTIONS):
        found = ", ".join(sorted(map(repr, other)))
        raise InputError(
            f'{path}: damaged: the column "direction" holds {found}, expected up or down'
        )


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a results folder, which is what was written.

    Raises
    ------
    InputError
        When there is none, it is damaged, or this headend does not understand its format.
    """
    if not folder.exists():
        raise InputError(f"{folder}: no such results folder{guide_to_results(folder)}")
    if not folder.is_dir():
        hint = guide_to_results(folder)
        raise InputError(f"{folder}: expected a results folder, found a file{hint}")
    check_format(folder)
    return read_json(folder, MANIFEST)


def check_format(folder: Path) -> None:
    """Refuse results of another format, which have other seals, or none."""
    path = folder / MANIFEST
    if not path.is_file():
        hint = guide_to_results(folder)
        raise InputError(f"{folder}: not a results folder (it has no {MANIFEST}){hint}")
    try:
        manifest = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: {describe_system(error)}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: damaged: not JSON; run it again") from error
    if not isinstance(manifest, dict) or "headend" not in manifest:
        raise InputError(f"{folder}: not a results folder ({MANIFEST} is something else)")
    if manifest.get("format") != RESULT_FORMAT:
        raise OtherFormatError(
            f"{folder}: results of format {manifest.get('format')}; this headend reads"
            f" {RESULT_FORMAT}; run it again with this headend, or read it with the headend that"
            " wrote it"
        )
