"""What was found of a line in words: the line, its estimates, its queues, its flags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headend.fitting.agreement import Agreement
from headend.fitting.estimates import (
    Bound,
    Estimate,
    Flag,
    LineEstimates,
    QueueGuess,
    QueueKind,
)
from headend.measurement.record import Direction, Load, Trip
from headend.text.quantity import Kind, format_quantity
from headend.text.wording import capitalise

#: What a person does to load a direction.
WORDS = {Direction.UP: "upload", Direction.DOWN: "download"}

#: What loads are called.
LOADS = {Load.UP: "upload", Load.DOWN: "download", Load.BOTH: "both directions", Load.IDLE: "idle"}

#: What queues are called in sentences.
QUEUES = {
    QueueKind.DROP_TAIL: "a plain buffer (drop-tail)",
    QueueKind.PIE: "an AQM like PIE",
    QueueKind.CODEL: "an AQM like CoDel",
    QueueKind.FLOW_QUEUEING: "a queue for each flow (flow queueing)",
    QueueKind.LOW_LATENCY: "a low-latency queue beside the usual one",
    QueueKind.UNKNOWN: "an unknown queue",
}

#: What each flag means, and how to measure so that it does not arise.
_FLAGS: Mapping[Flag, tuple[str, str]] = {
    Flag.SENDER_LIMITED: (
        "The test may not have filled the line",
        "measure with more connections, or with a server that is nearer",
    ),
    Flag.NO_IDLE_PHASE: (
        "The line was never idle",
        "begin with ten seconds without load",
    ),
    Flag.NO_CEILING: (
        "The buffer was never seen full, so that it may be deeper",
        "load the line for half a minute with several connections",
    ),
    Flag.NO_UPSTREAM: (
        "Nothing was sent upstream",
        "measure an upload too, where most lines are worst",
    ),
    Flag.NO_DOWNSTREAM: ("Nothing was sent downstream", "measure a download too"),
    Flag.MIXED_DIRECTIONS: (
        "Both directions were loaded at once, so that their delays mix",
        "measure download and upload one after the other",
    ),
    Flag.WIFI_SUSPECTED: (
        "Wi-Fi may have made part of the delay",
        "measure with a cable to the router",
    ),
    Flag.PRIORITISED_PROBE: (
        "The probe may have had priority over other packets",
        "probe with unmarked UDP packets, such as those of irtt",
    ),
    Flag.PROBE_IN_FLOW: (
        "The delay is that of the loading connections themselves",
        "probe the delay apart from them, with ping or irtt",
    ),
    Flag.RATE_VARIES: (
        "The rate varies by itself",
        "measure for some minutes, at several times of the day",
    ),
    Flag.FEW_SAMPLES: ("There are few samples", "probe more often, or for longer"),
    Flag.SUMMARY_ONLY: (
        "The kind of queue stays open",
        "measure with a tool that keeps them, such as flent, crusader or irtt",
    ),
    Flag.CLOCK_DRIFT: (
        "The clocks of the two ends ran apart",
        "keep both by NTP, or trust delays there and back only",
    ),
}


@dataclass(frozen=True)
class EstimateRow:
    """An estimate with its name and kind; the factor turns its unit into the kind's base unit.

    The direction and the name of its field tell it from the others.
    """

    name: str
    estimate: Estimate
    kind: Kind
    factor: float = 1.0
    way: Direction | None = None
    field: str = ""

    @property
    def value(self) -> str:
        """The value with its unit."""
        return self.write(self.estimate.value)

    def write(self, value: float) -> str:
        """Write a value of this estimate with its unit."""
        return format_quantity(value * self.factor, self.kind)


#: The fields of a direction: what they are called, their kind, and the factor to its base unit.
_FIELDS: Mapping[str, tuple[str, Kind, float]] = {
    "rate": ("rate", "rate", 1.0),
    "peak": ("rate of a burst", "rate", 1.0),
    "burst": ("size of a burst", "size", 1.0),
    "loaded_delay": ("delay that it adds", "time", 1e6),
    "buffer": ("buffer", "time", 1e6),
    "loss": ("loss under load", "ratio", 1.0),
    "random_loss": ("loss of the idle line", "ratio", 1.0),
    "jitter": ("spread of the idle line's delays", "time", 1e6),
}


def list_rows(estimates: LineEstimates) -> Iterator[EstimateRow]:
    """List all estimates in the order in which people ask for them."""
    if estimates.base_delay is not None:
        yield EstimateRow(
            "Delay of the idle line", estimates.base_delay, "time", 1e6, None, "base_delay"
        )
    for way in (Direction.DOWN, Direction.UP):
        own = estimates.directions.get(way)
        for name, (words, kind, factor) in _FIELDS.items():
            if own is not None and (estimate := getattr(own, name)) is not None:
                label = f"{WORDS[way].capitalize()}: {words}"
                yield EstimateRow(label, estimate, kind, factor, way, name)


def describe_bound(estimate: Estimate) -> str:
    """Say before a value whether it is a bound only."""
    return f"{estimate.bound} " if estimate.bound is not None else ""


def describe_interval(row: EstimateRow) -> str:
    """Write the interval of an estimate; of a bound it has one end."""
    if row.estimate.bound is Bound.AT_LEAST:
        return f"{row.write(row.estimate.low)} or more"
    if row.estimate.bound is Bound.AT_MOST:
        return f"{row.write(row.estimate.high)} or less"
    return f"{row.write(row.estimate.low)} to {row.write(row.estimate.high)}"


def describe_flag(flag: Flag) -> str:
    """Say what a flag means."""
    return _FLAGS[flag][0]


def advise_flag(flag: Flag) -> str:
    """Say how to measure so that the flag does not arise."""
    return _FLAGS[flag][1]


def describe_line(estimates: LineEstimates) -> str:
    """Say in one line what line it is: its rates, and its delays."""
    parts = []
    for way in (Direction.DOWN, Direction.UP):
        own = estimates.directions.get(way)
        if own is not None and own.rate is not None:
            rate = format_quantity(own.rate.value, "rate")
            parts.append(f"{describe_bound(own.rate)}{rate} {way.value}")
    line = f"Your line carries {' and '.join(parts)}."
    if estimates.base_delay is not None:
        delay = _write_delay(estimates.base_delay)
        line += f" Without load an answer takes {describe_bound(estimates.base_delay)}{delay}."
    added = []
    for way in (Direction.DOWN, Direction.UP):
        own = estimates.directions.get(way)
        if own is not None and own.loaded_delay is not None:
            value = f"{describe_bound(own.loaded_delay)}{_write_delay(own.loaded_delay)}"
            value = "nothing" if own.loaded_delay.value == 0 else value
            added.append(f"{'an' if way is Direction.UP else 'a'} {WORDS[way]} adds {value}")
    if added:
        line += f" {capitalise(' and '.join(added))}."
    return line


def _write_delay(estimate: Estimate) -> str:
    return format_quantity(estimate.value * 1e6, "time")


def describe_guess(way: Direction, guess: QueueGuess) -> str:
    """Say which queue a direction has, and how sure that is."""
    told = describe_kind(guess).removeprefix("It is ").replace("It cannot", "it cannot")
    return f"Queue of the {WORDS[way]}: {told}"


def describe_kind(guess: QueueGuess) -> str:
    """Say what kind of queue it is, and how sure that is."""
    likely = sorted(guess.likelihoods.items(), key=lambda pair: -pair[1])
    shares = ", ".join(
        f"{kind} {format_quantity(share, 'ratio')}" for kind, share in likely if share >= 0.01
    )
    if guess.kind is QueueKind.UNKNOWN:
        return f"It cannot be told ({shares})."
    sure = "is" if guess.is_sure else "is probably"
    name = QUEUES[guess.kind].partition(" (")[0]  # its short name stands among the shares
    return f"It {sure} {name} ({shares})."


def list_guesses(guesses: Mapping[Direction, QueueGuess]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """List what is said of queues, with headings; what both directions share is said once."""
    first, *others = [guess.reasons for guess in guesses.values()] or [()]
    shared = [own for own in first if others and all(own in other for other in others)]
    own_told = {
        way: (describe_kind(guess), *(own for own in guess.reasons if own not in shared))
        for way, guess in guesses.items()
    }
    if len(own_told) > 1 and len(set(own_told.values())) == 1:
        yield "The queues of both directions", (*next(iter(own_told.values())), *shared)
        return
    for way, told in own_told.items():
        yield f"The queue of the {WORDS[way]}", told
    if shared:
        yield "Of both directions", tuple(shared)


def describe_agreement(own: Agreement) -> str:
    """Say in one sentence how near the simulated line is."""
    trip = "there and back" if own.trip is Trip.ROUND else f"of packets {own.trip.value}"
    parts = []
    if own.measured.rate and own.simulated.rate is not None:
        measured, simulated = (
            format_quantity(rate, "rate") for rate in (own.measured.rate, own.simulated.rate)
        )
        parts.append(f"{measured} were measured and {simulated} simulated")
    if own.measured.p50 is not None and own.simulated.p50 is not None:
        measured, simulated = (
            format_quantity(delay * 1e6, "time") for delay in (own.measured.p50, own.simulated.p50)
        )
        parts.append(f"the median delay that load adds {trip} is {measured} and {simulated}")
    return f"{LOADS[own.load].capitalize()}: {', '.join(parts)}." if parts else ""
