"""Fits a line to a measurement: estimates, simulated queues, the scenario, and how it agrees."""

from __future__ import annotations

import math
import statistics
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headend.design.seeds import choose_seeds
from headend.engine.columns import Frames
from headend.errors import InputError, take_path
from headend.fitting.agreement import Agreement, compare
from headend.fitting.candidate import Candidate
from headend.fitting.estimates import LineEstimates, QueueGuess, QueueKind
from headend.fitting.estimating import estimate_line
from headend.fitting.features import Samples, find_quantile
from headend.fitting.finding import Curve, Found
from headend.fitting.fitted_line import (
    FittedLine,
    Medium,
    find_wide_area,
    fit_line_to,
    replace_buffer,
)
from headend.fitting.identifying import Identified, Simulated, identify
from headend.fitting.line_scenario import write_line_scenario
from headend.fitting.observation import Observation, choose_observation, list_directions, observe
from headend.fitting.page import render_fit
from headend.fitting.reasons import list_reasons
from headend.fitting.result import FACTORS, LineFit, Row, open_fit_folder
from headend.fitting.simulating import (
    USUAL,
    Plan,
    Probed,
    find_congestion,
    is_time,
    plan,
    take_probe,
    take_rates,
    write_scenario,
)
from headend.measurement.by_hand import measure_by_hand
from headend.measurement.joining import join
from headend.measurement.reading import read_measurement
from headend.measurement.record import Direction, Load, Measurement, Trip
from headend.pages.experiment import write_experiment
from headend.results.record import Record
from headend.results.store import PointStore, list_points
from headend.running.execution import execute
from headend.running.executor import Failure, Finished, OnProgress, read_stop
from headend.running.job import Job, prepare
from headend.running.memory import Allowance, read_allowance
from headend.running.points import gather_points, join_frames, run_points
from headend.scenario.source import read_scenario

#: Seeds of each point by default: two tell how far chance goes, four how far it usually goes.
SEEDS = 4

#: How likely the congestion control is that a tool names, of the direction that the tool's own
#: computer sends. The other direction is sent by a server, of which it knows nothing.
_OWN, _SERVERS = 1.0, 0.8

#: The most packets that all points together carry; fewer seeds are run beyond it. The engine
#: carries about two million a second on a core.
_MOST_PACKETS = 120_000_000

#: The fewest seeds: with one nothing tells how far chance goes.
_FEWEST_SEEDS = 2

#: The moments of a curve.
_MOMENTS = 240

#: The steps of a distribution.
_STEPS = 100


@dataclass(frozen=True)
class Request:
    """What is asked: a measurement, and how its line is written.

    Parameters
    ----------
    name
        Of the results.
    measurement, estimates
        What was measured.
    line
        Without queues.
    observations
        The phases of load that are compared.
    seeds
        Of each point.
    """

    name: str
    measurement: Measurement
    estimates: LineEstimates
    line: FittedLine
    observations: tuple[Observation, ...]
    seeds: tuple[int, ...]


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
    typed = measure_by_hand(
        down=down,
        up=up,
        idle=idle,
        loaded_down=loaded_down,
        loaded_up=loaded_up,
        loaded=loaded,
        jitter=jitter,
        loss=loss,
        medium=connected,
    ) if any(
        own is not None for own in (down, up, idle, loaded_down, loaded_up, loaded, jitter, loss)
    ) else None
    request = read_request(
        [take_path(own, "files") for own in files],
        typed,
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


def read_request(
    files: Sequence[Path],
    typed: Measurement | None = None,
    *,
    connected: str = "",
    line: str = "auto",
    seeds: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Request:
    """Read what was measured, and estimate the line.

    Raises
    ------
    InputError
        As the readers say it, and where no line can be made.
    """
    parts = [read_measurement(files)] if files else []
    parts += [typed] if typed else []
    if not parts:
        raise InputError(
            "expected files of measuring tools, or what a web test shows, such as --down 300 --up"
            " 20 --idle 12 --loaded-up 180"
        )
    measurement = join(parts) if len(parts) > 1 else parts[0]
    if connected:
        measurement = replace(measurement, medium=connected)
    return make_request(
        measurement, line=line, seeds=seeds, name=name or choose_name(files)
    )


def choose_name(files: Sequence[Path]) -> str:
    """Name the results after the first file, without its endings.

    Examples
    --------
    >>> choose_name([Path("home/rrul.flent.gz")]), choose_name([])
    ('rrul', 'by-hand')
    """
    if not files or str(files[0]) == "-":
        return "by-hand" if not files else "stdin"
    stem = files[0].name.lstrip(".")
    for _ in range(2):
        stem = Path(stem).stem
    return stem or "line"


def make_request(
    measurement: Measurement,
    *,
    line: str = "auto",
    seeds: int | Sequence[int] | None = None,
    name: str = "line",
) -> Request:
    """Estimate the line of a measurement, and plan what is compared."""
    known = ("auto", *(medium.value for medium in Medium))
    if line not in known:
        raise InputError(f'line: expected {", ".join(known[:-1])} or {known[-1]}, found "{line}"')
    estimates = estimate_line(measurement)
    fitted = fit_line_to(estimates, measurement, None if line == "auto" else Medium(line))
    observations = tuple(observe(measurement, estimates))
    fitted = _fill_buffers(fitted, estimates, observations)
    chosen = tuple(choose_seeds(SEEDS if seeds is None else seeds))
    return Request(name, measurement, estimates, fitted, observations, chosen)


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
    trials = list(_list_trials(request))
    seeds = _choose_seeds(request, trials)
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


@dataclass(frozen=True)
class Trial:
    """One setting: a phase of load, a queue for each direction, and who loads the line."""

    plan: Plan
    queues: Mapping[Direction, Candidate]
    congestion: str
    prior: float

    @property
    def row(self) -> Row:
        """Its labels."""
        queues = [self.queues[way].name for way in (Direction.UP, Direction.DOWN)]
        trip = "" if self.plan.trip is Trip.ROUND else f" ({self.plan.trip.value})"
        return f"{self.plan.load.value}{trip}", queues[0], queues[1], self.congestion


def _fill_buffers(
    line: FittedLine, estimates: LineEstimates, observations: Sequence[Observation]
) -> FittedLine:
    """Give directions without an estimate of their buffer what was seen to wait at most."""
    for way in Direction:
        own = estimates.directions.get(way)
        observation = choose_observation(observations, way)
        if (own is not None and own.buffer is not None) or observation is None:
            continue
        delays = sorted(observation.probe.added)
        seen = find_quantile(delays, 0.99) if delays else observation.median
        if seen is not None:
            line = replace_buffer(line, way, seen, is_full=False)
    return line


def _list_plans(request: Request) -> Iterator[tuple[Observation, Plan]]:
    """Give the phases of load that tell of a direction, each once."""
    senders = request.measurement.senders
    flows = {Direction.UP: senders.up, Direction.DOWN: senders.down}
    chosen = [choose_observation(request.observations, way) for way in Direction]
    for own in dict.fromkeys(id(found) for found in chosen if found is not None):
        observation = next(found for found in chosen if id(found) == own)
        assert observation
        yield observation, plan(observation, request.line, flows)


def _list_trials(request: Request) -> Iterator[Trial]:
    for observation, planned in _list_plans(request):
        loaded = list(list_directions(planned.load))
        tried = {
            way: _list_tried(request, way, planned) if way in loaded else _list_idle(request, way)
            for way in Direction
        }
        for congestion, prior in _list_congestion(request.measurement, observation):
            for up in tried[Direction.UP]:
                for down in tried[Direction.DOWN]:
                    queues = {Direction.UP: up, Direction.DOWN: down}
                    yield Trial(planned, queues, congestion, prior)


def _list_tried(request: Request, way: Direction, planned: Plan) -> list[Candidate]:
    """List the queues that are tried: of a cable line one PIE, its own."""
    found = request.line.directions[way].list_candidates(has_marked=planned.has_marked)
    is_cable = request.line.medium is Medium.CABLE
    return [own for own in found if not (is_cable and own.name == "pi2")]


def _list_idle(request: Request, way: Direction) -> list[Candidate]:
    """Give the queue of a direction that carries acknowledgements only: a plain buffer."""
    return [request.line.directions[way].list_candidates()[0]]


def _list_congestion(
    measurement: Measurement, observation: Observation
) -> list[tuple[str, float]]:
    """List who may have loaded the line, each with how likely that is."""
    named = find_congestion(measurement.senders.congestion)
    if named is None:
        return [(own, 1 / len(USUAL)) for own in USUAL]
    # Of both directions at once every pair of queues is tried: one congestion control is enough.
    sure = _SERVERS if observation.load is Load.DOWN else _OWN
    others = [own for own in USUAL if own != named]
    return [(named, sure), *((own, (1 - sure) / len(others)) for own in others if sure < 1)]


def _choose_seeds(request: Request, trials: Sequence[Trial]) -> tuple[int, ...]:
    """Give as many seeds as there is time for."""
    packets = sum(
        trial.plan.seconds * request.line.directions[way].rate / 12_000
        for trial in trials
        for way in list_directions(trial.plan.load)
    )
    most = max(int(_MOST_PACKETS / packets), _FEWEST_SEEDS) if packets else len(request.seeds)
    return request.seeds[:most]


_Prepared = list[tuple[Mapping[str, Any], "Job | Failure"]]


def _prepare(
    request: Request, trials: Sequence[Trial], seeds: Sequence[int], allowance: Allowance
) -> _Prepared:
    points: _Prepared = []
    for number, trial in enumerate(trials, start=1):
        columns = dict(zip(FACTORS, trial.row, strict=True))
        ways = tuple(way.value for way in list_directions(trial.plan.load))
        selection = Probed(trial.plan.trip.value, trial.plan.interval, ways)
        rtt = find_wide_area(request.line, trial.queues)
        content = write_scenario(
            request.line, trial.queues, trial.plan, trial.congestion, rtt
        )
        text = read_scenario(content)
        for seed in seeds:
            item: Job | Failure
            try:
                item = prepare(text, (), seed, selection, allowance)
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
        _find(request, trials, _read_features(table))
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


#: The features of each seed of a setting, by direction.
_Features = dict[int, dict[str, list[dict[str, float]]]]


def _read_features(table: Any) -> _Features:
    """Read the features of each point from the table."""
    runs: dict[tuple[int, str, int], dict[str, float]] = {}
    if table.width:
        for row in table.iter_rows(named=True):
            if row["error"] is None and row["value"] is not None and row["direction"]:
                own = runs.setdefault((row["setting"], row["direction"], row["seed"]), {})
                name = row["metric"]
                own[name] = row["value"] / (1e6 if is_time(name) else 1.0)
    found: _Features = {}
    for (setting, way, _), features in runs.items():
        found.setdefault(setting, {}).setdefault(way, []).append(features)
    return found


def _find(request: Request, trials: Sequence[Trial], features: _Features) -> Found:
    """Put everything together that is known once all points are run."""
    guesses: dict[Direction, QueueGuess] = {}
    identified: dict[Direction, Identified] = {}
    for way in Direction:
        own = request.estimates.directions.get(way)
        if own is None or own.rate is None:
            continue
        observation = choose_observation(request.observations, way)
        simulated = list(_list_simulated(request, trials, features, way))
        if observation is None:
            guesses[way] = QueueGuess({QueueKind.UNKNOWN: 1.0}, _NOTHING)
            continue
        planned = next(own for seen, own in _list_plans(request) if seen is observation)
        measured = observation.cut(planned.seconds).find_features(way)
        jitter = own.jitter.value if own.jitter and request.line.medium is Medium.PLAIN else 0.0
        found = identify(
            measured,
            simulated,
            own.rate.value,
            jitter,
            has_samples=observation.median is None,
        )
        reasons = list_reasons(measured, simulated, found)
        guesses[way] = replace(found.guess, reasons=reasons)
        identified[way] = found
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


def _list_simulated(
    request: Request, trials: Sequence[Trial], features: _Features, way: Direction
) -> Iterator[Simulated]:
    observation = choose_observation(request.observations, way)
    if observation is None:
        return
    planned = next(own for seen, own in _list_plans(request) if seen is observation)
    for number, trial in enumerate(trials, start=1):
        if trial.plan is planned or trial.plan == planned:
            runs = features.get(number, {}).get(way.value, [])
            if runs:
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
        found[way] = next((own for own in candidates if own.name == best), candidates[0])
    return found


def _compare(
    request: Request,
    trials: Sequence[Trial],
    features: _Features,
    identified: Mapping[Direction, Identified],
    queues: Mapping[Direction, Candidate],
) -> tuple[list[Agreement], list[Curve]]:
    """Simulate the fitted line once more under each load, and lay it beside the measurement."""
    agreements: list[Agreement] = []
    curves: list[Curve] = []
    for observation, planned in _list_plans(request):
        ways = list(list_directions(planned.load))
        if observation.median is not None or not observation.probe.added:
            continue
        congestion = _choose_congestion(request, observation, ways[0], trials, features, queues)
        used = _use_queues(request, ways, queues)
        rtt = find_wide_area(request.line, used)
        content = write_scenario(request.line, used, planned, congestion, rtt)
        record = _run(content, request.seeds[0])
        simulated = take_probe(record, "probe", planned.trip, planned.interval)
        measured = observation.cut(planned.seconds)
        for way in ways:
            rates = (measured.rates or {}).get(way, [])
            agreements.append(
                compare(
                    planned.load,
                    planned.trip,
                    way.value,
                    (measured.probe, rates),
                    (simulated, take_rates(record, way) if rates else []),
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
    return {
        way: queues[way] if way in ways else _list_idle(request, way)[0] for way in Direction
    }


def _choose_congestion(
    request: Request,
    observation: Observation,
    way: Direction,
    trials: Sequence[Trial],
    features: _Features,
    queues: Mapping[Direction, Candidate],
) -> str:
    """Choose who loads the line: who comes nearest with the chosen queue."""
    known = _list_congestion(request.measurement, observation)
    planned = next(own for seen, own in _list_plans(request) if seen is observation)
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
