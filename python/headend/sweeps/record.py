"""The record of a sweep: its table, its failures, and its conclusion."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.sweeps.answering import answer_sweep
from headend.sweeps.concluding import conclude
from headend.sweeps.conclusion import Conclusion
from headend.sweeps.definition import Sweep
from headend.sweeps.summary import summarise
from headend.wording.answer import Answer

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class SweepRecord:
    """The results of a sweep.

    Parameters
    ----------
    sweep
        The sweep.
    table
        A row for each point, flow or queue, and metric: the axes, ``seed``, ``measure`` (its whole
        name, or the one that the sweep's file gives), ``subject``, ``direction``, ``metric``,
        ``value`` in the base unit ``unit`` (ns, bit/s, B, or 1). A point that failed is one row
        that says why in ``error``.
    failures
        Why points failed, by their place and seed.
    complete
        Whether all points were run; a stopped sweep has the finished ones.
    notes
        Sentences to read before the results are trusted. They are the warnings about the scenarios,
        with the scenario's name where not all have it, and the keys that the sweep sets in place of
        the scenarios' own values.
    """

    sweep: Sweep
    table: pl.DataFrame
    failures: dict[tuple[Any, ...], str]
    complete: bool
    folder: Path | None = None
    notes: tuple[str, ...] = ()
    #: What the manifest lists of the points that are kept.
    points: tuple[str, ...] = ()

    @functools.cached_property
    def summary(self) -> pl.DataFrame:
        """Means over seeds with intervals, and paired differences, as `summarise` gives them."""
        return summarise(self.sweep, self.table)

    @functools.cached_property
    def conclusion(self) -> Conclusion:
        """The best setting along each axis, knees, trade-off, and the variance by axis."""
        return conclude(self.sweep, self.table)

    @property
    def answer(self) -> Answer:
        """The answer with which a page or command begins."""
        return answer_sweep(self.conclusion)
