"""What a sweep left: its table, what failed, and what follows from it."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.judging.answer import Answer
from headend.sweeps.answering import answer_sweep
from headend.sweeps.concluding import conclude
from headend.sweeps.conclusion import Conclusion
from headend.sweeps.definition import Sweep
from headend.sweeps.summary import summarise

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class SweepRecord:
    """What a sweep gave.

    Parameters
    ----------
    sweep
        What was asked.
    table
        A row for each point, flow or queue, and metric: the axes, ``seed``, ``measure`` (its whole name, or the one that
        the sweep's file gives), ``subject``, ``direction``, ``metric``, ``value`` in the base unit ``unit`` (ns, bit/s, B,
        or 1). A point that failed is one row that says why in ``error``.
    failures
        Why points failed, by their place and seed.
    complete
        Whether all points were run; a sweep that was stopped has those that were done.
    notes
        What to read before the results are trusted: what the scenarios are warned of, and where that is not all of them,
        and what the sweep sets in place of what they wrote.
    """

    sweep: Sweep
    table: pl.DataFrame
    failures: dict[tuple[Any, ...], str]
    complete: bool
    folder: Path | None = None
    notes: tuple[str, ...] = ()

    @functools.cached_property
    def summary(self) -> pl.DataFrame:
        """Means over seeds with their intervals, and paired differences, as `summarise` gives them."""
        return summarise(self.sweep, self.table)

    @functools.cached_property
    def conclusion(self) -> Conclusion:
        """What follows from it: the best setting along each axis, knees, the trade-off, and which axis matters for what."""
        return conclude(self.sweep, self.table)

    @property
    def answer(self) -> Answer:
        """What a page or command says first."""
        return answer_sweep(self.conclusion)
