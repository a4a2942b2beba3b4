"""What is asked of a fit: a measurement, its estimates, and the phases that are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from headend.design.seeds import choose_seeds
from headend.errors import InputError
from headend.fitting.estimates import LineEstimates
from headend.fitting.estimating import estimate_line
from headend.fitting.filling import correct_buffers
from headend.fitting.fitted_line import FittedLine, Medium, fit_line_to, replace_buffer
from headend.fitting.intervals import find_quantile
from headend.fitting.observation import Observation, choose_observation, observe
from headend.measurement.joining import join
from headend.measurement.reading import read_measurement
from headend.measurement.record import Direction, Measurement

#: Seeds of each point by default: two tell how far chance goes, four how far it usually goes.
SEEDS = 4

#: How full a plain buffer is in the middle: CUBIC falls to 0.7 of its window at a loss (RFC 9438
#: section 4.6) and climbs to all of it again.
MEAN_FILL = 0.85


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
    return make_request(measurement, line=line, seeds=seeds, name=name or choose_name(files))


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
    observations = tuple(observe(measurement, estimates))
    idle = next((own.idle for own in observations if own.idle), ())
    fitted = fit_line_to(estimates, measurement, None if line == "auto" else Medium(line), idle)
    fitted = _fill_buffers(fitted, estimates, observations)
    chosen = tuple(choose_seeds(SEEDS if seeds is None else seeds))
    fitted = correct_buffers(fitted, measurement, observations, chosen)
    return Request(name, measurement, estimates, fitted, observations, chosen)


def _fill_buffers(
    line: FittedLine, estimates: LineEstimates, observations: Sequence[Observation]
) -> FittedLine:
    """Give directions whose buffer was not seen full what was seen to wait at most."""
    for way in Direction:
        own = estimates.directions.get(way)
        observation = choose_observation(observations, way)
        if observation is None:
            continue
        if observation.median is not None:
            seen = observation.median / MEAN_FILL
            line = replace_buffer(line, way, seen, is_full=False)
        elif (own is None or own.buffer is None) and observation.probe.added:
            seen = find_quantile(sorted(observation.probe.added), 0.99)
            line = replace_buffer(line, way, seen, is_full=False)
    return line
