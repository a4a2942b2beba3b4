"""Simulating a run again from its results, to observe what they do not hold."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headend.analysis.lateness import find_emulation
from headend.errors import InputError, naming, refuse_argument
from headend.files import read_bytes
from headend.results.record import read_manifest
from headend.running.execution import Execution, describe_failure, execute
from headend.running.memory import check_memory, read_allowance
from headend.running.result import Result
from headend.scenario.file_access import FileAccess, read_allowed
from headend.scenario.source import LARGEST_SCENARIO_BYTES, read_scenario
from headend.version import read_version

if TYPE_CHECKING:
    from headend._engine import Scenario

_OTHERWISE = "only a whole run of simulated hosts can be simulated again"


@dataclass(frozen=True)
class Resimulation:
    """A run that can be simulated again: its results, and what errors call them."""

    result: Result
    shown_as: str
    scenario: Scenario

    def execute(
        self,
        observe: tuple[str, Sequence[str]],
        *,
        on_qlog: Callable[[Mapping[str, bytes]], None] | None = None,
        on_progress: Callable[[int], None] | None = None,
        stop: threading.Event | None = None,
    ) -> Execution:
        """Simulate it with its senders observed; parameters are those of `execute`.

        Raises
        ------
        InputError
            When a table is not that of the results.
        """
        follow = self.result.manifest.get("explain")
        execution = execute(
            self.scenario,
            seed=self.result.manifest["seed"],
            follow=(follow[0], follow[1]) if follow else None,
            on_progress=on_progress,
            stop=stop,
            observe=observe,
            on_qlog=on_qlog,
        )
        if execution.failure:
            raise InputError(describe_failure(execution.failure, execution.simulated_ns))
        if execution.finished:
            self._check(execution)
        return execution

    def _check(self, execution: Execution) -> None:
        """Refuse a run that is another one than that of the results."""
        from headend.engine.columns import Frames

        found = Frames(execution.tables)
        for name, table in self.result.tables.items():
            if name not in found or not found[name].equals(table):
                raise InputError(
                    f"{self.shown_as}: simulated again, its table {name} is another one"
                    f"{self._explain()}; run it again, and export the new results"
                )

    def _explain(self) -> str:
        """Say why a run may be another one; empty where nothing is known."""
        own, here = self.result.manifest.get("headend"), read_version()
        if own != here:
            return f" (the results are of headend {own}, this is {here})"
        return " (they may be of another build of headend, or of files that have changed since)"


def plan_again(
    results: Result | str | Path,
    *,
    allow_files: Sequence[str | Path] = (),
    memory: str | int | None = None,
) -> Resimulation:
    """Check all that can be checked before a run is simulated again.

    Raises
    ------
    InputError
        For results of something else than a run, of one that was stopped or that real programs took
        part in, and for what `headend.run` refuses.
    """
    allowance = read_allowance(memory)
    allowed = read_allowed(allow_files)
    result, shown_as = _take_result(results)
    if find_emulation(result):
        raise InputError(f"{shown_as}: real programs took part in it; {_OTHERWISE}")
    if result.is_partial:
        raise InputError(f"{shown_as}: it was stopped before its end; {_OTHERWISE}")
    codes = _check_codes(result.manifest.get("code", {}), allowed, shown_as)
    access = FileAccess(allowed=allowed, codes=codes)
    with naming(shown_as):
        scenario = read_scenario(result.manifest["scenario"], access).load().scenario
    check_memory(scenario, allowance, shown_as)
    return Resimulation(result, shown_as, scenario)


def _take_result(results: Result | str | Path) -> tuple[Result, str]:
    """Give a run, and what errors call it."""
    if isinstance(results, Result):
        return results, str(results.folder or results.label or "the run")
    if not isinstance(results, str | Path):
        raise refuse_argument("results", "a Result or the folder of a run", results)
    folder = Path(results)
    manifest = read_manifest(folder)
    kind, runs = manifest.get("kind", "run"), manifest.get("runs")
    if kind == "comparison" and isinstance(runs, list) and runs:
        raise InputError(
            f"{folder}: expected the results of one run, found a comparison; its runs are folders"
            f" in it, such as {folder / str(runs[0])}"
        )
    return Result.load(folder), str(folder)


def _check_codes(
    codes: Mapping[str, str], allowed: Sequence[Path], shown_as: str
) -> frozenset[str] | None:
    """Say that code of one's own may be executed, of which all files are allowed, unchanged."""
    files = [path for path in allowed if path.is_file()] if codes else []
    contents = [read_bytes(path, LARGEST_SCENARIO_BYTES, "file of code") for path in files]
    known = {hashlib.sha256(content).hexdigest() for content in contents}
    for name, digest in codes.items():
        if digest not in known:
            raise InputError(
                f"{shown_as}: its code {name} would be executed again, with your rights; read its"
                " file, and then --allow-files FILE lets that be done (from Python, allow_files)"
            )
    return None if codes else frozenset()
