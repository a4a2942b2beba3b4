"""The result of one run: its tables as Polars frames, its manifest, and the folder they are kept in."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.errors import InputError, take_path, tell_system
from headend.results.folder import (
    MANIFEST,
    REPORT,
    create_folder,
    encode_json,
    encode_table,
    read_json,
    read_table,
)
from headend.results.scratch import write_bytes
from headend.scenario.library import guide_to_results
from headend.text.quantity import format_quantity

if TYPE_CHECKING:
    import polars as pl

    from headend.judging.expect import Outcome
    from headend.judging.grading import Finding
    from headend.judging.verdict import Verdict
    from headend.results.capture import Capture

#: Raised when the tables or the manifest change so that older results cannot be read.
RESULT_FORMAT = 4


class OtherFormatError(InputError):
    """Results that another headend wrote."""


@dataclass(repr=False)
class Result:
    """Tables and manifest of one run; docs/reference/results.md says what each column means.

    Parameters
    ----------
    tables
        Frames by name.
    manifest
        What was run: the resolved scenario, seed, versions, whether the run is partial.
    label
        What to call this run beside others.
    wall_seconds
        How long the run took; not kept in the folder, so that equal runs give equal folders.
    capture
        The packets it captured, if it captured any and was not read back from a folder.
    """

    tables: dict[str, pl.DataFrame]
    manifest: dict[str, Any]
    label: str = ""
    folder: Path | None = None
    wall_seconds: float | None = field(default=None, compare=False)
    capture: Capture | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        """Say in one line what was run; tables and manifest are attributes."""
        duration = format_quantity(self.manifest.get("duration_ns"), "time")
        told = [repr(self.label or self.title), f"seed {self.manifest.get('seed')}", duration]
        told += [
            f"{count} {name if count != 1 else name.removesuffix('s')}"
            for name, column in (("flows", "flow"), ("queues", "queue"))
            if name in self.tables
            for count in [self.tables[name][column].n_unique()]
        ]
        return f"<Result {', '.join(told)}{', partial' if self.is_partial else ''}>"

    def _repr_html_(self) -> str:
        """Give a notebook the title and the verdict."""
        from html import escape

        duration = format_quantity(self.manifest.get("duration_ns"), "time")
        partial = ", partial" if self.is_partial else ""
        return (
            f"<p><b>{escape(self.title)}</b> ({escape(self.label)}, seed {self.manifest.get('seed')}, {duration}{partial})</p>"
            f"<p>{escape(self.verdict.paragraph)}</p>"
        )

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
    def collisions(self) -> pl.DataFrame:
        """A row per flow direction and hashed queue of a scheduler that it shared with other flows."""
        return self.tables["collisions"]

    @property
    def measures(self) -> pl.DataFrame:
        """A row per flow and measure its application reports."""
        return self.tables["measures"]

    @property
    def samples(self) -> pl.DataFrame:
        """Every single measurement behind ``measures``."""
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

    @functools.cached_property
    def findings(self) -> list[Finding]:
        """How each flow fared, in the order of the tables; judged once, as there may be many flows."""
        from headend.judging.grading import judge_flows

        return judge_flows(self)

    @functools.cached_property
    def weighed_queues(self) -> pl.DataFrame:
        """The queues that had packets, with what their delay and loss weigh; weighed once, as most figures ask for it."""
        from headend.judging.bottleneck import weigh_queues

        return weigh_queues(self)

    @functools.cached_property
    def harmful_queue(self) -> str | None:
        """The queue that did the harm, or that the scenario is about; found once, as most figures ask for it."""
        from headend.judging.bottleneck import find_bottleneck

        return find_bottleneck(self)

    @property
    def verdict(self) -> Verdict:
        """Who suffered, how much, where the queue stood: ``paragraph`` says it, ``to_dict()`` gives it as ``run --json`` does."""
        from headend.judging.verdict import judge

        return judge(self)

    @property
    def is_partial(self) -> bool:
        """Whether the run was stopped before its end."""
        return bool(self.manifest.get("partial", False))

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
        """What the scenario's ``[expect]`` asked, what was measured, and whether it was met."""
        from headend.judging.expect import Outcome

        return [Outcome(**row) for row in self.manifest.get("expectations", [])]

    @property
    def warnings(self) -> list[str]:
        """What to read before the results are trusted."""
        return list(self.manifest.get("warnings", []))

    @classmethod
    def load(cls, folder: str | Path) -> Result:
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

    def write_into(self, folder: Path) -> None:
        """Write manifest, tables and what was captured into a folder that exists."""
        for name, table in self.tables.items():
            write_bytes(folder / f"{name}.parquet", encode_table(table))
        if self.capture:
            self.capture.write_into(folder)
        write_bytes(folder / MANIFEST, encode_json({**self.manifest, "label": self.label}))

    def report(self, path: str | Path) -> Path:
        """Write the self-contained report of this run."""
        from headend.report.page import write_report

        return write_report([self], take_path(path, "path"))


def _check_columns(path: Path, table: pl.DataFrame, types: Mapping[str, pl.DataType]) -> None:
    for name, kind in types.items():
        if name not in table.columns:
            raise InputError(f'{path}: damaged: it has no column "{name}"')
        if table.schema[name] != kind:
            raise InputError(
                f'{path}: damaged: the column "{name}" holds {table.schema[name]}, expected {kind}'
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
        raise InputError(f"{path}: {tell_system(error)}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: damaged: not JSON; run it again") from error
    if not isinstance(manifest, dict) or "headend" not in manifest:
        raise InputError(f"{folder}: not a results folder ({MANIFEST} is something else)")
    if manifest.get("format") != RESULT_FORMAT:
        raise OtherFormatError(
            f"{folder}: results of format {manifest.get('format')}; this headend reads {RESULT_FORMAT}"
        )
