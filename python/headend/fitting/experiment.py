"""Fits a line to a measurement: runs what is missing, and puts together what is found."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headend.errors import InputError, take_path
from headend.fitting.concluding import conclude, read_features
from headend.fitting.finding import Found
from headend.fitting.fitted_line import find_wide_area
from headend.fitting.observation import list_directions
from headend.fitting.page import render_fit
from headend.fitting.request import Request, read_request
from headend.fitting.result import FACTORS, LineFit, open_fit_folder
from headend.fitting.simulating import SPREADS, Probed, write_scenario
from headend.fitting.trials import Trial, limit_seeds, list_trials
from headend.measurement.by_hand import measure_by_hand
from headend.pages.experiment import write_experiment
from headend.results.store import PointStore, list_points
from headend.running.executor import Failure, Finished, OnProgress, read_stop
from headend.running.job import Job, prepare
from headend.running.memory import Allowance, read_allowance
from headend.running.points import gather_points, join_frames, run_points
from headend.scenario.source import read_scenario


def fit_line(
    *files: str | Path,
    down: str | float | None = None,
    up: str | float | None = None,
    idle: str | float | None = None,
    loaded_down: str | float | None = None,
    loaded_up: str | float | None = None,
    loaded: str | float | None = None,
    jitter: str | float | None = None,
    loss: str | float | None = None,
    connected: str = "",
    line: str = "auto",
    seeds: int | Sequence[int] | None = None,
    name: str | None = None,
    out: str | Path | None = None,
    force: bool = False,
    scheduler: str | None = None,
    stop: threading.Event | None = None,
    on_progress: OnProgress | None = None,
    report: bool = True,
    memory: str | int | None = None,
) -> LineFit:
    """Find the line behind a measurement, as a scenario that can be simulated.

    Parameters
    ----------
    files
        What measuring tools wrote of one line.
    down, up, idle, loaded_down, loaded_up, loaded, jitter, loss
        What a web test shows, in place of files or beside them: rates (numbers are Mbit/s), delays
        there and back (ms) of the idle line, and during the download, the upload, or both; the
        share of lost packets (%).
    connected
        How the computer was connected: ``"wifi"`` or ``"ethernet"``.
    line
        What it is written as: ``"auto"``, ``"cable"``, ``"plain"`` or ``"wifi"``.
    seeds
        How many of each simulated queue, or which; by default 4.
    name
        What the results are called; by default as the first file.
    out
        A folder for the results; finished points are kept there and found again. None by default:
        nothing is kept.
    force, scheduler, stop, on_progress, report, memory
        As of ``headend.sweep``.

    Returns
    -------
    LineFit
        Its ``scenario`` is a text for ``headend.run`` and ``headend.recommend``.

    Raises
    ------
    InputError
        For what cannot be understood, and for a measurement without a rate.
    """
    numbers = {
        "down": down,
        "up": up,
        "idle": idle,
        "loaded_down": loaded_down,
        "loaded_up": loaded_up,
        "loaded": loaded,
        "jitter": jitter,
        "loss": loss,
    }
    shown: dict[str, Any] = {key: own for key, own in numbers.items() if own is not None}
    request = read_request(
        [take_path(own, "files") for own in files],
        measure_by_hand(**shown, medium=connected) if shown else None,
        connected=connected,
        line=line,
        seeds=seeds,
        name=name,
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
) -> LineFit:
    """Simulate the queues, or what is missing of them, with the options of `fit_line`."""
    folder = None if out is None else take_path(out, "out")
    stop = read_stop(stop, on_progress)
    allowance = read_allowance(memory)
    trials = list(list_trials(request))
    seeds = limit_seeds(request, trials)
    points = _prepare(request, trials, seeds, allowance)
    result = run_points(
        [[item for _, item in points]],
        lambda store, finished: _gather(request, trials, seeds, points, store, finished[0]),
        folder,
        lambda own: open_fit_folder(own, request.name, force=force),
        stop=stop,
        scheduler=scheduler,
        allowance=allowance,
        on_progress=on_progress,
    )
    result = replace(result, folder=folder)
    if folder:
        write_experiment(result, lambda: render_fit(result), report=report)
    return result


_Prepared = list[tuple[Mapping[str, Any], "Job | Failure"]]


def _prepare(
    request: Request, trials: Sequence[Trial], seeds: Sequence[int], allowance: Allowance
) -> _Prepared:
    points: _Prepared = []
    for number, trial in enumerate(trials, start=1):
        columns = dict(zip(FACTORS, trial.row, strict=True))
        ways = tuple(way.value for way in list_directions(trial.plan.load))
        selection = Probed(trial.plan.trip.value, ways, trial.plan.idle)
        rtt = find_wide_area(request.line, trial.queues)
        texts = [
            read_scenario(
                write_scenario(
                    request.line, trial.queues, trial.plan, trial.congestion, rtt, spread
                )
            )
            for spread in SPREADS
        ]
        for place, seed in enumerate(trial.choose_seeds(seeds)):
            item: Job | Failure
            try:
                item = prepare(texts[place % len(texts)], (), seed, selection, allowance)
            except InputError as error:
                item = Failure(str(error))
            points.append(({"setting": number, **columns, "seed": seed}, item))
    return points


def _gather(
    request: Request,
    trials: Sequence[Trial],
    seeds: tuple[int, ...],
    points: _Prepared,
    store: PointStore,
    finished: Finished,
) -> LineFit:
    table = join_frames(gather_points(points, store, finished))
    found = (
        conclude(request, trials, read_features(table))
        if finished.complete
        else Found(
            request.measurement.tools,
            request.estimates,
            request.line.medium.value,
            request.line.why,
            {},
        )
    )
    return LineFit(
        request.name,
        found,
        seeds,
        tuple(trial.row for trial in trials),
        table=table,
        complete=finished.complete,
        points=tuple(list_points(finished.kept)),
    )
