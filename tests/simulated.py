"""The shipped scenarios that run in virtual time, and those with real hosts where possible."""

from __future__ import annotations

from functools import cache

from headend.scenario.shipped import list_scenarios
from headend.scenario.source import read_scenario


@cache
def list_simulated() -> list[str]:
    """Give the names of the shipped scenarios without real hosts."""
    return [name for name in list_scenarios() if not read_scenario(name).load().scenario.real_hosts]
