"""Runs a recommendation: each candidate of each tier with each seed, as far as missing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from headend.analysis.criteria import Criteria
from headend.errors import InputError, refuse_argument, take_path
from headend.recommendation.candidate import Candidate
from headend.recommendation.conditions import read_tier_wish
from headend.recommendation.keeping import Kept, add_sums, keep
from headend.recommendation.page import write_recommendation
from headend.recommendation.reading import list_wanted, read_request
from headend.recommendation.request import Request
from headend.recommendation.result import Recommendation, open_recommendation_folder
from headend.recommendation.sender import USUAL, read_senders
from headend.recommendation.tier import Tier
from headend.recommendation.variations import list_sender_variations, list_variations
from headend.results.store import PointStore, list_points
from headend.running.executor import Failure, Finished, OnProgress, read_stop
from headend.running.job import Job, prepare
from headend.running.memory import Allowance, read_allowance
from headend.running.points import gather_points, join_frames, run_points
from headend.scenario.source import write_overrides
from headend.scenario.subjects import Vocabulary

Made = TypeVar("Made")


@dataclass(frozen=True)
class TierPoints:
    """The points of a tier: candidates, conditions, and a job or failure at each place."""

    tier: Tier
    candidates: tuple[Candidate, ...]
    wish: Criteria
    points: tuple[tuple[Mapping[str, Any], Job | Failure], ...]


def recommend(
    sources: str | Path | Sequence[str | Path] = (),
    *,
    upstream: str | Sequence[str] = (),
    downstream: str | Sequence[str] = (),
    preset: str | None = None,
    traffic: str | None = None,
    rtt: str | None = None,
    may_set: str | Sequence[str] = (),
    router: bool = False,
    expect: str | Sequence[str] = (),
    prefer: str | None = None,
    senders: str | Sequence[str] = (),
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

    For the scenario of a line, which is somebody's own, ``own_choices`` of the result says what
    helps it, by who can do it.

    Parameters
    ----------
    sources
        A file of tiers; configuration files of modems, each of which is a tier; or the scenario of
        a line, as ``headend import`` writes it.
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
        What may be set: ``"buffer-control"``, ``"aqm"``, ``"low-latency"`` and ``"router"``; by
        default all but the last, and for the scenario of a line all of them. On a plain link
        ``"buffer-control"`` is the buffer of the device before it.
    router
        Recommend the home's own router, as ``may_set="router"`` does.
    expect
        What must hold, such as ``"call.mos.p5 >= 4.0"`` or ``"upload.goodput >= 80 %"`` of the
        line's rate; by default that each of the people is served well.
    prefer
        What there should be most or least of, such as ``"most upload.goodput"``.
    senders
        Who sends the uploads, such as ``"cubic, 10 bbr3"``: congestion controls with numbers of
        connections. Conditions must hold with each. By default ``"usual"``: CUBIC and BBR version
        3, with one and with ten connections; ``"cubic"``, for one of them, is a quicker answer, and
        the default for the scenario of a line.
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
        may_set=list_wanted(_list("may_set", may_set), router=router),
        expect=_list("expect", expect),
        prefer=prefer,
        senders=_list("senders", senders),
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
    """Run a recommendation, or what is missing of it, with the options of `recommend`.

    Of a line of one's own, variations are run after it, and what is advised then with other
    senders: which settings they need is known by then.
    """
    folder = None if out is None else take_path(out, "out")
    stop = read_stop(stop, on_progress)
    allowance = read_allowance(memory)

    def run(own: Request) -> Recommendation:
        planned = [prepare_tier(own, tier, allowance) for tier in own.tiers]
        return run_points(
            [[item for *_, item in one.points] for one in planned],
            lambda store, finished: _gather(own, planned, store, finished),
            folder,
            lambda place: open_recommendation_folder(place, request, force=force),
            stop=stop,
            scheduler=scheduler,
            allowance=allowance,
            on_progress=on_progress,
        )

    result = run(request)
    for list_more in (_list_variations, _list_other_senders):
        if result.complete and (varied := list_more(result)):
            result = result.join(run(replace(request, tiers=tuple(varied))))
    if folder is None:
        return result
    result = replace(result, folder=folder)
    write_recommendation(result, report=report)
    return result


def _list_variations(result: Recommendation) -> list[Tier]:
    """List the variations of a line of one's own, with what is to be run of each."""
    choices = result.own_choices
    if choices is None:
        return []
    return list_variations(choices.decision.tier, choices.name_all(choices.list_varied()))


def _list_other_senders(result: Recommendation) -> list[Tier]:
    """List the variations of such a line with the usual senders that were not asked for."""
    choices = result.own_choices
    if choices is None:
        return []
    others = [own for own in read_senders(USUAL) if own not in result.request.senders]
    return list_sender_variations(
        choices.decision.tier,
        choices.name_all(choices.list_advised()),
        others if result.request.senders else (),
    )


def prepare_tier(request: Request, tier: Tier, allowance: Allowance | None = None) -> TierPoints:
    """Check every point of a tier.

    Raises
    ------
    InputError
        Where none of them can be run, and for a condition that cannot be asked.
    """
    candidates = tuple(request.list_candidates(tier))
    senders = request.list_cases(tier)
    cases = [(candidate, sender) for candidate in candidates for sender in senders]
    texts = [request.read_text(tier, *case) for case in cases]
    overrides = [request.list_overrides(tier, candidate) for candidate, _ in cases]
    loaded = [
        _attempt(lambda own, given: Vocabulary.from_scenario(own.load(given).scenario), text, given)
        for text, given in zip(texts, overrides, strict=True)
    ]
    _refuse_all(loaded)
    # What can be asked does not depend on how many connections an upload has.
    asked, others = (
        [own for own in part if isinstance(own, Vocabulary)]
        for part in (loaded[:: len(senders)], loaded)
    )
    wish = read_tier_wish(request, tier, asked or others)
    points: list[tuple[Mapping[str, Any], Job | Failure]] = []
    made: list[Kept] = []
    for at, ((candidate, sender), text, given, own) in enumerate(
        zip(cases, texts, overrides, loaded, strict=True)
    ):
        number = at // len(senders) + 1
        place = {"tier": tier.name, "setting": number, "choice": candidate.label}
        place |= {"sender": str(sender)} if sender else {}
        for seed in request.seeds:
            item: Job | Failure = (
                own
                if isinstance(own, Failure)
                else _attempt(prepare, text, given, seed, keep(wish, own, made), allowance)
            )
            points.append(({**place, "feature": str(candidate.feature), "seed": seed}, item))
    _refuse_all([item for _, item in points])
    return TierPoints(tier, candidates, wish, tuple(points))


def _attempt(make: Callable[..., Made], *arguments: Any) -> Made | Failure:
    try:
        return make(*arguments)
    except InputError as error:
        return Failure(str(error))


def _refuse_all(found: Sequence[object]) -> None:
    """Refuse a tier if all of it failed."""
    reasons = [own.reason for own in found if isinstance(own, Failure)]
    if len(reasons) == len(found):
        raise InputError(reasons[0])


def _gather(
    request: Request,
    planned: Sequence[TierPoints],
    store: PointStore,
    finished: Sequence[Finished],
) -> Recommendation:
    """Put the table together."""
    frames, warnings = [], list(request.notes)
    for tier, done in zip(planned, finished, strict=True):
        jobs = [item for _, item in tier.points if isinstance(item, Job)]
        warnings += [warning for job in jobs for warning in job.warnings]
        frames += gather_points(tier.points, store, done)
    return Recommendation(
        request,
        tuple((own.tier, own.candidates, own.wish) for own in planned),
        table=add_sums(join_frames(frames), [own.wish for own in planned]),
        complete=all(own.complete for own in finished),
        notes=tuple(dict.fromkeys(warnings)),
        points=tuple(list_points(key for own in finished for key in own.kept)),
    )
