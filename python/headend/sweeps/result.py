"""The result of a sweep, as people have it in Python."""

from __future__ import annotations

from dataclasses import dataclass

from headend.sweeps.record import SweepRecord


@dataclass(frozen=True)
class SweepResult(SweepRecord):
    """What a sweep gave; see `SweepRecord` for its table."""
