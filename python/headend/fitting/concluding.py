"""What the simulations tell: which queue is likely, and how the fitted line agrees."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headend.engine.columns import Frames
from headend.fitting.agreement import Agreement, compare
from headend.fitting.candidate import Candidate
from headend.fitting.estimates import QueueGuess, QueueKind
from headend.fitting.features import SETTLING, Samples
from headend.fitting.finding import Curve, Found
from headend.fitting.fitted_line import Medium, find_wide_area
from headend.fitting.flags import is_paced
from headend.fitting.identifying import LONG, Identified, Simulated, identify
from headend.fitting.intervals import find_quantile
from headend.fitting.line_scenario import write_line_scenario
from headend.fitting.observation import Observation, choose_observation, list_directions
from headend.fitting.reasons import list_reasons
from headend.fitting.request import Request
from headend.fitting.simulating import (
    Plan,
    is_time,
    list_congestion,
    take_probe,
    take_rates,
    write_scenario,
)
from headend.fitting.trials import Trial, list_idle, list_plans
from headend.measurement.record import Direction
from headend.results.record import Record
from headend.running.execution import execute
from headend.scenario.source import read_scenario

if TYPE_CHECKING:
    import polars as pl

#: The moments of a curve.
_MOMENTS = 240

#: The steps of a distribution.
_STEPS = 100


#: The features of each seed of a setting, by direction.
Features = dict[int, dict[str, list[dict[str, float]]]]


def read_features(table: pl.DataFrame) -> Features:
    """Read the features of each point from the table of results."""
    runs: dict[tuple[int, str, int], dict[str, float]] = {}
    if table.width:
        for row in table.iter_rows(named=True):
            if row["error"] is None and row["value"] is not None and row["direction"]:
                own = runs.setdefault((row["setting"], row["direction"], row["seed"]), {})
                name = row["metric"]
                own[name] = row["value"] / (1e6 if is_time(name) else 1.0)
    found: Features = {}
    for (setting, way, _), features in runs.items():
        found.setdefault(setting, {}).setdefault(way, []).append(features)
    return found


def conclude(request: Request, trials: Sequence[Trial], features: Features) -> Found:
    """Put everything together that is known once all points are run."""
    guesses: dict[Direction, QueueGuess] = {}
    identified: dict[Direction, Identified] = {}
    for way in Direction:
        own = request.estimates.directions.get(way)
        if own is None or own.rate is None:
            continue
        observation = choose_observation(request.observations, way)
        if observation is None:
            guesses[way] = QueueGuess({QueueKind.UNKNOWN: 1.0}, _NOTHING)
            continue
        planned = next(own for seen, own in list_plans(request) if seen is observation)
        simulated = list(_list_simulated(trials, features, way, planned))
        measured = observation.cut(planned.seconds).find_features(way)
        jitter = own.jitter.value if own.jitter and request.line.medium is Medium.PLAIN else 0.0
        near = identify(
            measured,
            simulated,
            own.rate.value,
            jitter,
            has_samples=observation.median is None,
            was_full=_was_full(request, way),
            is_long=planned.is_timed and planned.seconds - SETTLING >= LONG,
        )
        reasons = list_reasons(measured, simulated, near)
        guesses[way] = replace(near.guess, reasons=reasons)
        identified[way] = near
    queues = _choose_queues(request, identified)
    agreements, curves = _compare(request, trials, features, identified, queues)
    found = Found(
        request.measurement.tools,
        request.estimates,
        request.line.medium.value,
        request.line.why,
        guesses,
        {way: own.best for way, own in identified.items()},
        {way: own.distances for way, own in identified.items()},
        tuple(agreements),
        tuple(curves),
        notes=request.measurement.notes,
        dropped=request.measurement.dropped,
    )
    text = write_line_scenario(
        request.line,
        queues,
        request.estimates,
        guesses,
        source=found.source,
        grade=found.grade,
    )
    return replace(found, scenario=text)


_NOTHING = ("No delay was measured while this direction was loaded.",)


def _was_full(request: Request, way: Direction) -> bool:
    """Whether connections sent packets again: then they filled the line, unless they were paced."""
    if is_paced(request.measurement, way):
        return False
    again = (own.share for own in request.measurement.retransmissions if own.direction is way)
    return max(again, default=0.0) > 0


def _list_simulated(
    trials: Sequence[Trial], features: Features, way: Direction, planned: Plan
) -> Iterator[Simulated]:
    for number, trial in enumerate(trials, start=1):
        runs = features.get(number, {}).get(way.value, [])
        if trial.plan == planned and runs:
            queue = trial.queues[way]
            yield Simulated(queue.name, queue.kind, trial.prior, runs)


def _choose_queues(
    request: Request, identified: Mapping[Direction, Identified]
) -> dict[Direction, Candidate]:
    """Choose the queue of each direction that comes nearest; a plain buffer where nothing does."""
    found = {}
    for way in Direction:
        candidates = request.line.directions[way].list_candidates()
        best = identified[way].best if way in identified else ""
        # Its scenario would have a low-latency queue besides, which nothing tells of.
        best = "pie" if best == "pi2" else best
        found[way] = next((own for own in candidates if own.name == best), candidates[0])
    return found


def _compare(
    request: Request,
    trials: Sequence[Trial],
    features: Features,
    identified: Mapping[Direction, Identified],
    queues: Mapping[Direction, Candidate],
) -> tuple[list[Agreement], list[Curve]]:
    """Simulate the fitted line once more under each load, and lay it beside the measurement."""
    agreements: list[Agreement] = []
    curves: list[Curve] = []
    for observation, planned in list_plans(request):
        ways = list(list_directions(planned.load))
        if observation.median is not None or not observation.probe.added:
            continue
        congestion = _choose_congestion(request, observation, planned, trials, features, queues)
        used = _use_queues(request, ways, queues)
        rtt = find_wide_area(request.line, used)
        content = write_scenario(request.line, used, planned, congestion, rtt)
        record = _run(content, request.seeds[0])
        simulated = take_probe(record, "probe", planned.trip, planned.idle)
        measured = observation.cut(planned.seconds)
        nothing = Samples((), ())
        for place, way in enumerate(ways):
            rates = (measured.rates or {}).get(way, [])
            # The delays of both directions at once are the same for both.
            probes = (nothing, nothing) if place else (measured.probe, simulated)
            agreements.append(
                compare(
                    planned.load,
                    planned.trip,
                    way.value,
                    (probes[0], rates),
                    (probes[1], take_rates(record, way) if rates else []),
                    has_delays=not place,
                )
            )
        curves += [
            _draw(observation, "measured", measured.probe, planned.seconds),
            _draw(observation, "simulated", simulated, planned.seconds),
        ]
    return agreements, curves


def _use_queues(
    request: Request, ways: Sequence[Direction], queues: Mapping[Direction, Candidate]
) -> dict[Direction, Candidate]:
    return {way: queues[way] if way in ways else list_idle(request, way)[0] for way in Direction}


def _choose_congestion(
    request: Request,
    observation: Observation,
    planned: Plan,
    trials: Sequence[Trial],
    features: Features,
    queues: Mapping[Direction, Candidate],
) -> str:
    """Choose who loads the line: who comes nearest with the chosen queue."""
    known = list_congestion(request.measurement, observation)
    way = next(iter(list_directions(planned.load)))
    measured = observation.cut(planned.seconds).find_features(way)
    rate = request.line.directions[way].rate
    nearest: list[tuple[float, str]] = []
    for congestion, prior in known:
        own = [
            Simulated(trial.queues[way].name, trial.queues[way].kind, prior, runs)
            for number, trial in enumerate(trials, start=1)
            if trial.plan == planned
            and trial.congestion == congestion
            and trial.queues[way].name == queues[way].name
            and (runs := features.get(number, {}).get(way.value, []))
        ]
        found = identify(measured, own, rate)
        if found.distances:
            nearest.append((min(found.distances.values()), congestion))
    return min(nearest)[1] if nearest else known[0][0]


def _run(content: Mapping[str, Any], seed: int) -> Record:
    scenario = read_scenario(content).load().scenario
    return Record(Frames(execute(scenario, seed=seed).tables), {})


def _draw(observation: Observation, side: str, samples: Samples, seconds: float) -> Curve:
    """Draw delays over time and their distribution."""
    step = max(seconds / _MOMENTS, observation.interval)
    bins: dict[int, list[float]] = {}
    if samples.times:
        for at, delay in zip(samples.times, samples.added, strict=True):
            bins.setdefault(math.floor(at / step), []).append(delay)
    moments = sorted(bins.items())
    ordered = sorted(samples.added)
    return Curve(
        observation.load,
        observation.trip,
        side,
        tuple(round((place + 0.5) * step, 3) for place, _ in moments),
        tuple(round(statistics.median(own), 3) for _, own in moments),
        tuple(round(find_quantile(ordered, own / _STEPS), 3) for own in range(_STEPS + 1))
        if ordered
        else (),
    )
