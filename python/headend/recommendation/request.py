"""What a recommendation is asked: tiers, people, what may be set, and what must hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headend.analysis.criteria import Criteria, read_preferences
from headend.engine.description import find_application, list_applications
from headend.recommendation.air import Air, list_written, write_cells, write_hosts
from headend.recommendation.candidate import OF_MODEM, Candidate, Feature, list_candidates
from headend.recommendation.own_choices import list_own_candidates
from headend.recommendation.people import People, make_people, name_application
from headend.recommendation.sender import Sender, is_open, read_senders
from headend.recommendation.tier import Tier
from headend.scenario.file_access import FileAccess
from headend.scenario.source import Overrides, Text, read_scenario

#: Seeds by default.
SEEDS = (1, 2, 3, 4, 5)

#: An override that makes a channel's capacity vary, by its key or in its value.
_VARIES = re.compile(r"stream\.capacity(\.|=.*\b)(steps|trace)\b", re.DOTALL)

#: How long each point runs, and how much of that is not measured, where no scenario says so.
DURATION, WARMUP = "70 s", "10 s"


@dataclass(frozen=True)
class Request:
    """What is asked.

    Parameters
    ----------
    name
        What the results are called.
    expect
        What must hold in place of the people's own conditions, in the words of ``[expect]``; a
        bound on a rate can be a share of the line's rate.
    prefer
        What there should be most or least of in place of the people's own objective, such as
        ``most upload.goodput``.
    senders
        Who sends the uploads that name no congestion control: every setting is tried with each.
        Empty where all uploads are as they are.
    title
        A question, or empty.
    overrides
        What all points share besides, from outside.
    allowed
        Files and folders from which traces may be read besides.
    notes
        What is to be known of the tiers, such as settings of a modem's file that are not simulated.
    times
        The ``duration`` and the ``warmup`` of the scenario that the people are of, where it has
        any.
    """

    name: str
    tiers: tuple[Tier, ...]
    people: People = field(default_factory=make_people)
    features: tuple[Feature, ...] = OF_MODEM
    expect: tuple[str, ...] = ()
    prefer: str = ""
    senders: tuple[Sender, ...] = ()
    #: Files with the code of senders that a person has named; those of a tiers file are not.
    codes: frozenset[str] = frozenset()
    seeds: tuple[int, ...] = SEEDS
    title: str = ""
    overrides: Overrides = ()
    allowed: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()
    times: Mapping[str, str] = field(default_factory=dict)

    @property
    def all_times(self) -> dict[str, str]:
        """How long each point runs (``duration``), and how much is not measured (``warmup``)."""
        given = {path: value for path, value in self.overrides if path in ("duration", "warmup")}
        return {"duration": DURATION, "warmup": WARMUP, **self.times, **given}

    @property
    def conditions(self) -> tuple[str, ...]:
        """What must hold."""
        return self.expect or self.people.conditions

    @property
    def objective(self) -> str:
        """What there should be most or least of; empty for nothing."""
        return self.prefer or self.people.objective

    @property
    def demands(self) -> Criteria:
        """The people's own conditions and objective, also where others are asked for."""
        own = self.people
        return read_preferences([*own.conditions, *filter(None, [own.objective])], {})

    def list_candidates(self, tier: Tier) -> list[Candidate]:
        """List what is tried for a tier."""
        varies = self._varies(tier)
        if not tier.is_own:
            return list_candidates(tier, self.features, varies=varies)
        quiet = 0 < len(list_uploads(self.people)) < len(self.people.flows)
        return list_own_candidates(
            tier, self.features, self.people, varies=varies, has_uploads=quiet
        )

    def _varies(self, tier: Tier) -> bool:
        """Say whether a tier's line has a rate that varies: a capacity in steps, or a trace."""
        tables = [tier.find_table(way) for way in ("upstream", "downstream")]
        key = "capacity" if tier.is_cable else "rate"
        is_written = any(isinstance(own.get(key), Mapping) for own in tables)
        return is_written or any(
            _VARIES.search(f"{path}={value}") for path, value in self.overrides
        )

    @property
    def uploads(self) -> tuple[str, ...]:
        """The uploads that do not say who sends them."""
        return list_open_uploads(self.people)

    def list_senders(self, tier: Tier) -> tuple[Sender, ...]:
        """List who sends the uploads of a tier: a variation can be about another sender."""
        if tier.variation and tier.variation.sender:
            return read_senders(tier.variation.sender)
        return self.senders

    def list_cases(self, tier: Tier) -> tuple[Sender | None, ...]:
        """List the senders, or one None where all uploads are as they are."""
        return self.list_senders(tier) or (None,)

    def read_text(self, tier: Tier, candidate: Candidate, sender: Sender | None = None) -> Text:
        """Give the scenario of one setting as text."""
        typed = frozenset(f"{path}={value}" for path, value in self.overrides)
        scenario = self.write_scenario(tier, candidate, sender)
        access = FileAccess(typed=typed, allowed=self.allowed, codes=self.codes)
        return read_scenario(scenario, access)

    def list_overrides(self, tier: Tier, candidate: Candidate) -> Overrides:
        """List what all points share besides, without what this setting writes or has not.

        Over Ethernet there is no cell, and who stays at home is left out; while nobody uploads, the
        uploads are.
        """
        hosts = self.people.others.get("host", {})
        gone = list_written(tier.cells, candidate.air, candidate.station, hosts)
        if candidate.air is Air.ETHERNET:
            there = write_hosts(hosts, tier.cells, candidate.air)
            gone += [f"flow.{name}" for name in self.people.local]
            gone += [f"host.{name}" if name not in there else f"host.{name}.via" for name in hosts]
        if not candidate.has_uploads:
            gone += [f"flow.{name}" for name in list_uploads(self.people)]
        return [
            (path, value)
            for path, value in self.overrides
            if not any(path == own or path.startswith(f"{own}.") for own in gone)
        ]

    def write_scenario(
        self, tier: Tier, candidate: Candidate, sender: Sender | None = None
    ) -> dict[str, Any]:
        """Give the scenario of one setting, without what must hold.

        Without a sender the uploads are as the people have them.
        """
        flows = {name: dict(flow) for name, flow in self.people.flows.items()}
        if sender:
            flows |= {name: sender.write(flows[name]) for name in self.uploads}
        if not candidate.has_uploads:
            uploads = list_uploads(self.people)
            flows = {name: flow for name, flow in flows.items() if name not in uploads}
        air, station, others = candidate.air, candidate.station, dict(self.people.others)
        cells = write_cells(tier.cells, air, station)
        if "host" in others:
            others["host"] = write_hosts(others["host"], tier.cells, air, station)
        if air is Air.ETHERNET:
            flows = {name: flow for name, flow in flows.items() if name not in self.people.local}
        return {
            "title": f"{tier.name}: {candidate.label}",
            **self.all_times,
            "bottleneck": f"{tier.line}.up",
            "link": {**cells, tier.line: {tier.kind: candidate.write_link(tier)}},
            "flow": flows,
            **others,
            **({"router": candidate.router.write(tier)} if candidate.router else {}),
        }

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON can hold it; `from_dict` makes the same request of it."""
        return {
            "name": self.name,
            "title": self.title,
            "tiers": [tier.to_dict() for tier in self.tiers],
            "people": self.people.to_dict(),
            "may_set": [str(feature) for feature in self.features],
            "expect": list(self.expect),
            "prefer": self.prefer,
            "senders": [str(sender) for sender in self.senders],
            "seeds": list(self.seeds),
            "set": [[path, value] for path, value in self.overrides],
            "allowed": [str(path) for path in self.allowed],
            "notes": list(self.notes),
            **({"times": dict(self.times)} if self.times else {}),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Request:
        """Make a request of what `to_dict` gave."""
        return cls(
            name=content["name"],
            title=content["title"],
            tiers=tuple(Tier.from_dict(own) for own in content["tiers"]),
            people=People.from_dict(content["people"]),
            features=tuple(Feature(word) for word in content["may_set"]),
            expect=tuple(content["expect"]),
            prefer=content["prefer"],
            # Results of before have none.
            senders=read_senders(own) if (own := content.get("senders")) else (),
            seeds=tuple(content["seeds"]),
            overrides=tuple((path, value) for path, value in content["set"]),
            allowed=tuple(Path(path) for path in content["allowed"]),
            notes=tuple(content["notes"]),
            times=content.get("times", {}),
        )


def list_uploads(people: People) -> tuple[str, ...]:
    """List the uploads of people over the line."""
    bulk = list_applications("bulk")
    return tuple(
        name
        for name, flow in people.flows.items()
        if name not in people.local
        and (application := name_application(flow)) in bulk
        and (flow.get("direction") or find_application(application).direction) == "up"
    )


def list_open_uploads(people: People) -> tuple[str, ...]:
    """List the uploads of people that name no congestion control, and so can have any sender."""
    tcp = people.others.get("tcp", {})
    return tuple(name for name in list_uploads(people) if is_open(people.flows[name], tcp))
