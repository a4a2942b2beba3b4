"""Runs a recommendation: every candidate of every tier with every seed, or what is missing of them."""

from __future__ import annotations

import functools
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headend.errors import InputError
from headend.judging.expect import list_flow_quantities
from headend.recommending.candidate import Candidate
from headend.recommending.conditions import read_wish_of
from headend.recommending.request import Request
from headend.recommending.result import Recommendation
from headend.recommending.tier import Tier
from headend.results.scratch import open_scratch, sweep_up
from headend.results.store import POINT_FOLDER, PointStore
from headend.running.memory import Allowance, read_allowance
from headend.scenario.reach import Reach
from headend.scenario.source import read_scenario
from headend.scenario.subjects import Vocabulary
from headend.sweeps.cluster import open_crew
from headend.sweeps.crew import Batch, Failure, Finished, OnProgress, run_missing
from headend.sweeps.job import Job, prepare
from headend.sweeps.measuring import Everything, make_frame
from headend.sweeps.wish import Wish

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class TierPoints:
    """The points of a tier: what is tried, what must hold, and a job or a failure for each candidate and seed."""

    tier: Tier
    candidates: tuple[Candidate, ...]
    wish: Wish
    points: tuple[tuple[int, int, Job | Failure], ...]


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
        As of ``headend.sweep``.
    """
    stop = stop or threading.Event()
    allowance = read_allowance(memory)
    planned = [prepare_tier(request, tier, allowance) for tier in request.tiers]
    parent = Path(tempfile.gettempdir())
    sweep_up(parent)
    with open_crew(scheduler, allowance, stop) as crew, open_scratch(parent) as scratch:
        store = PointStore((Path(out) if out else scratch) / POINT_FOLDER)
        batches = [Batch(_list_jobs(own), store) for own in planned]
        finished = list(run_missing(batches, stop, crew, on_progress))
        return _gather(request, planned, store, finished)


def prepare_tier(request: Request, tier: Tier, allowance: Allowance | None = None) -> TierPoints:
    """Check every point of a tier.

    Raises
    ------
    InputError
        Where none of them can be run, and for a condition that cannot be asked.
    """
    candidates = tuple(request.list_candidates(tier))
    reach = Reach(
        typed=frozenset(f"{path}={value}" for path, value in request.overrides),
        allowed=request.allowed,
    )
    points: list[tuple[int, int, Job | Failure]] = []
    wish: Wish | None = None
    for setting, candidate in enumerate(candidates, start=1):
        text = read_scenario(request.write_scenario(tier, candidate), reach)
        try:
            vocabulary = Vocabulary.from_scenario(text.load(request.overrides).scenario)
        except InputError as error:
            points += [(setting, seed, Failure(str(error))) for seed in request.seeds]
            continue
        if wish is None:
            wish = read_wish_of(
                request.conditions, request.objective, tier, request.people.flows, vocabulary
            )
        selection = _select(wish, vocabulary)
        for seed in request.seeds:
            try:
                job = prepare(text, request.overrides, seed, selection, allowance)
            except InputError as error:
                points.append((setting, seed, Failure(str(error))))
            else:
                points.append((setting, seed, job))
    if wish is None:
        raise InputError(next(own.reason for _, _, own in points if isinstance(own, Failure)))
    return TierPoints(tier, candidates, wish, tuple(points))


def _select(wish: Wish, vocabulary: Vocabulary) -> Everything:
    """Keep all that can be asked of flows and queues, so that other conditions need no new points; more only if it is asked."""
    names = list_flow_quantities(vocabulary)
    known = set(names)
    asked = [name for term in wish.terms for name in term.measures if name not in known]
    return Everything({name: name for name in (*names, *asked)})


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
