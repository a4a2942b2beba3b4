"""A job: one checked point of a sweep or study, with the key of its result."""

from __future__ import annotations

import functools
import hashlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from headend.errors import InputError
from headend.running.execution import describe_failure, execute
from headend.running.memory import Allowance, check_memory, read_allowance
from headend.running.real_hosts import refuse_real_hosts
from headend.scenario.source import Overrides, Text
from headend.scenario.subjects import Vocabulary

if TYPE_CHECKING:
    import polars as pl

    from headend._engine import Scenario
    from headend.results.record import Record

#: What a scenario says of itself changes no number.
_WORDS = ("title", "description", "expect")


class Selection(Protocol):
    """What is kept of a run; it is part of the key of a result, and is sent to other machines."""

    def describe(self) -> str:
        """Give a text that is the same for equal selections."""

    def check(self, vocabulary: Vocabulary) -> None:
        """Refuse what a scenario has not got, before it runs."""

    def take(self, record: Record, vocabulary: Vocabulary) -> pl.DataFrame:
        """Take it from a run; equal runs give equal frames, always the same columns."""


@dataclass(frozen=True)
class Job:
    """A point that can be run, and the key under which its result is kept."""

    text: Text
    overrides: Overrides
    seed: int
    selection: Selection
    key: str
    duration_ns: int
    warnings: tuple[str, ...] = ()
    #: Bytes that it can need.
    memory: int = 0
    #: SHA-256 of the files that the scenario names, by name; they are part of the key.
    files: Mapping[str, str] = field(default_factory=dict)

    def run(self, stop: threading.Event | None = None) -> pl.DataFrame | None:
        """Run it in this process. None where it was stopped.

        Raises
        ------
        InputError
            When a file that the scenario names is not what it was.
        """
        loaded = self.text.load(self.overrides, self._read_files())
        return _measure(loaded.scenario, self.seed, self.selection, stop)

    def _read_files(self) -> dict[str, bytes]:
        """Read the files that the scenario names, which are those of the key."""
        files = self.text.read_files(self.overrides) if self.files else {}
        for name, digest in self.files.items():
            if name not in files or hashlib.sha256(files[name]).hexdigest() != digest:
                raise InputError(
                    f'the file "{name}" has changed since the point was checked; run again to go on'
                )
        return files

    def pack(self) -> RemoteJob:
        """Give all that another machine needs to run it."""
        from headend.version import read_version

        files = self._read_files()
        return RemoteJob(
            self.text.content,
            self.text.format,
            tuple(self.overrides),
            files,
            self.seed,
            self.selection,
            read_version(),
            fingerprint_engine(),
        )


class OtherBuildError(InputError):
    """Where a point was sent to, it cannot be run: the engine there is not the one of the sweep."""


@dataclass(frozen=True)
class RemoteJob:
    """A job without a tie to this machine."""

    content: str
    format: str
    overrides: Overrides
    files: Mapping[str, bytes]
    seed: int
    selection: Selection
    version: str
    fingerprint: str

    def run(self) -> pl.DataFrame | None:
        """Run it where it is.

        Raises
        ------
        OtherBuildError
            When this machine has another build of the engine, also of the same version: its numbers
            could be others.
        """
        from headend import _engine
        from headend.version import read_version

        here = fingerprint_engine()
        if here != self.fingerprint:
            raise OtherBuildError(
                f"another build of headend's engine: found {_name_build(read_version(), here)},"
                f" expected {_name_build(self.version, self.fingerprint)};"
                " install the same build as here, restart the worker, and run again to go on"
            )
        scenario = _engine.parse(
            self.content, format=self.format, overrides=list(self.overrides), files=self.files
        )
        return _measure(scenario, self.seed, self.selection, None)


def prepare(
    text: Text,
    overrides: Overrides,
    seed: int,
    selection: Selection,
    allowance: Allowance | None = None,
) -> Job:
    """Check a point and find the key of its result: what is run, by which engine, and what is kept.

    Raises
    ------
    InputError
        For a scenario that the engine refuses or that can need more memory than is allowed, or a
        selection that it has not got.
    """
    scenario = text.load(overrides).scenario
    if files := text.read_files(overrides):
        scenario = text.load(overrides, files).scenario  # of the very bytes that the key is of
    refuse_real_hosts(scenario, text.shown_as)
    selection.check(Vocabulary.from_scenario(scenario))
    needed = check_memory(scenario, read_allowance(allowance), text.shown_as)
    resolved = json.loads(scenario.resolved_json())
    for word in _WORDS:
        resolved.pop(word, None)
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    parts = [
        json.dumps(resolved, sort_keys=True),
        json.dumps(digests, sort_keys=True),
        str(seed),
        selection.describe(),
        fingerprint_engine(),
    ]
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    warnings = tuple(scenario.warnings)
    return Job(
        text, overrides, seed, selection, key, scenario.duration_ns, warnings, needed, digests
    )


@functools.cache
def fingerprint_engine() -> str:
    """Tell this build of the engine from every other."""
    from headend import _engine

    path = getattr(_engine, "__file__", None)
    return hashlib.sha256(Path(path).read_bytes()).hexdigest() if path else "unknown"


def _name_build(version: str, fingerprint: str) -> str:
    return f"{version} ({fingerprint[:12]})"


def _measure(
    scenario: Scenario, seed: int, selection: Selection, stop: threading.Event | None
) -> pl.DataFrame | None:
    from headend.engine.columns import Frames
    from headend.results.record import Record

    execution = execute(scenario, seed=seed, stop=stop)
    if execution.failure:
        raise InputError(describe_failure(execution.failure, execution.simulated_ns))
    if not execution.finished:
        return None
    manifest = {
        "scenario": json.loads(scenario.resolved_json()),
        "duration_ns": scenario.duration_ns,
        "warmup_ns": scenario.warmup_ns,
        "simulated_ns": execution.simulated_ns,
        "seed": seed,
    }
    record = Record(Frames(execution.tables), manifest)
    return selection.take(record, Vocabulary.from_scenario(scenario))
