"""What was found: the share of people who suffer with each number of homes, and from what."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headend.analysis.estimate import Estimate, estimate_mean
from headend.capacity.counting import CAPACITY, JUDGED, SHARED, USED, Cause
from headend.capacity.search import Trial, find_crossing, find_failing, find_sure

if TYPE_CHECKING:
    import polars as pl

#: Shares lie between these.
_SHARES = (0.0, 1.0)

#: All people together, beside groups of them.
EVERYBODY = "people"


@dataclass(frozen=True)
class Channel:
    """A channel that the homes share, and the average that a home needs of it, bit/s.

    Parameters
    ----------
    name
        Link and direction, such as ``cable.down``.
    needed
        With the least number of homes that was tried, and so with the least that is held back.
    """

    name: str
    capacity: float
    needed: float


@dataclass(frozen=True)
class Street:
    """A street that was drawn.

    Parameters
    ----------
    homes
        How many it has.
    seed
        By which it was drawn.
    share
        Of its people, who suffer from sharing.
    """

    homes: int
    seed: int
    share: float


@dataclass(frozen=True)
class Fall:
    """Two numbers of homes with the means of a group who suffer, of which the second is smaller."""

    group: str
    fewer: int
    share: float
    more: int
    smaller: float


@dataclass(frozen=True)
class Findings:
    """Who suffers from what with each number of homes.

    Parameters
    ----------
    name
        Of the scenario.
    table
        A row for each point and measure, as `Suffering` takes them.
    numbers
        The numbers of homes that were tried, in that order.
    most
        The largest share of people who may suffer from sharing.
    fastest
        The highest rate of a tier in each direction, ``up`` and ``down``, bit/s.
    """

    name: str
    table: pl.DataFrame
    seeds: tuple[int, ...]
    numbers: tuple[int, ...]
    most: float
    fastest: Mapping[str, float]

    @functools.cached_property
    def groups(self) -> list[str]:
        """The groups of people."""
        if self.table.is_empty():
            return []
        rows = self.table.filter(self.table["metric"] == JUDGED)
        return list(dict.fromkeys(rows["subject"].to_list()))

    @functools.cached_property
    def _counts(self) -> dict[tuple[int, int], dict[tuple[str, str], float]]:
        """The values of each point, by number of homes and seed, and by subject and metric."""
        found: dict[tuple[int, int], dict[tuple[str, str], float]] = {}
        if self.table.is_empty():
            return found
        rows = self.table.filter(self.table["error"].is_null())
        columns = rows.select("homes", "seed", "subject", "metric", "value")
        for homes, seed, subject, metric, value in columns.iter_rows():
            found.setdefault((homes, seed), {})[subject, metric] = value
        return found

    def estimate(self, homes: int, *causes: Cause, group: str = EVERYBODY) -> Estimate | None:
        """Estimate the share of a group, or of everybody, who suffer from any of some causes.

        None where nobody was judged with this number.
        """
        shares = list(self._measure_streets(homes, causes, group).values())
        return estimate_mean(shares, _SHARES) if shares else None

    def _measure_streets(
        self, homes: int, causes: Sequence[Cause], group: str = EVERYBODY
    ) -> dict[int, float]:
        """Give the share of a group who suffer from any of some causes, by the street's seed."""
        groups = self.groups if group == EVERYBODY else [group]
        shares = {}
        for seed in self.seeds:
            counts = self._counts.get((homes, seed), {})
            judged = sum(counts.get((own, JUDGED), 0) for own in groups)
            suffering = sum(counts.get((own, cause), 0) for own in groups for cause in causes)
            if judged:
                shares[seed] = suffering / judged
        return shares

    @property
    def looked_at(self) -> int:
        """The number of homes by which is told who suffers: the next that does not suit.

        Where that cannot be simulated or none was tried, the largest that suits; 0 if there is
        none.
        """
        suits, fails = self.crossing
        return fails if fails and self.trials[fails].share else suits

    @property
    def worst(self) -> Street | None:
        """The street of so many homes with the most who suffer from sharing; None without any."""
        shares = self._measure_streets(self.looked_at, SHARED)
        seed = max(shares, key=lambda own: shares[own], default=None)
        if seed is None or not shares[seed]:
            return None
        return Street(self.looked_at, seed, shares[seed])

    def find_fall(self, numbers: Sequence[int]) -> Fall | None:
        """Find two numbers of homes of which the larger has the smaller mean.

        First of everybody from sharing, then of each group; None where all means rise or stay.
        """
        known = sorted(number for number in numbers if self.trials[number].share)
        for group in (EVERYBODY, *self.groups):
            means = {}
            for number in known:
                if found := self.estimate(number, *SHARED, group=group):
                    means[number] = found.mean
            for fewer, more in itertools.pairwise(means):
                if means[more] < means[fewer]:
                    return Fall(group, fewer, means[fewer], more, means[more])
        return None

    @functools.cached_property
    def trials(self) -> dict[int, Trial]:
        """What came of each number of homes."""
        return {number: Trial(self.estimate(number, *SHARED), self.most) for number in self.numbers}

    @property
    def crossing(self) -> tuple[int, int | None]:
        """The largest number of homes that suits by the mean, and the next that does not."""
        return find_crossing(self.trials)

    @property
    def sure(self) -> int:
        """The largest number of homes that suits over the whole interval."""
        return find_sure(self.trials)

    @property
    def failing(self) -> int | None:
        """The least number of homes that does not suit over the whole interval."""
        return find_failing(self.trials)

    @functools.cached_property
    def channels(self) -> list[Channel]:
        """The channels, with what a home needs of them."""
        known = [number for number, trial in self.trials.items() if trial.share]
        if not known:
            return []
        least = min(known)
        points = [counts for (homes, _), counts in self._counts.items() if homes == least]
        names = dict.fromkeys(
            subject for counts in points for subject, metric in counts if metric == USED
        )

        def average(name: str, metric: str) -> float:
            return sum(counts[name, metric] for counts in points) / len(points)

        return [
            Channel(name, average(name, CAPACITY), average(name, USED) / least) for name in names
        ]
