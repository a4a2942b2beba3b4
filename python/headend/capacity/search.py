"""The search for the number of homes from which on too many suffer.

The number is doubled or halved until one suits and one does not; then the space between them is
halved. Afterwards a number is looked for that is too large over the whole interval of its mean, and
the largest one that suits over the whole interval: these are sure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from headend.analysis.estimate import Estimate
from headend.analysis.ranking import Feasibility

#: The number that the scenario has is doubled so often at most.
MOST_DOUBLINGS = 6

#: The search ends where the space between two numbers is at most this share of the smaller one.
CLOSE, CLOSE_SURE = 0.05, 0.1


@dataclass(frozen=True)
class Trial:
    """The share of people who suffer with a number of homes; None where it cannot be simulated."""

    share: Estimate | None
    most: float

    @property
    def suits(self) -> bool:
        """Whether the mean is within the bound."""
        return self.share is not None and self.share.mean <= self.most

    @property
    def standing(self) -> Feasibility:
        """Whether the whole interval is on one side of the bound; one seed decides nothing."""
        if self.share is None:
            return Feasibility.MISSING
        if self.share.high <= self.most:
            return Feasibility.HOLDS
        return Feasibility.FAILS if self.share.low > self.most else Feasibility.UNDECIDED


def search(start: int, least: int, try_out: Callable[[int], Trial | None]) -> None:
    """Try numbers of homes until it is known where too many suffer.

    Parameters
    ----------
    start
        The first number.
    least
        The smallest number that there can be.
    try_out
        Tries a number; None where somebody stopped the search.
    """
    trials: dict[int, Trial] = {}
    for wanted in iter(lambda: choose_next(start, least, trials), None):
        found = try_out(wanted)
        if found is None:
            return
        trials[wanted] = found


def choose_next(start: int, least: int, trials: Mapping[int, Trial]) -> int | None:
    """Choose the number of homes to try next; None where the search has ended."""
    if not trials:
        return start
    for choose in (_choose_around, _choose_too_large, _choose_surer):
        if (wanted := choose(start, least, trials)) is not None:
            return wanted
    return None


def find_crossing(trials: Mapping[int, Trial]) -> tuple[int, int | None]:
    """Give the largest number with all up to it suiting (0 if none), and the next that does not."""
    suits = 0
    for number in sorted(trials):
        if not trials[number].suits:
            return suits, number
        suits = number
    return suits, None


def find_sure(trials: Mapping[int, Trial]) -> int:
    """Give the largest number with all up to it suiting over the whole interval; 0 if none."""
    return max(_list_sure(trials), default=0)


def find_failing(trials: Mapping[int, Trial]) -> int | None:
    """Give the least number that does not suit over the whole interval; None if there is none."""
    failing = [at for at, own in trials.items() if own.standing is Feasibility.FAILS]
    return min(failing, default=None)


def _list_sure(trials: Mapping[int, Trial]) -> Iterator[int]:
    for number in sorted(trials):
        if trials[number].standing is not Feasibility.HOLDS:
            return
        yield number


def _choose_around(start: int, least: int, trials: Mapping[int, Trial]) -> int | None:
    suits, fails = find_crossing(trials)
    if fails is None:
        most = start << MOST_DOUBLINGS
        return min(2 * suits, most) if suits < most else None
    if not suits:
        return max(fails // 2, least) if fails > least else None
    return _halve(suits, fails, CLOSE)


def _choose_too_large(start: int, _: int, trials: Mapping[int, Trial]) -> int | None:
    if _is_never_sure(trials) or find_failing(trials):
        return None
    largest, most = max(trials), start << MOST_DOUBLINGS
    if largest >= most or trials[largest].share is None:
        return None
    return min(largest + largest // 2 + 1, most)


def _is_never_sure(trials: Mapping[int, Trial]) -> bool:
    """Whether there is one seed, which decides nothing."""
    return any(own.share and own.share.count < 2 for own in trials.values())


def _choose_surer(_: int, least: int, trials: Mapping[int, Trial]) -> int | None:
    if _is_never_sure(trials):
        return None
    sure = find_sure(trials)
    above = [number for number in sorted(trials) if number > sure]
    if not above:
        return None
    if not sure:
        return max(above[0] // 2, least) if above[0] > least else None
    return _halve(sure, above[0], CLOSE_SURE)


def _halve(low: int, high: int, close: float) -> int | None:
    return (low + high) // 2 if high - low > max(1.0, close * low) else None
