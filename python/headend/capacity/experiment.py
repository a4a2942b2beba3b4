"""Runs the search: each number of homes with each seed, as far as its points are missing."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headend.capacity.counting import Suffering
from headend.capacity.page import render_capacity
from headend.capacity.request import (
    SCENARIO,
    SEEDS,
    SHARE,
    Request,
    choose_modems,
    find_fastest,
    read_share,
)
from headend.capacity.result import Capacity, open_capacity_folder
from headend.capacity.search import Trial, search
from headend.capacity.streets import find_least, find_shares
from headend.capacity.worst import list_overrides, name_street, write_street
from headend.design.seeds import choose_seeds
from headend.errors import InputError, take_path
from headend.pages.experiment import write_experiment
from headend.results.store import PointStore, list_points
from headend.running.executor import Failure, Finished, OnProgress, read_stop
from headend.running.job import Job, prepare
from headend.running.memory import Allowance, read_allowance
from headend.running.points import gather_points, join_frames, run_points
from headend.scenario.file_access import FileAccess, read_allowed
from headend.scenario.source import Overrides, Source, read_scenario, write_overrides


def find_capacity(
    scenario: Source = SCENARIO,
    *,
    suffering: str = SHARE,
    modems: str | None = None,
    seeds: int | Sequence[int] | None = None,
    set: Mapping[str, Any] | Sequence[tuple[str, str]] = (),  # noqa: A002 - the word of the command line
    out: str | Path | None = None,
    force: bool = False,
    scheduler: str | None = None,
    stop: threading.Event | None = None,
    on_progress: OnProgress | None = None,
    report: bool = True,
    allow_files: Sequence[str | Path] = (),
    memory: str | int | None = None,
) -> Capacity:
    """Find how many homes a cable line carries before too many people suffer from sharing it.

    Parameters
    ----------
    scenario
        A cable line with a group of modems: the people in their homes at peak. By default the
        shipped scenario ``street``.
    suffering
        The largest share of people who may suffer from sharing. Those who suffer from transfers of
        their own home are counted apart.
    modems
        The group of modems whose number is varied, where there are several groups.
    seeds
        How many, or which; by default 5.
    set
        What all points share besides, by path.
    out
        A folder for the results; finished points are kept there and found again. None by default:
        nothing is kept.
    force, scheduler, stop, on_progress, report, allow_files, memory
        As of ``headend.sweep``.

    Returns
    -------
    Capacity
        Its ``crossing`` is the largest number of homes that suits.

    Raises
    ------
    InputError
        For what cannot be understood, or cannot be run.
    """
    request = read_request(
        scenario, suffering, modems, seeds, tuple(write_overrides(set)), allow_files
    )
    return run_request(
        request,
        out=out,
        force=force,
        scheduler=scheduler,
        stop=stop,
        on_progress=on_progress,
        memory=memory,
        report=report,
    )


def read_request(
    scenario: Source,
    suffering: str,
    modems: str | None,
    seeds: int | Sequence[int] | None,
    overrides: Overrides,
    allow_files: Sequence[str | Path] = (),
) -> Request:
    """Understand what is asked."""
    typed = frozenset(f"{path}={value}" for path, value in overrides)
    text = read_scenario(scenario, FileAccess(typed=typed, allowed=read_allowed(allow_files)))
    loaded = text.load(overrides)
    try:
        group, start = choose_modems(loaded.resolved, modems)
    except InputError as error:
        raise InputError(f"{text.shown_as}: {error}") from error
    request = Request(
        text,
        group,
        start,
        read_share(suffering),
        SEEDS if seeds is None else choose_seeds(seeds),
        loaded.scenario.title or "",
        overrides,
        find_fastest(loaded.resolved, group),
        find_shares(loaded.resolved, group),
    )
    for path, _ in overrides:
        if path == request.path:
            raise InputError(
                f"--set {path}: has no effect, since the number of homes is what is varied; leave"
                " it out"
            )
    return request


def run_request(
    request: Request,
    *,
    out: str | Path | None = None,
    force: bool = False,
    scheduler: str | None = None,
    stop: threading.Event | None = None,
    on_progress: OnProgress | None = None,
    memory: str | int | None = None,
    report: bool = True,
) -> Capacity:
    """Run what is asked, or what is missing of it, with the options of `find_capacity`."""
    folder = None if out is None else take_path(out, "out")
    stop = read_stop(stop, on_progress)
    allowance = read_allowance(memory)
    rounds: list[Capacity] = []

    def run(homes: int) -> Trial | None:
        points = _prepare(request, homes, len(rounds) + 1, allowance)
        found = run_points(
            [[item for _, item in points]],
            lambda store, finished: _gather(request, homes, points, store, finished[0]),
            folder,
            lambda own: open_capacity_folder(own, request, force=force),
            stop=stop,
            scheduler=scheduler,
            allowance=allowance,
            on_progress=on_progress,
        )
        if found.complete and not found.findings.groups and not found.failures:
            raise InputError(
                f"{request.text.shown_as}: nobody in it can suffer: expected flows that are judged,"
                " such as calls, games, pages or films"
            )
        rounds.append(found)
        return found.findings.trials[homes] if found.complete else None

    search(request.start, find_least(request.shares), run)
    result = replace(
        rounds[0],
        numbers=tuple(number for own in rounds for number in own.numbers),
        table=join_frames([own.table for own in rounds if own.table.width]),
        complete=all(own.complete for own in rounds),
        notes=tuple(dict.fromkeys(note for own in rounds for note in own.notes)),
        points=tuple(sorted({point for own in rounds for point in own.points})),
        folder=folder,
    )
    if result.complete and (street := result.findings.worst):
        file = write_street(request, street).encode()
        result = replace(result, files={name_street(street): file})
    if folder:
        write_experiment(result, lambda: render_capacity(result), report=report)
    return result


#: A point's leading columns, and what is to be run, or why it cannot be.
_Prepared = list[tuple[Mapping[str, Any], "Job | Failure"]]


def _prepare(request: Request, homes: int, setting: int, allowance: Allowance) -> _Prepared:
    """Check the points of a number of homes.

    Raises
    ------
    InputError
        Where the first number cannot be simulated: then it is not the number that is wrong.
    """
    points: _Prepared = []
    for seed in request.seeds:
        overrides = list_overrides(request, homes, seed)
        item: Job | Failure
        try:
            item = prepare(request.text, overrides, seed, Suffering(), allowance)
        except InputError as error:
            if setting == 1:
                raise
            item = Failure(str(error))
        points.append(({"setting": setting, "homes": homes, "seed": seed}, item))
    return points


def _gather(
    request: Request, homes: int, points: _Prepared, store: PointStore, finished: Finished
) -> Capacity:
    """Put the results of one number of homes together."""
    jobs = [item for _, item in points if isinstance(item, Job)]
    warnings = dict.fromkeys(warning for job in jobs for warning in job.warnings)
    return Capacity(
        request.name,
        request.title,
        request.to_dict(),
        request.seeds,
        (homes,),
        table=join_frames(gather_points(points, store, finished)),
        complete=finished.complete,
        notes=tuple(warnings),
        points=tuple(list_points(finished.kept)),
    )
