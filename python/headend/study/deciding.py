"""Deciding over seeds: a number agrees, differs, or has an interval too wide to tell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headend.analysis.estimate import estimate_mean, find_quantile, give_interval
from headend.study.claims import Finding, Verdict, decide

#: More seeds than these are not asked for: a difference that small is none.
_MOST_SEEDS = 10_000


@dataclass(frozen=True)
class Decision:
    """What the values of several seeds say of a range of accepted means.

    Parameters
    ----------
    mean
        Over the seeds.
    interval
        Its 95 % interval; None with one seed.
    verdict
        Whether the mean is accepted; undecided where the interval reaches over a bound of what is.
    deciding_seeds
        Where it is undecided, with about how many seeds the interval would end before that bound,
        if mean and spread stay as they are; None where that would take more than 10 000.
    """

    mean: float
    interval: tuple[float, float] | None
    verdict: Verdict
    deciding_seeds: int | None = None

    def tell(self, measured: str, why: str = "") -> Finding:
        """Give it as the finding of a claim, with what was measured in words."""
        return Finding(measured, self.verdict, self.interval, why, self.deciding_seeds)


def decide_over_seeds(
    values: Sequence[float], low: float = -math.inf, high: float = math.inf
) -> Decision:
    """Hold the mean over seeds against what is accepted.

    Parameters
    ----------
    values
        One number for each seed, in the unit of the bounds. For a comparison: the differences of
        the same seeds, with zero as the bound.
    low, high
        The bounds of what is accepted; both are accepted themselves.

    Examples
    --------
    >>> decide_over_seeds([1.0, 1.2, 1.1], low=0.5).verdict
    <Verdict.REPRODUCED: 'reproduced'>
    >>> found = decide_over_seeds([0.2, 1.4, 0.9], low=0.5)
    >>> found.verdict, found.deciding_seeds
    (<Verdict.UNDECIDED: 'undecided'>, 16)
    """
    found = estimate_mean(values)
    agrees = decide(low <= found.mean <= high)
    interval = give_interval(values)
    if interval is None:
        return Decision(found.mean, None, agrees)
    margin = min(abs(found.mean - low), abs(found.mean - high))
    # Seeds that all give a bound itself have no width: the bound is accepted.
    if found.half < margin or found.half == 0:
        return Decision(found.mean, interval, agrees)
    deviation = found.half / _reach(found.count)
    needed = _count_seeds(deviation, margin)
    return Decision(found.mean, interval, Verdict.UNDECIDED, needed)


def join_decisions(decisions: Iterable[Decision], measured: str, why: str = "") -> Finding:
    """Give one finding for a claim over several numbers: all of them have to agree.

    Parameters
    ----------
    decisions
        One for each number.
    measured
        All of them, in words.
    why
        What is to be known where they do not all agree.

    Returns
    -------
    Finding
        It differs where one differs; or else it is undecided where one is, with the seeds that the
        last to be decided takes.
    """
    decisions = list(decisions)
    verdicts = {decision.verdict for decision in decisions}
    if Verdict.DIFFERS in verdicts:
        return Finding(measured, Verdict.DIFFERS, why=why)
    open_ones = [one for one in decisions if one.verdict is Verdict.UNDECIDED]
    if not open_ones:
        return Finding(measured, Verdict.REPRODUCED)
    needed = [one.deciding_seeds for one in open_ones]
    known = [seeds for seeds in needed if seeds is not None]
    seeds = max(known) if len(known) == len(needed) else None
    return Finding(measured, Verdict.UNDECIDED, why=why, deciding_seeds=seeds)


def _count_seeds(deviation: float, margin: float) -> int | None:
    """Give the least number of seeds whose interval is narrower than a margin."""
    return next(
        (count for count in range(2, _MOST_SEEDS + 1) if deviation * _reach(count) < margin), None
    )


def _reach(count: int) -> float:
    """Give the half width of an interval over so many values, in standard deviations of one."""
    return find_quantile(count) / math.sqrt(count)
