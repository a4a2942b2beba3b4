"""What a scenario has of which something is measured: flows, queues, channels, and the run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headend.scenario.cells import find_cell
from headend.scenario.groups import name_group

if TYPE_CHECKING:
    from headend._engine import Scenario


@dataclass(frozen=True)
class Vocabulary:
    """What an expectation may speak of."""

    #: Flows and their members, each with its application.
    flows: Mapping[str, str]
    #: Queues, and groups of them such as ``cable.home.*.up``.
    queues: Sequence[str]
    #: The members of each flow, and of each group of queues, of which there are several.
    members: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: What queues share: ``cable.up``, for which an expectation says ``cable.up.channel``.
    channels: Sequence[str] = ()
    #: The queue that ``queue`` means in ``--set`` and ``--vary``; empty where there is none.
    bottleneck: str = ""

    @property
    def subjects(self) -> list[str]:
        """All that has something measured."""
        return [*self.flows, *self.queues, *map(call_channel, self.channels), "run"]

    @classmethod
    def from_scenario(cls, scenario: Scenario) -> Vocabulary:
        """Take the names from a checked scenario; members' common part stands for all of them."""
        flows: dict[str, str] = {}
        members: dict[str, list[str]] = {}
        for name, application in scenario.flows:
            stem = name_group(name)
            if stem:
                members.setdefault(stem, []).append(name)
                flows[stem] = application
            flows[name] = application
        for name in scenario.queues:
            if stem := name_group(name):
                members.setdefault(stem, []).append(name)
        groups = {name_group(name) for name in scenario.queues} - {""}
        resolved = json.loads(scenario.resolved_json())
        channels = list(_list_channels(resolved))
        bottleneck = resolved.get("bottleneck") or ""
        return cls(flows, sorted({*scenario.queues, *groups}), members, channels, bottleneck)


def call_channel(channel: str) -> str:
    """Give the subject that means a channel: with one modem its queue has the same name."""
    return f"{channel}.channel"


def _list_channels(content: Mapping[str, Any]) -> Iterator[str]:
    """Give the channels of a scenario as tables name them: a cable line's two, a cell's one."""
    for name, link in content.get("link", {}).items():
        if "docsis" in link:
            yield f"{name}.up"
        if "docsis" in link or find_cell(link):
            yield f"{name}.down"
