"""Running a sweep: check every point, run what is missing, and put the tables together."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.analysis.criteria import read_preferences
from headend.design.conflicts import check_paths
from headend.design.design import Point
from headend.design.place import add_line, locate
from headend.design.seeds import choose_seeds
from headend.errors import InputError, take_path
from headend.pages.experiment import write_experiment
from headend.results.store import PointStore, list_points
from headend.running.executor import (
    Failure,
    Finished,
    OnProgress,
    read_stop,
)
from headend.running.job import Job, Selection, prepare
from headend.running.measuring import Everything, Named
from headend.running.memory import Allowance, read_allowance
from headend.running.notes import take_notes
from headend.running.points import gather_points, join_frames, run_points
from headend.scenario.conflicts import check_settings
from headend.scenario.file_access import FileAccess, UnnamedCodeError, read_allowed
from headend.scenario.library import find_scenario, refuse_standard_input
from headend.scenario.modems import write_modems
from headend.scenario.shipped import list_scenarios
from headend.scenario.source import (
    Source,
    Text,
    check_source,
    is_sweep,
    read_scenario,
    write_overrides,
)
from headend.scenario.subjects import Vocabulary
from headend.sweeps.definition import Sweep, make_sweep, read_sweep
from headend.sweeps.page import render_sweep
from headend.sweeps.result import SweepResult, open_sweep_folder
from headend.text.wording import write_count

if TYPE_CHECKING:
    from headend._engine import Scenario


def sweep(
    source: Sweep | str | Path | Mapping[str, Any],
    *,
    set: Mapping[str, Any] | Sequence[tuple[str, str]] = (),  # noqa: A002 - the word of the command line
    modem: str | Path | Mapping[str, str | Path] | None = None,
    seeds: int | Sequence[int] | None = None,
    out: str | Path | None = None,
    force: bool = False,
    scheduler: str | None = None,
    stop: threading.Event | None = None,
    on_progress: OnProgress | None = None,
    report: bool = True,
    allow_files: Sequence[str | Path] = (),
    memory: str | int | None = None,
    prefer: Sequence[str] = (),
) -> SweepResult:
    """Run a sweep, or what is missing of it.

    Parameters
    ----------
    source
        A sweep's file, its content as a dictionary, or a `Sweep`.
    set
        What all points share besides, by path.
    modem
        The configuration file of the line's only modem, or files by the names of modems, which all
        points share.
    seeds
        In place of the file's: how many, or which.
    out
        A folder for the results; finished points are kept there and found again. None by default:
        nothing is kept.
    force
        Let the results take the place of another sweep's that are there.
    scheduler
        Address of a Dask scheduler whose workers run the points; by default, local cores do.
    stop
        Setting it ends the sweep; what was finished is kept, and given.
    on_progress
        Told whenever a point is done.
    report
        Also write ``report.html`` to the folder when all points are done.
    allow_files
        Files and folders from which traces and captures may be read, besides the folders of the
        scenario and of the sweep's file, and for ``set`` the one where the program runs.
    memory
        What points may take together: a size such as ``"8GB"``, a share of the machine's memory
        such as ``"50%"``, or bytes. Half of the machine's by default; where it is short, fewer
        points go side by side.
    prefer
        In place of the file's ``[wish]``: conditions such as ``"call >= 4.0"``, and
        ``"most upload"`` or ``"least page"``.

    Examples
    --------
    >>> line = {"point_to_point": {"up": {"rate": "1 Mbit/s"}}}
    >>> ping = {"application": "ping"}
    >>> scenario = {"duration": "1 s", "link": {"line": line}, "flow": {"ping": ping}}
    >>> grid = {"flow.ping.rtt": ["10 ms", "20 ms"]}
    >>> found = sweep({"scenario": scenario, "grid": grid, "measures": {"rtt": "ping.rtt.p50"}})
    >>> [round(nanos / 1e6) for nanos in found.table["value"]]
    [11, 21]
    """
    folder = None if out is None else take_path(out, "out")
    stop = read_stop(stop, on_progress)
    allowance = read_allowance(memory)
    chosen = read_any(source)
    overrides = [*write_overrides(set), *write_modems(modem)]
    chosen = replace(adapt(chosen, overrides, seeds, prefer), allowed=read_allowed(allow_files))
    prepared = prepare_all(chosen, allowance)
    result = run_points(
        [[item for _, item in prepared]],
        lambda store, finished: _gather(chosen, prepared, store, finished[0]),
        folder,
        lambda own: open_sweep_folder(own, chosen, force=force),
        stop=stop,
        scheduler=scheduler,
        allowance=allowance,
        on_progress=on_progress,
    )
    if folder is None:
        return result
    result = replace(result, folder=folder)
    write_experiment(result, lambda: render_sweep(result), report=report)
    return result


def read_any(source: Sweep | str | Path | Mapping[str, Any]) -> Sweep:
    """Give a sweep from whatever states it."""
    if isinstance(source, Sweep):
        return source
    if isinstance(source, Mapping):
        return make_sweep(source, "sweep")
    check_source(source, "the path of a sweep's file", "sweep")
    return read_sweep(source)


def adapt(
    chosen: Sweep,
    overrides: Mapping[str, Any] | Sequence[tuple[str, str]],
    seeds: int | Sequence[int] | None,
    prefer: Sequence[str] = (),
) -> Sweep:
    """Give a sweep with other seeds, wish, and overrides on top of its own but below its axes.

    Raises
    ------
    InputError
        For an override that an axis would take the place of at every point, and for a bad wish.
    """
    adapted = replace(
        chosen,
        design=replace(
            chosen.design,
            added=(*chosen.design.added, *write_overrides(overrides)),
            seeds=chosen.design.seeds if seeds is None else choose_seeds(seeds),
        ),
        criteria=read_preferences(prefer, chosen.measures) if prefer else chosen.criteria,
    )
    _check_paths(adapted)
    return adapted


def _check_paths(chosen: Sweep, queue_path: str = "") -> None:
    design = chosen.design
    check_paths([axis.path for axis in design.factors], design.overrides, design.added, queue_path)


#: A point with what is to be run, or why it cannot be.
Prepared = list[tuple[Point, "Job | Failure"]]


class _SweepError(InputError):
    """What is wrong is the sweep, whichever its points."""


def prepare_all(chosen: Sweep, allowance: Allowance | None = None) -> Prepared:
    """Check every point, also whether there is memory for it.

    Raises
    ------
    InputError
        When none of them can be run: then it is the sweep that is wrong, and the first reason is
        told. Also when the engine refuses the scenario of a setting, whatever others are, for code
        that no person has named, and for two paths of which the scenario tells that they are one.
    """
    from headend import _engine

    selection: Selection = Named(chosen.named) if chosen.measures else Everything(chosen.named)
    texts: dict[str, Text] = {}
    prepared: Prepared = []
    invalid: dict[int, str] = {}
    checked: dict[tuple[str, str], str] = {}
    describe_source = functools.cache(functools.partial(_describe_source, chosen))
    for point in chosen.design.list_points():
        name = str(point.setting.scenario)
        if name not in texts:
            texts[name] = _read_scenario(chosen, point.setting.scenario)
        bottleneck = dict(point.setting.overrides).get("bottleneck", "")
        try:
            if (name, bottleneck) not in checked:
                scenario = texts[name].load(point.setting.overrides).scenario
                _check_conflicts(chosen, point, texts[name], scenario.queue_path or "")
                checked[name, bottleneck] = _refuse_wish(chosen, scenario)
            if reason := checked[name, bottleneck]:
                raise InputError(reason)
            job = prepare(texts[name], point.setting.overrides, point.seed, selection, allowance)
        except _SweepError:
            raise
        except InputError as error:
            reason = describe_source(str(error))
            if isinstance(error.__cause__, UnnamedCodeError):
                raise InputError(reason) from error
            prepared.append((point, Failure(reason)))
            if isinstance(error.__cause__, _engine.ScenarioError):
                setting = ", ".join(map(str, point.factor_labels))
                invalid.setdefault(point.setting.number, f"setting {setting}: {reason}")
        else:
            prepared.append((point, job))
    refused = [item for _, item in prepared if isinstance(item, Failure)]
    if len(refused) == len(prepared):
        raise InputError(refused[0].reason)
    if invalid:
        first, *others = invalid.values()
        more = f"; {write_count(len(others), 'more setting')} cannot be run" if others else ""
        raise InputError(f"{first}{more}")
    return prepared


def _read_scenario(chosen: Sweep, source: Source) -> Text:
    """Read a point's scenario, which is no sweep, from the sweep's folder or the shipped ones."""
    try:
        refuse_standard_input(
            source,
            "a sweep's scenario",
            "the path of a file, or the name of a shipped one",
        )
        if chosen.file and not isinstance(source, Mapping):
            _, path = find_scenario(str(source))
            if path not in list_scenarios().values():
                _check_place(chosen.access, path)
        text = read_scenario(source, chosen.access)
    except InputError as error:
        raise InputError(_name_place(f"scenario: {error}", chosen)) from error
    if text.format == "toml" and is_sweep(text.content):
        raise InputError(
            _name_place(f"scenario: {text.shown_as} is a sweep; expected a scenario", chosen)
        )
    return text


def _check_place(access: FileAccess, path: Path) -> None:
    try:
        access.check(path, access.scenario)
    except InputError as error:
        raise InputError(f"{path} cannot be read: {error}") from error


def _check_conflicts(chosen: Sweep, point: Point, text: Text, queue_path: str) -> None:
    """Refuse two values for one setting, such as by ``queue`` and a queue's name."""
    try:
        _check_paths(chosen, queue_path)
        check_settings(
            text,
            point.setting.overrides[len(chosen.design.overrides) :],
            queue_path,
            before=chosen.design.overrides,
            shown={axis.path: f"the axis {axis.path}" for axis in chosen.design.factors},
        )
    except InputError as error:
        raise _SweepError(_name_place(str(error), chosen)) from error


def _refuse_wish(chosen: Sweep, scenario: Scenario) -> str:
    """Say what of the wish a scenario cannot be asked; nothing where it is well."""
    try:
        chosen.criteria.check(chosen.measures, Vocabulary.from_scenario(scenario))
    except InputError as error:
        return str(error)
    return ""


def _name_place(message: str, chosen: Sweep) -> str:
    """Name the file and line of what a message of a sweep's own mistakes begins with."""
    if chosen.file is None or message.startswith(("--set", "--prefer")):
        return message
    return f"{chosen.file}: {add_line(message, chosen.file)}"


def _gather(
    chosen: Sweep, prepared: Prepared, store: PointStore, finished: Finished
) -> SweepResult:
    """Put the table together."""
    names = chosen.design.names
    points = [(point.to_columns(names), item) for point, item in prepared]
    return SweepResult(
        chosen,
        table=join_frames(gather_points(points, store, finished)),
        complete=finished.complete,
        notes=take_notes(names, prepared),
        points=tuple(list_points(finished.kept)),
    )


def _point_to(chosen: Sweep, paths: Iterable[str], otherwise: str) -> str:
    """Give the file and line of the first of these that is written there; or other words."""
    lines = (chosen.file and locate(chosen.file, path) for path in paths)
    line = next(filter(None, lines), None)
    return f"{chosen.file}, line {line}: " if line else otherwise


def _describe_source(chosen: Sweep, message: str) -> str:
    """Name the place in the file that was written: to the engine, all that is changed is set."""
    if message.startswith(("measures.", "wish.")):
        return _name_place(message, chosen)
    found = re.search(r"\(from --set ([^=]+)=", message)
    if found is None:
        return message
    path = found[1]
    axis = next((axis for axis in chosen.design.factors if axis.path == path), None)
    if axis:
        tables = [
            "grid",
            *(f"zip {number}" for number in range(1, len(chosen.design.dimensions) + 1)),
        ]
        place = _point_to(chosen, (f"{table}.{path}" for table in tables), "the axis ")
        message = message.replace(found[0], f"(from {place}{path}=")
        if axis.spaced and "expected a whole number" in message:
            return f"{message}; a range with count goes through fractions, one with step need not"
        return message
    if path in dict(chosen.design.added) or path not in dict(chosen.design.overrides):
        return message
    place = _point_to(chosen, [f"set.{path}"], "[set] ")
    return message.replace(found[0], f"(from {place}{path}=")
