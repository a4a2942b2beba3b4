"""The fitted line as the text of a scenario: with its source, its estimates, and people on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headend.fitting.candidate import Candidate, write_ms
from headend.fitting.estimates import (
    DirectionEstimates,
    Estimate,
    Flag,
    LineEstimates,
    QueueGuess,
)
from headend.fitting.fitted_line import FittedLine, Medium, find_wide_area, name_host, write_link
from headend.fitting.sentences import (
    describe_bound,
    describe_flag,
    describe_guess,
    describe_interval,
    list_rows,
)
from headend.measurement.record import Direction
from headend.scenario.fit_note import FitNote, write_fit_note
from headend.scenario.source import write_toml

#: The name of the file in the folder of the results.
FILE = "my-line.toml"

#: The longest line of a comment.
_WIDTH = 100


def write_line_scenario(
    line: FittedLine,
    queues: Mapping[Direction, Candidate],
    estimates: LineEstimates,
    guesses: Mapping[Direction, QueueGuess],
    *,
    source: str,
    grade: str = "",
) -> str:
    """Write the scenario of a fitted line.

    Parameters
    ----------
    line, queues
        The line.
    estimates, guesses
        What it rests on.
    source
        The tools of the measurement; never a path.
    grade
        How well the line agrees with the measurement; empty where that is not known.

    Returns
    -------
    str
        TOML, which `headend run` and `headend recommend` read.
    """
    note = FitNote(
        source,
        grade,
        dict(list_values(estimates)),
        {
            way.value: {str(kind): round(own, 3) for kind, own in guess.likelihoods.items() if own}
            for way, guess in guesses.items()
        },
        tuple(str(flag) for flag in estimates.flags),
    )
    head = ["#:schema scenario.schema.json", write_fit_note(note)]
    comments = list(_list_comments(line, estimates, guesses, source, grade))
    head += [part for comment in comments for part in _wrap(comment)]
    return "\n".join(head) + "\n" + write_toml(_write_content(line, queues))


def list_values(
    estimates: LineEstimates,
) -> Iterator[tuple[str, tuple[float, float, float]]]:
    """List the least, likeliest and largest value of each estimate, by its name in a fit note."""
    if estimates.base_delay is not None:
        yield "base_delay", _take(estimates.base_delay)
    for way, own in estimates.directions.items():
        for name in DirectionEstimates.__dataclass_fields__:
            if (estimate := getattr(own, name)) is not None:
                yield f"{way.value}.{name}", _take(estimate)


def _take(estimate: Estimate) -> tuple[float, float, float]:
    low, value, high = (
        float(f"{own:.5g}") for own in (estimate.low, estimate.value, estimate.high)
    )
    return low, value, high


def _list_comments(
    line: FittedLine,
    estimates: LineEstimates,
    guesses: Mapping[Direction, QueueGuess],
    source: str,
    grade: str,
) -> Iterator[str]:
    agreement = f"agrees with the measurement by grade {grade}" if grade else "was not compared"
    yield f"Fitted by headend import to a measurement of {source}; simulated, it {agreement}."
    for row in list_rows(estimates):
        bound = describe_bound(row.estimate)
        interval = f" ({describe_interval(row)})" if row.estimate.bound is None else ""
        yield f"{row.name}: {bound}{row.value}{interval}, from {row.estimate.basis}."
    for way, guess in guesses.items():
        yield describe_guess(way, guess)
    yield f"Written as {NAMES[line.medium]}: {line.why}."
    if estimates.base_delay is None:
        yield f"Not measured, and supposed: the delay of the idle line, {line.base_delay:g} ms."
    for way in Direction:
        if not line.directions[way].is_measured:
            yield f"Not measured, and supposed: the rate {way.value}."
    varying = [way for way in Direction if line.directions[way].steps]
    for own in varying:
        yield f"The rate {own.value} varies as it was measured, in means over its steps."
    if Flag.RATE_VARIES in estimates.flags and not varying:
        yield "A rate varied in the measurement. It is constant here."
    for way in Direction:
        if line.directions[way].loss and line.medium is Medium.CABLE:
            yield f"A cable line loses nothing by itself here: the loss {way.value} is left out."
    if line.medium is Medium.CABLE:
        yield (
            "A cable line counts Ethernet frames: its rates are 1518/1500 of those of IP packets."
        )
    for flag, reason in estimates.flags.items():
        yield f"{describe_flag(flag)}: {reason}"


#: What the line is written as, in words.
NAMES = {
    Medium.PLAIN: "a plain link",
    Medium.CABLE: "a cable line",
    Medium.WIFI: "a plain link behind a cell of 802.11b",
}


def _wrap(comment: str) -> list[str]:
    """Wrap a comment, each line of which begins with a sign: nothing of it becomes a key."""
    lines, now = [], "#"
    for word in " ".join(comment.split()).split(" "):
        if len(now) + len(word) + 1 > _WIDTH and now != "#" and now != "# ":
            lines.append(now)
            now = "#  "
        now += f" {word}"
    return [*lines, now]


def _write_content(line: FittedLine, queues: Mapping[Direction, Candidate]) -> dict[str, Any]:
    host = {"host": name_host(line)} if name_host(line) else {}
    shared = {"rtt": write_ms(find_wide_area(line, queues)), **host}
    slower = min(Direction, key=lambda way: line.directions[way].rate)
    ways = {
        Medium.CABLE: {Direction.UP: "up", Direction.DOWN: "down"},
    }.get(line.medium, {Direction.UP: "up", Direction.DOWN: "down"})
    return {
        "title": "What does my line do to a call, a game and a page?",
        "description": (
            "The line that was measured, with people on it: one calls, one plays, one reads pages,"
            " and an upload fills the line. Their servers are as far as that of the measurement."
            " What would help is what `headend recommend` says of this file."
        ),
        "duration": "60 s",
        "warmup": "5 s",
        "bottleneck": f"line.{ways[slower]}",
        **write_link(line, queues),
        "flow": {
            "upload": {"application": "bulk", "direction": "up", "start": "2 s", **shared},
            "call": {"application": "voice", **shared},
            "game": {"application": "game", **shared},
            "page": {"application": {"web": {"page": "2 MB", "pause": "4 s"}}, **shared},
        },
    }
