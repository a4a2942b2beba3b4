"""What was found of a measured line, as the manifest of its results keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from headend.fitting.agreement import Agreement, find_grade
from headend.fitting.estimates import (
    Bound,
    DirectionEstimates,
    Estimate,
    Flag,
    LineEstimates,
    QueueGuess,
    QueueKind,
)
from headend.measurement.record import Direction, Load, Trip


@dataclass(frozen=True)
class Curve:
    """The delay that load adds over time, and its distribution, measured or simulated.

    Parameters
    ----------
    load, trip
        What filled the line, and what the delays are of.
    side
        ``"measured"`` or ``"simulated"``.
    times, delays
        The median of each bin, s since the load began and ms.
    quantiles
        Of all delays, from 0 to 100 %, ms.
    """

    load: Load
    trip: Trip
    side: str
    times: Sequence[float]
    delays: Sequence[float]
    quantiles: Sequence[float]


@dataclass(frozen=True)
class Found:
    """All that was found.

    Parameters
    ----------
    tools, notes, dropped
        Of the measurement.
    estimates
        Of the line.
    medium, why
        What it is written as.
    guesses
        Which queue each direction has.
    nearest
        The candidate of each direction that comes nearest.
    distances
        How near the candidates of each direction come: mean squared distance in units of the scale.
    agreements
        The simulated line beside the measurement.
    curves
        Of delays over time.
    scenario
        The text of the scenario.
    """

    tools: tuple[str, ...]
    estimates: LineEstimates
    medium: str
    why: str
    guesses: Mapping[Direction, QueueGuess]
    nearest: Mapping[Direction, str] = field(default_factory=dict)
    distances: Mapping[Direction, Mapping[str, float]] = field(default_factory=dict)
    agreements: tuple[Agreement, ...] = ()
    curves: tuple[Curve, ...] = ()
    scenario: str = ""
    notes: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """The tools of the measurement."""
        return " and ".join(self.tools)

    @property
    def grade(self) -> str:
        """How well the line agrees with the measurement; empty where that is not known."""
        return find_grade(self.agreements)

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain values."""
        return {
            "tools": list(self.tools),
            "estimates": write_estimates(self.estimates),
            "line": {"medium": self.medium, "why": self.why},
            "queues": {
                way.value: {
                    "likelihoods": {str(kind): own for kind, own in guess.likelihoods.items()},
                    "reasons": list(guess.reasons),
                    "nearest": self.nearest.get(way, ""),
                    "distances": dict(self.distances.get(way, {})),
                }
                for way, guess in self.guesses.items()
            },
            "grade": self.grade,
            "agreements": [own.to_dict() for own in self.agreements],
            "curves": [asdict(own) for own in self.curves],
            "scenario": self.scenario,
            "notes": list(self.notes),
            "dropped": list(self.dropped),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Found:
        """Read what `to_dict` gave; a KeyError, TypeError or ValueError for anything else."""
        queues = content["queues"]
        return cls(
            tuple(map(str, content["tools"])),
            read_estimates(content["estimates"]),
            str(content["line"]["medium"]),
            str(content["line"]["why"]),
            {
                Direction(way): QueueGuess(
                    {QueueKind(kind): float(own) for kind, own in queue["likelihoods"].items()},
                    tuple(map(str, queue["reasons"])),
                )
                for way, queue in queues.items()
            },
            {Direction(way): str(queue["nearest"]) for way, queue in queues.items()},
            {Direction(way): dict(queue["distances"]) for way, queue in queues.items()},
            tuple(Agreement.from_dict(own) for own in content["agreements"]),
            tuple(
                Curve(
                    Load(own["load"]),
                    Trip(own["trip"]),
                    str(own["side"]),
                    tuple(own["times"]),
                    tuple(own["delays"]),
                    tuple(own["quantiles"]),
                )
                for own in content["curves"]
            ),
            str(content["scenario"]),
            tuple(map(str, content["notes"])),
            tuple(map(str, content["dropped"])),
        )


def write_estimates(estimates: LineEstimates) -> dict[str, Any]:
    """Give estimates as plain values; rates in bit/s, delays in ms, bursts in bytes."""
    return {
        "base_delay": estimates.base_delay and asdict(estimates.base_delay),
        "directions": {
            way.value: {
                name: (value and asdict(value))
                for name in DirectionEstimates.__dataclass_fields__
                for value in [getattr(own, name)]
            }
            for way, own in estimates.directions.items()
        },
        "flags": {str(flag): reason for flag, reason in estimates.flags.items()},
    }


def read_estimates(content: Mapping[str, Any]) -> LineEstimates:
    """Read what `write_estimates` gave."""
    return LineEstimates(
        _read_estimate(content["base_delay"]),
        {
            Direction(way): DirectionEstimates(
                **{name: _read_estimate(value) for name, value in own.items()}
            )
            for way, own in content["directions"].items()
        },
        {Flag(flag): str(reason) for flag, reason in content["flags"].items()},
    )


def _read_estimate(content: Mapping[str, Any] | None) -> Estimate | None:
    if content is None:
        return None
    bound = content["bound"]
    return Estimate(**{**content, "bound": None if bound is None else Bound(bound)})
