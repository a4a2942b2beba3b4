"""Runs a recommendation: each candidate of each tier with each seed, as far as missing."""

from __future__ import annotations

import functools
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.analysis.expect import list_quantities, parse_quantity_name
from headend.errors import InputError, refuse_argument, take_path
from headend.recommendation.candidate import Candidate
from headend.recommendation.conditions import read_tier_wish
from headend.recommendation.folder import open_recommendation_folder, write_outcome
from headend.recommendation.keeping import Kept, add_sums, list_parts
from headend.recommendation.reading import read_request
from headend.recommendation.request import Request
from headend.recommendation.result import Recommendation
from headend.recommendation.tier import Tier
from headend.results.experiment import remove_page
from headend.results.scratch import open_scratch, sweep_up
from headend.results.store import POINT_FOLDER, PointStore, list_points
from headend.running.cluster import open_executor
from headend.running.executor import (
    Batch,
    Executor,
    Failure,
    Finished,
    OnProgress,
    call_before_the_first,
    read_stop,
    run_missing,
)
from headend.running.job import Job, prepare
from headend.running.measuring import make_frame
from headend.running.memory import Allowance, read_allowance
from headend.scenario.source import Text, write_overrides
from headend.scenario.subjects import Vocabulary
from headend.sweeps.wish import Wish

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class TierPoints:
    """The points of a tier: candidates, conditions, and a job or failure for each and each seed."""

    tier: Tier
    candidates: tuple[Candidate, ...]
    wish: Wish
    points: tuple[tuple[int, int, Job | Failure], ...]


def recommend(
    sources: str | Path | Sequence[str | Path] = (),
    *,
    upstream: str | Sequence[str] = (),
    downstream: str | Sequence[str] = (),
    preset: str | None = None,
    traffic: str | None = None,
    rtt: str | None = None,
    may_set: str | Sequence[str] = (),
    expect: str | Sequence[str] = (),
    prefer: str | None = None,
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
) -> Recommendation:
    """Recommend a buffer, an AQM or low latency for service tiers, or run what is missing of that.

    Parameters
    ----------
    sources
        A file of tiers, or configuration files of modems, each of which is a tier.
    upstream, downstream
        The rates of tiers, such as ``"10 Mbit/s"``, or lists of them: as many downstream as
        upstream, one for all, or none: ten times upstream, but no more than nine tenths of what the
        channel carries.
    preset
        Of which DOCSIS the modems are: ``"docsis31"`` by default, or ``"docsis30"``.
    traffic
        The people behind the line, such as ``"call, game, 2 uploads"``, or a scenario whose flows
        they are. By default a call, a game, web pages, an upload and a video call.
    rtt
        The round-trip time to the servers of pages and transfers: one time, ``"20 ms to 100 ms"``,
        or a city of CM-GL-Buffer, Appendix I, such as ``"boston"``.
    may_set
        What may be set: ``"buffer-control"``, ``"aqm"`` and ``"low-latency"``; by default all of
        it.
    expect
        What must hold, such as ``"call.mos.p5 >= 4.0"`` or ``"upload.goodput >= 80 %"`` of the
        line's rate; by default that each of the people is served well.
    prefer
        What there should be most or least of, such as ``"most upload.goodput"``.
    seeds
        How many, or which; more of them narrow the intervals.
    set
        What all points share besides, by path.
    out
        A folder for the results; finished points are kept there and found again. None by default:
        nothing is kept.
    force
        Let the results take the place of another recommendation's that are there.
    scheduler
        Address of a Dask scheduler whose workers run the points; by default, the cores of this
        machine do.
    stop
        Setting it ends the run; what was finished is kept, and given.
    on_progress
        Told whenever a point is done.
    report
        Also write ``report.html`` to the folder when all points are done.
    allow_files
        Files and folders from which traces and captures may be read besides.
    memory
        What points may take together, as of ``headend.sweep``.

    Returns
    -------
    Recommendation
        ``decisions`` has what each tier shall have; ``judge_again`` holds the same results against
        other conditions.

    Raises
    ------
    InputError
        For what cannot be understood, or cannot be run.

    Examples
    --------
    >>> short = {"duration": "16 s", "warmup": "4 s"}
    >>> found = recommend(
    ...     upstream="5 Mbit/s", traffic="call", may_set="aqm",
    ...     expect="call.mos.p5 >= 3.5", seeds=1, set=short
    ... )
    >>> found
    <Recommendation 5 Mbit/s: AQM 10 ms>
    """
    request = read_request(
        _list("sources", sources),
        upstream=_list("upstream", upstream),
        downstream=_list("downstream", downstream),
        preset=preset,
        traffic=traffic,
        rtt=rtt,
        may_set=_list("may_set", may_set),
        expect=_list("expect", expect),
        prefer=prefer,
        seeds=seeds,
        overrides=tuple(write_overrides(set)),
        allow_files=allow_files,
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


def _list(name: str, given: Any) -> tuple[Any, ...]:
    """Give one text or path as a list of it, and a list as it is."""
    if isinstance(given, str | Path):
        return (given,)
    found = list(given) if isinstance(given, Iterable) else [given]
    if not all(isinstance(own, str | Path) for own in found):
        raise refuse_argument(name, "a text or several of them", given)
    return tuple(found)


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
) -> Recommendation:
    """Run a recommendation, or what is missing of it.

    Parameters
    ----------
    request
        What is asked.
    out, force, scheduler, stop, on_progress, memory, report
        As of `recommend`.
    """
    folder = None if out is None else take_path(out, "out")
    stop = read_stop(stop, on_progress)
    allowance = read_allowance(memory)
    planned = [prepare_tier(request, tier, allowance) for tier in request.tiers]
    if folder is None:
        parent = Path(tempfile.gettempdir())
        sweep_up(parent)
        with open_executor(scheduler, allowance, stop) as executor, open_scratch(parent) as scratch:
            return _carry_out(request, planned, scratch, stop, executor, on_progress)
    with open_executor(scheduler, allowance, stop) as executor:
        open_recommendation_folder(folder, request, force=force)
        on_progress = call_before_the_first(functools.partial(remove_page, folder), on_progress)
        result = _carry_out(request, planned, folder, stop, executor, on_progress)
    result = replace(result, folder=folder)
    write_outcome(result, folder, report=report)
    return result


def prepare_tier(request: Request, tier: Tier, allowance: Allowance | None = None) -> TierPoints:
    """Check every point of a tier.

    Raises
    ------
    InputError
        Where none of them can be run, and for a condition that cannot be asked.
    """
    candidates = tuple(request.list_candidates(tier))
    texts: list[Text] = []
    vocabularies: list[Vocabulary | Failure] = []
    for candidate in candidates:
        texts.append(request.read_text(tier, candidate))
        try:
            scenario = texts[-1].load(request.overrides).scenario
        except InputError as error:
            vocabularies.append(Failure(str(error)))
        else:
            vocabularies.append(Vocabulary.from_scenario(scenario))
    known = [own for own in vocabularies if isinstance(own, Vocabulary)]
    if not known:
        raise InputError(next(own.reason for own in vocabularies if isinstance(own, Failure)))
    wish = read_tier_wish(request, tier, known)
    points: list[tuple[int, int, Job | Failure]] = []
    selections: list[Kept] = []
    for setting, (text, own) in enumerate(zip(texts, vocabularies, strict=True), start=1):
        selection = own if isinstance(own, Failure) else _select(wish, own, selections)
        for seed in request.seeds:
            points.append((setting, seed, _prepare(request, text, seed, selection, allowance)))
    reasons = [own.reason for _, _, own in points if isinstance(own, Failure)]
    if len(reasons) == len(points):
        raise InputError(reasons[0])
    return TierPoints(tier, candidates, wish, tuple(points))


def _prepare(
    request: Request,
    text: Text,
    seed: int,
    selection: Kept | Failure,
    allowance: Allowance | None,
) -> Job | Failure:
    """Give the job of a point, or why it cannot be run."""
    if isinstance(selection, Failure):
        return selection
    try:
        return prepare(text, request.overrides, seed, selection, allowance)
    except InputError as error:
        return Failure(str(error))


def _select(wish: Wish, vocabulary: Vocabulary, made: list[Kept]) -> Kept:
    """Keep all that can be asked, so that other conditions need no new points; more if asked.

    A selection that was made before for an equal scenario is given again: it has understood its
    quantities.
    """
    for own in made:
        if own.vocabulary == vocabulary:
            return own
    known = set(list_quantities(vocabulary))
    asked = [part for term in wish.terms for name in term.measures for part in list_parts(name)]
    besides = tuple(
        part
        for part in dict.fromkeys(asked)
        if part not in known and _is_measured(part, vocabulary)
    )
    made.append(Kept(vocabulary, besides))
    return made[-1]


def _is_measured(quantity: str, vocabulary: Vocabulary) -> bool:
    """Say whether a scenario has a quantity: some candidates have queues that others have not."""
    try:
        parse_quantity_name(quantity, vocabulary)
    except InputError:
        return False
    return True


def _carry_out(
    request: Request,
    planned: Sequence[TierPoints],
    folder: Path,
    stop: threading.Event,
    executor: Executor,
    on_progress: OnProgress | None,
) -> Recommendation:
    """Run what is missing and put the table together."""
    store = PointStore(folder / POINT_FOLDER)
    batches = [Batch(_list_jobs(own), store) for own in planned]
    finished = list(run_missing(batches, stop, executor, on_progress))
    return _gather(request, planned, store, finished)


def _list_jobs(planned: TierPoints) -> list[Job]:
    return [own for _, _, own in planned.points if isinstance(own, Job)]


def _gather(
    request: Request,
    planned: Sequence[TierPoints],
    store: PointStore,
    finished: Sequence[Finished],
) -> Recommendation:
    """Put the table together."""
    import polars as pl

    frames = [
        frame
        for own, done in zip(planned, finished, strict=True)
        for frame in _list_frames(own, store, done)
    ]
    table = pl.concat(frames, how="vertical_relaxed", rechunk=True) if frames else pl.DataFrame()
    table = add_sums(table, [own.wish for own in planned])
    warnings = dict.fromkeys(
        [
            *request.notes,
            *(warning for own in planned for job in _list_jobs(own) for warning in job.warnings),
        ]
    )
    return Recommendation(
        request,
        tuple((own.tier, own.candidates, own.wish) for own in planned),
        table,
        complete=all(own.complete for own in finished),
        notes=tuple(warnings),
        points=tuple(list_points(key for own in finished for key in own.kept)),
    )


def _list_frames(planned: TierPoints, store: PointStore, done: Finished) -> Iterator[pl.DataFrame]:
    for setting, seed, item in planned.points:
        place = functools.partial(
            _place, planned.tier, setting, planned.candidates[setting - 1], seed
        )
        failure = item if isinstance(item, Failure) else done.failures.get(item.key)
        if failure:
            yield place(make_frame([{}]), failure.reason)
        elif isinstance(item, Job) and item.key in done.kept:
            yield place(store.read(item.key), None)


def _place(
    tier: Tier,
    setting: int,
    candidate: Candidate,
    seed: int,
    frame: pl.DataFrame,
    error: str | None,
) -> pl.DataFrame:
    """Put the place of a point before what was measured there."""
    import polars as pl

    return frame.select(
        pl.lit(tier.name).alias("tier"),
        pl.lit(setting, dtype=pl.Int64).alias("setting"),
        pl.lit(candidate.label).alias("choice"),
        pl.lit(str(candidate.feature)).alias("feature"),
        pl.lit(seed, dtype=pl.UInt64).alias("seed"),
        pl.all(),
        pl.lit(error, dtype=pl.String).alias("error"),
    )
