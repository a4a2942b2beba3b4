"""Runs the cases: each under its conditions, with each name and seed, where points are missing."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from headend.design.seeds import choose_seeds
from headend.errors import InputError, suggest, take_path
from headend.evaluation.family import FAMILIES, Family
from headend.evaluation.measuring import Kept
from headend.evaluation.naming import write_name
from headend.evaluation.page import render_evaluation
from headend.evaluation.request import Request, Setting, make_request
from headend.evaluation.result import Evaluation, open_evaluation_folder
from headend.evaluation.worst import read_case, write_scenarios
from headend.pages.experiment import write_experiment
from headend.results.store import PointStore, list_points
from headend.running.executor import Finished, OnProgress, read_stop
from headend.running.job import Job, prepare
from headend.running.memory import Allowance, read_allowance
from headend.running.points import gather_points, join_frames, run_points
from headend.scenario.file_access import read_allowed
from headend.scenario.source import Overrides, Text
from headend.scenario.subjects import Vocabulary


def evaluate(
    family: str,
    names: str | Sequence[str] = (),
    *,
    against: str | Sequence[str] = (),
    rates: Sequence[float] | None = None,
    rtts: Sequence[float] | None = None,
    buffers: Sequence[float] | None = None,
    sections: Sequence[str] = (),
    seeds: int | Sequence[int] | None = None,
    quick: bool = False,
    out: str | Path | None = None,
    force: bool = False,
    scheduler: str | None = None,
    stop: threading.Event | None = None,
    on_progress: OnProgress | None = None,
    report: bool = True,
    allow_files: Sequence[str | Path] = (),
    memory: str | int | None = None,
) -> Evaluation:
    """Run what an RFC says should be tested of a queue, a sender or a call, and judge it.

    Parameters
    ----------
    family
        ``queue`` (RFC 7928), ``sender`` (RFC 9743) or ``media`` (RFC 8867).
    names
        What is evaluated, each as a scenario would have it: ``"codel"``, or
        ``'{codel={target="15 ms"}}'``.
    against
        What stands beside the baseline besides.
    rates, rtts, buffers
        Of the grid: bit/s, ns, and bandwidth-delay products. By default those of the family.
    sections
        Only the cases of these sections of the RFC.
    seeds
        How many, or which; by default 5, and 3 in the quick form.
    quick
        At one condition only.
    out
        A folder for the results; finished points are kept there and found again. None by default:
        nothing is kept.
    force, scheduler, stop, on_progress, report, allow_files, memory
        As of ``headend.sweep``.

    Returns
    -------
    Evaluation
        Its ``verdicts`` are a frame with a row for each name, criterion and condition.

    Raises
    ------
    InputError
        For what cannot be understood, or cannot be run.

    Examples
    --------
    >>> import headend
    >>> found = headend.evaluate("queue", "codel", sections=["5.1.1"], quick=True, seeds=1)
    >>> found.verdicts.select("criterion", "standing").rows()
    [('delay', 'holds'), ('goodput', 'fails')]
    """
    if family not in FAMILIES:
        raise InputError(
            f'expected one of {", ".join(FAMILIES)}, found "{family}"{suggest(family, FAMILIES)}'
        )
    request = make_request(
        FAMILIES[family],
        [names] if isinstance(names, str) else list(names),
        against=[against] if isinstance(against, str) else against,
        rates=rates,
        rtts=rtts,
        buffers=buffers,
        sections=sections,
        seeds=None if seeds is None else choose_seeds(seeds),
        quick=quick,
    )
    return run_request(
        request,
        out=out,
        force=force,
        scheduler=scheduler,
        stop=stop,
        on_progress=on_progress,
        report=report,
        allow_files=allow_files,
        memory=memory,
    )


def run_request(
    request: Request,
    *,
    out: str | Path | None = None,
    force: bool = False,
    scheduler: str | None = None,
    stop: threading.Event | None = None,
    on_progress: OnProgress | None = None,
    report: bool = True,
    allow_files: Sequence[str | Path] = (),
    memory: str | int | None = None,
) -> Evaluation:
    """Run what is requested, or what is missing of it, with the options of `evaluate`."""
    folder = None if out is None else take_path(out, "out")
    allowed = read_allowed(allow_files)
    check_names(request, allowed)
    jobs = prepare_jobs(request, allowed, read_allowance(memory))

    def gather(store: PointStore, finished: list[Finished]) -> Evaluation:
        (done,) = finished
        points = list(zip(request.list_columns(), jobs, strict=True))
        return Evaluation(
            request,
            table=join_frames(gather_points(points, store, done)),
            complete=done.complete,
            folder=folder,
            notes=tuple(dict.fromkeys(warning for job in jobs for warning in job.warnings)),
            points=tuple(list_points(done.kept)),
        )

    result = run_points(
        [jobs],
        gather,
        folder,
        lambda own: open_evaluation_folder(own, request, force=force),
        stop=read_stop(stop, on_progress),
        scheduler=scheduler,
        allowance=read_allowance(memory),
        on_progress=on_progress,
    )
    if result.complete:
        result = replace(result, files=write_scenarios(result.findings, allowed))
    if folder:
        write_experiment(result, lambda: render_evaluation(result), report=report)
    return result


def check_names(request: Request, allowed: tuple[Path, ...]) -> None:
    """Refuse a name that the engine does not know, before anything else is made of it."""
    family: Family = request.family
    case = family.cases[0]
    bottleneck = request.list_bottlenecks(case.extent)[0]
    for name in request.every:
        overrides = tuple((path, name) for path in case.list_paths(case.variants[0]))
        text = read_case(case, case.variants[0], bottleneck, overrides, allowed)
        try:
            scenario = text.load(overrides).scenario
        except InputError as error:
            told = str(error).removeprefix(f"{text.shown_as}: ")
            for path, _ in overrides:
                told = told.replace(f" (from --set {path}={name})", "").removeprefix(f"{path}: ")
            raise InputError(f"{family.noun} {name}: {told}") from error
        try:
            Kept(case.list_measures(case.variants[0])).check(Vocabulary.from_scenario(scenario))
        except InputError as error:
            told = str(error).rpartition(": ")[2]
            raise InputError(
                f"{family.noun} {name}: has not what {family.document} measures: {told}"
            ) from error


def prepare_jobs(
    request: Request, allowed: tuple[Path, ...], allowance: Allowance | None
) -> list[Job]:
    """Check all points, and give what runs each."""
    jobs = []
    for setting in request.list_settings():
        text, overrides, kept = _write(allowed, setting)
        jobs += [prepare(text, overrides, seed, kept, allowance) for seed in request.seeds]
    return jobs


def _write(allowed: tuple[Path, ...], setting: Setting) -> tuple[Text, Overrides, Kept]:
    """Give a setting's scenario with its overrides, and what is kept of its runs."""
    case, variant = setting.case, setting.variant
    scenario = case.build(setting.bottleneck, variant)
    overrides = write_name(case, variant, scenario, setting.name)
    text = read_case(case, variant, setting.bottleneck, overrides, allowed)
    return text, overrides, Kept(case.list_measures(variant), case.spans)
