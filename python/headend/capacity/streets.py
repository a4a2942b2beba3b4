"""Which homes have which flow: drawn anew with each seed, since no two streets are alike.

The engine gives a flow with a ``share`` to the same homes in every run, so that settings are
compared on one street. How many homes a channel carries must hold for other streets too.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

from headend.scenario.source import Overrides
from headend.text.quantity import parse_quantity


def find_shares(scenario: Mapping[str, Any], modems: str) -> dict[str, float]:
    """Find the share of homes that have each flow, of the flows that only a share has.

    Parameters
    ----------
    scenario
        As resolved.
    modems
        Link and group of modems, such as ``cable.home``.
    """
    hosts = scenario.get("host", {})
    return {
        name: parse_quantity(str(flow["share"]), "ratio").value
        for name, flow in scenario.get("flow", {}).items()
        if flow.get("share") is not None
        and flow.get("on") is None
        and modems in (hosts.get(flow.get("host"), {}).get("via") or ())[:1]
    }


def find_least(shares: Mapping[str, float]) -> int:
    """Give the least number of homes of which each share is one home at least.

    Examples
    --------
    >>> find_least({"web": 0.4, "download": 0.05}), find_least({})
    (10, 1)
    """
    return max((math.ceil(0.5 / share) for share in shares.values()), default=1)


def draw_street(shares: Mapping[str, float], homes: int, seed: int) -> Overrides:
    """Draw which homes have each flow, as overrides of a scenario.

    Examples
    --------
    >>> draw_street({"web": 0.5}, 4, seed=1)
    [('flow.web.on', '"2, 3"'), ('flow.web.share', '"100 %"')]
    """
    found = []
    for name, share in shares.items():
        wanted = max(math.floor(share * homes + 0.5), 1)
        drawn = random.Random(f"{name} {homes} {seed}").sample(range(1, homes + 1), wanted)
        numbers = ", ".join(map(str, sorted(drawn)))
        found += [(f"flow.{name}.on", f'"{numbers}"'), (f"flow.{name}.share", '"100 %"')]
    return found
