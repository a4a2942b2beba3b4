"""What was estimated of a line: values with intervals, what they rest on, what is unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from headend.measurement.record import Direction
from headend.scenario.fit_note import SURE, Flag, QueueKind

__all__ = [
    "CONFIDENCE",
    "Bound",
    "DirectionEstimates",
    "Estimate",
    "Flag",
    "LineEstimates",
    "QueueGuess",
    "QueueKind",
]

#: How sure an interval is.
CONFIDENCE = 0.9


class Bound(StrEnum):
    """Of an estimate that is a bound only: the true value is larger, or smaller."""

    AT_LEAST = "at least"
    AT_MOST = "at most"


@dataclass(frozen=True)
class Estimate:
    """A value of the line with its 90 % interval.

    Parameters
    ----------
    value, low, high
        In the unit of the field that holds it.
    basis
        What it rests on, in words that follow "from": "412 samples of the idle line".
    samples
        How many.
    bound
        Whether it is a bound only.
    """

    value: float
    low: float
    high: float
    basis: str
    samples: int
    bound: Bound | None = None


@dataclass(frozen=True)
class QueueGuess:
    """Which queue a direction has: how likely each kind is, and why.

    Parameters
    ----------
    likelihoods
        Of each kind, with unknown; their sum is 1.
    reasons
        What was seen, a short sentence each.
    """

    likelihoods: Mapping[QueueKind, float]
    reasons: tuple[str, ...] = ()

    @property
    def kind(self) -> QueueKind:
        """The most likely kind."""
        return max(self.likelihoods, key=lambda kind: self.likelihoods[kind])

    @property
    def is_sure(self) -> bool:
        """Whether a kind other than unknown has nine tenths of the likelihood or more."""
        return self.kind is not QueueKind.UNKNOWN and self.likelihoods[self.kind] >= SURE


@dataclass(frozen=True)
class DirectionEstimates:
    """What was estimated of one direction; None for what the measurement does not tell.

    Parameters
    ----------
    rate
        The sustained rate of IP packets, bit/s.
    peak
        The rate before the burst was used up, bit/s.
    burst
        Bytes that passed faster than the sustained rate.
    loaded_delay
        The median delay that load of this direction adds, ms.
    buffer
        How long a full queue takes to empty, ms.
    loss
        The share of probes that were lost while the line was loaded.
    random_loss
        The share of probes that were lost on the idle line.
    jitter
        The spread of delays of the idle line that the access method makes, ms: from the 5th to the
        95th percentile.
    """

    rate: Estimate | None = None
    peak: Estimate | None = None
    burst: Estimate | None = None
    loaded_delay: Estimate | None = None
    buffer: Estimate | None = None
    loss: Estimate | None = None
    random_loss: Estimate | None = None
    jitter: Estimate | None = None


@dataclass(frozen=True)
class LineEstimates:
    """What was estimated of a line.

    Parameters
    ----------
    base_delay
        There and back on the idle line, ms.
    directions
        What was estimated of each direction.
    flags
        What cannot be told, with the reason: a sentence with the numbers it rests on.
    """

    base_delay: Estimate | None
    directions: Mapping[Direction, DirectionEstimates]
    flags: Mapping[Flag, str] = field(default_factory=dict)
