"""What helps a line of one's own, by who can do it: its owner, the provider, or money.

All that sentences and tables say to an owner is a fact of `OwnChoices`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from headend.analysis.estimate import BOUNDS, Estimate, estimate_difference
from headend.analysis.ranking import Choice, Feasibility
from headend.recommendation.candidate import Feature
from headend.recommendation.deciding import Decision

#: What the owner can set.
OF_OWNER = (Feature.ROUTER, Feature.WIFI)

#: What the owner can do besides, where nothing that can be set is enough.
MOVES = (Feature.STATION,)

#: What a provider can set without another tariff.
OF_PROVIDER = (Feature.AQM, Feature.LOW_LATENCY, Feature.BUFFER_CONTROL, Feature.BUFFER)


class Verdict(StrEnum):
    """What an owner is told first."""

    #: Everybody is served well today.
    NOTHING_NEEDED = "nothing needed"
    #: What the owner can do makes everybody well; the provider may be able to as well.
    MYSELF = "myself"
    #: Only what the provider sets makes everybody well.
    PROVIDER = "provider"
    #: Only a faster tier makes everybody well.
    FASTER = "faster tier"
    #: Only the same line without the Wi-Fi before it makes everybody well.
    ETHERNET = "Ethernet"
    #: Nothing makes everybody well for sure, and something helps somebody.
    NOTHING_HOLDS = "nothing holds"
    #: Nothing helps anybody for sure.
    NOTHING_HELPS = "nothing helps"


@dataclass(frozen=True)
class Varied:
    """What holds if the line is a little different.

    Parameters
    ----------
    decision
        Of that line.
    today
        Whether everybody is well with it as it is; missing where that was not run.
    standings
        Whether a choice that holds with the line holds there, by its setting in the decision of
        the line; that of today where the line has the choice already.
    is_same
        Whether the answer is the same.
    """

    decision: Decision
    today: Feasibility
    standings: dict[int, Feasibility]
    is_same: bool


@dataclass(frozen=True)
class OwnChoices:
    """What was tried for a line of one's own, by who can do it.

    Parameters
    ----------
    decision
        Of the line.
    variations
        The decisions of its variations.
    """

    decision: Decision
    variations: tuple[Decision, ...] = ()

    @functools.cached_property
    def today(self) -> int:
        """The line as it is."""
        return self.decision.today or 1

    @functools.cached_property
    def mine(self) -> Choice:
        """The best of what the owner can do: a router, or what is set in the Wi-Fi.

        Where none of these holds, a station may be moved, or be connected by cable. Of those that
        hold, it is one that also holds with each variation, if any: whoever sets a rate sets it for
        the line as it turns out to be.
        """
        tried = self._list_settings(OF_OWNER)
        if not any(map(self.has, tried)):
            tried += self._list_settings(MOVES)
        robust = [own for own in tried if self.has(own) and self._is_robust(own)]
        return self.decision.choose(robust or tried)

    def _is_robust(self, setting: int) -> bool:
        found = [
            standings.get(setting)
            for decision, _, standings in self._held
            if decision.tier.variation and not decision.tier.variation.sender
        ]
        return bool(found) and set(found) == {Feasibility.HOLDS}

    @functools.cached_property
    def boldest(self) -> int | None:
        """What the owner would set for the line alone; None where it is the best for all."""
        setting = self._choose(OF_OWNER).setting
        return setting if setting != self.mine.setting else None

    @functools.cached_property
    def asked(self) -> Choice:
        """The best of what the provider can set."""
        return self._choose(OF_PROVIDER)

    @functools.cached_property
    def offers(self) -> list[int]:
        """The best setting of each of the provider's features that holds, the best one first."""
        found = [self.asked.setting] if self.asked.setting else []
        found += [
            best.setting
            for feature in OF_PROVIDER
            if (best := self._choose((feature,))).setting and best.setting not in found
        ]
        kinds: dict[Feature, int] = {}
        for setting in found:
            if self.has(setting) and self.relieves(setting):
                kinds.setdefault(self.decision.find(setting).feature, setting)
        return list(kinds.values())

    @functools.cached_property
    def faster(self) -> list[int]:
        """The line with twice its rates, in the order in which they were listed."""
        return self._list_settings((Feature.FASTER,))

    @property
    def ethernet(self) -> int | None:
        """The line without the Wi-Fi before it; None where there is none."""
        return next(iter(self._list_settings((Feature.ETHERNET,))), None)

    @property
    def is_unknown(self) -> bool:
        """Whether no setting has a result."""
        return set(self.decision.standings.values()) <= {Feasibility.MISSING}

    @property
    def is_air_limiting(self) -> bool:
        """Whether the Wi-Fi is what limits: what is done to it helps, and nothing on the line."""
        return self.helps_air and not self.helps_line

    @functools.cached_property
    def helps_line(self) -> bool:
        """Whether something that is set on the line alone helps those who are not well today."""
        of_line = (*OF_PROVIDER, Feature.ROUTER, Feature.FASTER)
        return any(map(self.relieves, self._list_settings(of_line)))

    @functools.cached_property
    def helps_air(self) -> bool:
        """Whether something that is done to the Wi-Fi alone helps, or to be without it."""
        of_air = self._list_settings((Feature.WIFI, *MOVES, Feature.ETHERNET))
        return any(self.relieves(own) for own in of_air if not self.decision.find(own).router)

    def relieves(self, setting: int) -> bool:
        """Say whether a condition that fails today is clearly better, or holds for sure."""
        missed = {one.term.text for one in self.decision.list_missed(self.today)}
        better, _ = self.decision.list_changes(setting, self.today)
        mended = self.decision.list_mended(setting, self.today)
        return not missed.isdisjoint([*better, *mended])

    @property
    def quiet(self) -> int | None:
        """The line while nobody uploads; None where nobody does."""
        return next(iter(self._list_settings((Feature.NO_UPLOAD,))), None)

    def _list_settings(self, features: Sequence[Feature]) -> list[int]:
        numbered = enumerate(self.decision.candidates, start=1)
        return [number for number, own in numbered if own.feature in features]

    def _choose(self, features: Sequence[Feature]) -> Choice:
        return self.decision.choose(self._list_settings(features))

    def has(self, setting: int | None, standing: Feasibility = Feasibility.HOLDS) -> bool:
        """Say whether a setting has a standing: that all conditions hold, by default."""
        return setting is not None and self.decision.standings.get(setting) is standing

    @property
    def verdict(self) -> Verdict:
        """What an owner is told first."""
        if self.has(self.today):
            return Verdict.NOTHING_NEEDED
        found = {
            Verdict.MYSELF: self.mine.setting,
            Verdict.PROVIDER: self.asked.setting,
            Verdict.FASTER: next(filter(self.has, self.faster), None),
            Verdict.ETHERNET: self.ethernet,
        }
        for verdict, setting in found.items():
            if setting and self.has(setting) and self.relieves(setting):
                return verdict
        nearest = self.decision.choose(self.decision.chosen.among).setting
        helps = nearest is not None and self.relieves(nearest)
        return Verdict.NOTHING_HOLDS if helps else Verdict.NOTHING_HELPS

    @property
    def advised(self) -> int | None:
        """The setting that the verdict is about; the nearest one where nothing holds."""
        return {
            Verdict.NOTHING_NEEDED: self.today,
            Verdict.MYSELF: self.mine.setting,
            Verdict.PROVIDER: self.asked.setting,
            Verdict.FASTER: next(filter(self.has, self.faster), None),
            Verdict.ETHERNET: self.ethernet,
            Verdict.NOTHING_HOLDS: self.decision.chosen.setting,
            Verdict.NOTHING_HELPS: self.today,
        }[self.verdict]

    @property
    def is_slow(self) -> bool:
        """Whether the rate is the problem: somebody is not well even while nobody uploads."""
        return self.has(self.quiet, Feasibility.FAILS)

    def list_compared(self) -> list[int]:
        """List the settings that a table compares: today, one for each who can do something."""
        found = [self.today, self.mine.setting, self.asked.setting, *self.faster, self.quiet]
        found.append(self.ethernet)
        return list(dict.fromkeys(own for own in found if own))

    def list_brief(self) -> list[int]:
        """List those of them that a first screen has room for: one faster tier, the best one."""
        helping = [own for own in self.faster if self.has(own)]
        best = (helping or self.faster)[:1]
        return [own for own in self.list_compared() if own not in self.faster or own in best]

    def list_useless(self) -> list[int]:
        """List what would not be enough: the best of a feature that fails, faster tiers.

        What the owner, or the provider, is told of by itself is left out. Where everybody is well
        today, it is nothing: nobody needs help.
        """
        if self.verdict is Verdict.NOTHING_NEEDED:
            return []
        settings = [*self._list_bests(), *self.faster]
        told = [own.setting for own in (self.mine, self.asked) if not self.is_useless(own.setting)]
        return [own for own in settings if self.has(own, Feasibility.FAILS) and own not in told]

    def _list_bests(self) -> list[int]:
        """List the best of each feature; of that of the best that the owner can do, this one."""
        mine = self.mine.setting
        feature = self.decision.find(mine).feature if mine else None
        others = [own for own in (*OF_OWNER, *MOVES, *OF_PROVIDER) if own is not feature]
        found = [mine, *(self._choose((own,)).setting for own in others)]
        return [own for own in found if own]

    @property
    def is_all_enough(self) -> bool:
        """Whether the best of each kind of setting, and each faster tier, is enough."""
        return all(map(self.has, [*self._list_bests(), *self.faster]))

    def is_useless(self, setting: int | None) -> bool:
        """Say whether a setting fails, and helps nobody who is not well today."""
        fails = self.has(setting, Feasibility.FAILS)
        return setting is None or (fails and not self.relieves(setting))

    def list_varied(self) -> list[int]:
        """List what is run also with variations of the line: today, and what may be advised.

        Of routers these are all shares of the line's rate, with the queue of the best one.
        """
        best = self._choose(OF_OWNER).setting
        router = self.decision.find(best).router if best else None
        shares = [
            own
            for own in self._list_settings((Feature.ROUTER,))
            if router and (one := self.decision.find(own).router) and one.queue == router.queue
        ]
        found = [self.today, best, *shares, self.asked.setting]
        return list(dict.fromkeys(own for own in found if own))

    def list_advised(self) -> list[int]:
        """List what may be advised: today where it is enough, else what the two can set."""
        if self.verdict is Verdict.NOTHING_NEEDED:
            return [self.today]
        found = [self.mine.setting, self.asked.setting]
        return [own for own in found if own and self.has(own)]

    def name_all(self, settings: Sequence[int]) -> list[str]:
        """Give the labels of settings."""
        return [self.decision.find(own).label for own in settings]

    def has_gain(self, setting: int) -> bool:
        """Say whether a condition that is missed today holds with a setting."""
        missed = self.decision.list_missed(self.today)
        return any(self.decision.judge(own, setting) is Feasibility.HOLDS for own in missed)

    def compare(self, term: str, setting: int) -> Estimate | None:
        """Give the difference of a term from today, over the seeds that both have."""
        measured = self.decision.terms[term]
        own, base = measured.values.get(setting, {}), measured.values.get(self.today, {})
        seeds = [seed for seed in own if seed in base]
        if not seeds or setting == self.today:
            return None
        bounds = measured.info.range or BOUNDS.get(measured.info.kind)
        return estimate_difference(
            [own[one] for one in seeds], [base[one] for one in seeds], bounds, measured.fewest
        )

    @functools.cached_property
    def varied(self) -> list[Varied]:
        """What holds with each variation that was run."""
        kept = self.list_advised()  # of a line that needs nothing, today alone
        before = self.decision.standings[self.today]
        return [
            Varied(
                decision,
                today,
                found := {own: standing for own, standing in standings.items() if own in kept},
                today in (before, Feasibility.MISSING)
                and all(standing is Feasibility.HOLDS for standing in found.values()),
            )
            for decision, today, standings in self._held
        ]

    @functools.cached_property
    def _held(self) -> list[tuple[Decision, Feasibility, dict[int, Feasibility]]]:
        """What holds with each variation: the line as it is, and each setting that was run."""
        return [self._hold(own) for own in self.variations]

    def _hold(self, other: Decision) -> tuple[Decision, Feasibility, dict[int, Feasibility]]:
        labels = {own.label: number for number, own in enumerate(other.candidates, start=1)}
        today = other.standings.get(other.today or 0, Feasibility.MISSING)
        tried = other.tier.variation.tried if other.tier.variation else ()
        standings = {}
        for setting in dict.fromkeys((*self.list_varied(), *self._list_settings(OF_OWNER))):
            if setting == self.today:
                continue
            label = self.decision.find(setting).label
            if label in labels:
                standings[setting] = other.standings[labels[label]]
            elif label in tried:  # the line has it already
                standings[setting] = today
        return other, today, standings


def find_own_choices(decision: Decision, variations: Sequence[Decision] = ()) -> OwnChoices:
    """Gather what was tried for a line of one's own, with those variations that are of it."""
    own = (one for one in variations if (of := one.tier.variation) and of.of == decision.tier.name)
    return OwnChoices(decision, tuple(own))
