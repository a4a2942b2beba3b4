"""The round trips: each line in each format, read back and estimated, beside the truth."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl

from headend.fitting.estimates import Estimate, LineEstimates, QueueGuess, QueueKind
from headend.fitting.estimating import estimate_line
from headend.fitting.experiment import fit_line
from headend.measurement.reading import read_measurement
from headend.measurement.record import Direction
from headend.running.execution import count_cores

from .formats import FORMATS, Format
from .lines import CONTROLS, QUEUES, ROUNDS, Line, LineTest, draw_lines, find_idle_delay, run_test

#: Seeds of each simulated queue: half of what `headend import` takes by default, for time.
SEEDS = 2

#: The formats of which some lines' queues are identified. A table has the delays that ping has, and
#: crusader's 200 probes a second make its simulations cost the most.
_IDENTIFIED = ("irtt + iperf3", "ping + iperf3", "networkQuality", "Ookla")

#: Of flent's files, so many lines' queues are identified: as many as the import was to be held to.
IDENTIFIED_FLENT = 60

#: The columns of an estimate.
_ESTIMATE = {"": pl.Float64, "_low": pl.Float64, "_high": pl.Float64, "_bound": pl.String}

#: What is estimated of a line, or of a direction of it.
QUANTITIES = ("base", "rate", "buffer")

#: The table of all round trips: a row for each line, format and direction.
SCHEMA: dict[str, Any] = {
    "line": pl.Int64,
    "medium": pl.String,
    "congestion": pl.String,
    "connections": pl.Int64,
    "format": pl.String,
    "direction": pl.String,
    "queue": pl.String,
    **{
        f"{quantity}{end}": kind
        for quantity in QUANTITIES
        for end, kind in {"_truth": pl.Float64, **_ESTIMATE}.items()
    },
    "kind_truth": pl.String,
    "kind": pl.String,
    "likelihood": pl.Float64,
    "flags": pl.List(pl.String),
}


@functools.cache
def make_trips() -> pl.DataFrame:
    """Make all round trips of the design, in threads: the engine runs beside the estimates."""
    lines = draw_lines()
    identified = choose_identified(lines)
    with ThreadPoolExecutor(count_cores()) as pool:
        rows = pool.map(lambda line: list(_make_of(line, identified)), lines)
        return pl.DataFrame([row for own in rows for row in own], schema=SCHEMA)


def choose_identified(lines: Sequence[Line]) -> dict[str, set[int]]:
    """Choose the lines whose queues are identified, by format.

    Each queue and congestion control is there once for four formats; for flent it is 60 lines.
    One line takes as long as hundreds of estimates, since each kind of queue is simulated.

    Examples
    --------
    >>> chosen = choose_identified(draw_lines())
    >>> len(chosen["flent"]), len(chosen["Ookla"]), len(chosen["crusader"])
    (60, 18, 0)
    """
    cells = len(QUEUES) * len(CONTROLS)
    # Each of them from another round, so that cable lines are among them.
    few = {cell + cells * (cell % ROUNDS) for cell in range(cells)}
    every = {line.number for line in lines}
    chosen = {form.name: few & every if form.name in _IDENTIFIED else set() for form in FORMATS}
    return chosen | {"flent": {number for number in every if number < IDENTIFIED_FLENT}}


def _make_of(line: Line, identified: dict[str, set[int]]) -> Iterator[dict[str, Any]]:
    tests: dict[str, LineTest] = {}
    bases: dict[str, float] = {}
    for form in FORMATS:
        name = form.probing.name
        if name not in tests:
            tests[name] = run_test(line, form.probing)
            bases[name] = find_idle_delay(line, form.probing)
        is_identified = line.number in identified[form.name]
        yield from make_trip(tests[name], form, bases[name], is_identified=is_identified)


def make_trip(
    test: LineTest, form: Format, base: float, *, is_identified: bool
) -> Iterator[dict[str, Any]]:
    """Write a test in a format, read it, and give what is estimated of each direction.

    Parameters
    ----------
    test
        Of a line.
    form
        The format.
    base
        The true base delay, ms.
    is_identified
        Whether its queues are identified too, by simulation.
    """
    guesses: dict[Direction, QueueGuess] = {}
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, content in form.write(test).items():
            path = Path(folder) / name
            path.write_bytes(content)
            paths.append(path)
        estimates = estimate_line(read_measurement(paths))
        if is_identified:
            guesses |= fit_line(*paths, seeds=SEEDS, report=False).found.guesses
    for direction in Direction:
        yield _describe(test.line, form, direction, base, estimates, guesses.get(direction))


def _describe(
    line: Line,
    form: Format,
    direction: Direction,
    base: float,
    estimates: LineEstimates,
    guess: QueueGuess | None,
) -> dict[str, Any]:
    own = estimates.directions[direction]
    truths = {"base": base, "rate": line.rate(direction), "buffer": line.buffer(direction)}
    found = {"base": estimates.base_delay, "rate": own.rate, "buffer": own.buffer}
    return {
        "line": line.number,
        "medium": line.medium,
        "congestion": line.congestion,
        "connections": form.probing.connections or line.connections,
        "format": form.name,
        "direction": direction.value,
        "queue": line[direction].queue,
        **{f"{quantity}_truth": truths[quantity] for quantity in QUANTITIES},
        **{
            f"{quantity}{end}": value
            for quantity in QUANTITIES
            for end, value in _spread(found[quantity]).items()
        },
        "kind_truth": find_kind(line, form, direction).value,
        "kind": guess.kind.value if guess else None,
        "likelihood": guess.likelihoods[guess.kind] if guess else None,
        "flags": [flag.value for flag in estimates.flags],
    }


def find_kind(line: Line, form: Format, direction: Direction) -> QueueKind:
    """Give the kind of queue that the probes of a format meet.

    A low-latency line has two queues. A probe that the line does not classify as low latency meets
    the classic one, a kind of PIE, as if it were alone: the import says so, and that only a marked
    probe tells more.

    Examples
    --------
    >>> line = next(own for own in draw_lines() if own.up.queue == "low_latency")
    >>> [str(find_kind(line, own, Direction.UP)) for own in FORMATS[1:3]]
    ['PIE-like', 'low latency']
    """
    kind = line[direction].kind
    is_hidden = kind is QueueKind.LOW_LATENCY and line.medium not in form.low_latency
    return QueueKind.PIE if is_hidden else kind


def _spread(estimate: Estimate | None) -> dict[str, Any]:
    if estimate is None:
        return dict.fromkeys(_ESTIMATE)
    bound = estimate.bound.value if estimate.bound else None
    return {"": estimate.value, "_low": estimate.low, "_high": estimate.high, "_bound": bound}
